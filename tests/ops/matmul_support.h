// What the tests of matmul, one-shot and planned, share: the formula in double, and how to call it.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "support/op_test.h"
#include "support/refusals.h"

namespace test {

inline constexpr Functions<mr_matmul_args> kMatmul = {mr_matmul, mr_matmul_prepare,
                                                      mr_matmul_workspace, mr_matmul_kernel};

// Activations of op.h.
inline double activate(uint32_t activation, double x) {
  switch (activation) {
    case MR_ACTIVATION_RELU:
      return x > 0.0 || std::isnan(x) ? x : 0.0;
    case MR_ACTIVATION_RELU_SQUARED:
      return x > 0.0 || std::isnan(x) ? x * x : 0.0;
    case MR_ACTIVATION_SILU:
      return x / (1.0 + std::exp(-x));
    case MR_ACTIVATION_GELU_TANH: {
      const double u = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      return x / (1.0 + std::exp(-2.0 * u));
    }
    case MR_ACTIVATION_GELU_ERF:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    default:
      return x;
  }
}

struct Product {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  std::vector<double> x, w;     // [batch, m, k], [batch, n, k]
  std::vector<double> bias, c;  // empty: none; [n], [batch, m, n]
  double alpha = 1.0, beta = 0.0;
  uint32_t activation = MR_ACTIVATION_NONE;

  // d in double, and the largest sum of magnitudes that went into one element: float32's rounding
  // inside is relative to that.
  std::vector<double> d() const { return evaluate().first; }
  double scale() const { return evaluate().second; }

  std::pair<std::vector<double>, double> evaluate() const {
    std::vector<double> out;
    double largest = 0.0;
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t r = 0; r < m; ++r) {
        for (int64_t s = 0; s < n; ++s) {
          double sum = 0.0, size = 0.0;
          for (int64_t i = 0; i < k && alpha != 0.0; ++i) {
            const double term = x[static_cast<size_t>((b * m + r) * k + i)] *
                                w[static_cast<size_t>((b * n + s) * k + i)];
            sum += term;
            size += std::fabs(term);
          }
          double value = alpha != 0.0 && k > 0 ? alpha * sum : 0.0;
          size *= std::fabs(alpha);
          if (!bias.empty()) {
            value += bias[static_cast<size_t>(s)];
            size += std::fabs(bias[static_cast<size_t>(s)]);
          }
          value = activate(activation, value);
          // The square and a wide argument pass errors on enlarged.
          if (activation == MR_ACTIVATION_RELU_SQUARED) size *= 2.0 * size;
          if (!c.empty() && beta != 0.0) {
            const double term = beta * c[static_cast<size_t>((b * m + r) * n + s)];
            value += term;
            size += std::fabs(term);
          }
          out.push_back(value);
          largest = std::max(largest, size);
        }
      }
    }
    return {out, largest};
  }
};

// Prepares and enqueues; the call must succeed.
inline void run_matmul(Place& place, const mr_matmul_args& args) {
  mr_error error = {};
  const mr_status prepared = mr_matmul_prepare(place.stream(), &args, &error);
  REQUIRE_MESSAGE(prepared == MR_OK, mr_status_name(prepared) << ": " << error.text);
  const mr_status status = mr_matmul(place.stream(), &args, &error);
  REQUIRE_MESSAGE(status == MR_OK, mr_status_name(status) << ": " << error.text);
}

inline mr_matmul_args matmul_args(const mr_tensor& x, const mr_tensor& w, const mr_tensor& d) {
  mr_matmul_args args = MR_MATMUL_ARGS_INIT;
  args.x = x;
  args.w = w;
  args.d = d;
  return args;
}

inline std::string kernel_name(Place& place, const mr_matmul_args& args) {
  mr_kernel_info info = MR_KERNEL_INFO_INIT;
  mr_error error = {};
  const mr_status status = mr_matmul_kernel(place.stream(), &args, &info, &error);
  return status == MR_OK ? info.name : "";
}

}  // namespace test
