// mr_matmul, checked and flat.
#pragma once

#include <cstdint>

#include "millrace/tensor.h"

namespace mr {

class Libraries;

// [batch, rows, columns]; strides in elements.
struct MatrixView {
  void* data = nullptr;
  int64_t batch_stride = 0;
  int64_t row_stride = 0;
  int64_t stride = 0;
};

struct MatmulArgs {
  mr_dtype dtype = MR_ABSENT;       // of x and w
  mr_dtype d_dtype = MR_ABSENT;     // dtype or F32; also of c
  mr_dtype bias_dtype = MR_ABSENT;  // dtype, F32 or absent
  uint32_t activation = 0;
  int64_t batch = 1;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;  // 0 where alpha is 0 too: then neither x nor w may be read
  MatrixView x;
  MatrixView w;
  MatrixView c;  // read only where add_c
  MatrixView d;
  const void* bias = nullptr;
  int64_t bias_stride = 0;
  float alpha = 1.0f;
  float beta = 0.0f;
  bool add_c = false;                    // MR_MATMUL_ADD_C given and beta != 0
  bool batch_invariant = false;          // a row of d must not depend on m
  const Libraries* libraries = nullptr;  // the context's, for reject(); a row knows its kind
  const void* prepared = nullptr;  // a plan's choice: what Kernel::find_prepared gave, or null
};

}  // namespace mr
