#include "ops/check.h"

#include <algorithm>

#include "core/checked.h"
#include "core/dtype.h"

namespace mr::check {
namespace {

constexpr uint64_t kKnownFlags =
    MR_TENSOR_READ_ONLY | MR_TENSOR_IS_COPIED | MR_TENSOR_SUBBYTE_PADDED;

int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

bool empty(const mr_tensor& tensor) {
  return std::find(tensor.shape, tensor.shape + tensor.rank, 0) != tensor.shape + tensor.rank;
}

// The farthest element, and the whole tensor if it were packed, must lie within 2^63 bytes, so that
// no address computed later can wrap.
Status addresses(const mr_tensor& tensor, const char* name) {
  const int64_t bytes = dtype_bytes(tensor.dtype);
  for (int32_t d = 0; d < tensor.rank; ++d) {
    if (tensor.shape[d] < 0) return invalid(name, "has a negative extent", tensor.shape[d], 0);
    if (tensor.strides[d] == INT64_MIN) return invalid(name, "has a stride of -2^63", d);
  }
  if (empty(tensor)) return {};
  int64_t span = bytes, packed = bytes;
  for (int32_t d = 0; d < tensor.rank; ++d) {
    const int64_t extent = tensor.shape[d];
    int64_t reach = 0;
    if (!checked_mul(extent - 1, magnitude(tensor.strides[d]), &reach) ||
        !checked_mul(reach, bytes, &reach) || !checked_add(span, reach, &span) ||
        !checked_mul(packed, extent, &packed)) {
      return invalid(name, "spans 2^63 bytes or more at this dimension", d);
    }
  }
  return {};
}

}  // namespace

Status tensor(const mr_tensor& tensor, const char* name, Purpose purpose) {
  if (!present(tensor)) return invalid(name, "is absent but needed");
  const int64_t bytes = dtype_bytes(tensor.dtype);
  if (bytes == 0) return invalid(name, "has a dtype that the library does not know", tensor.dtype);
  if (tensor.rank < 0 || tensor.rank > MR_MAX_RANK) {
    return invalid(name, "has a rank out of range", tensor.rank, MR_MAX_RANK);
  }
  if ((tensor.flags & ~kKnownFlags) != 0) {
    return invalid(name, "has unknown flags", static_cast<int64_t>(tensor.flags));
  }
  if (tensor.reserved != 0) return invalid(name, "has a reserved field that is not 0");
  MR_TRY(addresses(tensor, name));
  if (empty(tensor)) return {};
  if (tensor.data == nullptr) {
    if (purpose == Purpose::kQuery) return {};
    return invalid(name, "has no data");
  }
  const auto address = reinterpret_cast<uintptr_t>(tensor.data);
  if (address % static_cast<uintptr_t>(bytes) != 0) {
    return error(MR_MISALIGNED, "is not aligned to its element, in bytes")
        .about(name)
        .got(static_cast<int64_t>(address % static_cast<uintptr_t>(bytes)))
        .wanted(bytes);
  }
  return {};
}

Status output(const mr_tensor& tensor, const char* name, Purpose purpose) {
  MR_TRY(check::tensor(tensor, name, purpose));
  if ((tensor.flags & MR_TENSOR_READ_ONLY) != 0) return invalid(name, "is read-only");
  if (empty(tensor)) return {};
  // Dimensions by stride, the closest first: each must step over all that the closer ones span.
  int32_t order[MR_MAX_RANK];
  int32_t count = 0;
  for (int32_t d = 0; d < tensor.rank; ++d) {
    if (tensor.shape[d] <= 1) continue;
    int32_t at = count++;
    for (; at > 0 && magnitude(tensor.strides[order[at - 1]]) > magnitude(tensor.strides[d]);
         --at) {
      order[at] = order[at - 1];
    }
    order[at] = d;
  }
  int64_t span = 0;
  for (int32_t i = 0; i < count; ++i) {
    const int64_t stride = magnitude(tensor.strides[order[i]]);
    if (stride <= span) return invalid(name, "overlaps itself by its stride", stride, span + 1);
    span += (tensor.shape[order[i]] - 1) * stride;
  }
  return {};
}

Status rank(const mr_tensor& tensor, const char* name, int32_t wanted) {
  if (tensor.rank == wanted) return {};
  return invalid(name, "has the wrong rank", tensor.rank, wanted);
}

Status rank(const mr_tensor& tensor, const char* name, int32_t low, int32_t high) {
  if (tensor.rank < low) return invalid(name, "has too low a rank", tensor.rank, low);
  if (tensor.rank > high) return invalid(name, "has too high a rank", tensor.rank, high);
  return {};
}

Status dtype(const mr_tensor& tensor, const char* name, mr_dtype wanted) {
  if (tensor.dtype == wanted) return {};
  return invalid(name, "has the wrong dtype", tensor.dtype, wanted);
}

Status dtype(const mr_tensor& tensor, const char* name, std::initializer_list<mr_dtype> allowed) {
  if (std::find(allowed.begin(), allowed.end(), tensor.dtype) != allowed.end()) return {};
  return invalid(name, "has a dtype that is not allowed here", tensor.dtype);
}

Status float_dtype(const mr_tensor& tensor, const char* name) {
  if (is_float(tensor.dtype)) return {};
  return invalid(name, "is none of F32, F16 and BF16", tensor.dtype);
}

Status extent(const mr_tensor& tensor, const char* name, int32_t dimension, int64_t wanted) {
  if (tensor.shape[dimension] == wanted) return {};
  return invalid(name, "has an extent that does not match", tensor.shape[dimension], wanted);
}

Status same_shape(const mr_tensor& tensor, const char* name, const mr_tensor& like) {
  MR_TRY(rank(tensor, name, like.rank));
  for (int32_t d = 0; d < like.rank; ++d) MR_TRY(extent(tensor, name, d, like.shape[d]));
  return {};
}

Status inner_stride_one(const mr_tensor& tensor, const char* name) {
  const int32_t last = tensor.rank - 1;
  if (tensor.rank == 0 || tensor.shape[last] <= 1 || tensor.strides[last] == 1) return {};
  return invalid(name, "needs an inner stride of 1", tensor.strides[last], 1);
}

Status vector(const mr_tensor& tensor, const char* name, mr_dtype wanted, int64_t count,
              Purpose purpose, const void** data, int64_t* stride) {
  MR_TRY(check::tensor(tensor, name, purpose));
  MR_TRY(dtype(tensor, name, wanted));
  MR_TRY(rank(tensor, name, 1));
  MR_TRY(extent(tensor, name, 0, count));
  *data = tensor.data;
  *stride = tensor.strides[0];
  return {};
}

Status row_status(const mr_tensor& tensor, const char* name, int64_t rows, Purpose purpose,
                  int32_t** data, int64_t* stride) {
  if (!present(tensor)) return {};
  const void* address = nullptr;
  MR_TRY(output(tensor, name, purpose));
  MR_TRY(vector(tensor, name, MR_I32, rows, purpose, &address, stride));
  *data = static_cast<int32_t*>(const_cast<void*>(address));
  return {};
}

namespace {

// Do dimensions [from, to) of the tensor merge into one? *stride receives its step.
bool merges(const mr_tensor& tensor, int32_t from, int32_t to, int64_t* stride) {
  *stride = 0;
  int64_t expected = -1;
  bool first = true;
  for (int32_t d = to - 1; d >= from; --d) {
    if (tensor.shape[d] == 1) continue;
    if (first) {
      *stride = tensor.strides[d];
      first = false;
    } else if (tensor.strides[d] != expected) {
      return false;
    }
    expected = tensor.strides[d] * tensor.shape[d];
  }
  return true;
}

}  // namespace

Status rows(std::span<const RowTensor> tensors, RowSpace* space) {
  const mr_tensor& like = *tensors.front().tensor;
  const int32_t leading = like.rank - 1;
  space->width = like.shape[leading];
  if (empty(like)) {  // whose other extents and strides nothing bounds
    space->outer = 0;
    for (const RowTensor& row : tensors) {
      row.view->data = row.tensor->data;
      row.view->present = present(*row.tensor);
    }
    return {};
  }
  for (int32_t split = 0; split <= leading; ++split) {
    space->outer = space->inner = 1;
    for (int32_t d = 0; d < leading; ++d)
      (d < split ? space->outer : space->inner) *= like.shape[d];
    bool fits = true;
    for (const RowTensor& row : tensors) {
      if (!present(*row.tensor)) continue;
      const mr_tensor& t = *row.tensor;
      RowView view;
      view.data = t.data;
      view.present = true;
      view.stride = t.strides[leading];
      fits = fits && merges(t, 0, split, &view.outer_stride) &&
             merges(t, split, leading, &view.inner_stride);
      *row.view = view;
    }
    if (fits) return {};
  }
  return unsupported("the leading dimensions do not merge into two strides")
      .about(tensors.front().name);
}

}  // namespace mr::check
