// Where a row of a RowSpace starts. In 64 bits throughout: row times stride passes 2^31 easily.
#pragma once

#include <cstdint>

#include "kernel_api/rows.h"

namespace mr::cuda {

struct RowIndex {
  int64_t outer;
  int64_t inner;
};

// A 64-bit division costs about as much as a load from L2, so it is done once for all tensors of a
// row, in 32 bits where that is enough, and not at all for a single leading dimension.
__device__ inline RowIndex row_index(const RowSpace& space, int64_t row) {
  if (space.inner == 1) return {row, 0};
  if (((row | space.inner) >> 32) == 0) {
    const auto small = static_cast<uint32_t>(row);
    const auto inner = static_cast<uint32_t>(space.inner);
    const uint32_t outer = small / inner;
    return {static_cast<int64_t>(outer), static_cast<int64_t>(small - outer * inner)};
  }
  const int64_t outer = row / space.inner;
  return {outer, row - outer * space.inner};
}

template <class T>
__device__ inline T* row_of(const RowView& view, RowIndex at) {
  return static_cast<T*>(view.data) + at.outer * view.outer_stride + at.inner * view.inner_stride;
}

}  // namespace mr::cuda
