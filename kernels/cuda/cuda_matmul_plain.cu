// Matmul on CUDA that takes everything: any strides, any mix of dtypes, every epilogue, any batch,
// on every architecture, without a library.
//
// A floor under what cuBLASLt refuses or was not asked about, not a fast path: a block computes a
// tile of 32 x 32 outputs from tiles of x and w in shared memory, each thread four outputs, on the
// ordinary cores in float32. Bound by shared memory at about a tenth of the float32 peak.
//
// An output is one sum over k in ascending order, whatever m, n and batch are: a row of d depends
// on nothing but its own x, w, bias and c, which is what batch-invariant means.
#include "kernels/cuda/common/activation.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/pack.cuh"
#include "kernels/cuda/cuda_kernels.h"

namespace mr::cuda {
namespace {

constexpr int kTile = 32;
constexpr int kThreads = 256;
constexpr int kPerThread = kTile * kTile / kThreads;  // outputs, and loads of each operand

// ---- Kernel -------------------------------------------------------------------------------------

template <class T>
__device__ const T* matrix_of(const MatrixView& view, int64_t batch) {
  return static_cast<const T*>(view.data) + batch * view.batch_stride;
}

// Rows [row, row + 32) by columns [k, k + 32) of a matrix into shared memory, zeros outside of it.
// The threads of a warp take neighbours along the dimension that is contiguous in memory.
template <class T>
__device__ void load_tile(const T* from, const MatrixView& view, int64_t row, int64_t rows,
                          int64_t k, int64_t columns, float (&to)[kTile][kTile + 1]) {
  const int fast = static_cast<int>(threadIdx.x) % kTile;
  const int slow = static_cast<int>(threadIdx.x) / kTile;
  const bool rows_are_contiguous = view.row_stride == 1 && view.stride != 1;
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    const int other = slow + i * (kThreads / kTile);
    const int r = rows_are_contiguous ? fast : other;
    const int c = rows_are_contiguous ? other : fast;
    float value = 0.0f;
    if (row + r < rows && k + c < columns) {
      value = as_float(from[(row + r) * view.row_stride + (k + c) * view.stride]);
    }
    to[r][c] = value;
  }
}

// activation(alpha * sum + bias) + beta * c, stored.
template <class T, class D>
__device__ void store_output(const MatmulArgs& args, int64_t batch, int64_t m, int64_t n,
                             float sum) {
  float value = args.alpha == 0.0f ? 0.0f : args.alpha * sum;
  if (args.bias_dtype != MR_ABSENT) {
    const int64_t at = n * args.bias_stride;
    value += args.bias_dtype == args.dtype ? as_float(static_cast<const T*>(args.bias)[at])
                                           : static_cast<const float*>(args.bias)[at];
  }
  value = activated(args.activation, value);
  if (args.add_c) {
    const D* c = matrix_of<D>(args.c, batch);
    value += args.beta * as_float(c[m * args.c.row_stride + n * args.c.stride]);
  }
  D* d = static_cast<D*>(args.d.data) + batch * args.d.batch_stride;
  d[m * args.d.row_stride + n * args.d.stride] = from_float32<D>(value);
}

template <class T, class D>
__global__ void __launch_bounds__(kThreads)
    matmul_plain(const MatmulArgs args, const int64_t tiles_m, const int64_t tiles_n) {
  // One column more than the tile, so that a column's elements lie in different banks.
  __shared__ float x_tile[kTile][kTile + 1];
  __shared__ float w_tile[kTile][kTile + 1];
  const int column = static_cast<int>(threadIdx.x) % kTile;
  const int first_row = static_cast<int>(threadIdx.x) / kTile;
  const int64_t tiles = tiles_m * tiles_n * args.batch;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64_t n0 = tile % tiles_n * kTile;
    const int64_t rest = tile / tiles_n;
    const int64_t m0 = rest % tiles_m * kTile;
    const int64_t batch = rest / tiles_m;
    float sums[kPerThread] = {};
    // alpha = 0 reads neither x nor w.
    const int64_t depth = args.alpha == 0.0f ? 0 : args.k;
    for (int64_t k0 = 0; k0 < depth; k0 += kTile) {
      load_tile(matrix_of<T>(args.x, batch), args.x, m0, args.m, k0, depth, x_tile);
      load_tile(matrix_of<T>(args.w, batch), args.w, n0, args.n, k0, depth, w_tile);
      __syncthreads();
#pragma unroll 8
      for (int k = 0; k < kTile; ++k) {
        const float w = w_tile[column][k];
#pragma unroll
        for (int i = 0; i < kPerThread; ++i) {
          sums[i] = fmaf(x_tile[first_row + i * (kThreads / kTile)][k], w, sums[i]);
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      const int64_t m = m0 + first_row + i * (kThreads / kTile);
      const int64_t n = n0 + column;
      if (m < args.m && n < args.n) store_output<T, D>(args, batch, m, n, sums[i]);
    }
  }
}

// ---- Launcher -----------------------------------------------------------------------------------

// Calls f with the kernel for the dtypes of a call.
template <class F>
decltype(auto) visit_kernel(mr_dtype dtype, mr_dtype d_dtype, F&& f) {
  return visit_device_float(dtype, [&]<class T>(type_tag<T>) {
    if (d_dtype == dtype) return f(matmul_plain<T, T>);
    return f(matmul_plain<T, float>);
  });
}

Status launch_plain(const Launch& at, const MatmulArgs& args) {
  const int64_t tiles_m = (args.m - 1) / kTile + 1;
  const int64_t tiles_n = (args.n - 1) / kTile + 1;
  int64_t tiles = 0;
  if (__builtin_mul_overflow(tiles_m, tiles_n, &tiles) ||
      __builtin_mul_overflow(tiles, args.batch, &tiles)) {
    return unsupported("the product has more tiles than 64 bits count").about("args.d");
  }
  const Grid grid = grid_for(tiles, 1, kThreads);
  return visit_kernel(args.dtype, args.d_dtype, [&](auto* kernel) {
    return launch(at, kernel, grid, args, tiles_m, tiles_n);
  });
}

Occupancy occupy_plain(const DeviceInfo& device, const MatmulArgs& args) {
  return visit_kernel(args.dtype, args.d_dtype,
                      [&](auto* kernel) { return occupancy_of(device, kernel, kThreads); });
}

}  // namespace

Kernel<MatmulArgs> matmul_plain_row() {
  return {.name = "cuda_matmul_plain", .launch = launch_plain, .occupancy = occupy_plain};
}

void add_matmul_plain_functions(KernelFunctions* out) {
  for (const mr_dtype dtype : {MR_F32, MR_F16, MR_BF16}) {
    for (const mr_dtype d_dtype : {dtype, MR_F32}) {
      visit_kernel(dtype, d_dtype, [&](auto* kernel) { out->add(kernel); });
    }
  }
}

}  // namespace mr::cuda
