// The activations of op.h in float32. The forms are those whose tails neither cancel nor overflow.
#pragma once

#include <cstdint>

#include "millrace/op.h"

namespace mr::cuda {

// x / (1 + exp(-t)). Where exp(-t) overflows the quotient is -0, as it is in the limit; only
// x = -inf, an infinity over an infinity, needs saying.
__device__ inline float times_sigmoid(float x, float t) {
  if (x == -INFINITY) return -0.0f;
  return x / (1.0f + expf(-t));
}

__device__ inline float relu(float x) { return x <= 0.0f ? 0.0f : x; }  // NaN is not <= 0 and stays

__device__ inline float gelu_tanh(float x) {
  constexpr float kRoot = 1.5957691216057308f;  // 2 sqrt(2 / pi)
  return times_sigmoid(x, kRoot * (x + 0.044715f * x * x * x));
}

__device__ inline float gelu_erf(float x) {
  constexpr float kInverseRoot2 = 0.70710678118654752f;
  if (x == -INFINITY) return -0.0f;
  return 0.5f * x * erfcf(-x * kInverseRoot2);
}

__device__ inline float activated(uint32_t activation, float x) {
  switch (activation) {
    case MR_ACTIVATION_RELU:
      return relu(x);
    case MR_ACTIVATION_RELU_SQUARED:
      return relu(x) * relu(x);
    case MR_ACTIVATION_SILU:
      return times_sigmoid(x, x);
    case MR_ACTIVATION_GELU_TANH:
      return gelu_tanh(x);
    case MR_ACTIVATION_GELU_ERF:
      return gelu_erf(x);
    default:
      return x;
  }
}

}  // namespace mr::cuda
