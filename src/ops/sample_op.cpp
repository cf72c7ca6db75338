// mr_sample: the checks of sampling.h, then the flat form.
#include "ops/check.h"
#include "ops/op_list.h"

namespace mr {
namespace {

// An optional per-row parameter.
template <class T>
Status parameter(const mr_tensor& tensor, const char* name, mr_dtype dtype, int64_t rows,
                 Purpose purpose, const T** data, int64_t* stride) {
  if (!check::present(tensor)) return {};
  const void* address = nullptr;
  MR_TRY(check::vector(tensor, name, dtype, rows, purpose, &address, stride));
  *data = static_cast<const T*>(address);
  return {};
}

Status check_parameters(const mr_sample_args& args, Purpose purpose, SampleArgs* out) {
  const int64_t rows = out->rows;
  MR_TRY(parameter(args.temperature, "args.temperature", MR_F32, rows, purpose, &out->temperature,
                   &out->temperature_stride));
  MR_TRY(
      parameter(args.top_k, "args.top_k", MR_I32, rows, purpose, &out->top_k, &out->top_k_stride));
  MR_TRY(
      parameter(args.top_p, "args.top_p", MR_F32, rows, purpose, &out->top_p, &out->top_p_stride));
  return parameter(args.min_p, "args.min_p", MR_F32, rows, purpose, &out->min_p,
                   &out->min_p_stride);
}

Status check_random(const mr_sample_args& args, Purpose purpose, SampleArgs* out) {
  const void* seed = nullptr;
  MR_TRY(
      check::vector(args.seed, "args.seed", MR_U64, out->rows, purpose, &seed, &out->seed_stride));
  out->seed = static_cast<const uint64_t*>(seed);
  const void* offset = nullptr;
  MR_TRY(check::output(args.rng_offset, "args.rng_offset", purpose));
  MR_TRY(check::vector(args.rng_offset, "args.rng_offset", MR_U64, out->rows, purpose, &offset,
                       &out->rng_offset_stride));
  out->rng_offset = static_cast<uint64_t*>(const_cast<void*>(offset));
  return {};
}

Status flatten(const mr_sample_args& args, Purpose purpose, SampleArgs* out) {
  MR_TRY(check::tensor(args.logits, "args.logits", purpose));
  MR_TRY(check::float_dtype(args.logits, "args.logits"));
  MR_TRY(check::rank(args.logits, "args.logits", 2));
  out->dtype = args.logits.dtype;
  out->rows = args.logits.shape[0];
  out->vocab = args.logits.shape[1];
  if (out->rows > 0 && out->vocab < 1) {
    return invalid("args.logits", "has rows without a token", out->vocab, 1);
  }
  out->logits = args.logits.data;
  out->logits_row_stride = args.logits.strides[0];
  out->logits_stride = args.logits.strides[1];
  MR_TRY(check_parameters(args, purpose, out));
  MR_TRY(check_random(args, purpose, out));
  MR_TRY(check::output(args.output, "args.output", purpose));
  MR_TRY(check::dtype(args.output, "args.output", {MR_I32, MR_I64}));
  MR_TRY(check::rank(args.output, "args.output", 1));
  MR_TRY(check::extent(args.output, "args.output", 0, out->rows));
  if (args.output.dtype == MR_I32 && out->vocab > int64_t{INT32_MAX} + 1) {
    return invalid("args.logits", "has more tokens than an I32 id can name", out->vocab,
                   int64_t{INT32_MAX} + 1);
  }
  out->output_dtype = args.output.dtype;
  out->output = args.output.data;
  out->output_stride = args.output.strides[0];
  return check::row_status(args.row_status, "args.row_status", out->rows, purpose, &out->row_status,
                           &out->row_status_stride);
}

bool empty(const SampleArgs& args) { return args.rows == 0; }

}  // namespace

constinit const Op<mr_sample_args, SampleArgs> kSample = {
    .name = "sample",
    .known_flags = 0,
    .flatten = flatten,
    .empty = empty,
    .rows = &KernelTable::sample,
};

}  // namespace mr
