// The tokenizer against the reference implementation: fixtures that it made (see
// data/make_tokenizer_fixtures.py), and the golden results of the model that ships with the
// samples.

#include "tokenizer.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "readers_test_support.h"
#include "utf8.h"

using generate::StreamDecoder;
using generate::Tokenizer;
using nlohmann::json;
using readers_test::kData;
using readers_test::kModel;
using readers_test::read_file;

namespace {

using Ids = std::vector<std::int32_t>;

json read_fixture(const std::string& style) {
  return json::parse(read_file(kData / ("tokenizer_" + style + ".json")));
}

struct Fixture {
  explicit Fixture(const std::string& style) : Fixture(read_fixture(style), style) {}
  Fixture(json fixture, const std::string& style)
      : data(std::move(fixture)), tokenizer(Tokenizer::parse(data["tokenizer"].dump(), style)) {}

  json data;
  Tokenizer tokenizer;
};

/// Decodes one id at a time, and checks that no part ends inside a character.
std::string streamed(const Tokenizer& tokenizer, const Ids& ids, bool skip_special) {
  StreamDecoder stream(tokenizer, skip_special);
  std::string text;
  for (const std::int32_t id : ids) {
    const std::string part = stream.push(id);
    CHECK(generate::is_valid_utf8(part));
    text += part;
  }
  const std::string rest = stream.finish();
  CHECK(generate::is_valid_utf8(rest));
  return text + rest;
}

/// How many times as long the larger text takes to encode, in processor time: 4 to 5 for n log n
/// with four times the size, 16 for n squared. Of several tries the quickest counts.
double growth(const Tokenizer& tokenizer, const std::string& small, const std::string& large) {
  const auto quickest = [&](const std::string& text) {
    std::clock_t least = std::numeric_limits<std::clock_t>::max();
    for (int i = 0; i < 5; ++i) {
      const std::clock_t begin = std::clock();
      tokenizer.encode(text, false);
      least = std::min(least, std::clock() - begin);
    }
    return static_cast<double>(std::max<std::clock_t>(least, 1));
  };
  return quickest(large) / quickest(small);
}

void check_fixture(const Fixture& fixture) {
  for (const json& entry : fixture.data["encode"]) {
    const auto text = entry["text"].get<std::string>();
    CAPTURE(text);
    CHECK(fixture.tokenizer.encode(text, false) == entry["ids"].get<Ids>());
    CHECK(fixture.tokenizer.encode(text, true) == entry["ids_special"].get<Ids>());
  }
  for (const json& entry : fixture.data["decode"]) {
    const auto ids = entry["ids"].get<Ids>();
    CAPTURE(entry["ids"].dump());
    CHECK(fixture.tokenizer.decode(ids) == entry["text"].get<std::string>());
    CHECK(fixture.tokenizer.decode(ids, false) == entry["text_all"].get<std::string>());
    CHECK(streamed(fixture.tokenizer, ids, true) == entry["text"].get<std::string>());
  }
}

void check_style(const std::string& style) {
  const Fixture fixture(style);
  REQUIRE(fixture.data["encode"].size() > 50);
  REQUIRE(fixture.data["decode"].size() > 50);
  check_fixture(fixture);
}

}  // namespace

TEST_CASE("tokenizer: agrees with the reference in the style of GPT-2") { check_style("gpt2"); }
TEST_CASE("tokenizer: agrees with the reference with a prefix space and added tokens") {
  check_style("gpt2_prefix_space");
}
TEST_CASE("tokenizer: agrees with the reference in the style of Llama 3") { check_style("llama3"); }
TEST_CASE("tokenizer: agrees with the reference in the style of Qwen2") { check_style("qwen2"); }
TEST_CASE("tokenizer: agrees with the reference in the style of Llama 2") { check_style("llama2"); }
TEST_CASE("tokenizer: agrees with the reference with Metaspace on the first word") {
  check_style("metaspace_first");
}
TEST_CASE("tokenizer: agrees with the reference with Metaspace on every word") {
  check_style("metaspace_always");
}
TEST_CASE("tokenizer: agrees with the reference with Metaspace on no word") {
  check_style("metaspace_never");
}
TEST_CASE("tokenizer: agrees with the reference on NFKC, Lowercase, Replace, Digits, Punctuation") {
  check_style("lowercase_digits");
}
TEST_CASE("tokenizer: agrees with the reference on every behavior of Split") {
  check_style("split_behaviors");
}

