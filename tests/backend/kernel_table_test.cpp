// The host serves every operator: it is the reference for every other device, and what runs where
// there is none.
#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <string>

#include "backend/backend.h"
#include "backend/host/host_backend.h"
#include "kernel_api/kernel_table.h"

namespace {

// Calls visit(list) for the list of every operator. An operator that is added to the table does not
// compile here until it is added too.
template <class Visit>
void for_each_operator(const mr::KernelTable& table, Visit&& visit) {
  const auto& [embedding, rmsnorm, add, gated_activation, rope, qkv_post, attention, matmul, argmax,
               sample] = table;
  visit(embedding), visit(rmsnorm), visit(add), visit(gated_activation), visit(rope);
  visit(qkv_post), visit(attention), visit(matmul), visit(argmax), visit(sample);
}

}  // namespace

TEST_CASE("every operator has a row on the host") {
  int operators = 0;
  for_each_operator(mr::host_backend().kernels(), [&](const auto& rows) {
    CAPTURE(operators);
    CHECK(!rows.empty());
    ++operators;
  });
  CHECK(sizeof(mr::KernelTable) == static_cast<size_t>(operators) * sizeof(mr::KernelList<int>));
}

TEST_CASE("the last row of each operator takes every dtype on every processor") {
  for_each_operator(mr::host_backend().kernels(), [](const auto& rows) {
    REQUIRE(!rows.empty());
    const auto& last = rows.back();
    CAPTURE(std::string(last.name));
    for (const mr_dtype dtype : {MR_F32, MR_F16, MR_BF16}) CHECK(last.dtypes.has(dtype));
    CHECK(last.arch_min <= 0);
    CHECK(last.arch_max >= 4);
  });
}

TEST_CASE("rows have names that fit force_kernel and are unique, and a launch") {
  for (const mr::Backend* backend : mr::backends()) {
    std::set<std::string> names;
    for_each_operator(backend->kernels(), [&](const auto& rows) {
      for (const auto& row : rows) {
        REQUIRE(row.name != nullptr);
        CAPTURE(std::string(row.name));
        CHECK(std::strlen(row.name) > 0);
        CHECK(std::strlen(row.name) < 64);
        CHECK(names.insert(row.name).second);
        CHECK((row.launch != nullptr));
        CHECK(row.arch_min <= row.arch_max);
      }
    });
  }
}
