// How a model's rotary position embedding is parameterised.

#pragma once

#include <cstdint>

namespace generate {

class JsonField;

enum class RopeScaling : std::uint8_t {
  kNone,    // frequency i of d/2: theta^(-2i/d)
  kLinear,  // every frequency divided by factor
  kNtk,     // theta multiplied by factor^(d/(d-2))
  kYarn,    // a ramp between the two above by rotation count: https://arxiv.org/abs/2309.00071
  kLlama3,  // a ramp by wavelength, as published with Llama 3.1
};

/// Every parameter has its value here; what a file leaves out is filled in as the comments say.
struct RopeConfig {
  RopeScaling scaling = RopeScaling::kNone;
  double theta = 10000;
  double factor = 1;  // all but kNone; yarn may derive it from the two context lengths

  // yarn: rotations over the original context above which a frequency is kept, and below which it
  // is divided by factor; whether the ramp's ends are rounded outwards to whole frequencies.
  double beta_fast = 32;
  double beta_slow = 1;
  bool truncate = true;
  // yarn: multiplies sine and cosine. Where a file gives none, it follows from mscale and
  // mscale_all_dim (see yarn_attention_factor in rope_parameters.cpp).
  double attention_factor = 1;

  // llama3: in wavelengths per original context.
  double low_freq_factor = 1;
  double high_freq_factor = 4;

  // yarn and llama3: the context that the model was trained on before it was stretched.
  std::int32_t original_context = 0;
};

/// From a whole config.json: the member rope_parameters, or the older rope_theta and rope_scaling.
/// `context` is max_position_embeddings. Throws Error for a kind that is not in RopeScaling.
RopeConfig parse_rope_config(const JsonField& config, std::int32_t context);

}  // namespace generate