TEST_CASE("tokenizer: agrees with the reference on each component in unusual company") {
  const json fixtures = read_fixture("spellings");
  REQUIRE(fixtures.size() > 20);
  for (const json& data : fixtures) {
    const Fixture fixture(data, "spelling");
    CAPTURE(data["tokenizer"]["pre_tokenizer"].dump());
    CAPTURE(data["tokenizer"]["decoder"].dump());
    REQUIRE(data["encode"].size() >= 20);
    check_fixture(fixture);
  }
}

TEST_CASE("tokenizer: what Strip empties is empty") {
  const char* description = R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []},
      "decoder": {"type": "Strip", "content": "a", "start": 1, "stop": 2}})";
  const Tokenizer tokenizer = Tokenizer::parse(description);
  CHECK(tokenizer.decode(Ids{0, 1, 0}) == "b");  // the reference fails here
}

TEST_CASE("tokenizer: decodes the golden continuations of the storyteller model") {
  const Tokenizer tokenizer = Tokenizer::load(kModel / "tokenizer.json");
  const json goldens = json::parse(read_file(kModel / "goldens.json"));
  REQUIRE(goldens["cases"].size() == 5);
  for (const json& entry : goldens["cases"]) {
    const auto ids = entry["greedy_ids"].get<Ids>();
    CHECK(tokenizer.decode(ids) == entry["greedy_text"].get<std::string>());
    CHECK(streamed(tokenizer, ids, true) == entry["greedy_text"].get<std::string>());
  }
  CHECK(tokenizer.id_limit() == 1024);
  CHECK(tokenizer.id_of("<|eos|>") == 1);
  CHECK(tokenizer.is_special(1));
  CHECK_FALSE(tokenizer.is_special(2));
  CHECK_FALSE(tokenizer.adds_special());
}

TEST_CASE("tokenizer: text that is not UTF-8 is encoded as if it held U+FFFD") {
  const Fixture fixture("gpt2");
  CHECK(fixture.tokenizer.encode("a\xFF\xE2\x82z", false) ==
        fixture.tokenizer.encode("a\uFFFD\uFFFDz", false));
}

TEST_CASE(
    "tokenizer: a stream gives each character as soon as its last byte is there, not before") {
  const Fixture fixture("gpt2");
  const Ids ids = fixture.tokenizer.encode("\U0010FFFF", false);  // four bytes, no merges
  REQUIRE(ids.size() == 4);
  StreamDecoder stream(fixture.tokenizer);
  CHECK(stream.push(ids[0]) == "");
  CHECK(stream.push(ids[1]) == "");
  CHECK(stream.push(ids[2]) == "");
  CHECK(stream.push(ids[3]) == "\U0010FFFF");
  CHECK(stream.push(ids[0]) == "");
  CHECK(stream.finish() == "\uFFFD");
}

TEST_CASE("tokenizer: a stream of byte tokens passes on when the run of bytes ends") {
  const Fixture fixture("llama2");
  const auto id = [&](const char* token) { return fixture.tokenizer.id_of(token).value(); };
  StreamDecoder stream(fixture.tokenizer);
  CHECK(stream.push(id("▁a")) == "a");  // the first space is taken away
  CHECK(stream.push(id("<0xE2>")) == "");
  CHECK(stream.push(id("<0x82>")) == "");
  CHECK(stream.push(id("<0xAC>")) == "");
  CHECK(stream.push(id("▁a")) == "\u20AC a");
  CHECK(stream.push(id("<0xE2>")) == "");
  CHECK(stream.push(id("▁a")) == "\uFFFD a");
  CHECK(stream.finish() == "");
}

TEST_CASE("tokenizer: a long word without a break takes n log n, not n squared") {
  const Fixture fixture("llama2");
  const auto word = [](std::size_t size) {
    std::string text;
    while (text.size() < size) text += "the";  // which merges
    return text;
  };
  CHECK(growth(fixture.tokenizer, word(20'000), word(80'000)) < 9);
  const Ids ids = fixture.tokenizer.encode(word(80'000), false);
  CHECK(ids.size() < 60'000);
  CHECK(fixture.tokenizer.decode(ids) == word(80'000));
}

TEST_CASE("tokenizer: a long run of combining marks is ordered in n log n") {
  const Fixture fixture("qwen2");
  const auto marks = [](int pairs) {
    std::string text = "a";
    for (int i = 0; i < pairs; ++i) text += "\u0301\u0323";  // each pair is out of order
    return text;
  };
  CHECK(growth(fixture.tokenizer, marks(2'500), marks(10'000)) < 9);
  const std::string text = marks(10'000);
  const std::string decoded = fixture.tokenizer.decode(fixture.tokenizer.encode(text, false));
  CHECK(decoded.find("\u0323\u0301") == decoded.rfind("\u0323\u0301"));  // one change of class
}
