#include "ops/rope_config.h"

#include <algorithm>
#include <cmath>

namespace mr {
namespace {

constexpr float kDefaultTheta = 10000.0f;  // of the paper that introduced RoPE, and most models'

bool positive(float value) { return std::isfinite(value) && value > 0.0f; }

Status rotary_dim(const mr_rope_config& config, int64_t dim, int32_t* out) {
  if (config.rotary_dim < 0) {
    return invalid("args.rope.rotary_dim", "is negative", config.rotary_dim, 0);
  }
  const int64_t rotary = config.rotary_dim == 0 ? dim : config.rotary_dim;
  if (rotary % 2 != 0) return invalid("args.rope.rotary_dim", "is odd", rotary);
  if (dim > 0 && rotary > dim) {
    return invalid("args.rope.rotary_dim", "is more than a head has", rotary, dim);
  }
  *out = static_cast<int32_t>(rotary);
  return {};
}

Status yarn(const mr_rope_config& config, RopeParams* out) {
  out->beta_fast = config.beta_fast == 0.0f ? 32.0f : config.beta_fast;
  out->beta_slow = config.beta_slow == 0.0f ? 1.0f : config.beta_slow;
  if (!positive(out->beta_fast)) return invalid("args.rope.beta_fast", "is negative or not finite");
  if (!positive(out->beta_slow)) return invalid("args.rope.beta_slow", "is negative or not finite");
  if (out->beta_fast <= out->beta_slow) {
    return invalid("args.rope.beta_fast", "is not above beta_slow");
  }
  // The ramp's bounds divide by ln(theta).
  if (out->theta <= 1.0f) return invalid("args.rope.theta", "is not above 1, as YaRN needs");
  if (!std::isfinite(config.attention_factor) || config.attention_factor < 0.0f) {
    return invalid("args.rope.attention_factor", "is negative or not finite");
  }
  out->attention_factor = config.attention_factor;
  if (config.attention_factor == 0.0f) {
    const double gain = 0.1 * std::log(static_cast<double>(config.factor)) + 1.0;
    out->attention_factor = static_cast<float>(std::max(gain, 1.0));
  }
  return {};
}

Status llama3(const mr_rope_config& config, RopeParams* out) {
  out->low_freq_factor = config.low_freq_factor;
  out->high_freq_factor = config.high_freq_factor;
  if (!positive(config.low_freq_factor)) {
    return invalid("args.rope.low_freq_factor", "is not a positive number");
  }
  if (!positive(config.high_freq_factor) || config.high_freq_factor <= config.low_freq_factor) {
    return invalid("args.rope.high_freq_factor", "is not a number above low_freq_factor");
  }
  return {};
}

}  // namespace

Status check_head_dim(int64_t dim, const char* name) {
  constexpr int64_t kMaxDim = 65536;
  if (dim <= kMaxDim) return {};
  return invalid(name, "has heads that are too wide", dim, kMaxDim);
}

Status rope_params(const mr_rope_config& config, int64_t dim, RopeParams* out) {
  *out = RopeParams();
  if (config.pairing > MR_ROPE_GPTJ) {
    return invalid("args.rope.pairing", "is unknown", config.pairing, MR_ROPE_GPTJ);
  }
  if (config.scaling > MR_ROPE_SCALING_LLAMA3) {
    return invalid("args.rope.scaling", "is unknown", config.scaling, MR_ROPE_SCALING_LLAMA3);
  }
  for (uint32_t word : config.reserved) {
    if (word != 0) return invalid("args.rope.reserved", "is not 0", word, 0);
  }
  MR_TRY(rotary_dim(config, dim, &out->rotary_dim));
  out->theta = config.theta == 0.0f ? kDefaultTheta : config.theta;
  if (!positive(out->theta)) return invalid("args.rope.theta", "is negative or not finite");
  out->pairing = config.pairing;
  out->scaling = config.scaling;
  if (config.scaling == MR_ROPE_SCALING_NONE) return {};

  if (!positive(config.factor)) return invalid("args.rope.factor", "is not a positive number");
  out->factor = config.factor;
  if (config.scaling != MR_ROPE_SCALING_YARN && config.scaling != MR_ROPE_SCALING_LLAMA3) return {};

  if (config.original_max_position <= 0) {
    return invalid("args.rope.original_max_position", "is not positive",
                   config.original_max_position, 1);
  }
  out->original_max_position = config.original_max_position;
  return config.scaling == MR_ROPE_SCALING_YARN ? yarn(config, out) : llama3(config, out);
}

}  // namespace mr
