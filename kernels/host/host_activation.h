// The activations of op.h on the host, for every kernel that has one.
//
// Evaluated in double and rounded to float32 once: right to float32's last bit over the whole
// range, with tails that neither overflow early nor cancel. A double exp costs hardly more than a
// float one.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "millrace/op.h"

namespace mr::host {

// SiLU and tanh-GELU have long rounded to -0 at this x, which so stands for all beyond, -inf
// included.
inline double clamp_tail(float x) { return x < -1000.0f ? -1000.0 : static_cast<double>(x); }

inline float silu(float value) {
  const double x = clamp_tail(value);
  return static_cast<float>(x / (1.0 + std::exp(-x)));
}

inline float gelu_tanh(float value) {
  constexpr double kRoot = 2.0 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // 2 sqrt(2 / pi)
  const double x = clamp_tail(value);
  return static_cast<float>(x / (1.0 + std::exp(-kRoot * (x + 0.044715 * x * x * x))));
}

inline float gelu_erf(float value) {
  if (value == -std::numeric_limits<float>::infinity()) return -0.0f;  // not -inf * 0
  const double x = value;
  return static_cast<float>(0.5 * x * std::erfc(-x / std::numbers::sqrt2));
}

inline float relu(float x) { return x <= 0.0f ? 0.0f : x; }  // NaN is not <= 0 and stays

// Applies one of MR_ACTIVATION_... to x[0, n). The switch stands outside the loops.
[[gnu::noinline]] inline void activate(uint32_t activation, float* x, int64_t n) {
  switch (activation) {
    case MR_ACTIVATION_RELU:
      for (int64_t i = 0; i < n; ++i) x[i] = relu(x[i]);
      break;
    case MR_ACTIVATION_RELU_SQUARED:
      for (int64_t i = 0; i < n; ++i) x[i] = relu(x[i]) * relu(x[i]);
      break;
    case MR_ACTIVATION_SILU:
      for (int64_t i = 0; i < n; ++i) x[i] = silu(x[i]);
      break;
    case MR_ACTIVATION_GELU_TANH:
      for (int64_t i = 0; i < n; ++i) x[i] = gelu_tanh(x[i]);
      break;
    case MR_ACTIVATION_GELU_ERF:
      for (int64_t i = 0; i < n; ++i) x[i] = gelu_erf(x[i]);
      break;
    default:
      break;  // NONE
  }
}

}  // namespace mr::host
