// config.json of each family, in its older and its newer spelling, and with every field out of
// range.

#include "model_config.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "readers_test_support.h"

using generate::Activation;
using generate::ModelConfig;
using generate::ModelFamily;
using generate::RopeScaling;
using nlohmann::json;
using readers_test::contains;
using readers_test::error_of;
using readers_test::kModel;
using readers_test::TemporaryFolder;
using Ids = std::vector<std::int32_t>;

namespace {

/// What every family must say.
json base(const char* type = "llama") {
  return {{"model_type", type},       {"vocab_size", 1000},
          {"hidden_size", 64},        {"intermediate_size", 96},
          {"num_hidden_layers", 4},   {"num_attention_heads", 8},
          {"num_key_value_heads", 2}, {"max_position_embeddings", 2048}};
}

ModelConfig parse(const json& config) {
  return generate::parse_model_config(config.dump(), std::nullopt);
}

ModelConfig parse_with(json config, const char* changes) {
  config.merge_patch(json::parse(changes));
  return parse(config);
}

/// The error for `base` with changes; null removes a member.
std::string error_with(const char* changes, const char* type = "llama") {
  return error_of([&] { parse_with(base(type), changes); });
}

json with_rope(const char* rope) {
  json config = base();
  config["rope_parameters"] = json::parse(rope);
  return config;
}

}  // namespace

TEST_CASE("model config: the storyteller model") {
  const ModelConfig config = generate::load_model_config(kModel);
  CHECK(config.family == ModelFamily::kLlama);
  CHECK(config.vocab_size == 1024);
  CHECK(config.hidden_size == 256);
  CHECK(config.intermediate_size == 512);
  CHECK(config.layers == 4);
  CHECK(config.heads == 4);
  CHECK(config.kv_heads == 2);
  CHECK(config.head_dim == 64);
  CHECK(config.context == 1024);
  CHECK(config.rms_norm_eps == 1e-5);
  CHECK(config.rope.scaling == RopeScaling::kNone);
  CHECK(config.rope.theta == 10000);
  CHECK(config.tied_embeddings);
  CHECK_FALSE(config.qkv_bias);
  CHECK(config.windows == Ids{0, 0, 0, 0});
  CHECK(config.bos_id == 0);
  CHECK(config.eos_ids == Ids{1});
}

TEST_CASE("model config: what each family means by what it leaves out") {
  json config = base("llama");
  config.erase("num_key_value_heads");
  config.erase("max_position_embeddings");
  const ModelConfig llama = parse(config);
  CHECK(llama.kv_heads == 8);
  CHECK(llama.head_dim == 8);
  CHECK(llama.context == 2048);
  CHECK(llama.rms_norm_eps == 1e-6);
  CHECK(llama.activation == Activation::kSilu);
  CHECK_FALSE(llama.tied_embeddings);
  CHECK_FALSE(llama.bos_id.has_value());
  CHECK(llama.eos_ids.empty());

  config["model_type"] = "mistral";
  const ModelConfig mistral = parse(config);
  CHECK(mistral.family == ModelFamily::kMistral);
  CHECK(mistral.kv_heads == 8);
  CHECK(mistral.context == 131072);
  CHECK(mistral.windows == Ids(4, 4096));

  const ModelConfig qwen2 = parse(base("qwen2"));
  CHECK(qwen2.qkv_bias);
  CHECK_FALSE(qwen2.output_bias);
  CHECK_FALSE(qwen2.qk_norm);
  CHECK(qwen2.windows == Ids(4, 0));

  const ModelConfig qwen3 = parse(base("qwen3"));
  CHECK(qwen3.head_dim == 128);  // not 64 / 8
  CHECK(qwen3.qk_norm);
  CHECK_FALSE(qwen3.qkv_bias);
}

