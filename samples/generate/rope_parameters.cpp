#include "rope_parameters.h"

#include <cmath>
#include <string>

#include "json_reader.h"
#include "reader_error.h"

namespace generate {
namespace {

constexpr double kSmallest = 1e-6;
constexpr double kLargest = 1e12;
constexpr std::int64_t kLongestContext = std::int64_t{1} << 30;

double positive(const JsonField& rope, std::string_view key) {
  return rope.at(key).number(kSmallest, kLargest);
}

double positive_or(const JsonField& rope, std::string_view key, double absent) {
  const auto field = rope.find(key);
  return field ? field->number(kSmallest, kLargest) : absent;
}

/// "rope_type", or "type" as it was first called.
std::string scaling_name(const JsonField& rope) {
  if (const auto name = rope.find("rope_type")) return name->text();
  if (const auto name = rope.find("type")) return name->text();
  return "default";
}

RopeScaling parse_scaling(const JsonField& rope) {
  const std::string name = scaling_name(rope);
  if (name == "default") return RopeScaling::kNone;
  if (name == "linear") return RopeScaling::kLinear;
  if (name == "ntk") return RopeScaling::kNtk;
  if (name == "yarn") return RopeScaling::kYarn;
  if (name == "llama3") return RopeScaling::kLlama3;
  const std::string supported = "supported are default, linear, ntk, yarn, llama3";
  if (name == "dynamic") {
    rope.fail(
        concat("rope type 'dynamic' changes the frequencies with the length of the text, which ",
               "keys already in the cache cannot follow; ", supported));
  }
  rope.fail(concat("rope type ", in_quotes(name), " is unknown; ", supported));
}

/// The published formula: 0.1 ln(s) + 1, with DeepSeek's two multipliers as a ratio where both are
/// given and neither is 0.
double yarn_attention_factor(const JsonField& rope, double factor) {
  const auto scale = [factor](double multiplier) {
    return factor <= 1 ? 1.0 : 0.1 * multiplier * std::log(factor) + 1.0;
  };
  if (const auto given = rope.find("attention_factor")) return given->number(kSmallest, kLargest);
  const auto mscale = rope.find("mscale");
  const auto mscale_all_dim = rope.find("mscale_all_dim");
  if (mscale && mscale_all_dim) {
    const double above = mscale->number(0, kLargest);
    const double below = mscale_all_dim->number(0, kLargest);
    if (above != 0 && below != 0) return scale(above) / scale(below);
  }
  return scale(1);
}

/// Rotations or wavelengths on which the kind of scaling depends, so the order of the two matters.
void parse_ramp(const JsonField& rope, RopeConfig& config) {
  if (config.scaling == RopeScaling::kYarn) {
    config.beta_fast = positive_or(rope, "beta_fast", config.beta_fast);
    config.beta_slow = positive_or(rope, "beta_slow", config.beta_slow);
    if (config.beta_fast < config.beta_slow) {
      rope.fail(concat("beta_fast = ", config.beta_fast,
                       " must not be below beta_slow = ", config.beta_slow));
    }
    if (const auto truncate = rope.find("truncate")) config.truncate = truncate->flag();
    config.attention_factor = yarn_attention_factor(rope, config.factor);
  } else if (config.scaling == RopeScaling::kLlama3) {
    config.low_freq_factor = positive(rope, "low_freq_factor");
    config.high_freq_factor = positive(rope, "high_freq_factor");
    if (config.high_freq_factor <= config.low_freq_factor) {
      rope.fail(concat("high_freq_factor = ", config.high_freq_factor,
                       " must be above low_freq_factor = ", config.low_freq_factor));
    }
  }
}

void refuse_partial_rotation(const JsonField& holder) {
  const auto part = holder.find("partial_rotary_factor");
  if (part && part->number(0, 1) != 1) part->fail("must be 1: partial rotation is not supported");
}

/// The object that holds the scaling parameters: the newer spelling, else the older, else nothing.
std::optional<JsonField> scaling_object(const JsonField& config) {
  if (auto parameters = config.find("rope_parameters")) {
    for (const std::string_view layer_type : {"full_attention", "sliding_attention"}) {
      if (parameters->find(layer_type)) {
        parameters->fail("gives each layer type parameters of its own, which is not supported");
      }
    }
    return parameters;
  }
  return config.find("rope_scaling");
}

}  // namespace

RopeConfig parse_rope_config(const JsonField& config, std::int32_t context) {
  RopeConfig result;
  result.original_context = context;
  result.theta = positive_or(config, "rope_theta", result.theta);
  refuse_partial_rotation(config);

  const auto rope = scaling_object(config);
  if (!rope) return result;
  result.theta = positive_or(*rope, "rope_theta", result.theta);
  refuse_partial_rotation(*rope);

  result.scaling = parse_scaling(*rope);
  if (result.scaling == RopeScaling::kNone) return result;
  const bool stretches =
      result.scaling == RopeScaling::kYarn || result.scaling == RopeScaling::kLlama3;
  const auto original = rope->find("original_max_position_embeddings");
  if (stretches && original) {
    result.original_context = static_cast<std::int32_t>(original->integer(1, kLongestContext));
  }
  const bool derived = result.scaling == RopeScaling::kYarn && original && !rope->find("factor");
  result.factor =
      derived ? static_cast<double>(context) / result.original_context : positive(*rope, "factor");
  parse_ramp(*rope, result);
  return result;
}

}  // namespace generate
