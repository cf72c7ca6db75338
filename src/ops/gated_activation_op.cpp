// mr_gated_activation: the checks of elementwise.h, then the flat form.
#include "ops/check.h"
#include "ops/op_list.h"

namespace mr {
namespace {

Status flatten(const mr_gated_activation_args& args, Purpose purpose, GatedActivationArgs* out) {
  MR_TRY(check::tensor(args.gate, "args.gate", purpose));
  MR_TRY(check::float_dtype(args.gate, "args.gate"));
  MR_TRY(check::rank(args.gate, "args.gate", 1, MR_MAX_RANK));
  MR_TRY(check::tensor(args.up, "args.up", purpose));
  MR_TRY(check::dtype(args.up, "args.up", args.gate.dtype));
  MR_TRY(check::same_shape(args.up, "args.up", args.gate));
  MR_TRY(check::output(args.output, "args.output", purpose));
  MR_TRY(check::dtype(args.output, "args.output", args.gate.dtype));
  MR_TRY(check::same_shape(args.output, "args.output", args.gate));
  if (args.activation > MR_ACTIVATION_GELU_ERF) {
    return invalid("args.activation", "is no activation that the library knows", args.activation,
                   MR_ACTIVATION_GELU_ERF);
  }
  if (args.reserved != 0) return invalid("args.reserved", "is not 0", args.reserved, 0);

  const check::RowTensor tensors[] = {
      {&args.gate, "args.gate", &out->gate},
      {&args.up, "args.up", &out->up},
      {&args.output, "args.output", &out->output},
  };
  MR_TRY(check::rows(tensors, &out->space));
  out->dtype = args.gate.dtype;
  out->activation = args.activation;
  return {};
}

bool empty(const GatedActivationArgs& args) {
  return args.space.rows() == 0 || args.space.width == 0;
}

}  // namespace

constinit const Op<mr_gated_activation_args, GatedActivationArgs> kGatedActivation = {
    .name = "gated_activation",
    .known_flags = 0,
    .flatten = flatten,
    .empty = empty,
    .rows = &KernelTable::gated_activation,
};

}  // namespace mr