TEST_CASE("model config: heads") {
  CHECK(parse_with(base(), R"({"head_dim": 128})").head_dim == 128);
  CHECK(parse_with(base("qwen3"), R"({"head_dim": 64})").head_dim == 64);
  json config = base("mistral");
  config["num_key_value_heads"] = nullptr;  // an explicit null: as many as heads, not the default 8
  config["num_attention_heads"] = 16;
  CHECK(parse(config).kv_heads == 16);
  CHECK(contains(error_with(R"({"num_key_value_heads": 3})"),
                 "num_attention_heads = 8: must be a multiple of num_key_value_heads = 3"));
  CHECK(contains(error_with(R"({"num_key_value_heads": 16})"), "must be a multiple"));
  CHECK(contains(error_with(R"({"hidden_size": 63})"),
                 "hidden_size = 63: must be a multiple of num_attention_heads = 8"));
  CHECK(contains(error_with(R"({"head_dim": 258})"),
                 "head_dim = 258: must be an integer from 2 to 256"));
  CHECK(contains(error_with(R"({"head_dim": 63})"), "head_dim = 63: must be even"));
  CHECK(contains(error_with(R"({"hidden_size": 4096, "num_attention_heads": 8})"),
                 "head_dim = 512: must be even"));
  CHECK(parse_with(base(), R"({"head_dim": 256})").head_dim == 256);
}

TEST_CASE("model config: biases") {
  const ModelConfig llama = parse_with(base(), R"({"attention_bias": true, "mlp_bias": true})");
  CHECK(llama.qkv_bias);
  CHECK(llama.output_bias);
  CHECK(llama.mlp_bias);
  const ModelConfig qwen3 = parse_with(base("qwen3"), R"({"attention_bias": true})");
  CHECK(qwen3.qkv_bias);
  CHECK(qwen3.output_bias);
  CHECK_FALSE(parse_with(base("mistral"), R"({"attention_bias": true})").qkv_bias);
}

TEST_CASE("model config: activations") {
  CHECK(parse_with(base(), R"({"hidden_act": "gelu"})").activation == Activation::kGelu);
  CHECK(parse_with(base(), R"({"hidden_act": "gelu_pytorch_tanh"})").activation ==
        Activation::kGeluTanh);
  CHECK(contains(error_with(R"({"hidden_act": "relu6"})"),
                 "hidden_act = 'relu6': is no supported activation"));
}

TEST_CASE("model config: sliding windows") {
  const auto windows = [](const char* type, const char* changes) {
    return parse_with(base(type), changes).windows;
  };
  CHECK(windows("mistral", R"({"sliding_window": 16})") == Ids{16, 16, 16, 16});
  json whole = base("mistral");
  whole["sliding_window"] = nullptr;
  CHECK(parse(whole).windows == Ids{0, 0, 0, 0});

  CHECK(windows("qwen2", R"({"sliding_window": 16, "max_window_layers": 3})") == Ids{0, 0, 0, 0});
  CHECK(windows("qwen2",
                R"({"use_sliding_window": true, "sliding_window": 16, "max_window_layers": 3})") ==
        Ids{0, 0, 0, 16});
  CHECK(windows("qwen3", R"({"use_sliding_window": true, "sliding_window": 16, "layer_types":
        ["sliding_attention", "full_attention", "full_attention", "sliding_attention"]})") ==
        Ids{16, 0, 0, 16});
  CHECK(windows("qwen3", R"({"use_sliding_window": true, "sliding_window": 16})") ==
        Ids{0, 0, 0, 0});  // from 28 on
  CHECK(windows("llama", R"({"sliding_window": 16})") == Ids{0, 0, 0, 0});

  CHECK(contains(error_with(R"({"sliding_window": 0})", "mistral"),
                 "sliding_window = 0: must be an integer from 1"));
  CHECK(contains(error_with(R"({"layer_types": ["full_attention"]})", "mistral"),
                 "one element for each of the 4 layers"));
  CHECK(contains(error_with(R"({"layer_types": ["a", "a", "a", "a"]})", "mistral"),
                 "layer_types[0] = 'a': is no supported layer type"));
}

TEST_CASE("model config: rope in both spellings") {
  const ModelConfig older =
      parse_with(base(), R"({"rope_theta": 5e5, "rope_scaling": {"type": "linear", "factor": 4}})");
  CHECK(older.rope.scaling == RopeScaling::kLinear);
  CHECK(older.rope.theta == 5e5);
  CHECK(older.rope.factor == 4);
  const ModelConfig newer =
      parse(with_rope(R"({"rope_type": "linear", "factor": 4, "rope_theta": 5e5})"));
  CHECK(newer.rope.scaling == RopeScaling::kLinear);
  CHECK(newer.rope.theta == 5e5);
  CHECK(newer.rope.factor == 4);
  CHECK(parse_with(base(), R"({"rope_theta": 7.0})").rope.theta == 7);
  CHECK(parse(with_rope(R"({"rope_type": "ntk", "factor": 2.5})")).rope.scaling ==
        RopeScaling::kNtk);
  CHECK(parse(with_rope(R"({"rope_type": "ntk", "factor": 2.5})")).rope.theta == 10000);
}

