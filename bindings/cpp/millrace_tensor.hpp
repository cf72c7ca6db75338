// millrace_tensor.hpp : tensors with the usual view operations.
//
// Part of millrace.hpp, which says how the C++ interface is meant; include that.
#ifndef MILLRACE_TENSOR_HPP
#define MILLRACE_TENSOR_HPP

#include <millrace/millrace.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "millrace_handle.hpp"

namespace millrace {

// ---- Data types ---------------------------------------------------------------------------------

// dtype_of<float>() == MR_F32. The half formats have no C++ type; name them.
template <class T>
constexpr mr_dtype dtype_of();
template <>
constexpr mr_dtype dtype_of<int8_t>() {
  return MR_I8;
}
template <>
constexpr mr_dtype dtype_of<int32_t>() {
  return MR_I32;
}
template <>
constexpr mr_dtype dtype_of<int64_t>() {
  return MR_I64;
}
template <>
constexpr mr_dtype dtype_of<uint8_t>() {
  return MR_U8;
}
template <>
constexpr mr_dtype dtype_of<uint32_t>() {
  return MR_U32;
}
template <>
constexpr mr_dtype dtype_of<uint64_t>() {
  return MR_U64;
}
template <>
constexpr mr_dtype dtype_of<float>() {
  return MR_F32;
}
template <>
constexpr mr_dtype dtype_of<double>() {
  return MR_F64;
}

// Bytes of one element; 0 for MR_ABSENT. Every type of this version fills whole bytes.
constexpr int64_t item_bytes(mr_dtype dtype) {
  return static_cast<int64_t>((dtype >> 8 & 0xFFu) * (dtype >> 16) / 8u);
}

// ---- Tensors ------------------------------------------------------------------------------------

// An mr_tensor with view operations; it can stand wherever an mr_tensor can, and the other way
// round. Like mr_tensor it owns nothing. Each operation returns another view of the same memory and
// throws INVALID_ARGUMENT where there is no such view. Dimensions count from 0; negative ones from
// the end.
struct Tensor : mr_tensor {
  Tensor() : mr_tensor(MR_TENSOR_INIT) {}
  Tensor(const mr_tensor& tensor) : mr_tensor(tensor) {}  // NOLINT: meant to be implicit

  // A row-major tensor at `data`. From a pointer to const it is marked MR_TENSOR_READ_ONLY.
  Tensor(void* address, mr_dtype type, const std::vector<int64_t>& dimensions) : Tensor() {
    if (dimensions.size() > MR_MAX_RANK) fail("shape", "has more dimensions than MR_MAX_RANK");
    mr_tensor packed;
    call(mr_tensor_pack, address, type, static_cast<int32_t>(dimensions.size()), dimensions.data(),
         &packed);
    *this = packed;
  }
  Tensor(const void* address, mr_dtype type, const std::vector<int64_t>& dimensions)
      : Tensor(const_cast<void*>(address), type, dimensions) {
    flags |= MR_TENSOR_READ_ONLY;
  }

  bool present() const noexcept { return dtype != MR_ABSENT; }
  int64_t size(int32_t dimension) const { return shape[index("size", dimension)]; }
  int64_t stride(int32_t dimension) const { return strides[index("stride", dimension)]; }

  // Elements, and the bytes that as many packed elements take.
  int64_t elements() const noexcept {
    int64_t count = 1;
    for (int32_t i = 0; i < rank; ++i) count *= shape[i];
    return count;
  }
  int64_t bytes() const noexcept { return elements() * item_bytes(dtype); }

  // Whether the elements lie densely in row-major order; dimensions of size 1 do not count.
  bool contiguous() const noexcept {
    int64_t expected = 1;
    for (int32_t i = rank - 1; i >= 0; --i) {
      if (shape[i] != 1 && strides[i] != expected) return false;
      expected *= shape[i];
    }
    return true;
  }

  // Elements begin <= i < end of one dimension.
  Tensor slice(int32_t dimension, int64_t begin, int64_t end) const {
    const int32_t d = index("slice", dimension);
    if (begin < 0 || end < begin || end > shape[d]) fail("slice", "the range leaves the tensor");
    Tensor view = *this;
    view.shape[d] = end - begin;
    view.advance(begin * strides[d]);
    return view;
  }

  // Element i of one dimension; the dimension is dropped.
  Tensor select(int32_t dimension, int64_t i) const {
    const int32_t d = index("select", dimension);
    Tensor view = slice(d, i, i + 1);
    for (int32_t j = d; j + 1 < rank; ++j) {
      view.shape[j] = shape[j + 1];
      view.strides[j] = strides[j + 1];
    }
    --view.rank;
    return view;
  }

  Tensor transpose(int32_t first, int32_t second) const {
    const int32_t a = index("transpose", first);
    const int32_t b = index("transpose", second);
    Tensor view = *this;
    std::swap(view.shape[a], view.shape[b]);
    std::swap(view.strides[a], view.strides[b]);
    return view;
  }

