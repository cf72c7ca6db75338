// Rows in pieces: what the elementwise and row kernels of the host share.
//
// A kernel brings a piece of a row into a float32 buffer on the stack, works on it there, and
// rounds it back. So one body serves every dtype and stride, the loops over the buffer vectorise
// whatever an output may alias, and a result cannot depend on a stride. Reading all of a piece
// before writing it is also what makes an operator safe in place.
//
// The functions on pieces are never inlined: kernels that must agree bit for bit then run the very
// same machine code, whatever the compiler makes of it. A call costs nothing against its piece.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/dtype.h"
#include "kernel_api/rows.h"

namespace mr::host {

// Elements per piece: 1 KiB, so that a few of them fit the first-level cache and any stack. It is a
// multiple of every lane count that a kernel sums in.
inline constexpr int64_t kPiece = 256;

template <class T>
[[gnu::noinline]] void load(const T* from, int64_t stride, int64_t n, float* __restrict to) {
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = to_float(from[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = to_float(from[i * stride]);
  }
}

template <class T>
[[gnu::noinline]] void store(const float* __restrict from, int64_t n, T* to, int64_t stride) {
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = from_float<T>(from[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * stride] = from_float<T>(from[i]);
  }
}

// The rounding between two steps of a fused operator: x as it would be after a store and a load.
template <class T>
[[gnu::noinline]] void round_to(float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = to_float(from_float<T>(x[i]));
}

// x += y. Where both are NaN it is x's that stays.
[[gnu::noinline]] inline void add_piece(float* __restrict x, const float* __restrict y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] += y[i];
}

// Calls piece(at, n) on [begin, end), a piece at a time.
template <class F>
void for_each_piece(int64_t begin, int64_t end, F&& piece) {
  for (int64_t at = begin; at < end; at += kPiece) piece(at, std::min(kPiece, end - at));
}

// How many items to give a thread at least, from what one item costs in nanoseconds (an estimate;
// an error of a few times does no harm): enough to pay for waking it up.
inline int64_t grain(int64_t item_ns) {
  return std::max<int64_t>(1, 20000 / std::max<int64_t>(1, item_ns));
}

// Row `row` of a view of T.
template <class T>
T* row_data(const RowSpace& space, const RowView& view, int64_t row) {
  return static_cast<T*>(view.data) + row_offset(space, view, row);
}

}  // namespace mr::host
