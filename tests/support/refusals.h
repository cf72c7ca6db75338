// Wrong arguments that every operator must refuse: put to all four of its functions, none of which
// may accept them or write anything.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "support/op_test.h"

namespace test {

// The functions of one operator: {mr_add, mr_add_prepare, mr_add_workspace, mr_add_kernel}.
template <class Args>
struct Functions {
  mr_status (*run)(mr_stream*, const Args*, mr_error*);
  mr_status (*prepare)(mr_stream*, const Args*, mr_error*);
  mr_status (*workspace)(mr_stream*, const Args*, uint64_t*, mr_error*);
  mr_status (*kernel)(mr_stream*, const Args*, mr_kernel_info*, mr_error*);
};

template <class Args>
void expect_run(const Functions<Args>& op, Place& place, const Args& args) {
  mr_error error = {};
  const mr_status status = op.run(place.stream(), &args, &error);
  CHECK_MESSAGE(status == MR_OK, mr_status_name(status) << ": " << error.text);
}

// `name` is the argument that the text must open with.
template <class Args>
void expect_all_refuse(const Functions<Args>& op, Place& place, const Args& bad, mr_status code,
                       const std::string& name) {
  const std::string part = name + ":";
  mr_error error = {};
  expect_refused(op.run(place.stream(), &bad, &error), error, code, part.c_str());
  error = {};
  expect_refused(op.prepare(place.stream(), &bad, &error), error, code, part.c_str());
  error = {};
  uint64_t bytes = 77;
  expect_refused(op.workspace(place.stream(), &bad, &bytes, &error), error, code, part.c_str());
  CHECK(bytes == 77);
  error = {};
  mr_kernel_info info = MR_KERNEL_INFO_INIT;
  expect_refused(op.kernel(place.stream(), &bad, &info, &error), error, code, part.c_str());
  CHECK(info.name[0] == '\0');
}

// `wrong` has NULL for data somewhere: a launch refuses it, the queries do not need it.
template <class Args>
void expect_only_launch_needs_data(const Functions<Args>& op, Place& place, const Args& wrong,
                                   const std::string& name) {
  mr_error error = {};
  expect_refused(op.run(place.stream(), &wrong, &error), error, MR_INVALID_ARGUMENT,
                 (name + ":").c_str());
  uint64_t bytes = 77;
  mr_kernel_info info = MR_KERNEL_INFO_INIT;
  CHECK(op.prepare(place.stream(), &wrong, nullptr) == MR_OK);
  CHECK(op.workspace(place.stream(), &wrong, &bytes, nullptr) == MR_OK);
  CHECK(op.kernel(place.stream(), &wrong, &info, nullptr) == MR_OK);
  CHECK(info.name[0] != '\0');
  CHECK(info.workspace_bytes == bytes);
}

enum class Role { kInput, kOptionalInput, kOutput, kOptionalOutput };

// Every way in which the description of one tensor can be wrong, whatever the operator. In `good`
// the tensor is present and its first extent is at least 2.
template <class Args>
void expect_bad_tensor_refused(const Functions<Args>& op, Place& place, const Args& good,
                               mr_tensor Args::*field, const std::string& name, Role role) {
  const auto refuse = [&](mr_status code, auto&& change) {
    Args bad = good;
    change(bad.*field);
    expect_all_refuse(op, place, bad, code, name);
  };
  const auto invalid = [&](auto&& change) { refuse(MR_INVALID_ARGUMENT, change); };
  REQUIRE((good.*field).shape[0] >= 2);

  if (role == Role::kInput || role == Role::kOutput) {
    invalid([](mr_tensor& t) { t.dtype = MR_ABSENT; });
  }
  invalid([](mr_tensor& t) { t.dtype = MR_DTYPE(9, 32, 1); });  // no such code
  invalid([](mr_tensor& t) { t.dtype = MR_DTYPE(2, 32, 4); });  // four lanes
  invalid([](mr_tensor& t) { t.dtype = MR_U8; });               // known, but taken nowhere
  invalid([](mr_tensor& t) { t.rank = -1; });
  invalid([](mr_tensor& t) { t.rank = MR_MAX_RANK + 1; });
  invalid([](mr_tensor& t) { t.rank = std::numeric_limits<int32_t>::max(); });
  invalid([](mr_tensor& t) { t.flags = 0x8; });
  invalid([](mr_tensor& t) { t.flags = uint64_t{1} << 63; });
  invalid([](mr_tensor& t) { t.reserved = 1; });
  invalid([](mr_tensor& t) { t.shape[0] = -1; });
  invalid([](mr_tensor& t) { t.shape[0] = std::numeric_limits<int64_t>::min(); });
  invalid([](mr_tensor& t) { t.strides[0] = std::numeric_limits<int64_t>::min(); });
  invalid([](mr_tensor& t) { t.strides[0] = std::numeric_limits<int64_t>::max(); });
  refuse(MR_MISALIGNED, [](mr_tensor& t) { t.data = static_cast<char*>(t.data) + 1; });
  if (role == Role::kOutput || role == Role::kOptionalOutput) {
    invalid([](mr_tensor& t) { t.flags = MR_TENSOR_READ_ONLY; });
    invalid([](mr_tensor& t) { t.strides[0] = 0; });
  }

  Args without_data = good;
  (without_data.*field).data = nullptr;
  expect_only_launch_needs_data(op, place, without_data, name);
}

}  // namespace test
