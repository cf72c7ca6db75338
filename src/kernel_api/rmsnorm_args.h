// mr_rmsnorm, checked and flat.
#pragma once

#include <cstdint>

#include "kernel_api/rows.h"
#include "millrace/tensor.h"

namespace mr {

struct RmsNormArgs {
  mr_dtype dtype = MR_ABSENT;         // T
  mr_dtype weight_dtype = MR_ABSENT;  // T, F32, or absent
  RowSpace space;
  RowView input;
  RowView residual;  // optional
  RowView output;
  RowView residual_output;  // optional
  const void* weight = nullptr;
  int64_t weight_stride = 0;
  float epsilon = 0.0f;
  bool weight_plus_one = false;
  bool round_before_weight = false;
};

}  // namespace mr
