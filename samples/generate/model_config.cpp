#include "model_config.h"

#include <algorithm>
#include <array>

#include "json_reader.h"
#include "mapped_file.h"
#include "reader_error.h"

namespace generate {
namespace {

/// What a family means by a field that its config.json leaves out. The values are the defaults of
/// the configuration classes in Hugging Face Transformers, where each family is defined.
struct FamilyRow {
  ModelFamily family;
  std::string_view model_type;
  std::string_view architecture;
  std::int32_t kv_heads;  // 0: as many as heads
  std::int32_t head_dim;  // 0: hidden_size / heads
  std::int32_t context;
  std::int32_t window;  // 0: no sliding window, whatever the file says
  bool qkv_bias_always;
  bool qk_norm;
};

constexpr std::array kFamilies = {
    FamilyRow{ModelFamily::kLlama, "llama", "LlamaForCausalLM", 0, 0, 2048, 0, false, false},
    FamilyRow{ModelFamily::kMistral, "mistral", "MistralForCausalLM", 8, 0, 131072, 4096, false,
              false},
    FamilyRow{ModelFamily::kQwen2, "qwen2", "Qwen2ForCausalLM", 32, 0, 32768, 4096, true, false},
    FamilyRow{ModelFamily::kQwen3, "qwen3", "Qwen3ForCausalLM", 32, 128, 32768, 4096, false, true},
};

// Upper limits: above any model there is, below what makes a product overflow 64 bits.
constexpr std::int32_t kMostVocab = 1 << 24;
constexpr std::int32_t kMostWidth = 1 << 20;
constexpr std::int32_t kMostLayers = 4096;
constexpr std::int32_t kMostHeads = 4096;
constexpr std::int32_t kMostHeadDim = 256;
constexpr std::int32_t kMostContext = 1 << 30;

std::int32_t integer_or(const JsonField& config, std::string_view key, std::int32_t absent,
                        std::int32_t most) {
  const auto field = config.find(key);
  return field ? static_cast<std::int32_t>(field->integer(1, most)) : absent;
}

std::int32_t required(const JsonField& config, std::string_view key, std::int32_t most) {
  return static_cast<std::int32_t>(config.at(key).integer(1, most));
}

bool flag_or(const JsonField& config, std::string_view key, bool absent) {
  const auto field = config.find(key);
  return field ? field->flag() : absent;
}

std::string supported_types() {
  std::string text = "supported are";
  for (const FamilyRow& row : kFamilies) text += concat(" ", row.model_type);
  return text;
}

const FamilyRow& parse_family(const JsonField& config) {
  const auto type = config.find("model_type");
  const auto architectures = config.find("architectures");
  if (!type && !architectures) config.fail("has neither model_type nor architectures");
  std::optional<JsonField> architecture;
  if (architectures) architecture = architectures->element(0);

  for (const FamilyRow& row : kFamilies) {
    if (type ? type->text() != row.model_type : architecture->text() != row.architecture) continue;
    if (architecture && architecture->text() != row.architecture) {
      architecture->fail(
          concat("model_type ", row.model_type, " is supported as ", row.architecture));
    }
    return row;
  }
  (type ? *type : *architecture).fail(concat("is no supported model; ", supported_types()));
}

void refuse_unsupported(const JsonField& config) {
  if (const auto quantised = config.find("quantization_config")) {
    quantised->fail("quantised checkpoints are not supported; weights must be F32, F16 or BF16");
  }
}

Activation parse_activation(const JsonField& config) {
  const auto field = config.find("hidden_act");
  if (!field || field->text() == "silu" || field->text() == "swish") return Activation::kSilu;
  if (field->text() == "gelu") return Activation::kGelu;
  // Three spellings of the tanh approximation.
  for (const std::string_view name : {"gelu_pytorch_tanh", "gelu_new", "gelu_fast"}) {
    if (field->text() == name) return Activation::kGeluTanh;
  }
  field->fail("is no supported activation; supported are silu, gelu, gelu_pytorch_tanh");
}

void parse_sizes(const JsonField& config, const FamilyRow& row, ModelConfig& result) {
  result.vocab_size = required(config, "vocab_size", kMostVocab);
  result.hidden_size = required(config, "hidden_size", kMostWidth);
  result.intermediate_size = required(config, "intermediate_size", kMostWidth);
  result.layers = required(config, "num_hidden_layers", kMostLayers);
  result.heads = required(config, "num_attention_heads", kMostHeads);
  result.context = integer_or(config, "max_position_embeddings", row.context, kMostContext);

  // Absent means the family's default; an explicit null has always meant one per query head.
  const bool null_kv_heads = config.raw_object().contains("num_key_value_heads");
  const std::int32_t kv_default = row.kv_heads == 0 || null_kv_heads ? result.heads : row.kv_heads;
  result.kv_heads = integer_or(config, "num_key_value_heads", kv_default, kMostHeads);
  if (result.heads % result.kv_heads != 0) {
    config.at("num_attention_heads")
        .fail(concat("must be a multiple of num_key_value_heads = ", result.kv_heads));
  }

  if (const auto head_dim = config.find("head_dim")) {
    result.head_dim = static_cast<std::int32_t>(head_dim->integer(2, kMostHeadDim));
  } else if (row.head_dim != 0) {
    result.head_dim = row.head_dim;
  } else if (result.hidden_size % result.heads != 0) {
    config.at("hidden_size")
        .fail(concat("must be a multiple of num_attention_heads = ", result.heads,
                     " where head_dim is absent"));
  } else {
    result.head_dim = result.hidden_size / result.heads;
  }
  if (result.head_dim % 2 != 0 || result.head_dim > kMostHeadDim) {
    config.fail(
        concat("head_dim = ", result.head_dim, ": must be even and at most ", kMostHeadDim));
  }
}

/// How many positions a layer of the sliding kind sees; 0 where the file turns windows off.
std::int32_t parse_window(const JsonField& config, const FamilyRow& row) {
  if (row.window == 0) return 0;
  const bool is_qwen = row.family == ModelFamily::kQwen2 || row.family == ModelFamily::kQwen3;
  if (is_qwen && !flag_or(config, "use_sliding_window", false)) return 0;
  // Absent means the family's default; an explicit null means none.
  const bool null_window = config.raw_object().contains("sliding_window");
  return integer_or(config, "sliding_window", null_window ? 0 : row.window, kMostContext);
}

std::vector<std::int32_t> parse_windows(const JsonField& config, const FamilyRow& row,
                                        std::int32_t layers) {
  const std::int32_t window = parse_window(config, row);
  std::vector<std::int32_t> windows(static_cast<std::size_t>(layers), 0);
  if (window == 0) return windows;

  if (const auto types = config.find("layer_types")) {
    if (types->size() != windows.size()) {
      types->fail(concat("must have one element for each of the ", layers, " layers"));
    }
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const JsonField type = types->element(i);
      if (type.text() == "sliding_attention") {
        windows[i] = window;
      } else if (type.text() != "full_attention") {
        type.fail("is no supported layer type; supported are full_attention, sliding_attention");
      }
    }
    return windows;
  }
  // Mistral slides in every layer. Qwen leaves the first max_window_layers whole.
  std::int64_t whole = 0;
  if (row.family != ModelFamily::kMistral) {
    const auto field = config.find("max_window_layers");
    whole = field ? field->integer(0, kMostContext) : 28;
  }
  for (std::int64_t i = whole; i < layers; ++i) windows[static_cast<std::size_t>(i)] = window;
  return windows;
}

std::int32_t parse_id(const JsonField& field, std::int32_t vocab_size) {
  return static_cast<std::int32_t>(field.integer(0, vocab_size - 1));
}

/// A number or a list of numbers.
std::vector<std::int32_t> parse_ids(const JsonField& field, std::int32_t vocab_size) {
  if (!field.is_array()) return {parse_id(field, vocab_size)};
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < field.size(); ++i)
    ids.push_back(parse_id(field.element(i), vocab_size));
  return ids;
}

