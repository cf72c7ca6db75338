// mr_rope, checked and flat.
#pragma once

#include <cstdint>

#include "millrace/rope.h"

namespace mr {

// The rotation, with every default filled in.
struct RopeParams {
  uint32_t pairing = 0;
  uint32_t scaling = 0;
  int32_t rotary_dim = 0;
  int32_t original_max_position = 0;
  float theta = 0.0f;
  float factor = 1.0f;
  float low_freq_factor = 0.0f;
  float high_freq_factor = 0.0f;
  float beta_fast = 32.0f;
  float beta_slow = 1.0f;
  float attention_factor = 1.0f;  // 1 unless YaRN
};

// [tokens, heads, dim] with an inner stride of 1.
struct HeadView {
  void* data = nullptr;
  bool present = false;
  int64_t token_stride = 0;
  int64_t head_stride = 0;
};

struct RopeArgs {
  mr_dtype dtype = MR_ABSENT;
  mr_dtype positions_dtype = MR_ABSENT;  // I32 or I64
  int64_t tokens = 0;
  int64_t heads = 0;
  int32_t dim = 0;
  HeadView input;
  HeadView output;
  const void* positions = nullptr;
  int64_t positions_stride = 0;
  RopeParams rope;
};

}  // namespace mr
