// tokenizer.json files that are damaged, hostile, or beyond what is supported: each gives one Error
// that says what and where, and none costs time or memory without bound.

#include <nlohmann/json.hpp>

#include "readers_test_support.h"
#include "tokenizer.h"

using generate::Tokenizer;
using nlohmann::json;
using readers_test::contains;
using readers_test::error_of;

namespace {

/// A tokenizer of three letters, which the tests then damage.
json tiny() {
  return json::parse(R"({
    "version": "1.0",
    "added_tokens": [{"id": 5, "content": "<s>", "special": true, "normalized": false}],
    "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Fuse"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4},
              "merges": ["a b", ["ab", "c"]]}})");
}

Tokenizer parse(const json& description) { return Tokenizer::parse(description.dump(), "t.json"); }

/// The error for `tiny` with the value at `pointer` set to `value`.
std::string error_with(const char* pointer, const json& value) {
  json description = tiny();
  description[json::json_pointer(pointer)] = value;
  return error_of([&] { parse(description); });
}

}  // namespace

TEST_CASE("tokenizer errors: the undamaged file works") {
  const Tokenizer tokenizer = parse(tiny());
  CHECK(tokenizer.encode("abcab<s>c", false) == std::vector<std::int32_t>{4, 3, 5, 2});
  CHECK(tokenizer.decode(std::vector<std::int32_t>{4, 5, 3, 77, -1}) == "abcab");
  CHECK(tokenizer.id_limit() == 6);
}

