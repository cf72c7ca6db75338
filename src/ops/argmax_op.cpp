// mr_argmax: the checks of sampling.h, then the flat form.
#include "ops/check.h"
#include "ops/op_list.h"

namespace mr {
namespace {

Status flatten(const mr_argmax_args& args, Purpose purpose, ArgmaxArgs* out) {
  MR_TRY(check::tensor(args.input, "args.input", purpose));
  MR_TRY(check::float_dtype(args.input, "args.input"));
  MR_TRY(check::rank(args.input, "args.input", 2));
  MR_TRY(check::output(args.output, "args.output", purpose));
  MR_TRY(check::dtype(args.output, "args.output", {MR_I32, MR_I64}));
  MR_TRY(check::rank(args.output, "args.output", 1));
  MR_TRY(check::extent(args.output, "args.output", 0, args.input.shape[0]));

  out->dtype = args.input.dtype;
  out->output_dtype = args.output.dtype;
  out->rows = args.input.shape[0];
  out->width = args.input.shape[1];
  if (out->rows > 0 && out->width == 0) {
    return invalid("args.input", "has rows of no width to choose from", out->width, 1);
  }
  if (args.output.dtype == MR_I32 && out->width > int64_t{INT32_MAX} + 1) {
    return invalid("args.input", "is wider than an I32 index can say", out->width,
                   int64_t{INT32_MAX} + 1);
  }
  out->input = args.input.data;
  out->input_row_stride = args.input.strides[0];
  out->input_stride = args.input.strides[1];
  out->output = args.output.data;
  out->output_stride = args.output.strides[0];
  return check::row_status(args.row_status, "args.row_status", out->rows, purpose, &out->row_status,
                           &out->row_status_stride);
}

bool empty(const ArgmaxArgs& args) { return args.rows == 0; }

}  // namespace

constinit const Op<mr_argmax_args, ArgmaxArgs> kArgmax = {
    .name = "argmax",
    .known_flags = 0,
    .flatten = flatten,
    .empty = empty,
    .rows = &KernelTable::argmax,
};

}  // namespace mr
