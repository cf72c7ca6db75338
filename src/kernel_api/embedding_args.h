// mr_embedding, checked and flat.
#pragma once

#include <cstdint>

#include "millrace/tensor.h"

namespace mr {

struct EmbeddingArgs {
  mr_dtype dtype = MR_ABSENT;      // of table and output
  mr_dtype ids_dtype = MR_ABSENT;  // I32 or I64
  int64_t rows = 0;
  int64_t width = 0;
  int64_t vocab = 0;
  const void* ids = nullptr;
  int64_t ids_stride = 0;
  const void* table = nullptr;
  int64_t table_row_stride = 0;
  int64_t table_stride = 0;
  void* output = nullptr;
  int64_t output_row_stride = 0;
  int64_t output_stride = 0;
  int32_t* row_status = nullptr;  // null: absent
  int64_t row_status_stride = 0;
  bool scaled = false;
  float scale = 1.0f;
};

}  // namespace mr
