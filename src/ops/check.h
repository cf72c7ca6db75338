// The checks that operators share, each with its sentence. `name` is the argument as the header
// spells it, e.g. "args.input".
#pragma once

#include <initializer_list>
#include <span>

#include "core/result.h"
#include "kernel_api/rows.h"
#include "millrace/tensor.h"
#include "ops/dispatch.h"

namespace mr::check {

inline bool present(const mr_tensor& tensor) { return ((tensor.dtype >> 8) & 0xffu) != 0; }

// The description itself: known dtype, rank, flags, shape and strides whose addresses fit 63 bits,
// data not NULL and aligned unless the tensor is empty or this is a query.
Status tensor(const mr_tensor& tensor, const char* name, Purpose purpose);

// As tensor(), and may be written: not read-only, no two indices with the same address (decided by
// nested strides).
Status output(const mr_tensor& tensor, const char* name, Purpose purpose);

Status rank(const mr_tensor& tensor, const char* name, int32_t wanted);
Status rank(const mr_tensor& tensor, const char* name, int32_t low, int32_t high);
Status dtype(const mr_tensor& tensor, const char* name, mr_dtype wanted);
Status dtype(const mr_tensor& tensor, const char* name, std::initializer_list<mr_dtype> allowed);
Status float_dtype(const mr_tensor& tensor, const char* name);  // F32, F16 or BF16
Status extent(const mr_tensor& tensor, const char* name, int32_t dimension, int64_t wanted);
Status same_shape(const mr_tensor& tensor, const char* name, const mr_tensor& like);
Status inner_stride_one(const mr_tensor& tensor, const char* name);  // no matter if the extent is 1

// A vector [count] of a given dtype; fills data and stride.
Status vector(const mr_tensor& tensor, const char* name, mr_dtype wanted, int64_t count,
              Purpose purpose, const void** data, int64_t* stride);
// The optional int32 row_status [rows].
Status row_status(const mr_tensor& tensor, const char* name, int64_t rows, Purpose purpose,
                  int32_t** data, int64_t* stride);

// Splits the leading dimensions of tensors of one shape [..., width] into at most two, such that
// every tensor steps evenly within each; UNSUPPORTED if no split does. Absent tensors are passed
// over.
struct RowTensor {
  const mr_tensor* tensor;
  const char* name;
  RowView* view;
};
Status rows(std::span<const RowTensor> tensors, RowSpace* space);

}  // namespace mr::check
