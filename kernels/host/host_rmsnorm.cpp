// RMSNorm on the host, with an optional residual sum in front.
//
// Two passes over a row: sum the squares, then scale. A row of one piece is read once; a longer one
// is read again (and a residual added again, to the same bits) rather than kept, so that nothing
// needs scratch. Bound by memory for long rows.
#include "kernels/host/host_kernels.h"
#include "kernels/host/host_norm.h"

namespace mr::host {
namespace {

template <class T>
struct Row {
  const T* input;
  const T* residual;   // null: none
  T* residual_output;  // null: none
  T* output;
};

// s[at, at + n) of the row as floats.
template <class T>
void load_sum(const RmsNormArgs& args, const Row<T>& row, int64_t at, int64_t n, float* x) {
  load(row.input + at * args.input.stride, args.input.stride, n, x);
  if (row.residual == nullptr) return;
  float r[kPiece];
  load(row.residual + at * args.residual.stride, args.residual.stride, n, r);
  add_piece(x, r, n);
  round_to<T>(x, n);
}

template <class T>
void norm_row(const RmsNormArgs& args, const NormWeight& weight, const Row<T>& row) {
  const int64_t width = args.space.width;
  float x[kPiece];
  SquareSum sum;
  for_each_piece(0, width, [&](int64_t at, int64_t n) {
    load_sum(args, row, at, n, x);
    sum.add(x, n);
  });
  const float scale = norm_scale(sum, width, args.epsilon);
  for_each_piece(0, width, [&](int64_t at, int64_t n) {
    if (width > kPiece) load_sum(args, row, at, n, x);
    if (row.residual_output != nullptr) {
      const int64_t stride = args.residual_output.stride;
      store(x, n, row.residual_output + at * stride, stride);
    }
    scale_piece<T>(weight, scale, at, n, x);
    store(x, n, row.output + at * args.output.stride, args.output.stride);
  });
}

void run(HostWorkers& workers, const RmsNormArgs& args, void*, size_t) {
  const NormWeight weight = {.dtype = args.weight_dtype,
                             .data = args.weight,
                             .stride = args.weight_stride,
                             .plus_one = args.weight_plus_one,
                             .round_before = args.round_before_weight};
  visit_float(args.dtype, [&]<class T>(type_tag<T>) {
    workers.parallel(args.space.rows(), grain(args.space.width), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        Row<T> row = {row_data<T>(args.space, args.input, r), nullptr, nullptr,
                      row_data<T>(args.space, args.output, r)};
        if (args.residual.present) row.residual = row_data<T>(args.space, args.residual, r);
        if (args.residual_output.present) {
          row.residual_output = row_data<T>(args.space, args.residual_output, r);
        }
        norm_row(args, weight, row);
      }
    });
  });
}

constexpr Kernel<RmsNormArgs> kRows[] = {
    {.name = "host_rmsnorm", .launch = launch<RmsNormArgs, run>},
};

}  // namespace

KernelList<RmsNormArgs> rmsnorm() { return kRows; }

}  // namespace mr::host
