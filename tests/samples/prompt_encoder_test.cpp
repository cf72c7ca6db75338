// Prompts: the golden ids of the model that ships with the samples, and when a bos is put in front.

#include "prompt_encoder.h"

#include <nlohmann/json.hpp>

#include "readers_test_support.h"

using generate::encode_prompt;
using generate::missing_bos;
using generate::ModelConfig;
using generate::Tokenizer;
using nlohmann::json;
using readers_test::contains;
using readers_test::error_of;
using readers_test::kModel;
using readers_test::read_file;
using readers_test::TemporaryFolder;
using Ids = std::vector<std::int32_t>;

namespace {

/// The letter a is 3; <s> is 1, and the template puts it in front if `adds_bos`.
Tokenizer tokenizer(bool adds_bos) {
  json description = json::parse(R"({
    "added_tokens": [{"id": 1, "content": "<s>", "special": true, "normalized": false}],
    "decoder": {"type": "Fuse"}, "model": {"type": "BPE", "vocab": {"a": 3}, "merges": []}})");
  if (adds_bos) {
    description["post_processor"] = json::parse(R"({"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}})");
  }
  return Tokenizer::parse(description.dump());
}

ModelConfig config(std::optional<std::int32_t> bos, std::int32_t vocab_size = 4) {
  ModelConfig result;
  result.bos_id = bos;
  result.vocab_size = vocab_size;
  return result;
}

}  // namespace

TEST_CASE("prompt encoder: the golden prompts of the storyteller model") {
  const Tokenizer storyteller = Tokenizer::load(kModel / "tokenizer.json");
  const ModelConfig model = generate::load_model_config(kModel);
  const auto settings = generate::load_tokenizer_settings(kModel);
  const json goldens = json::parse(read_file(kModel / "goldens.json"));
  REQUIRE(goldens["cases"].size() == 5);
  for (const json& entry : goldens["cases"]) {
    CHECK(encode_prompt(storyteller, model, settings, entry["prompt"].get<std::string>()) ==
          entry["prompt_ids"].get<Ids>());
  }
}

TEST_CASE("prompt encoder: a bos in front exactly where the rule says") {
  CHECK(encode_prompt(tokenizer(false), config(1), {}, "a") == Ids{1, 3});
  CHECK(encode_prompt(tokenizer(false), config(1), {true}, "a") == Ids{1, 3});
  CHECK(encode_prompt(tokenizer(false), config(1), {false}, "a") == Ids{3});
  CHECK(encode_prompt(tokenizer(false), config(std::nullopt), {true}, "a") == Ids{3});
  CHECK(encode_prompt(tokenizer(true), config(1), {}, "a") == Ids{1, 3});
  CHECK(encode_prompt(tokenizer(true), config(2), {}, "a") == Ids{1, 3});
  CHECK(encode_prompt(tokenizer(false), config(1), {}, "") == Ids{1});
  CHECK(encode_prompt(tokenizer(false), config(1), {}, "<s>a") == Ids{1, 3});  // not twice
  CHECK_FALSE(missing_bos(tokenizer(true), config(1), {}).has_value());
}

TEST_CASE("prompt encoder: a tokenizer that is too large for the model") {
  CHECK(contains(error_of([] { encode_prompt(tokenizer(false), config(1, 3), {}, "a"); }),
                 "gives the id 3, but config.json: vocab_size = 3"));
}

TEST_CASE("prompt encoder: tokenizer_config.json may be absent, but not wrong") {
  const TemporaryFolder folder;
  CHECK_FALSE(generate::load_tokenizer_settings(folder.path()).add_bos_token.has_value());
  folder.write("tokenizer_config.json", R"({"add_bos_token": false, "chat_template": "x"})");
  CHECK(generate::load_tokenizer_settings(folder.path()).add_bos_token == false);
  folder.write("tokenizer_config.json", R"({"add_bos_token": "no"})");
  CHECK(contains(error_of([&] { generate::load_tokenizer_settings(folder.path()); }),
                 "must be true or false"));
}
