// How probable a model finds a text.

#pragma once

#include <cstdint>
#include <span>

#include "engine.h"

namespace generate {

struct Score {
  double mean_nll = 0;      // natural logarithm, per scored token
  std::int64_t tokens = 0;  // scored: all but the first
};

/// The mean negative log-likelihood of each token given those before it. A text longer than the
/// model's context is read through windows that overlap by half, so that each token but those of
/// the first window has at least half a context before it.
Score score_text(Engine& engine, std::span<const std::int32_t> ids);

}  // namespace generate
