// mr_qkv_post, checked and flat.
#pragma once

#include <cstdint>

#include "kernel_api/rope_args.h"

namespace mr {

// A vector per head: [heads, dim].
struct HeadBias {
  const void* data = nullptr;
  bool present = false;
  int64_t head_stride = 0;
  int64_t stride = 0;
};

// [pages, page_size, heads, dim] with an inner stride of 1.
struct PagedView {
  void* data = nullptr;
  bool present = false;
  int64_t page_stride = 0;
  int64_t token_stride = 0;
  int64_t head_stride = 0;
};

struct QkvPostArgs {
  mr_dtype dtype = MR_ABSENT;
  mr_dtype positions_dtype = MR_ABSENT;
  mr_dtype q_norm_dtype = MR_ABSENT;  // T, F32 or absent
  mr_dtype k_norm_dtype = MR_ABSENT;
  int64_t tokens = 0;
  int64_t q_heads = 0;   // 0: no q
  int64_t kv_heads = 0;  // 0: no k and v
  int32_t dim = 0;
  int32_t v_dim = 0;
  int64_t pages = 0;
  int64_t page_size = 0;
  // Present where given and not empty. slot is not null wherever k was given, even an empty one:
  // each token's slot is still checked for its status.
  HeadView q;
  HeadView k;
  HeadView v;
  HeadView q_output;
  HeadBias q_bias;
  HeadBias k_bias;
  HeadBias v_bias;
  const void* q_norm = nullptr;
  int64_t q_norm_stride = 0;
  const void* k_norm = nullptr;
  int64_t k_norm_stride = 0;
  const void* positions = nullptr;
  int64_t positions_stride = 0;
  const int64_t* slot = nullptr;
  int64_t slot_stride = 0;
  PagedView k_cache;
  PagedView v_cache;
  int32_t* row_status = nullptr;  // null: absent
  int64_t row_status_stride = 0;
  bool rotate = false;
  bool weight_plus_one = false;
  RopeParams rope;
  float epsilon = 0.0f;
};

}  // namespace mr
