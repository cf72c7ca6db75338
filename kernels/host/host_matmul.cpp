// Matmul on the host with the library's own kernels: any dtype, strides and batch.
//
// d is cut into blocks; a block's sums are made in float32 on the stack, then bias, activation, c
// and the one rounding follow.
#include "kernels/host/host_matmul.h"

#include <algorithm>

#include "kernels/host/host_activation.h"
#include "kernels/host/host_kernels.h"
#include "kernels/host/host_matmul_kernel.h"
#include "kernels/host/host_rows.h"

namespace mr::host {
namespace {

// bias and c are brought in pieces into float32, as the sums are.
void load_as(mr_dtype dtype, const void* data, int64_t offset, int64_t stride, int64_t n,
             float* to) {
  visit_float(dtype, [&]<class T>(type_tag<T>) {
    load(static_cast<const T*>(data) + offset, stride, n, to);
  });
}

void finish_piece(const MatmulArgs& args, int64_t batch, int64_t m, int64_t n, int64_t count,
                  const float* sums) {
  float values[kPiece];
  float other[kPiece];
  // Without products alpha has nothing to scale: an infinite one must not make a NaN of 0.
  const float alpha = args.k > 0 ? args.alpha : 1.0f;
  for (int64_t i = 0; i < count; ++i) values[i] = sums[i] * alpha;
  if (args.bias_dtype != MR_ABSENT) {
    load_as(args.bias_dtype, args.bias, n * args.bias_stride, args.bias_stride, count, other);
    add_piece(values, other, count);
  }
  activate(args.activation, values, count);
  if (args.add_c) {
    const MatrixView& c = args.c;
    load_as(args.d_dtype, c.data, batch * c.batch_stride + m * c.row_stride + n * c.stride,
            c.stride, count, other);
    for (int64_t i = 0; i < count; ++i) values[i] += args.beta * other[i];
  }
  const MatrixView& d = args.d;
  visit_float(args.d_dtype, [&]<class T>(type_tag<T>) {
    store(values, count,
          static_cast<T*>(d.data) + batch * d.batch_stride + m * d.row_stride + n * d.stride,
          d.stride);
  });
}

// Nanoseconds that a block takes, roughly: a weight is fetched once, and every row works on it.
int64_t block_ns(const MatmulArgs& args, int64_t rows, int64_t columns) {
  const double products = static_cast<double>(columns) * static_cast<double>(args.k);
  const double ns = products * (0.15 + 0.03 * static_cast<double>(rows)) + 500.0;
  return static_cast<int64_t>(std::min(ns, 1e9));
}

template <MatmulSums* kSums>
void run(HostWorkers& workers, const MatmulArgs& args, void*, size_t) {
  const int64_t row_blocks = (args.m + kMatmulBlockRows - 1) / kMatmulBlockRows;
  const int64_t column_blocks = (args.n + kMatmulBlockColumns - 1) / kMatmulBlockColumns;
  const int64_t rows = std::min(args.m, kMatmulBlockRows);
  const int64_t per_thread = grain(block_ns(args, rows, std::min(args.n, kMatmulBlockColumns)));
  workers.parallel(args.batch * row_blocks * column_blocks, per_thread,
                   [&](int64_t begin, int64_t end) {
                     alignas(64) float sums[kMatmulBlockRows * kMatmulBlockColumns];
                     for (int64_t i = begin; i < end; ++i) {
                       MatmulBlock block;
                       block.n0 = i % column_blocks * kMatmulBlockColumns;
                       block.m0 = i / column_blocks % row_blocks * kMatmulBlockRows;
                       block.batch = i / column_blocks / row_blocks;
                       block.n1 = std::min(args.n, block.n0 + kMatmulBlockColumns);
                       block.m1 = std::min(args.m, block.m0 + kMatmulBlockRows);
                       kSums(args, block, sums);
                       for (int64_t m = block.m0; m < block.m1; ++m) {
                         matmul_finish(args, block.batch, m, block.n0, block.n1 - block.n0,
                                       sums + (m - block.m0) * kMatmulBlockColumns);
                       }
                     }
                   });
}

constexpr Kernel<MatmulArgs> kRows[] = {
    {.name = "host_matmul_blas",
     .dtypes = {MR_F32},
     .reject = matmul_blas_reject,
     .launch = matmul_blas_launch},
#if defined(__x86_64__)
    {.name = "host_matmul_v4",
     .arch_min = 4,
     .launch = launch<MatmulArgs, run<level4::matmul_sums>>},
    {.name = "host_matmul_v3",
     .arch_min = 3,
     .launch = launch<MatmulArgs, run<level3::matmul_sums>>},
#endif
    {.name = "host_matmul", .launch = launch<MatmulArgs, run<level1::matmul_sums>>},
};

}  // namespace

void matmul_finish(const MatmulArgs& args, int64_t batch, int64_t m, int64_t n, int64_t count,
                   const float* sums) {
  for_each_piece(0, count, [&](int64_t at, int64_t length) {
    finish_piece(args, batch, m, n + at, length, sums + at);
  });
}

KernelList<MatmulArgs> matmul() { return kRows; }

}  // namespace mr::host
