// mr_rmsnorm: the checks of norm.h, then the flat form.
#include <cmath>

#include "ops/check.h"
#include "ops/op_list.h"

namespace mr {
namespace {

Status check_optional(const mr_rmsnorm_args& args, Purpose purpose) {
  if (check::present(args.residual)) {
    MR_TRY(check::tensor(args.residual, "args.residual", purpose));
    MR_TRY(check::dtype(args.residual, "args.residual", args.input.dtype));
    MR_TRY(check::same_shape(args.residual, "args.residual", args.input));
  }
  if (check::present(args.residual_output)) {
    if (!check::present(args.residual)) {
      return invalid("args.residual_output", "is given without a residual");
    }
    MR_TRY(check::output(args.residual_output, "args.residual_output", purpose));
    MR_TRY(check::dtype(args.residual_output, "args.residual_output", args.input.dtype));
    MR_TRY(check::same_shape(args.residual_output, "args.residual_output", args.input));
  }
  if (check::present(args.weight)) {
    MR_TRY(check::tensor(args.weight, "args.weight", purpose));
    MR_TRY(check::dtype(args.weight, "args.weight", {args.input.dtype, MR_F32}));
    MR_TRY(check::rank(args.weight, "args.weight", 1));
    MR_TRY(check::extent(args.weight, "args.weight", 0, args.input.shape[args.input.rank - 1]));
  }
  return {};
}

Status flatten(const mr_rmsnorm_args& args, Purpose purpose, RmsNormArgs* out) {
  MR_TRY(check::tensor(args.input, "args.input", purpose));
  MR_TRY(check::float_dtype(args.input, "args.input"));
  MR_TRY(check::rank(args.input, "args.input", 1, MR_MAX_RANK));
  MR_TRY(check::output(args.output, "args.output", purpose));
  MR_TRY(check::dtype(args.output, "args.output", args.input.dtype));
  MR_TRY(check::same_shape(args.output, "args.output", args.input));
  MR_TRY(check_optional(args, purpose));
  if (!std::isfinite(args.epsilon) || args.epsilon < 0.0f) {
    return invalid("args.epsilon", "is negative or not finite");
  }
  if (args.reserved != 0) return invalid("args.reserved", "is not 0", args.reserved, 0);

  const check::RowTensor tensors[] = {
      {&args.input, "args.input", &out->input},
      {&args.residual, "args.residual", &out->residual},
      {&args.output, "args.output", &out->output},
      {&args.residual_output, "args.residual_output", &out->residual_output},
  };
  MR_TRY(check::rows(tensors, &out->space));
  out->dtype = args.input.dtype;
  if (check::present(args.weight)) {
    out->weight_dtype = args.weight.dtype;
    out->weight = args.weight.data;
    out->weight_stride = args.weight.strides[0];
  }
  out->epsilon = args.epsilon;
  out->weight_plus_one = (args.flags & MR_RMSNORM_WEIGHT_PLUS_ONE) != 0;
  out->round_before_weight = (args.flags & MR_RMSNORM_ROUND_BEFORE_WEIGHT) != 0;
  return {};
}

bool empty(const RmsNormArgs& args) { return args.space.rows() == 0 || args.space.width == 0; }

}  // namespace

constinit const Op<mr_rmsnorm_args, RmsNormArgs> kRmsNorm = {
    .name = "rmsnorm",
    .known_flags = MR_RMSNORM_WEIGHT_PLUS_ONE | MR_RMSNORM_ROUND_BEFORE_WEIGHT,
    .flatten = flatten,
    .empty = empty,
    .rows = &KernelTable::rmsnorm,
};

}  // namespace mr
