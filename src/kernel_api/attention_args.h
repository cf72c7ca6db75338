// mr_attention, checked and flat.
#pragma once

#include <cstdint>

#include "kernel_api/qkv_post_args.h"

namespace mr {

struct AttentionArgs {
  mr_dtype dtype = MR_ABSENT;
  int64_t batch = 0;
  int64_t total_q = 0;
  int64_t q_heads = 0;
  int64_t kv_heads = 0;
  int32_t dim = 0;
  int32_t v_dim = 0;
  HeadView q;
  HeadView output;
  bool paged = false;
  PagedView k;  // contiguous: page_stride is unused
  PagedView v;
  int64_t pages = 0;      // paged
  int64_t page_size = 0;  // paged
  int64_t max_pages = 0;  // paged
  int64_t total_kv = 0;   // contiguous
  const int32_t* cu_q = nullptr;
  int64_t cu_q_stride = 0;
  const int32_t* cu_kv = nullptr;
  int64_t cu_kv_stride = 0;
  const int32_t* kv_len = nullptr;
  int64_t kv_len_stride = 0;
  const int32_t* block_table = nullptr;
  int64_t block_table_row_stride = 0;
  int64_t block_table_stride = 0;
  float* lse = nullptr;  // null: absent
  int64_t lse_row_stride = 0;
  int64_t lse_stride = 0;
  int32_t* row_status = nullptr;  // null: absent
  int64_t row_status_stride = 0;
  int64_t max_q = 0;  // bounds with their defaults filled in
  int64_t max_kv = 0;
  float scale = 0.0f;
  bool causal = false;
  int64_t window_left = -1;  // -1: unlimited, also where there is no window
  int64_t window_right = -1;
};

}  // namespace mr
