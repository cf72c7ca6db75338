// A model made ready to run: weights, cache and forward pass on one device.

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <millrace.hpp>

#include "decoder.h"
#include "model_config.h"
#include "model_weights.h"
#include "paged_kv.h"
#include "prompt_encoder.h"
#include "step_batch.h"
#include "tokenizer.h"

namespace generate {

/// "auto", "host" or "cuda:N". `auto` is the first device that has every operator of the model.
millrace::Context open_device(const std::string& device);

/// MR_F32, MR_BF16 or MR_F16 by name.
mr_dtype parse_dtype(const std::string& name);

/// Most tokens that one step takes: longer prompts are cut into steps.
inline constexpr std::int32_t kStepTokens = 512;
/// Most sequences that run at once; more prompts wait their turn.
inline constexpr std::int32_t kMostSequences = 32;

/// The parts of a model, in the order in which they depend on each other.
struct Engine {
  /// `room` is the number of tokens that the cache must hold; it is bounded by what
  /// kMostSequences full contexts take. `max_outputs` as in Decoder.
  Engine(const std::filesystem::path& model, const std::string& device, mr_dtype dtype,
         std::int64_t room, std::int32_t max_outputs, const ModelWeights::Progress& progress);

  std::vector<std::int32_t> encode(std::string_view text) const {
    return encode_prompt(tokenizer, config, settings, text);
  }

  ModelConfig config;
  Tokenizer tokenizer;
  TokenizerSettings settings;
  millrace::Context context;
  millrace::Stream stream;
  ModelWeights weights;
  PagedKv kv;
  StepBatch batch;
  Decoder decoder;
};

}  // namespace generate
