// mr_sample, checked and flat.
//
// Every backend draws the same noise, up to the rounding of its logarithms: the word of token v is
// word v % 4 of Philox4x32-10 with the key (low, high half of the seed) and the counter (low, high
// half of v / 4, low, high half of the offset); w = min((word + 1/2) / 2^32, 1 - 2^-24) in float32;
// the noise is -ln(-ln(1 - w)), which must keep the bits of a small w. Scores are (logit - largest)
// / temperature.
#pragma once

#include <cstdint>

#include "millrace/tensor.h"

namespace mr {

struct SampleArgs {
  mr_dtype dtype = MR_ABSENT;
  mr_dtype output_dtype = MR_ABSENT;  // I32 or I64
  int64_t rows = 0;
  int64_t vocab = 0;
  const void* logits = nullptr;
  int64_t logits_row_stride = 0;
  int64_t logits_stride = 0;
  const float* temperature = nullptr;  // null: absent; likewise below
  int64_t temperature_stride = 0;
  const int32_t* top_k = nullptr;
  int64_t top_k_stride = 0;
  const float* top_p = nullptr;
  int64_t top_p_stride = 0;
  const float* min_p = nullptr;
  int64_t min_p_stride = 0;
  const uint64_t* seed = nullptr;
  int64_t seed_stride = 0;
  uint64_t* rng_offset = nullptr;
  int64_t rng_offset_stride = 0;
  void* output = nullptr;
  int64_t output_stride = 0;
  int32_t* row_status = nullptr;
  int64_t row_status_stride = 0;
};

}  // namespace mr
