// Argument structs of every operator from arbitrary bytes.
//
// Two ways to use the bytes. Raw: they are the struct, pointers included, and go to the functions
// that must not look at data (_kernel, _workspace, _prepare). Shaped: tensors are made from them
// whose every element lies within real memory, or which have no data, and the operator is enqueued:
// a call that passes the checks must then stay within that memory, which the sanitizers watch.
//
// What an operator's header trusts (offsets, lengths) holds legal values; what it says it checks
// (ids, slots, pages, filter parameters) holds anything. Inputs that are indices lie apart from all
// outputs.
#include <initializer_list>
#include <type_traits>

#include "fuzz_tensors.h"

namespace {

using namespace fuzz;

// ---- Operators ----------------------------------------------------------------------------------

template <class Args>
struct Field {
  mr_tensor Args::*tensor;
  Wanted wanted;
};

template <class Args>
struct Operator {
  mr_status (*run)(mr_stream*, const Args*, mr_error*);
  mr_status (*prepare)(mr_stream*, const Args*, mr_error*);
  mr_status (*workspace)(mr_stream*, const Args*, uint64_t*, mr_error*);
  mr_status (*kernel)(mr_stream*, const Args*, mr_kernel_info*, mr_error*);
  std::initializer_list<Field<Args>> fields;
};

template <class Args>
void ask(const Operator<Args>& op, const Args& args, uint32_t which) {
  mr_stream* const stream = world().stream;
  Report report;
  mr_status status = MR_OK;
  uint64_t bytes = 77;
  mr_kernel_info info = MR_KERNEL_INFO_INIT;
  if (which == 0) status = op.prepare(stream, &args, report.out());
  if (which == 1) status = op.workspace(stream, &args, &bytes, report.out());
  if (which == 2) status = op.kernel(stream, &args, &info, report.out());
  report.check(status);
  if (status != MR_OK) expect(bytes == 77 && info.name[0] == '\0', "outputs untouched on failure");
  if (status == MR_OK && which == 2) expect(info.name[0] != '\0', "a kernel has a name");
}

template <class Args>
void raw(const Operator<Args>& op, Source& source) {
  // Room behind, for structs that say that they are longer; the announced size is bounded by it.
  struct {
    Args args;
    char tail[256];
  } room;
  const uint32_t which = source.below(3);
  const bool right_size = source.below(8) != 0;
  source.fill(&room, sizeof room);
  if (right_size) {
    room.args.struct_size = sizeof(Args);
    room.args.flags &= 0xffu;
  } else if (room.args.struct_size > sizeof room) {
    room.args.struct_size %= sizeof room + 1;
  }
  ask(op, room.args, which);
}

// The tensors first: they decide most. The scalars of the struct are what the bytes behind them
// say.
template <class Args>
void enqueue(const Operator<Args>& op, Source& source) {
  World& w = world();
  constexpr size_t kMost = 16;
  mr_tensor tensors[kMost];
  expect(op.fields.size() <= kMost, "room for the tensors");
  const uint32_t mask = source.below(4) == 0 ? 0xffffffffu : 0x3u;
  const bool reserved = source.below(32) == 0, plain = source.below(2) == 0;
  const Common common(source);
  size_t count = 0;
  for (const Field<Args>& field : op.fields) {
    tensors[count++] = source.below(12) == 0 ? mr_tensor{} : shaped(source, common, field.wanted);
  }
  Args args;
  std::memset(static_cast<void*>(&args), 0, sizeof args);
  char scalars[sizeof(Args)];
  source.fill(scalars, 96);
  // They stand at the struct's end, behind the tensors.
  std::memcpy(reinterpret_cast<char*>(&args) + sizeof args - std::min<size_t>(96, sizeof args),
              scalars, std::min<size_t>(96, sizeof args));
  args.flags = source.take<uint32_t>() & mask;
  args.struct_size = sizeof args;
  if constexpr (requires { args.reserved; }) args.reserved = reserved;
  if constexpr (requires { args.rope; }) {
    if (plain) args.rope = mr_rope_config MR_ROPE_CONFIG_INIT;  // most others are refused
  }
  count = 0;
  for (const Field<Args>& field : op.fields) args.*field.tensor = tensors[count++];
  source.fill(w.data.data(), 512);
  source.fill(w.output.data(), 64);
  source.fill(w.index.data(), 256);
  if constexpr (std::is_same_v<Args, mr_attention_args>) {
    const bool paged = args.k.rank == 4;
    fill_table(args.cu_q, args.q.shape[0]);
    if (!paged) fill_table(args.cu_kv, args.k.shape[0]);
    if (paged) fill_table(args.kv_len, source.below(64));
  }
  const Args before = args;
  Report report;
  report.check(op.run(w.stream, &args, report.out()));
  expect(std::memcmp(&args, &before, sizeof args) == 0, "the arguments are only read");
}

template <class Args>
void fuzz_one(const Operator<Args>& op, Source& source) {
  if (source.below(4) == 0) {
    raw(op, source);
  } else {
    enqueue(op, source);
  }
}

// Fields by where they lie.
#define DATA(field, dims, type)            \
  {                                        \
    &A::field, { Lies::kData, dims, type } \
  }
#define OUT(field, dims, type)               \
  {                                          \
    &A::field, { Lies::kOutput, dims, type } \
  }
#define INDEX(field, dims, type)            \
  {                                         \
    &A::field, { Lies::kIndex, dims, type } \
  }
#define TABLE(field)                      \
  {                                       \
    &A::field, { Lies::kTable, "b", '4' } \
  }
#define FUZZ(op, ...)                                                                          \
  do {                                                                                         \
    using A = mr_##op##_args;                                                                  \
    fuzz_one(                                                                                  \
        Operator<A>{                                                                           \
            mr_##op, mr_##op##_prepare, mr_##op##_workspace, mr_##op##_kernel, {__VA_ARGS__}}, \
        source);                                                                               \
    return;                                                                                    \
  } while (0)

void fuzz_operator(uint32_t which, Source& source) {
  switch (which) {
    case 0:
      FUZZ(embedding, INDEX(ids, "r", 'i'), DATA(table, "vw", 'T'), OUT(output, "rw", 'T'),
           OUT(row_status, "r", '4'));
    case 1:
      FUZZ(rmsnorm, DATA(input, "rhw", 'T'), DATA(residual, "rhw", 'T'), DATA(weight, "w", 'T'),
           OUT(output, "rhw", 'T'), OUT(residual_output, "rhw", 'T'));
    case 2:
      FUZZ(add, DATA(a, "rhw", 'T'), DATA(b, "rhw", 'T'), OUT(output, "rhw", 'T'));
    case 3:
      FUZZ(gated_activation, DATA(gate, "rhw", 'T'), DATA(up, "rhw", 'T'), OUT(output, "rhw", 'T'));
    case 4:
      FUZZ(rope, DATA(input, "thd", 'T'), INDEX(positions, "t", 'i'), OUT(output, "thd", 'T'));
    case 5:
      FUZZ(qkv_post, DATA(q, "thd", 'T'), DATA(k, "tkd", 'T'), DATA(v, "tkv", 'T'),
           DATA(q_bias, "hd", 'T'), DATA(k_bias, "kd", 'T'), DATA(v_bias, "kv", 'T'),
           DATA(q_norm, "d", 'T'), DATA(k_norm, "d", 'f'), INDEX(positions, "t", 'i'),
           INDEX(slot, "t", '8'), OUT(q_output, "thd", 'T'), OUT(k_cache, "pskd", 'T'),
           OUT(v_cache, "pskv", 'T'), OUT(row_status, "t", '4'));
    case 6:
      FUZZ(attention, DATA(q, "tkd", 'T'), DATA(k, "nkd", 'T'), DATA(v, "nkv", 'T'), TABLE(cu_q),
           TABLE(cu_kv), OUT(output, "tkv", 'T'), OUT(lse, "tk", 'f'), OUT(row_status, "t", '4'));
    case 7:
      FUZZ(attention, DATA(q, "tkd", 'T'), DATA(k, "pskd", 'T'), DATA(v, "pskv", 'T'), TABLE(cu_q),
           {&A::kv_len, {Lies::kLengths, "b", '4'}}, INDEX(block_table, "bm", '4'),
           OUT(output, "tkv", 'T'), OUT(lse, "tk", 'f'), OUT(row_status, "t", '4'));
    case 8:
      FUZZ(matmul, DATA(x, "mk", 'T'), DATA(w, "nk", 'T'), DATA(bias, "n", 'T'), DATA(c, "mn", 'T'),
           OUT(d, "mn", 'T'));
    case 9:
      FUZZ(argmax, DATA(input, "rw", 'T'), OUT(output, "r", 'i'), OUT(row_status, "r", '4'));
    default:
      FUZZ(sample, DATA(logits, "rw", 'T'), DATA(temperature, "r", 'f'), INDEX(top_k, "r", '4'),
           DATA(top_p, "r", 'f'), DATA(min_p, "r", 'f'), INDEX(seed, "r", 'u'),
           OUT(rng_offset, "r", 'u'), OUT(output, "r", 'i'), OUT(row_status, "r", '4'));
  }
}

// ---- Plans and options --------------------------------------------------------------------------

void fuzz_plan(Source& source) {
  mr_matmul_problem problem;
  source.fill(&problem, sizeof problem);
  problem.struct_size = sizeof problem;
  const bool likely = source.below(4) != 0;
  if (likely) {
    problem.flags &= MR_MATMUL_ADD_C;
    problem.dtype = kDTypes[source.below(3)];
    problem.d_dtype = source.below(2) == 0 ? problem.dtype : MR_F32;
    problem.bias_dtype = source.below(2) == 0 ? MR_ABSENT : problem.dtype;
    problem.activation %= 7;
    for (int64_t* extent : {&problem.batch, &problem.m_max, &problem.n, &problem.k}) *extent &= 7;
  }
  mr_matmul_plan* plan = nullptr;
  Report report;
  const mr_status status = mr_matmul_plan_create(world().context, &problem, &plan, report.out());
  report.check(status);
  expect((plan != nullptr) == (status == MR_OK), "a plan on success alone");
  if (status != MR_OK) return;
  const int64_t m = likely ? source.below(9) : source.take<int64_t>();
  uint64_t bytes = 0;
  mr_kernel_info info = MR_KERNEL_INFO_INIT;
  (void)mr_matmul_plan_workspace(plan, m, &bytes, nullptr);
  (void)mr_matmul_plan_kernel(plan, m, &info, nullptr);
  mr_matmul_operands run = MR_MATMUL_OPERANDS_INIT;
  const Common common(source);
  run.x = shaped(source, common, {Lies::kData, "mk", 'T'});
  run.w = shaped(source, common, {Lies::kData, "nk", 'T'});
  run.bias = shaped(source, common, {Lies::kData, "n", 'T'});
  run.c = shaped(source, common, {Lies::kData, "mn", 'T'});
  run.d = shaped(source, common, {Lies::kOutput, "mn", 'T'});
  run.alpha = source.take<float>();
  run.beta = source.take<float>();
  Report ran;
  ran.check(mr_matmul_run(plan, world().stream, &run, ran.out()));
  mr_matmul_plan_release(plan);
}

void fuzz_option(Source& source) {
  char name[24] = {}, value[24] = {}, text[8];
  source.fill(name, sizeof name - 1);
  source.fill(value, sizeof value - 1);
  constexpr const char* kNames[] = {"determinism", "fallback", "host.threads", "library.cublaslt"};
  const char* const known = kNames[source.below(4)];
  for (const char* which : {static_cast<const char*>(name), known}) {
    Report set, got;
    set.check(mr_context_set_option(world().context, which, value, set.out()));
    got.check(
        mr_context_get_option(world().context, which, text, source.below(9), nullptr, got.out()));
  }
  // Nothing that the next input would feel.
  (void)mr_context_set_option(world().context, "determinism", "fast", nullptr);
  (void)mr_context_set_option(world().context, "fallback", "allow", nullptr);
  (void)mr_context_set_option(world().context, "force_kernel", "", nullptr);
  (void)mr_context_set_option(world().context, "synchronous", "off", nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  world().reset();
  Source source(data, size);
  const uint32_t which = source.below(14);
  if (which < 11) fuzz_operator(which, source);
  if (which == 11 || which == 12) fuzz_plan(source);
  if (which == 13) fuzz_option(source);
  return 0;
}
