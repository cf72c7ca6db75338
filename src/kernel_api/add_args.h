// mr_add, checked and flat: adjacent dimensions that all three tensors step alike are merged.
#pragma once

#include <cstdint>

#include "millrace/tensor.h"

namespace mr {

struct AddArgs {
  mr_dtype dtype = MR_ABSENT;
  int32_t rank = 0;                 // after merging; dimension rank - 1 is the innermost
  int64_t shape[MR_MAX_RANK] = {};  // no zeros
  int64_t count = 0;                // product of shape
  const void* a = nullptr;
  const void* b = nullptr;
  void* output = nullptr;
  int64_t a_strides[MR_MAX_RANK] = {};
  int64_t b_strides[MR_MAX_RANK] = {};
  int64_t output_strides[MR_MAX_RANK] = {};
};

}  // namespace mr
