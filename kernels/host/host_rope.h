// Rotary embedding: frequencies, angles and the rotation of one head, shared by mr_rope and
// mr_qkv_post so that they agree bit for bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernel_api/rope_args.h"
#include "kernels/host/host_rows.h"

namespace mr::host {

// The frequency of each pair, from the formulas of rope.h.
class RopeFrequencies {
 public:
  explicit RopeFrequencies(const RopeParams& rope) : rope_(rope), theta_(rope.theta) {
    const double dim = rope.rotary_dim;
    if (rope.scaling == MR_ROPE_SCALING_NTK && rope.rotary_dim > 2) {
      theta_ *= std::pow(static_cast<double>(rope.factor), dim / (dim - 2.0));
    } else if (rope.scaling == MR_ROPE_SCALING_YARN) {
      // Where a wave makes beta_fast turns within the original context frequencies are kept, where
      // it makes beta_slow they are divided; between, in pairs, runs the ramp. The clamps and the
      // thousandth that keeps its length from 0 are the convention of published checkpoints.
      ramp_low_ = std::max(std::floor(pair_of_turns(rope.beta_fast)), 0.0);
      ramp_high_ = std::min(std::ceil(pair_of_turns(rope.beta_slow)), dim - 1.0);
      if (ramp_low_ == ramp_high_) ramp_high_ += 0.001;
    }
  }

  double operator()(int64_t pair) const {
    const double f = std::pow(theta_, -2.0 * static_cast<double>(pair) / rope_.rotary_dim);
    const double factor = rope_.factor;
    switch (rope_.scaling) {
      case MR_ROPE_SCALING_LINEAR:
        return f / factor;
      case MR_ROPE_SCALING_YARN: {
        const double along = (static_cast<double>(pair) - ramp_low_) / (ramp_high_ - ramp_low_);
        const double divided = std::clamp(along, 0.0, 1.0);
        return f / factor * divided + f * (1.0 - divided);
      }
      case MR_ROPE_SCALING_LLAMA3:
        return llama3(f, factor);
      default:
        return f;
    }
  }

 private:
  // The (fractional) pair whose wave makes this many turns within the original context:
  // theta^(-2 i / dim) * L = 2 pi * turns, solved for i.
  double pair_of_turns(double turns) const {
    const double length = rope_.original_max_position;
    return rope_.rotary_dim * std::log(length / (turns * 2.0 * std::numbers::pi)) /
           (2.0 * std::log(theta_));
  }

  double llama3(double f, double factor) const {
    const double turns = rope_.original_max_position * f / (2.0 * std::numbers::pi);  // L / w
    if (turns < rope_.low_freq_factor) return f / factor;
    if (turns > rope_.high_freq_factor) return f;
    const double t = (turns - rope_.low_freq_factor) /
                     (static_cast<double>(rope_.high_freq_factor) - rope_.low_freq_factor);
    return (1.0 - t) * f / factor + t * f;
  }

  const RopeParams& rope_;
  double theta_;
  double ramp_low_ = 0.0;
  double ramp_high_ = 0.0;
};

// Cosines and sines of one token, a piece of pairs at a time. Angles are products in double, so
// that far positions keep their place on the circle. Frequencies (a power each) outlast the token
// and cosines the call, as long as all pairs fit one piece: rotary_dim up to 512, any model's.
class RopeAngles {
 public:
  explicit RopeAngles(const RopeParams& rope) : rope_(rope), frequencies_(rope) {}

  // Makes cos() and sin() those of pairs [first, first + n) at this position. n <= kPiece.
  void turn(int64_t position, int64_t first, int64_t n) {
    if (first != first_) {
      for (int64_t i = 0; i < n; ++i) frequency_[i] = frequencies_(first + i);
    } else if (position == position_) {
      return;
    }
    const double gain = rope_.attention_factor;
    for (int64_t i = 0; i < n; ++i) {
      const double angle = static_cast<double>(position) * frequency_[i];
      cos_[i] = static_cast<float>(gain * std::cos(angle));
      sin_[i] = static_cast<float>(gain * std::sin(angle));
    }
    first_ = first;
    position_ = position;
  }

  const float* cos() const { return cos_; }
  const float* sin() const { return sin_; }
  const RopeParams& rope() const { return rope_; }

 private:
  const RopeParams& rope_;
  RopeFrequencies frequencies_;
  int64_t first_ = -1;
  int64_t position_ = -1;
  double frequency_[kPiece];
  float cos_[kPiece];
  float sin_[kPiece];
};

// Pairs [first, first + n) of one head. `to` may be `from`.
template <class T>
[[gnu::noinline]] void rotate_piece(const RopeAngles& angles, int64_t first, int64_t n,
                                    const T* from, T* to) {
  const RopeParams& rope = angles.rope();
  const bool neox = rope.pairing == MR_ROPE_NEOX;
  const int64_t stride = neox ? 1 : 2;
  const int64_t a_at = first * stride;
  const int64_t b_at = neox ? first + rope.rotary_dim / 2 : a_at + 1;
  const float* cos = angles.cos();
  const float* sin = angles.sin();
  float a[kPiece], b[kPiece], x[kPiece], y[kPiece];
  load(from + a_at, stride, n, a);
  load(from + b_at, stride, n, b);
  for (int64_t i = 0; i < n; ++i) {
    x[i] = a[i] * cos[i] - b[i] * sin[i];
    y[i] = b[i] * cos[i] + a[i] * sin[i];
  }
  store(x, n, to + a_at, stride);
  store(y, n, to + b_at, stride);
}

// The heads of one token; `to` may be `from` with the same stride. A negative position copies.
template <class T>
void rotate_heads(RopeAngles& angles, int64_t position, int64_t heads, int64_t dim, const T* from,
                  int64_t from_stride, T* to, int64_t to_stride) {
  const int64_t rotated = position < 0 ? 0 : angles.rope().rotary_dim;
  if (from != to && rotated < dim) {
    for (int64_t h = 0; h < heads; ++h) {
      std::memcpy(to + h * to_stride + rotated, from + h * from_stride + rotated,
                  static_cast<size_t>(dim - rotated) * sizeof(T));
    }
  }
  for_each_piece(0, rotated / 2, [&](int64_t first, int64_t n) {
    angles.turn(position, first, n);
    for (int64_t h = 0; h < heads; ++h) {
      rotate_piece(angles, first, n, from + h * from_stride, to + h * to_stride);
    }
  });
}

inline int64_t position_at(const void* positions, mr_dtype dtype, int64_t stride, int64_t token) {
  return dtype == MR_I32 ? static_cast<const int32_t*>(positions)[token * stride]
                         : static_cast<const int64_t*>(positions)[token * stride];
}

// What the rotation of a token costs, for the grain: angles, then 4 ns for each pair of a head.
inline int64_t rotation_ns(const RopeParams& rope, int64_t heads) {
  return rope.rotary_dim / 2 * (40 + 4 * std::min<int64_t>(heads, 1 << 20));
}

}  // namespace mr::host
