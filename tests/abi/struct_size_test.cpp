// Case B06, second half: structs of older and newer callers. For every struct that carries its size
// and every function that takes or fills it:
//   8 bytes shorter     the missing fields are zero, and nothing behind the end is touched: the
//   struct
//                       ends at a page that may not be read or written
//   longer, zero tail   as the full struct
//   longer, other tail  UNSUPPORTED
//   unknown flag bits   INVALID_ARGUMENT
// struct_table.inc lists them all; a new one without a call here does not compile.

#include <doctest/doctest.h>
#include <millrace/millrace.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "op_calls.h"

namespace {

// One page of bytes with a forbidden page behind it.
class Edge {
 public:
  Edge() : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    void* both =
        mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(both != MAP_FAILED);
    base_ = static_cast<char*>(both);
    REQUIRE(mprotect(base_ + page_, page_, PROT_NONE) == 0);
  }
  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;
  ~Edge() { munmap(base_, 2 * page_); }

  // The first `size` bytes of `from`, zeros beyond `known`, right before the forbidden page.
  void* place(const void* from, size_t known, size_t size) {
    char* to = base_ + page_ - size;
    std::memset(to, 0, size);
    std::memcpy(to, from, known < size ? known : size);
    const uint32_t announced = static_cast<uint32_t>(size);
    std::memcpy(to, &announced, sizeof announced);
    return to;
  }

 private:
  size_t page_;
  char* base_;
};

