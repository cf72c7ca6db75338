// A tensor of rows as a kernel sees it: up to two leading dimensions with strides of their own
// (what [tokens, heads, dim] views of a packed tensor need) and one row dimension.
#pragma once

#include <cstdint>

namespace mr {

// Extents that all tensors of one call share. rows = outer * inner.
struct RowSpace {
  int64_t outer = 0;
  int64_t inner = 1;
  int64_t width = 0;
  int64_t rows() const { return outer * inner; }
};

// One tensor over a RowSpace. Strides are in elements. Data may be null in a query though present.
struct RowView {
  void* data = nullptr;
  bool present = false;
  int64_t outer_stride = 0;
  int64_t inner_stride = 0;
  int64_t stride = 0;  // between neighbours in a row
};

// The offset in elements of row r of `view`.
inline int64_t row_offset(const RowSpace& space, const RowView& view, int64_t r) {
  return (r / space.inner) * view.outer_stride + (r % space.inner) * view.inner_stride;
}

}  // namespace mr
