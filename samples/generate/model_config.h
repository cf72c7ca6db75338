// What kind of model a directory holds: config.json and generation_config.json, read and checked.

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rope_parameters.h"

namespace generate {

enum class ModelFamily : std::uint8_t { kLlama, kMistral, kQwen2, kQwen3 };

std::string_view family_name(ModelFamily family);  // as model_type spells it

/// Of the gated feed-forward: activation(gate(x)) * up(x).
enum class Activation : std::uint8_t { kSilu, kGelu, kGeluTanh };

/// Every number is in range and consistent with the others: heads is a multiple of kv_heads,
/// head_dim is even and at most 256, windows has one entry per layer, ids are below vocab_size.
struct ModelConfig {
  ModelFamily family{};

  std::int32_t vocab_size{};
  std::int32_t hidden_size{};
  std::int32_t intermediate_size{};
  std::int32_t layers{};
  std::int32_t heads{};
  std::int32_t kv_heads{};
  std::int32_t head_dim{};  // heads x head_dim need not be hidden_size
  std::int32_t context{};   // max_position_embeddings

  double rms_norm_eps{};
  Activation activation{};
  RopeConfig rope;

  bool tied_embeddings{};  // the output projection is the embedding table
  bool qkv_bias{};
  bool output_bias{};  // of the attention's output projection
  bool mlp_bias{};
  bool qk_norm{};  // RMSNorm of each head of q and k before the rotation

  /// Of each layer: how many positions a query sees, its own included; 0 = all before it.
  std::vector<std::int32_t> windows;

  std::optional<std::int32_t> bos_id;
  std::vector<std::int32_t> eos_ids;  // any of them ends a text; may be empty
};

/// From the texts of config.json and of generation_config.json, which need not be there. Where both
/// give eos_token_id, the latter wins. `directory` opens every message.
/// Throws Error, which names the file, the field, its value and its limits.
ModelConfig parse_model_config(std::string_view config, std::optional<std::string_view> generation,
                               const std::string& directory = "");

ModelConfig load_model_config(const std::filesystem::path& directory);

}  // namespace generate
