// mr_rope: the checks of rope.h, then the flat form.
#include "ops/check.h"
#include "ops/op_list.h"
#include "ops/rope_config.h"

namespace mr {
namespace {

Status flatten(const mr_rope_args& args, Purpose purpose, RopeArgs* out) {
  MR_TRY(check::tensor(args.input, "args.input", purpose));
  MR_TRY(check::float_dtype(args.input, "args.input"));
  MR_TRY(check::rank(args.input, "args.input", 3));
  MR_TRY(check::inner_stride_one(args.input, "args.input"));
  MR_TRY(check_head_dim(args.input.shape[2], "args.input"));
  MR_TRY(check::output(args.output, "args.output", purpose));
  MR_TRY(check::dtype(args.output, "args.output", args.input.dtype));
  MR_TRY(check::same_shape(args.output, "args.output", args.input));
  MR_TRY(check::inner_stride_one(args.output, "args.output"));
  MR_TRY(check::tensor(args.positions, "args.positions", purpose));
  MR_TRY(check::dtype(args.positions, "args.positions", {MR_I32, MR_I64}));
  MR_TRY(check::vector(args.positions, "args.positions", args.positions.dtype, args.input.shape[0],
                       purpose, &out->positions, &out->positions_stride));
  MR_TRY(rope_params(args.rope, args.input.shape[2], &out->rope));

  out->dtype = args.input.dtype;
  out->positions_dtype = args.positions.dtype;
  out->tokens = args.input.shape[0];
  out->heads = args.input.shape[1];
  out->dim = static_cast<int32_t>(args.input.shape[2]);
  out->input = {args.input.data, true, args.input.strides[0], args.input.strides[1]};
  out->output = {args.output.data, true, args.output.strides[0], args.output.strides[1]};
  return {};
}

bool empty(const RopeArgs& args) { return args.tokens == 0 || args.heads == 0 || args.dim == 0; }

}  // namespace

constinit const Op<mr_rope_args, RopeArgs> kRope = {
    .name = "rope",
    .known_flags = 0,
    .flatten = flatten,
    .empty = empty,
    .rows = &KernelTable::rope,
};

}  // namespace mr
