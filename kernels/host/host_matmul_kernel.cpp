// Sums of products, compiled per processor level.
//
// Bound by memory for a few rows: each weight is read once, converted in registers and used for up
// to four rows. For many rows, tiles of 4 x 3 sums keep the multipliers busy from the first-level
// cache.
#include "kernels/host/host_matmul_kernel.h"

#include "kernels/host/host_vector.h"

namespace mr::host::MR_HOST_NAMESPACE {
namespace {

constexpr int64_t kChunk = 512;  // of k: x's rows and w's panel stay near
constexpr int64_t kPanel = 12;   // columns of d that one pass over the rows works on

// Rows of operands, contiguous in k.
template <class T>
struct Rows {
  const T* data;
  int64_t stride;
};

// sums[m, n] += the dot products of M rows of x and N rows of w over k elements.
// Eight columns, of one row only, have their lanes added together.
template <class W, int M, int N>
MR_HOST_INLINE void tile(Rows<float> x, Rows<W> w, int64_t k, float* sums) {
  static_assert(N != 8 || M == 1);
  Vec sum[M][N] = {};
  const auto step = [&](auto&& load_x, auto&& load_w) __attribute__((always_inline)) {
    if constexpr (M == 1) {
      const Vec xv = load_x(0);
      repeat<N>([&](auto n) __attribute__((always_inline)) {
        sum[0][n] = multiply_add(xv, load_w(n), sum[0][n]);
      });
    } else {
      Vec wv[N];
      repeat<N>([&](auto n) __attribute__((always_inline)) { wv[n] = load_w(n); });
      repeat<M>([&](auto m) __attribute__((always_inline)) {
        const Vec xv = load_x(m);
        repeat<N>([&](auto n) __attribute__((always_inline)) {
          sum[m][n] = multiply_add(xv, wv[n], sum[m][n]);
        });
      });
    }
  };
  int64_t i = 0;
  for (; i + kLanes <= k; i += kLanes) {
    step([&](int m) { return load(x.data + m * x.stride + i); },
         [&](int n) { return load(w.data + n * w.stride + i); });
  }
  if (i < k) {
    step([&](int m) { return load_part(x.data + m * x.stride + i, k - i); },
         [&](int n) { return load_part(w.data + n * w.stride + i, k - i); });
  }
  if constexpr (N == 8) {
    float all[N];
    totals8(sum[0], all);
    for (int n = 0; n < N; ++n) sums[n] += all[n];
  } else {
    repeat<M>([&](auto m) __attribute__((always_inline)) {
      repeat<N>([&](auto n) __attribute__((always_inline)) {
        sums[m * kMatmulBlockColumns + n] += total(sum[m][n]);
      });
    });
  }
}

// M rows against `columns` rows of w, N at a time.
template <class W, int M, int N>
void strip(Rows<float> x, Rows<W> w, int64_t columns, int64_t k, float* sums) {
  int64_t n = 0;
  for (; n + N <= columns; n += N) {
    tile<W, M, N>(x, {w.data + n * w.stride, w.stride}, k, sums + n);
  }
  for (; n < columns; ++n) tile<W, M, 1>(x, {w.data + n * w.stride, w.stride}, k, sums + n);
}

template <class W>
void panel(Rows<float> x, int64_t rows, Rows<W> w, int64_t columns, int64_t k, float* sums) {
  for (int64_t m = 0; m < rows; m += 4) {
    const Rows<float> at = {x.data + m * x.stride, x.stride};
    float* to = sums + m * kMatmulBlockColumns;
    switch (rows - m) {
      case 1:
        strip<W, 1, 8>(at, w, columns, k, to);
        break;
      case 2:
        strip<W, 2, 6>(at, w, columns, k, to);
        break;
      case 3:
        strip<W, 3, 4>(at, w, columns, k, to);
        break;
      default:
        strip<W, 4, 3>(at, w, columns, k, to);
        break;
    }
  }
}

// Rows [begin, end) of a view, k in [k0, k1), as float32, contiguous in k.
template <class T>
void pack(const T* data, int64_t row_stride, int64_t stride, int64_t rows, int64_t k, float* to) {
  for (int64_t row = 0; row < rows; ++row) {
    const T* from = data + row * row_stride;
    float* out = to + row * kChunk;
    int64_t i = 0;
    if (stride == 1) {
      for (; i + kLanes <= k; i += kLanes) store(load(from + i), out + i);
    }
    for (; i < k; ++i) out[i] = load_one(from[i * stride]);
  }
}

template <class T>
Rows<float> rows_of_x(const T* data, const MatrixView& view, int64_t rows, int64_t k,
                      float* buffer) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (view.stride == 1) return {data, view.row_stride};
  }
  pack(data, view.row_stride, view.stride, rows, k, buffer);
  return {buffer, kChunk};
}

template <class T>
void sums_of(const MatmulArgs& args, const MatmulBlock& block, float* sums) {
  if (args.k == 0) return;  // the operands are empty and may have no address
  const int64_t rows = block.m1 - block.m0;
  const int64_t columns = block.n1 - block.n0;
  const T* x = static_cast<const T*>(args.x.data) + block.batch * args.x.batch_stride +
               block.m0 * args.x.row_stride;
  const T* w = static_cast<const T*>(args.w.data) + block.batch * args.w.batch_stride +
               block.n0 * args.w.row_stride;
  float x_buffer[kMatmulBlockRows * kChunk];
  float w_buffer[kPanel * kChunk];
  for (int64_t k0 = 0; k0 < args.k; k0 += kChunk) {
    const int64_t k = args.k - k0 < kChunk ? args.k - k0 : kChunk;
    const Rows<float> xs = rows_of_x(x + k0 * args.x.stride, args.x, rows, k, x_buffer);
    for (int64_t n = 0; n < columns; n += kPanel) {
      const int64_t width = columns - n < kPanel ? columns - n : kPanel;
      const T* from = w + n * args.w.row_stride + k0 * args.w.stride;
      if (args.w.stride == 1) {
        panel<T>(xs, rows, {from, args.w.row_stride}, width, k, sums + n);
      } else {
        pack(from, args.w.row_stride, args.w.stride, width, k, w_buffer);
        panel<float>(xs, rows, {w_buffer, kChunk}, width, k, sums + n);
      }
    }
  }
}

}  // namespace

void matmul_sums(const MatmulArgs& args, const MatmulBlock& block, float* sums) {
  for (int64_t m = 0; m < block.m1 - block.m0; ++m) {
    for (int64_t n = 0; n < block.n1 - block.n0; ++n) sums[m * kMatmulBlockColumns + n] = 0.0f;
  }
  switch (args.dtype) {
    case MR_F16:
      sums_of<F16>(args, block, sums);
      break;
    case MR_BF16:
      sums_of<Bf16>(args, block, sums);
      break;
    default:
      sums_of<float>(args, block, sums);
      break;
  }
}

}  // namespace mr::host::MR_HOST_NAMESPACE