TEST_CASE("tokenizer errors: text that is not JSON") {
  const auto error = [](std::string_view text) {
    return error_of([&] { Tokenizer::parse(text, "t.json"); });
  };
  CHECK(contains(error(""), "t.json: is not valid JSON"));
  CHECK(contains(error("[]"), "t.json: [0 elements]: must be an object"));
  CHECK(contains(error("{\"a\": \"\xFF\"}"), "ill-formed UTF-8"));
  CHECK(contains(error("{\"a\": 1, \"a\": 2}"), "member 'a' occurs twice"));
  CHECK(contains(error(std::string(100'000, '[')), "nested deeper than 64"));
  CHECK(contains(error("{\"a\": 1e999}"), "is not valid JSON"));
}

TEST_CASE("tokenizer errors: the file cut off at every byte") {
  const std::string whole = tiny().dump();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(error_of([&] { Tokenizer::parse(whole.substr(0, size), "t.json"); }).empty());
  }
}

TEST_CASE("tokenizer errors: components that are not supported are named") {
  const json unknown = {{"type", "Mystery"}};
  for (const char* member : {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    CHECK(contains(error_with((std::string("/") + member).c_str(), unknown),
                   std::string("t.json: ") + member + ".type = 'Mystery': is no supported"));
  }
  CHECK(contains(error_with("/model/type", "Unigram"),
                 "model.type = 'Unigram': is no supported model"));
  CHECK(contains(error_with("/model/dropout", 0.1), "model.dropout = 0.1: must be null or 0"));
  CHECK(contains(error_with("/model/end_of_word_suffix", "</w>"), "end_of_word_suffix"));
  CHECK(contains(error_with("/version", "2.0"), "version = '2.0': must be 1.0"));
}

TEST_CASE("tokenizer errors: vocabularies and merges") {
  CHECK(contains(error_with("/model/vocab/b", -1), "the id of 'b' must be an integer"));
  CHECK(contains(error_with("/model/vocab/b", 2147483647), "the id of 'b' must be an integer"));
  CHECK(contains(error_with("/model/vocab/b", 1.0), "the id of 'b' must be an integer"));
  CHECK(contains(error_with("/model/vocab/b", "1"), "the id of 'b' must be an integer"));
  CHECK(contains(error_with("/model/vocab/b", 0), "both have the id 0"));
  CHECK(contains(error_with("/model/merges/0", "a"), "model.merges[0] = 'a': must be two texts"));
  CHECK(contains(error_with("/model/merges/0", "a b c"), "must be two texts"));
  CHECK(contains(error_with("/model/merges/0", "a x"), "'x' is not in the vocabulary"));
  CHECK(contains(error_with("/model/merges/0", "b a"), "'ba' is not in the vocabulary"));
  CHECK(contains(error_with("/model/merges/1", json::array({"ab"})), "must be a pair of texts"));
  CHECK(contains(error_with("/model/merges/1", 7), "must be a pair of texts"));
  CHECK(contains(error_with("/model/unk_token", "?"),
                 "model.unk_token = '?': is not in the vocabulary"));
}

TEST_CASE("tokenizer errors: added tokens") {
  CHECK(contains(error_with("/added_tokens/0/id", 3), "which the vocabulary gives 'ab'"));
  CHECK(contains(error_with("/added_tokens/0/id", -1),
                 "added_tokens[0].id = -1: must be an integer"));
  CHECK(contains(error_with("/added_tokens/0/id", 4294967296), "must be an integer from 0 to"));
  CHECK(contains(error_with("/added_tokens/0/content", "ab"), "but the vocabulary gives 3"));
  CHECK(contains(error_with("/added_tokens/0/content", nullptr), "member 'content' is missing"));
  CHECK(contains(error_with("/added_tokens/0/special", 1), "must be true or false"));
  const json twice = tiny()["added_tokens"][0];
  CHECK(
      contains(error_with("/added_tokens", json::array({twice, twice})), "has the id of another"));
}

TEST_CASE("tokenizer errors: post-processors") {
  const auto error = [](const char* text) {
    return error_with("/post_processor", json::parse(text));
  };
  CHECK(contains(error(R"({"type": "TemplateProcessing", "special_tokens": {},
                           "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]})"),
                 "'<s>': is not among special_tokens"));
  CHECK(contains(error(R"({"type": "TemplateProcessing", "special_tokens": {}, "single": []})"),
                 "leaves out the text"));
  CHECK(contains(error(R"({"type": "TemplateProcessing", "special_tokens": {},
                           "single": [{"Sequence": {"id": "A"}}, {"Sequence": {"id": "A"}}]})"),
                 "would repeat the text"));
  CHECK(contains(error(R"({"type": "TemplateProcessing", "special_tokens": {},
                           "single": [{"Sequence": {"id": "B"}}]})"),
                 "must be the sequence A"));
}

TEST_CASE("tokenizer errors: an id above the vocabulary does not cost its size in memory") {
  json description = tiny();
  description["model"]["vocab"]["c"] = 2'000'000'000;
  const Tokenizer tokenizer = parse(description);
  CHECK(tokenizer.encode("c", false) == std::vector<std::int32_t>{2'000'000'000});
  CHECK(tokenizer.id_limit() == 2'000'000'001);
}

TEST_CASE("tokenizer errors: an expression that would backtrack for ever is stopped") {
  json description = tiny();
  description["pre_tokenizer"] = {{"type", "Split"},
                                  {"pattern", {{"Regex", "(a*)*b\\b{0}c"}}},
                                  {"behavior", "Isolated"},
                                  {"invert", false}};
  CHECK(contains(error_of([&] { parse(description); }), "the escape \\b is not supported"));
  description["pre_tokenizer"]["pattern"]["Regex"] = "(?:a|aa)+[bc]";
  const Tokenizer tokenizer = parse(description);
  CHECK(contains(error_of([&] { tokenizer.encode(std::string(200, 'a'), false); }),
                 "match limit exceeded"));
}

TEST_CASE("tokenizer errors: rewriting that multiplies a text is stopped") {
  const json doubling = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
  json description = tiny();
  description["normalizer"] = {{"type", "Sequence"}, {"normalizers", json::array()}};
  for (int i = 0; i < 60; ++i) description["normalizer"]["normalizers"].push_back(doubling);
  const Tokenizer before = parse(description);
  CHECK(contains(error_of([&] { before.encode("a", false); }), "the limit is"));

  description = tiny();
  description["decoder"] = {{"type", "Sequence"}, {"decoders", json::array()}};
  for (int i = 0; i < 60; ++i) description["decoder"]["decoders"].push_back(doubling);
  const Tokenizer after = parse(description);
  CHECK(contains(error_of([&] { after.decode(std::vector<std::int32_t>{0}); }), "the limit is"));

  description = tiny();
  description["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", json::array()}};
  for (int i = 0; i < 60; ++i) {
    description["pre_tokenizer"]["pretokenizers"].push_back(
        {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}});
  }
  const Tokenizer levels = parse(description);
  CHECK(contains(error_of([&] { levels.encode("\u00e9", false); }), "the limit is"));
}

TEST_CASE("tokenizer errors: a text of more than 16 MiB") {
  const Tokenizer tokenizer = parse(tiny());
  const std::string text((std::size_t{16} << 20) + 1, 'a');
  CHECK(contains(error_of([&] { tokenizer.encode(text, false); }),
                 "16777217 bytes, the limit is 16777216"));
}