void parse_biases(const JsonField& config, const FamilyRow& row, ModelConfig& result) {
  const bool has_choice = row.family == ModelFamily::kLlama || row.family == ModelFamily::kQwen3;
  const bool attention_bias = has_choice && flag_or(config, "attention_bias", false);
  result.qkv_bias = row.qkv_bias_always || attention_bias;
  result.output_bias = attention_bias;
  result.mlp_bias = row.family == ModelFamily::kLlama && flag_or(config, "mlp_bias", false);
}

std::string beside(const std::string& directory, std::string_view name) {
  return (std::filesystem::path(directory) / name).string();
}

}  // namespace

std::string_view family_name(ModelFamily family) {
  return kFamilies[static_cast<std::size_t>(family)].model_type;
}

ModelConfig parse_model_config(std::string_view config_text,
                               std::optional<std::string_view> generation_text,
                               const std::string& directory) {
  const JsonDocument document(config_text, beside(directory, "config.json"));
  const JsonField config = document.root();
  const FamilyRow& row = parse_family(config);
  refuse_unsupported(config);

  ModelConfig result;
  result.family = row.family;
  parse_sizes(config, row, result);
  const auto eps = config.find("rms_norm_eps");
  result.rms_norm_eps = eps ? eps->number(1e-12, 1.0) : 1e-6;
  result.activation = parse_activation(config);
  result.rope = parse_rope_config(config, result.context);
  result.tied_embeddings = flag_or(config, "tie_word_embeddings", false);
  parse_biases(config, row, result);
  result.qk_norm = row.qk_norm;
  result.windows = parse_windows(config, row, result.layers);

  if (const auto bos = config.find("bos_token_id"))
    result.bos_id = parse_id(*bos, result.vocab_size);
  if (const auto eos = config.find("eos_token_id"))
    result.eos_ids = parse_ids(*eos, result.vocab_size);
  if (generation_text) {
    const JsonDocument generation(*generation_text, beside(directory, "generation_config.json"));
    if (const auto eos = generation.root().find("eos_token_id")) {
      result.eos_ids = parse_ids(*eos, result.vocab_size);
    }
  }
  return result;
}

ModelConfig load_model_config(const std::filesystem::path& directory) {
  const MappedFile config(directory / "config.json");
  std::optional<MappedFile> generation;
  std::error_code error;
  if (const auto path = directory / "generation_config.json";
      std::filesystem::exists(path, error)) {
    generation.emplace(path);
  }
  return parse_model_config(config.text(),
                            generation ? std::optional(generation->text()) : std::nullopt,
                            directory.string());
}

}  // namespace generate
