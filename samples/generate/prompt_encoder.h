// From a prompt's text to the ids that a model is given.

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model_config.h"
#include "tokenizer.h"

namespace generate {

/// What tokenizer_config.json adds to tokenizer.json, as far as it matters here.
struct TokenizerSettings {
  std::optional<bool> add_bos_token;
};

TokenizerSettings parse_tokenizer_settings(std::string_view json,
                                           const std::string& file = "tokenizer_config.json");

/// From the directory's tokenizer_config.json, which need not be there.
TokenizerSettings load_tokenizer_settings(const std::filesystem::path& directory);

/// The token that a prompt must begin with and that the tokenizer does not put there itself, or
/// nothing. The rule:
///
///   1. A tokenizer whose post-processor adds tokens knows best: nothing.
///   2. Without a bos_token_id in config.json: nothing.
///   3. With add_bos_token false in tokenizer_config.json: nothing (Qwen has a bos id and no bos).
///   4. Else that bos_token_id.
std::optional<std::int32_t> missing_bos(const Tokenizer& tokenizer, const ModelConfig& config,
                                        const TokenizerSettings& settings);

/// The prompt's ids: Tokenizer::encode with special tokens, behind the missing bos, if there is one
/// and the text does not already begin with it. Throws Error for an id that the model has no
/// embedding for.
std::vector<std::int32_t> encode_prompt(const Tokenizer& tokenizer, const ModelConfig& config,
                                        const TokenizerSettings& settings, std::string_view text);

}  // namespace generate