TEST_CASE("model config: llama3 scaling") {
  const auto rope =
      parse(with_rope(R"({"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0,
      "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 512})"))
          .rope;
  CHECK(rope.scaling == RopeScaling::kLlama3);
  CHECK(rope.factor == 8);
  CHECK(rope.low_freq_factor == 1);
  CHECK(rope.high_freq_factor == 4);
  CHECK(rope.original_context == 512);
  const auto error = [](const char* text) { return error_of([&] { parse(with_rope(text)); }); };
  CHECK(contains(error(R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0})"),
                 "member 'high_freq_factor' is missing"));
  CHECK(contains(
      error(
          R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4, "high_freq_factor": 4})"),
      "must be above low_freq_factor"));
}

TEST_CASE("model config: yarn scaling and its attention factor") {
  const auto yarn = [](const char* more) {
    json rope = {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 512}};
    rope.merge_patch(json::parse(more));
    json config = base();
    config["rope_parameters"] = rope;
    return parse(config).rope;
  };
  const auto plain = yarn("{}");
  CHECK(plain.beta_fast == 32);
  CHECK(plain.beta_slow == 1);
  CHECK(plain.truncate);
  CHECK(plain.original_context == 512);
  CHECK(plain.attention_factor == doctest::Approx(0.1 * std::log(4.0) + 1));
  CHECK(yarn(R"({"attention_factor": 1.5})").attention_factor == 1.5);
  CHECK(yarn(R"({"mscale": 2, "mscale_all_dim": 0.5})").attention_factor ==
        doctest::Approx((0.2 * std::log(4.0) + 1) / (0.05 * std::log(4.0) + 1)));
  CHECK(yarn(R"({"mscale": 2})").attention_factor == plain.attention_factor);
  CHECK(yarn(R"({"mscale": 2, "mscale_all_dim": 0})").attention_factor == plain.attention_factor);
  CHECK(yarn(R"({"factor": 0.5})").attention_factor == 1);
  CHECK(yarn(R"({"factor": null})").factor == 4);  // 2048 / 512
  CHECK(yarn(R"({"beta_fast": 16, "beta_slow": 2, "truncate": false})").beta_fast == 16);
  CHECK_FALSE(yarn(R"({"truncate": false})").truncate);
  CHECK(yarn(R"({"original_max_position_embeddings": null})").original_context == 2048);
  CHECK(contains(error_of([&] { yarn(R"({"beta_fast": 1, "beta_slow": 2})"); }),
                 "must not be below beta_slow"));
}

TEST_CASE("model config: rope that is not supported says why") {
  const auto error = [](const char* text) { return error_of([&] { parse(with_rope(text)); }); };
  CHECK(contains(error(R"({"rope_type": "dynamic", "factor": 2})"),
                 "changes the frequencies with the length"));
  CHECK(contains(error(R"({"rope_type": "longrope"})"),
                 "rope type 'longrope' is unknown; supported are default"));
  CHECK(contains(error(R"({"rope_type": "linear"})"), "member 'factor' is missing"));
  CHECK(contains(error(R"({"rope_type": "linear", "factor": 0})"),
                 "rope_parameters.factor = 0: must be a number"));
  CHECK(contains(error(R"({"rope_theta": -1})"), "rope_parameters.rope_theta = -1"));
  CHECK(contains(error(R"({"partial_rotary_factor": 0.5})"), "partial rotation is not supported"));
  CHECK(contains(error(R"({"full_attention": {}, "sliding_attention": {}})"), "each layer type"));
  CHECK(parse(with_rope(R"({"partial_rotary_factor": 1.0})")).rope.scaling == RopeScaling::kNone);
}