struct Fixture {
  Fixture() {
    mr_context_config config = MR_CONTEXT_CONFIG_INIT;
    config.backend = MR_BACKEND_HOST;
    REQUIRE(mr_context_create(&config, &context, &err) == MR_OK);
    REQUIRE(mr_stream_create(context, nullptr, &stream, &err) == MR_OK);
    mr_matmul_problem problem = MR_MATMUL_PROBLEM_INIT;
    problem.dtype = problem.d_dtype = MR_F32;
    problem.m_max = 2, problem.n = 3, problem.k = 4;
    REQUIRE(mr_matmul_plan_create(context, &problem, &plan, &err) == MR_OK);
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;
  ~Fixture() {
    mr_matmul_plan_release(plan);
    mr_stream_release(stream);
    mr_context_release(context);
  }
  mr_context* context = nullptr;
  mr_stream* stream = nullptr;
  mr_matmul_plan* plan = nullptr;
  op_calls::Arena arena;
  mr_error err;
};

// What a valid call of the struct looks like; operators have theirs in op_calls.h.
template <class Struct>
Struct initial();
#define MR_INITIAL(type, init) \
  template <>                  \
  type initial<type>() {       \
    type s = init;             \
    return s;                  \
  }
MR_INITIAL(mr_probe_info, MR_PROBE_INFO_INIT)
MR_INITIAL(mr_device_info, MR_DEVICE_INFO_INIT)
MR_INITIAL(mr_kernel_info, MR_KERNEL_INFO_INIT)
MR_INITIAL(mr_memory_config, MR_MEMORY_CONFIG_INIT)
MR_INITIAL(mr_memory_stats, MR_MEMORY_STATS_INIT)
MR_INITIAL(mr_context_config, MR_CONTEXT_CONFIG_INIT)
MR_INITIAL(mr_stream_config, MR_STREAM_CONFIG_INIT)
MR_INITIAL(mr_matmul_problem, MR_MATMUL_PROBLEM_INIT)
MR_INITIAL(mr_matmul_operands, MR_MATMUL_OPERANDS_INIT)

template <class Struct>
void complete(Struct&, Fixture&) {}
void complete(mr_memory_config& config, Fixture&) { config.backend = MR_BACKEND_HOST; }
void complete(mr_context_config& config, Fixture&) { config.backend = MR_BACKEND_HOST; }
void complete(mr_matmul_problem& problem, Fixture&) {
  problem.dtype = problem.d_dtype = MR_F32;
  problem.m_max = 2, problem.n = 3;  // k is the last field: 0, so that a shorter struct is the same
}
void complete(mr_matmul_operands& run, Fixture& f) {
  run.x = op_calls::floats(f.arena, 0, {2, 4});
  run.w = op_calls::floats(f.arena, 1, {3, 4});
  run.d = op_calls::floats(f.arena, 2, {2, 3});
}

// One call per function of the table, with whatever it makes released again.
mr_status call_mr_probe(Fixture& f, mr_probe_info* out) { return mr_probe(out, &f.err); }
mr_status call_mr_device_query(Fixture& f, mr_device_info* out) {
  return mr_device_query(0, out, &f.err);
}
mr_status call_mr_context_device(Fixture& f, mr_device_info* out) {
  return mr_context_device(f.context, out, &f.err);
}
mr_status call_mr_memory_get_stats(Fixture& f, mr_memory_stats* out) {
  return mr_memory_get_stats(mr_context_memory(f.context), out, &f.err);
}
mr_status call_mr_matmul_plan_kernel(Fixture& f, mr_kernel_info* out) {
  return mr_matmul_plan_kernel(f.plan, 2, out, &f.err);
}
mr_status call_mr_memory_create(Fixture& f, const mr_memory_config* config) {
  mr_memory* made = nullptr;
  const mr_status status = mr_memory_create(config, &made, &f.err);
  mr_memory_release(made);
  return status;
}
mr_status call_mr_context_create(Fixture& f, const mr_context_config* config) {
  mr_context* made = nullptr;
  const mr_status status = mr_context_create(config, &made, &f.err);
  mr_context_release(made);
  return status;
}
mr_status call_mr_stream_create(Fixture& f, const mr_stream_config* config) {
  mr_stream* made = nullptr;
  const mr_status status = mr_stream_create(f.context, config, &made, &f.err);
  mr_stream_release(made);
  return status;
}
mr_status call_mr_stream_wrap(Fixture& f, const mr_stream_config* config) {
  mr_stream* made = nullptr;
  const mr_status status =
      mr_stream_wrap(f.context, mr_stream_native(f.stream), config, &made, &f.err);
  mr_stream_release(made);
  return status;
}
mr_status call_mr_matmul_plan_create(Fixture& f, const mr_matmul_problem* problem) {
  mr_matmul_plan* made = nullptr;
  const mr_status status = mr_matmul_plan_create(f.context, problem, &made, &f.err);
  mr_matmul_plan_release(made);
  return status;
}
mr_status call_mr_matmul_run(Fixture& f, const mr_matmul_operands* operands) {
  return mr_matmul_run(f.plan, f.stream, operands, &f.err);
}

std::string text(const Fixture& f, mr_status status) {
  return status == MR_OK ? "ok" : std::string(mr_status_name(status)) + ": " + f.err.text;
}

// `call` takes a pointer to a struct of the announced size.
template <class Struct, class Call>
void check_reader(Fixture& f, const Struct& valid, Call&& call) {
  Edge edge;
  const size_t full = sizeof(Struct);
  const auto with = [&](const void* bytes, size_t known, size_t size) {
    return call(static_cast<const Struct*>(edge.place(bytes, known, size)));
  };
  mr_status status = with(&valid, full, full);
  CHECK_MESSAGE(status == MR_OK, "full size: " << text(f, status));
  status = with(&valid, full, full - 8);
  CHECK_MESSAGE(status == MR_OK, "8 bytes shorter: " << text(f, status));
  status = with(&valid, full, full + 8);
  CHECK_MESSAGE(status == MR_OK, "8 bytes longer, zero tail: " << text(f, status));
  status = with(&valid, full, full + 1024);
  CHECK_MESSAGE(status == MR_OK, "1024 bytes longer, zero tail: " << text(f, status));

  std::vector<char> longer(full + 1024);
  std::memcpy(longer.data(), &valid, full);
  for (const size_t at : {full, full + 7, full + 1023}) {  // first, last of a word, very last
    longer[at] = 1;
    status = with(longer.data(), at + 1, at < full + 8 ? full + 8 : full + 1024);
    CHECK_MESSAGE(status == MR_UNSUPPORTED, "byte " << at << " set: " << text(f, status));
    if (status == MR_UNSUPPORTED) CHECK(f.err.text[0] != '\0');
    longer[at] = 0;
  }
  // Only the size and the flags: every other field is missing, which no call may trip over.
  (void)with(&valid, full, 8);
  for (const uint32_t size : {0u, 4u, 7u}) {
    char stub[8] = {};
    std::memcpy(stub, &size, sizeof size);
    char* at = static_cast<char*>(edge.place(stub, 8, 8));
    std::memcpy(at, &size, sizeof size);
    status = call(reinterpret_cast<const Struct*>(at));
    CHECK_MESSAGE(status == MR_INVALID_ARGUMENT, "struct_size " << size << ": " << text(f, status));
  }
  Struct flagged = valid;
  flagged.flags |= 0x80000000u;
  status = with(&flagged, full, full);
  CHECK_MESSAGE(status == MR_INVALID_ARGUMENT, "an unknown flag: " << text(f, status));
}

template <class Struct, class Call>
void check_writer(Fixture& f, const Struct& empty, Call&& call) {
  Edge edge;
  const size_t full = sizeof(Struct);
  Struct whole = empty;
  mr_status status = call(&whole);
  REQUIRE_MESSAGE(status == MR_OK, "full size: " << text(f, status));
  CHECK(whole.struct_size == full);

  for (const size_t size : {full - 8, size_t{16}, size_t{8}}) {
    auto* shorter = static_cast<Struct*>(edge.place(&empty, full, size));
    status = call(shorter);
    CHECK_MESSAGE(status == MR_OK, size << " bytes: " << text(f, status));
    CHECK(shorter->struct_size == size);
  }
  auto* longer = static_cast<Struct*>(edge.place(&empty, full, full + 8));
  status = call(longer);
  CHECK_MESSAGE(status == MR_OK, "8 bytes longer: " << text(f, status));
  CHECK(longer->struct_size == full + 8);
  const char zeros[8] = {};
  CHECK(std::memcmp(reinterpret_cast<const char*>(longer) + full, zeros, 8) == 0);
}

}  // namespace

