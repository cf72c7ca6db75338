// The arithmetic of RMSNorm on pieces of a row, shared by mr_rmsnorm and mr_qkv_post so that they
// agree bit for bit.
#pragma once

#include <cmath>

#include "kernels/host/host_rows.h"

namespace mr::host {

// The sum of squares of a row, fed in pieces of kPiece elements (the last may be shorter). Summed
// in double over eight lanes: element i goes to lane i mod 8, so the order depends on the width
// alone. The square of a float is exact in a double and cannot overflow there.
class SquareSum {
 public:
  // x needs room for n rounded up to a multiple of 8: the gap is filled with zeros.
  [[gnu::noinline]] void add(float* x, int64_t n) {
    const int64_t padded = (n + kLanes - 1) / kLanes * kLanes;
    for (int64_t i = n; i < padded; ++i) x[i] = 0.0f;
    double lanes[kLanes];
    for (int l = 0; l < kLanes; ++l) lanes[l] = lanes_[l];
    for (int64_t i = 0; i < padded; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) {
        const double value = x[i + l];
        lanes[l] += value * value;
      }
    }
    for (int l = 0; l < kLanes; ++l) lanes_[l] = lanes[l];
  }

  double total() const {
    return ((lanes_[0] + lanes_[4]) + (lanes_[2] + lanes_[6])) +
           ((lanes_[1] + lanes_[5]) + (lanes_[3] + lanes_[7]));
  }

 private:
  static constexpr int kLanes = 8;
  double lanes_[kLanes] = {};
};
static_assert(kPiece % 8 == 0);

inline float norm_scale(const SquareSum& sum, int64_t width, float epsilon) {
  const double mean = sum.total() / static_cast<double>(width);
  return static_cast<float>(1.0 / std::sqrt(mean + static_cast<double>(epsilon)));
}

struct NormWeight {
  mr_dtype dtype = MR_ABSENT;  // absent: all ones, or zeros with plus_one
  const void* data = nullptr;
  int64_t stride = 0;
  bool plus_one = false;
  bool round_before = false;  // round to T before the multiplication
};

// x = x * scale * weight[at, at + n), for one piece of a row.
template <class T>
[[gnu::noinline]] void scale_piece(const NormWeight& weight, float scale, int64_t at, int64_t n,
                                   float* x) {
  for (int64_t i = 0; i < n; ++i) x[i] *= scale;
  if (weight.dtype == MR_ABSENT) return;  // 1, or 1 + 0
  if (weight.round_before) round_to<T>(x, n);
  float w[kPiece];
  if (weight.dtype == kDType<T>) {
    load(static_cast<const T*>(weight.data) + at * weight.stride, weight.stride, n, w);
  } else {
    load(static_cast<const float*>(weight.data) + at * weight.stride, weight.stride, n, w);
  }
  if (weight.plus_one) {
    for (int64_t i = 0; i < n; ++i) w[i] = 1.0f + w[i];
  }
  for (int64_t i = 0; i < n; ++i) x[i] *= w[i];
}

}  // namespace mr::host
