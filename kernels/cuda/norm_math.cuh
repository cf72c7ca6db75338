// The arithmetic of RMSNorm on packs and elements, the same for every kernel that normalises, so
// that they agree bit for bit. Each step is a rounded float32 operation that the compiler may not
// fuse into another: the one fused multiplication and addition is spelled out.
#pragma once

#include "kernel_api/rmsnorm_args.h"
#include "kernels/cuda/common/pack.cuh"

namespace mr::cuda {

template <class T>
__device__ inline float add_squares(const Floats<T>& s, float sum) {
#pragma unroll
  for (int i = 0; i < kPack<T>; ++i) sum = fmaf(s.at[i], s.at[i], sum);
  return sum;
}

__device__ inline float norm_scale(float sum, int64_t width, float epsilon) {
  return 1.0f / sqrtf(sum / static_cast<float>(width) + epsilon);
}

template <class T>
__device__ inline float normalised(float s, float scale, float factor, bool round_before) {
  float n = s * scale;
  if (round_before) n = rounded<T>(n);
  return n * factor;
}

// What a row is multiplied by where the weight is w.
__device__ inline float norm_factor(float w, bool plus_one) { return plus_one ? 1.0f + w : w; }

template <class T>
__device__ inline Floats<T> norm_factors(uint4 w, bool plus_one) {
  Floats<T> out = unpack<T>(w);
#pragma unroll
  for (int i = 0; i < kPack<T>; ++i) out.at[i] = norm_factor(out.at[i], plus_one);
  return out;
}

template <class T>
__device__ inline uint4 ones() {
  Floats<T> out;
#pragma unroll
  for (int i = 0; i < kPack<T>; ++i) out.at[i] = 1.0f;
  return pack<T>(out);
}

// The weight of a call: absent, of dtype T, or float32.
template <class T>
struct NormWeight {
  const void* data;
  int64_t stride;
  bool present;
  bool is_t;
  bool plus_one;

  __device__ explicit NormWeight(const RmsNormArgs& args)
      : data(args.weight),
        stride(args.weight_stride),
        present(args.weight_dtype != MR_ABSENT),
        is_t(args.weight_dtype == args.dtype),
        plus_one(args.weight_plus_one) {}

  __device__ float at(int64_t i) const {
    if (!present) return 1.0f;
    return norm_factor(is_t ? as_float(static_cast<const T*>(data)[i * stride])
                            : static_cast<const float*>(data)[i * stride],
                       plus_one);
  }

  // Of pack p, where the weight is contiguous and aligned to 16 bytes.
  __device__ Floats<T> factors_at(int64_t p) const {
    Floats<T> out;
    if (present && is_t) {
      return norm_factors<T>(load_pack(static_cast<const T*>(data) + p * kPack<T>), plus_one);
    }
#pragma unroll
    for (int i = 0; i < kPack<T>; i += 4) {
      float four[4] = {1.0f, 1.0f, 1.0f, 1.0f};
      if (present) {
        const float* from = static_cast<const float*>(data) + p * kPack<T> + i;
        const Floats<float> loaded = unpack<float>(load_pack(from));
#pragma unroll
        for (int k = 0; k < 4; ++k) four[k] = norm_factor(loaded.at[k], plus_one);
      }
#pragma unroll
      for (int k = 0; k < 4; ++k) out.at[i + k] = four[k];
    }
    return out;
  }
};

template <class T>
__device__ inline uint4 normalised_pack(uint4 s, float scale, const Floats<T>& factors,
                                        bool round_before) {
  Floats<T> values = unpack<T>(s);
#pragma unroll
  for (int i = 0; i < kPack<T>; ++i) {
    values.at[i] = normalised<T>(values.at[i], scale, factors.at[i], round_before);
  }
  return pack<T>(values);
}

template <class T>
__device__ inline uint4 added_pack(uint4 a, uint4 b) {
  Floats<T> sum = unpack<T>(a);
  const Floats<T> other = unpack<T>(b);
#pragma unroll
  for (int i = 0; i < kPack<T>; ++i) sum.at[i] += other.at[i];
  return pack<T>(sum);
}

}  // namespace mr::cuda