  // A new dimension of size n and stride 0 before `dimension` (which may be the rank): n is 1 for a
  // mere unsqueeze; more repeats the tensor, for inputs only.
  Tensor insert(int32_t dimension, int64_t n = 1) const {
    const int32_t d = dimension < 0 ? dimension + rank + 1 : dimension;
    if (rank >= MR_MAX_RANK || d < 0 || d > rank || n < 0) fail("insert", "no such dimension");
    Tensor view = *this;
    for (int32_t i = rank; i > d; --i) {
      view.shape[i] = shape[i - 1];
      view.strides[i] = strides[i - 1];
    }
    view.shape[d] = n;
    view.strides[d] = 0;
    ++view.rank;
    return view;
  }

  // Repeats a dimension of size 1 n times, by stride 0.
  Tensor broadcast(int32_t dimension, int64_t n) const {
    const int32_t d = index("broadcast", dimension);
    if (shape[d] != 1 || n < 0) fail("broadcast", "the dimension's size must be 1");
    Tensor view = *this;
    view.shape[d] = n;
    view.strides[d] = 0;
    return view;
  }

  // The same elements in the same order under another shape. One entry may be -1 and follows from
  // the others. Where the strides allow no such view it throws; nothing is ever copied.
  Tensor reshape(std::vector<int64_t> wanted) const {
    complete(wanted);
    if (elements() == 0) return Tensor(data, dtype, wanted).with(flags);
    // `runs`: the old dimensions from the inside, those that chain merged. Each new dimension must
    // divide what is left of the run that it falls into.
    const std::vector<Run> runs = merged();
    Tensor view = *this;
    view.rank = static_cast<int32_t>(wanted.size());
    size_t run = 0;
    int64_t filled = 1;
    for (size_t i = wanted.size(); i-- > 0;) {
      view.shape[i] = wanted[i];
      view.strides[i] = run < runs.size() ? runs[run].stride * filled : 1;
      if (wanted[i] == 1) continue;
      if (filled == runs[run].size) {
        ++run;
        filled = 1;
        view.strides[i] = runs[run].stride;
      }
      filled *= wanted[i];
      if (runs[run].size % filled != 0) fail("reshape", "the strides allow no such view");
    }
    return view;
  }

 private:
  struct Run {
    int64_t size;
    int64_t stride;
  };

  [[noreturn]] static void fail(const char* operation, const char* text) {
    throw Error(MR_INVALID_ARGUMENT, std::string(operation) + ": " + text);
  }

  int32_t index(const char* operation, int32_t dimension) const {
    const int32_t d = dimension < 0 ? dimension + rank : dimension;
    if (d < 0 || d >= rank) {
      fail(operation, "the dimension is outside the tensor's rank");
    }
    return d;
  }

  void advance(int64_t count) {
    if (data != nullptr) data = static_cast<char*>(data) + count * item_bytes(dtype);
  }

  Tensor& with(uint64_t bits) { return flags = bits, *this; }

  void complete(std::vector<int64_t>& wanted) const {
    if (wanted.size() > MR_MAX_RANK) fail("reshape", "more dimensions than MR_MAX_RANK");
    int64_t product = 1;
    int64_t* open = nullptr;
    for (int64_t& size : wanted) {
      if (size < -1 || (size == -1 && open != nullptr)) fail("reshape", "a size is negative");
      if (size == -1) {
        open = &size;
      } else if (size != 0 && product > INT64_MAX / size) {
        fail("reshape", "the element counts differ");
      } else {
        product *= size;
      }
    }
    if (open != nullptr && product > 0) {
      *open = elements() / product;
      product *= *open;
    }
    if (product != elements() || (open != nullptr && *open < 0)) {
      fail("reshape", "the element counts differ");
    }
  }

  std::vector<Run> merged() const {
    std::vector<Run> runs;
    for (int32_t i = rank; i-- > 0;) {
      if (shape[i] == 1) continue;
      if (!runs.empty() && strides[i] == runs.back().stride * runs.back().size) {
        runs.back().size *= shape[i];
      } else {
        runs.push_back({shape[i], strides[i]});
      }
    }
    return runs;
  }
};

static_assert(sizeof(Tensor) == sizeof(mr_tensor), "a Tensor adds operations, not data");

// tensor(data, dtype, {rows, width}) : reads better than the constructor in a call.
inline Tensor tensor(void* data, mr_dtype dtype, const std::vector<int64_t>& shape) {
  return Tensor(data, dtype, shape);
}
inline Tensor tensor(const void* data, mr_dtype dtype, const std::vector<int64_t>& shape) {
  return Tensor(data, dtype, shape);
}
// tensor(pointer_to_float, {rows, width}) : the data type follows from the pointer.
template <class T>
Tensor tensor(T* data, const std::vector<int64_t>& shape) {
  return Tensor(data, dtype_of<std::remove_const_t<T>>(), shape);
}

}  // namespace millrace

#endif
