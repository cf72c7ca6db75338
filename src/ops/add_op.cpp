// mr_add: the checks of elementwise.h, then the flat form with as few dimensions as the strides
// allow.
#include <algorithm>
#include <cstdlib>

#include "ops/check.h"
#include "ops/op_list.h"

namespace mr {
namespace {

// A dimension as the three tensors step it.
struct Dimension {
  int64_t extent = 1;
  int64_t a = 0;
  int64_t b = 0;
  int64_t output = 0;

  // Stepping this one `extent` times is one step of `outer`, in every tensor.
  bool continues_in(const Dimension& outer) const {
    return outer.a == a * extent && outer.b == b * extent && outer.output == output * extent;
  }
};

// Orders the dimensions by the output's stride, the closest last, and joins neighbours that step as
// one; a scalar keeps one dimension of extent 1. Order does not matter to a sum of elements.
int32_t merge(const mr_add_args& args, Dimension (&out)[MR_MAX_RANK]) {
  Dimension all[MR_MAX_RANK];
  int32_t count = 0;
  for (int32_t d = 0; d < args.output.rank; ++d) {
    if (args.output.shape[d] == 1) continue;
    all[count++] = {args.output.shape[d], args.a.strides[d], args.b.strides[d],
                    args.output.strides[d]};
  }
  std::stable_sort(all, all + count, [](const Dimension& x, const Dimension& y) {
    return std::abs(x.output) > std::abs(y.output);
  });
  if (count == 0) return out[0] = Dimension(), 1;
  int32_t merged = 0;
  for (int32_t d = 0; d < count; ++d) {
    if (merged > 0 && all[d].continues_in(out[merged - 1])) {
      const int64_t extent = out[merged - 1].extent * all[d].extent;
      out[merged - 1] = all[d];
      out[merged - 1].extent = extent;
    } else {
      out[merged++] = all[d];
    }
  }
  return merged;
}

Status flatten(const mr_add_args& args, Purpose purpose, AddArgs* out) {
  MR_TRY(check::tensor(args.a, "args.a", purpose));
  MR_TRY(check::float_dtype(args.a, "args.a"));
  MR_TRY(check::tensor(args.b, "args.b", purpose));
  MR_TRY(check::dtype(args.b, "args.b", args.a.dtype));
  MR_TRY(check::same_shape(args.b, "args.b", args.a));
  MR_TRY(check::output(args.output, "args.output", purpose));
  MR_TRY(check::dtype(args.output, "args.output", args.a.dtype));
  MR_TRY(check::same_shape(args.output, "args.output", args.a));

  out->dtype = args.a.dtype;
  out->a = args.a.data;
  out->b = args.b.data;
  out->output = args.output.data;
  const int64_t* shape = args.output.shape;
  if (std::find(shape, shape + args.output.rank, 0) != shape + args.output.rank) return {};

  Dimension merged[MR_MAX_RANK];
  out->rank = merge(args, merged);
  out->count = 1;
  for (int32_t d = 0; d < out->rank; ++d) {
    out->count *= merged[d].extent;
    out->shape[d] = merged[d].extent;
    out->a_strides[d] = merged[d].a;
    out->b_strides[d] = merged[d].b;
    out->output_strides[d] = merged[d].output;
  }
  return {};
}

bool empty(const AddArgs& args) { return args.count == 0; }

}  // namespace

constinit const Op<mr_add_args, AddArgs> kAdd = {
    .name = "add",
    .known_flags = 0,
    .flatten = flatten,
    .empty = empty,
    .rows = &KernelTable::add,
};

}  // namespace mr