TEST_CASE("model config: ids that begin and end a text") {
  CHECK(parse_with(base(), R"({"eos_token_id": 2})").eos_ids == Ids{2});
  CHECK(parse_with(base(), R"({"eos_token_id": [2, 5], "bos_token_id": 1})").eos_ids == Ids{2, 5});
  const std::string config = base().dump();
  CHECK(generate::parse_model_config(config, R"({"eos_token_id": [7, 8]})").eos_ids == Ids{7, 8});
  json with_eos = base();
  with_eos["eos_token_id"] = 3;
  CHECK(generate::parse_model_config(with_eos.dump(), R"({"eos_token_id": 9})").eos_ids == Ids{9});
  CHECK(generate::parse_model_config(with_eos.dump(), R"({"eos_token_id": null})").eos_ids ==
        Ids{3});
  CHECK(contains(
      error_of([&] { generate::parse_model_config(config, R"({"eos_token_id": 1000})", "d"); }),
      "d/generation_config.json: eos_token_id = 1000: must be an integer from 0 to 999"));
  CHECK(contains(error_of([&] { generate::parse_model_config(config, ""); }),
                 "generation_config.json: is not valid JSON"));
  CHECK(contains(error_with(R"({"bos_token_id": -1})"), "bos_token_id = -1"));
  CHECK(contains(error_with(R"({"eos_token_id": [1, "2"]})"), "eos_token_id[1] = '2'"));
}

TEST_CASE("model config: every size out of range names the field, the value and the limits") {
  for (const char* field :
       {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
        "num_attention_heads", "num_key_value_heads", "max_position_embeddings"}) {
    for (const json& value :
         {json(0), json(-1), json(1.5), json("8"), json(true), json(INT64_MAX), json(UINT64_MAX)}) {
      json config = base();
      config[field] = value;
      CHECK(
          contains(error_of([&] { parse(config); }), std::string("config.json: ") + field + " = "));
    }
  }
  for (const char* field : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
                            "num_attention_heads"}) {
    json config = base();
    config.erase(field);
    CHECK(contains(error_of([&] { parse(config); }),
                   std::string("member '") + field + "' is missing"));
  }
  CHECK(contains(error_with(R"({"rms_norm_eps": 0})"), "rms_norm_eps = 0: must be a number"));
  CHECK(contains(error_with(R"({"rms_norm_eps": -1e-5})"), "rms_norm_eps"));
  CHECK(contains(error_with(R"({"tie_word_embeddings": "yes"})"), "must be true or false"));
}

TEST_CASE("model config: models that are not supported") {
  CHECK(contains(
      error_of([] { parse(base("gpt2")); }),
      "model_type = 'gpt2': is no supported model; supported are llama mistral qwen2 qwen3"));
  CHECK(contains(error_with(R"({"architectures": ["LlamaForSequenceClassification"]})"),
                 "architectures[0] = 'LlamaForSequenceClassification'"));
  CHECK(contains(error_with(R"({"architectures": []})"), "has no element 0"));
  CHECK(contains(error_with(R"({"quantization_config": {"bits": 4}})"),
                 "quantised checkpoints are not supported"));
  json untyped = base();
  untyped.erase("model_type");
  CHECK(contains(error_of([&] { parse(untyped); }), "has neither model_type nor architectures"));
  untyped["architectures"] = {"Qwen3ForCausalLM"};
  CHECK(parse(untyped).family == ModelFamily::kQwen3);
  CHECK(generate::family_name(ModelFamily::kMistral) == "mistral");
}

TEST_CASE("model config: the file cut off at every byte") {
  const std::string whole = base().dump();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK(contains(
        error_of([&] { generate::parse_model_config(whole.substr(0, size), std::nullopt); }),
        "config.json: is not valid JSON"));
  }
}

TEST_CASE("model config: directories") {
  const TemporaryFolder folder;
  CHECK(contains(error_of([&] { generate::load_model_config(folder.path()); }),
                 "config.json: cannot be opened"));
  folder.write("config.json", base().dump());
  CHECK(generate::load_model_config(folder.path()).eos_ids.empty());
  folder.write("generation_config.json", "");
  CHECK(contains(error_of([&] { generate::load_model_config(folder.path()); }),
                 "generation_config.json: is not valid JSON"));
}
