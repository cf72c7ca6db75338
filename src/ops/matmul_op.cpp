// mr_matmul: the checks of matmul.h, then the flat form.
#include "ops/check.h"
#include "ops/matmul_check.h"
#include "ops/op_list.h"

namespace mr {
namespace {

// [(batch,) rows, columns] as x is of rank 2 or 3.
Status matrix(const MatmulOperand& operand, int32_t rank, int64_t batch, int64_t rows,
              int64_t columns) {
  MR_TRY(check::rank(operand.tensor, operand.name, rank));
  if (rank == 3) MR_TRY(check::extent(operand.tensor, operand.name, 0, batch));
  MR_TRY(check::extent(operand.tensor, operand.name, rank - 2, rows));
  return check::extent(operand.tensor, operand.name, rank - 1, columns);
}

MatrixView view(const mr_tensor& tensor) {
  const int32_t row = tensor.rank - 2;
  return {tensor.data, row > 0 ? tensor.strides[0] : 0, tensor.strides[row],
          tensor.strides[row + 1]};
}

Status check_bias(const MatmulOperand& bias, int64_t n, mr_dtype dtype, Purpose purpose,
                  MatmulArgs* out) {
  if (!check::present(bias.tensor)) return {};
  MR_TRY(check::tensor(bias.tensor, bias.name, purpose));
  MR_TRY(check::dtype(bias.tensor, bias.name, {dtype, MR_F32}));
  MR_TRY(check::rank(bias.tensor, bias.name, 1));
  MR_TRY(check::extent(bias.tensor, bias.name, 0, n));
  out->bias_dtype = bias.tensor.dtype;
  out->bias = bias.tensor.data;
  out->bias_stride = bias.tensor.strides[0];
  return {};
}

Status flatten(const mr_matmul_args& args, Purpose purpose, MatmulArgs* out) {
  if (args.reserved != 0) return invalid("args.reserved", "is not 0", args.reserved, 0);
  MR_TRY(check_activation(args.activation, "args.activation"));
  const MatmulOperands operands = {.x = {args.x, "args.x"},
                                   .w = {args.w, "args.w"},
                                   .bias = {args.bias, "args.bias"},
                                   .c = {args.c, "args.c"},
                                   .d = {args.d, "args.d"},
                                   .alpha = args.alpha,
                                   .beta = args.beta,
                                   .add_c = (args.flags & MR_MATMUL_ADD_C) != 0,
                                   .activation = args.activation};
  return flatten_matmul(operands, purpose, out);
}

}  // namespace

Status check_activation(uint32_t activation, const char* name) {
  if (activation <= MR_ACTIVATION_GELU_ERF) return {};
  return invalid(name, "is no activation", activation, MR_ACTIVATION_GELU_ERF);
}

Status flatten_matmul(const MatmulOperands& in, Purpose purpose, MatmulArgs* out) {
  // What is not read needs no data.
  const Purpose for_product = in.alpha != 0.0f ? purpose : Purpose::kQuery;
  const mr_tensor& x = in.x.tensor;
  MR_TRY(check::tensor(x, in.x.name, for_product));
  MR_TRY(check::float_dtype(x, in.x.name));
  MR_TRY(check::rank(x, in.x.name, 2, 3));
  MR_TRY(check::tensor(in.w.tensor, in.w.name, for_product));
  MR_TRY(check::dtype(in.w.tensor, in.w.name, x.dtype));
  MR_TRY(check::rank(in.w.tensor, in.w.name, x.rank));
  const int32_t row = x.rank - 2;
  const int64_t batch = x.rank == 3 ? x.shape[0] : 1;
  const int64_t m = x.shape[row];
  const int64_t k = x.shape[row + 1];
  const int64_t n = in.w.tensor.shape[row];
  MR_TRY(matrix(in.w, x.rank, batch, n, k));
  MR_TRY(check::output(in.d.tensor, in.d.name, purpose));
  MR_TRY(check::dtype(in.d.tensor, in.d.name, {x.dtype, MR_F32}));
  MR_TRY(matrix(in.d, x.rank, batch, m, n));
  MR_TRY(check_bias(in.bias, n, x.dtype, purpose, out));
  if (in.add_c) {
    const bool read = in.beta != 0.0f;
    MR_TRY(check::tensor(in.c.tensor, in.c.name, read ? purpose : Purpose::kQuery));
    MR_TRY(check::dtype(in.c.tensor, in.c.name, in.d.tensor.dtype));
    MR_TRY(matrix(in.c, x.rank, batch, m, n));
    out->add_c = read;
    out->c = view(in.c.tensor);
  }
  out->dtype = x.dtype;
  out->d_dtype = in.d.tensor.dtype;
  out->activation = in.activation;
  out->batch = batch;
  out->m = m;
  out->n = n;
  out->k = in.alpha != 0.0f ? k : 0;
  out->x = view(x);
  out->w = view(in.w.tensor);
  out->d = view(in.d.tensor);
  out->alpha = in.alpha;
  out->beta = in.beta;
  return {};
}

bool matmul_empty(const MatmulArgs& args) { return args.batch == 0 || args.m == 0 || args.n == 0; }

constinit const Op<mr_matmul_args, MatmulArgs> kMatmul = {
    .name = "matmul",
    .known_flags = MR_MATMUL_ADD_C,
    .flatten = flatten,
    .empty = matmul_empty,
    .rows = &KernelTable::matmul,
};

}  // namespace mr