TEST_CASE("B06: argument structs of older and newer callers, every operator") {
  Fixture f;
#define MR_OPERATOR(op, args_type)                                                            \
  SUBCASE(#op) {                                                                              \
    args_type args = {};                                                                      \
    args.struct_size = sizeof args;                                                           \
    op_calls::fill(args, f.arena);                                                            \
    check_reader(f, args, [&](const args_type* a) { return mr_##op(f.stream, a, &f.err); });  \
    check_reader(f, args,                                                                     \
                 [&](const args_type* a) { return mr_##op##_prepare(f.stream, a, &f.err); }); \
    uint64_t bytes = 0;                                                                       \
    check_reader(f, args, [&](const args_type* a) {                                           \
      return mr_##op##_workspace(f.stream, a, &bytes, &f.err);                                \
    });                                                                                       \
    mr_kernel_info info = MR_KERNEL_INFO_INIT;                                                \
    check_reader(f, args, [&](const args_type* a) {                                           \
      return mr_##op##_kernel(f.stream, a, &info, &f.err);                                    \
    });                                                                                       \
    check_writer(f, initial<mr_kernel_info>(), [&](mr_kernel_info* out) {                     \
      return mr_##op##_kernel(f.stream, &args, out, &f.err);                                  \
    });                                                                                       \
  }
#define MR_CALLER_FILLS(type, function)
#define MR_LIBRARY_FILLS(type, function)
#include "struct_table.inc"
#undef MR_OPERATOR
#undef MR_CALLER_FILLS
#undef MR_LIBRARY_FILLS
}

TEST_CASE("B06: descriptions of older and newer callers") {
  Fixture f;
#define MR_OPERATOR(op, args_type)
#define MR_CALLER_FILLS(type, function)                                         \
  SUBCASE(#function) {                                                          \
    type s = initial<type>();                                                   \
    complete(s, f);                                                             \
    check_reader(f, s, [&](const type* in) { return call_##function(f, in); }); \
  }
#define MR_LIBRARY_FILLS(type, function)                                                  \
  SUBCASE(#function) {                                                                    \
    check_writer(f, initial<type>(), [&](type* out) { return call_##function(f, out); }); \
  }
#include "struct_table.inc"
#undef MR_OPERATOR
#undef MR_CALLER_FILLS
#undef MR_LIBRARY_FILLS
}
