// mr_argmax, checked and flat.
#pragma once

#include <cstdint>

#include "millrace/tensor.h"

namespace mr {

struct ArgmaxArgs {
  mr_dtype dtype = MR_ABSENT;
  mr_dtype output_dtype = MR_ABSENT;  // I32 or I64
  int64_t rows = 0;
  int64_t width = 0;
  const void* input = nullptr;
  int64_t input_row_stride = 0;
  int64_t input_stride = 0;
  void* output = nullptr;
  int64_t output_stride = 0;
  int32_t* row_status = nullptr;  // null: absent
  int64_t row_status_stride = 0;
};

}  // namespace mr
