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
#include <millrace/millrace.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <type_traits>

namespace {

// The fuzzer's bytes, then zeros.
class Source {
 public:
  Source(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  template <class T>
  T take() {
    T value = {};
    fill(&value, sizeof value);
    return value;
  }
  void fill(void* out, size_t bytes) {
    const size_t n = std::min(bytes, left_);
    if (n > 0) std::memcpy(out, data_, n);
    std::memset(static_cast<char*>(out) + n, 0, bytes - n);
    data_ += n;
    left_ -= n;
  }
  uint32_t below(uint32_t limit) { return take<uint8_t>() % limit; }

 private:
  const uint8_t* data_;
  size_t left_;
};

void expect(bool fact, const char* what) {
  if (fact) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

// Memory of an exact size, so that one byte beyond is seen.
class Region {
 public:
  explicit Region(size_t bytes) : bytes_(bytes), data_(static_cast<char*>(std::malloc(bytes))) {
    expect(data_ != nullptr, "memory for the test");
  }
  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  char* data_;
};

constexpr size_t kDataBytes = 16384, kIndexBytes = 4096, kTableEntries = 64;

// Made once; the process ends with them.
struct World {
  mr_context* context = nullptr;
  mr_stream* stream = nullptr;
  Region data{kDataBytes};
  Region index{kIndexBytes};
  Region table{kTableEntries * sizeof(int32_t)};

  World() {
    mr_context_config config = MR_CONTEXT_CONFIG_INIT;
    config.backend = MR_BACKEND_HOST;
    config.options = "host.threads=1;host.blas=off;host.streams=inline";
    expect(mr_context_create(&config, &context, nullptr) == MR_OK, "a context");
    expect(mr_stream_create(context, nullptr, &stream, nullptr) == MR_OK, "a stream");
  }
};

World& world() {
  static auto* const made = new World;
  return *made;
}

// A report is written on failure alone, all of it, and ends.
class Report {
 public:
  Report() { std::memset(&error_, 0x5a, sizeof error_); }
  mr_error* out() { return &error_; }
  void check(mr_status status) const {
    if (status == MR_OK) {
      expect(static_cast<unsigned char>(error_.text[0]) == 0x5a, "no report on success");
      return;
    }
    expect(std::strcmp(mr_status_name(status), "MR_STATUS_UNKNOWN") != 0, "a known status");
    expect(status != MR_INTERNAL, "no bug is reported");
    expect(error_.code == status, "the report's code is the status");
    expect(std::memchr(error_.text, 0, sizeof error_.text) != nullptr, "the text ends");
    expect(error_.text[0] != '\0', "the text says something");
  }

 private:
  mr_error error_;
};

// ---- Tensors ------------------------------------------------------------------------------------

enum class Lies { kData, kIndex, kTable };

constexpr mr_dtype kDTypes[] = {MR_F32, MR_F16, MR_BF16, MR_I32,    MR_I64,
                                MR_U64, MR_U8,  MR_F64,  MR_ABSENT, MR_DTYPE(2, 32, 4)};

// Bytes before and behind element 0 that the tensor reaches, if that is little.
bool reach(const mr_tensor& tensor, int64_t size, int64_t* before, int64_t* behind) {
  *before = 0;
  *behind = size;
  for (int32_t d = 0; d < tensor.rank; ++d) {
    const int64_t step = (tensor.shape[d] - 1) * tensor.strides[d] * size;
    (step < 0 ? *before : *behind) += step < 0 ? -step : step;
  }
  return *before + *behind <= static_cast<int64_t>(kDataBytes);
}

// Extents that fit each other often: one of a few per input.
struct Extents {
  int64_t pool[4];
  explicit Extents(Source& source) {
    for (int64_t& extent : pool) extent = source.below(9);
  }
  int64_t pick(Source& source) const {
    const uint32_t choice = source.below(16);
    return choice < 12 ? pool[choice % 4] : choice < 14 ? 1 : source.below(17);
  }
};

mr_tensor shaped(Source& source, const Extents& extents, Lies where) {
  World& w = world();
  mr_tensor tensor = MR_TENSOR_INIT;
  tensor.dtype = kDTypes[source.below(std::size(kDTypes))];
  tensor.rank = static_cast<int32_t>(source.below(5));
  if (where == Lies::kTable) tensor.dtype = MR_I32, tensor.rank = 1;
  const int64_t size = (tensor.dtype >> 8 & 0xffu) * (tensor.dtype >> 16) / 8;
  int64_t packed = 1;
  for (int32_t d = tensor.rank - 1; d >= 0; --d) {
    tensor.shape[d] = extents.pick(source);
    const uint32_t kind = where == Lies::kTable ? 0 : source.below(8);
    tensor.strides[d] = kind < 6 ? packed : kind == 6 ? -packed : source.take<int8_t>();
    packed *= std::max<int64_t>(tensor.shape[d], 1);
  }
  if (source.below(32) == 0) tensor.flags = source.take<uint64_t>();
  const bool empty =
      std::find(tensor.shape, tensor.shape + tensor.rank, 0) != tensor.shape + tensor.rank;
  int64_t before = 0, behind = 0;
  const Region& region = where == Lies::kData ? w.data : where == Lies::kIndex ? w.index : w.table;
  if (empty || size == 0 || !reach(tensor, size, &before, &behind)) return tensor;
  const auto room = static_cast<int64_t>(region.bytes()) - before - behind;
  if (room < 0 || source.below(16) == 0) return tensor;
  int64_t start = before + (where == Lies::kTable ? 0 : source.take<uint16_t>() % (room + 1));
  if (source.below(16) != 0) start -= std::min(start - before, start % size);
  tensor.data = region.data() + start;
  return tensor;
}

// cu_q, cu_kv and kv_len: non-decreasing from 0, and within what there is.
void fill_table(const mr_tensor& tensor, int64_t total) {
  if (tensor.data == nullptr || tensor.dtype != MR_I32 || tensor.rank != 1) return;
  auto* entries = static_cast<int32_t*>(tensor.data);
  const int64_t last = tensor.shape[0] - 1;
  for (int64_t i = 0; i <= last; ++i) {
    entries[i] = static_cast<int32_t>(last > 0 ? total * i / last : 0);
  }
}

// ---- Operators ----------------------------------------------------------------------------------

template <class Args>
struct Field {
  mr_tensor Args::*tensor;
  Lies where;
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

// Scalars of a struct are what is left of its bytes once the tensors are laid over them.
template <class Args>
void enqueue(const Operator<Args>& op, Source& source) {
  World& w = world();
  Args args;
  source.fill(&args, sizeof args);
  args.struct_size = sizeof args;
  args.flags &= source.below(4) == 0 ? 0xffffffffu : 0x3u;
  if constexpr (requires { args.reserved; }) {
    if constexpr (std::is_same_v<decltype(args.reserved), uint32_t>)
      args.reserved = source.below(32) == 0;
  }
  const Extents extents(source);
  for (const Field<Args>& field : op.fields)
    args.*field.tensor = shaped(source, extents, field.where);
  source.fill(w.data.data(), 512);
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
void fuzz(const Operator<Args>& op, Source& source) {
  if (source.below(4) == 0) {
    raw(op, source);
  } else {
    enqueue(op, source);
  }
}

#define OPERATOR(op, type, ...)                                                        \
  Operator<type> {                                                                     \
    mr_##op, mr_##op##_prepare, mr_##op##_workspace, mr_##op##_kernel, { __VA_ARGS__ } \
  }
#define DATA(type, field) \
  { &type::field, Lies::kData }
#define INDEX(type, field) \
  { &type::field, Lies::kIndex }
#define TABLE(type, field) \
  { &type::field, Lies::kTable }

void fuzz_operator(uint32_t which, Source& source) {
  switch (which) {
    case 0:
      return fuzz(OPERATOR(embedding, mr_embedding_args, INDEX(mr_embedding_args, ids),
                           DATA(mr_embedding_args, table), DATA(mr_embedding_args, output),
                           DATA(mr_embedding_args, row_status)),
                  source);
    case 1:
      return fuzz(OPERATOR(rmsnorm, mr_rmsnorm_args, DATA(mr_rmsnorm_args, input),
                           DATA(mr_rmsnorm_args, residual), DATA(mr_rmsnorm_args, weight),
                           DATA(mr_rmsnorm_args, output), DATA(mr_rmsnorm_args, residual_output)),
                  source);
    case 2:
      return fuzz(OPERATOR(add, mr_add_args, DATA(mr_add_args, a), DATA(mr_add_args, b),
                           DATA(mr_add_args, output)),
                  source);
    case 3:
      return fuzz(
          OPERATOR(gated_activation, mr_gated_activation_args, DATA(mr_gated_activation_args, gate),
                   DATA(mr_gated_activation_args, up), DATA(mr_gated_activation_args, output)),
          source);
    case 4:
      return fuzz(OPERATOR(rope, mr_rope_args, DATA(mr_rope_args, input),
                           INDEX(mr_rope_args, positions), DATA(mr_rope_args, output)),
                  source);
    case 5:
      return fuzz(
          OPERATOR(qkv_post, mr_qkv_post_args, DATA(mr_qkv_post_args, q), DATA(mr_qkv_post_args, k),
                   DATA(mr_qkv_post_args, v), DATA(mr_qkv_post_args, q_bias),
                   DATA(mr_qkv_post_args, k_bias), DATA(mr_qkv_post_args, v_bias),
                   DATA(mr_qkv_post_args, q_norm), DATA(mr_qkv_post_args, k_norm),
                   INDEX(mr_qkv_post_args, positions), INDEX(mr_qkv_post_args, slot),
                   DATA(mr_qkv_post_args, q_output), DATA(mr_qkv_post_args, k_cache),
                   DATA(mr_qkv_post_args, v_cache), DATA(mr_qkv_post_args, row_status)),
          source);
    case 6:
      return fuzz(OPERATOR(attention, mr_attention_args, DATA(mr_attention_args, q),
                           DATA(mr_attention_args, k), DATA(mr_attention_args, v),
                           TABLE(mr_attention_args, cu_q), TABLE(mr_attention_args, cu_kv),
                           TABLE(mr_attention_args, kv_len), INDEX(mr_attention_args, block_table),
                           DATA(mr_attention_args, output), DATA(mr_attention_args, lse),
                           DATA(mr_attention_args, row_status)),
                  source);
    case 7:
      return fuzz(
          OPERATOR(matmul, mr_matmul_args, DATA(mr_matmul_args, x), DATA(mr_matmul_args, w),
                   DATA(mr_matmul_args, bias), DATA(mr_matmul_args, c), DATA(mr_matmul_args, d)),
          source);
    case 8:
      return fuzz(OPERATOR(argmax, mr_argmax_args, DATA(mr_argmax_args, input),
                           DATA(mr_argmax_args, output), DATA(mr_argmax_args, row_status)),
                  source);
    default:
      return fuzz(OPERATOR(sample, mr_sample_args, DATA(mr_sample_args, logits),
                           DATA(mr_sample_args, temperature), INDEX(mr_sample_args, top_k),
                           DATA(mr_sample_args, top_p), DATA(mr_sample_args, min_p),
                           INDEX(mr_sample_args, seed), DATA(mr_sample_args, rng_offset),
                           DATA(mr_sample_args, output), DATA(mr_sample_args, row_status)),
                  source);
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
  const Extents extents(source);
  for (mr_tensor* tensor : {&run.x, &run.w, &run.bias, &run.c, &run.d}) {
    *tensor = shaped(source, extents, Lies::kData);
  }
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
  Source source(data, size);
  const uint32_t which = source.below(13);
  if (which < 10) fuzz_operator(which, source);
  if (which == 10 || which == 11) fuzz_plan(source);
  if (which == 12) fuzz_option(source);
  return 0;
}
