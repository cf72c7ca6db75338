// The default model against goldens.json, which Hugging Face Transformers computed in float32.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine.h"
#include "generation.h"
#include "scoring.h"

namespace {

using namespace generate;

const std::filesystem::path kModel = MILLRACE_STORYTELLER;

struct Golden {
  std::string prompt;
  std::vector<std::int32_t> prompt_ids;
  std::vector<std::int32_t> greedy_ids;
  std::string greedy_text;
  double mean_nll;
  double logits_sum;
  double logits_norm;
  std::vector<std::pair<std::int32_t, double>> top;
};

std::vector<Golden> goldens() {
  std::ifstream file(kModel / "goldens.json");
  const auto json = nlohmann::json::parse(file);
  std::vector<Golden> all;
  for (const auto& from : json.at("cases")) {
    Golden golden{from.at("prompt"),          from.at("prompt_ids"),
                  from.at("greedy_ids"),      from.at("greedy_text"),
                  from.at("mean_nll"),        from.at("first_logits_sum"),
                  from.at("first_logits_l2"), {}};
    for (const auto& pair : from.at("first_logits_top8")) {
      golden.top.emplace_back(pair.at(0), pair.at(1));
    }
    all.push_back(golden);
  }
  REQUIRE(all.size() == 5);
  return all;
}

// The logits behind the last token of a prompt.
std::vector<float> first_logits(Engine& engine, const std::vector<std::int32_t>& ids) {
  PageList pages;
  REQUIRE(engine.kv.extend(pages, static_cast<std::int32_t>(ids.size())));
  engine.batch.clear();
  engine.batch.add(pages, ids, false);
  const millrace::Tensor logits = engine.decoder.forward(engine.batch.send(), engine.kv);
  engine.kv.release(pages);
  return engine.stream.download<float>(logits.data,
                                       static_cast<std::size_t>(engine.config.vocab_size));
}

// The most probable ids behind a prompt, one step at a time.
std::vector<std::int32_t> continue_greedily(Engine& engine, std::vector<std::int32_t> next,
                                            std::size_t count) {
  PageList pages;
  std::vector<std::int32_t> chosen;
  while (chosen.size() < count) {
    REQUIRE(engine.kv.extend(pages, static_cast<std::int32_t>(next.size())));
    engine.batch.clear();
    engine.batch.add(pages, next, false);
    const millrace::Tensor logits = engine.decoder.forward(engine.batch.send(), engine.kv);
    const auto values = engine.stream.download<float>(
        logits.data, static_cast<std::size_t>(engine.config.vocab_size));
    pages.length += static_cast<std::int32_t>(next.size());
    const auto best = std::max_element(values.begin(), values.end()) - values.begin();
    next = {static_cast<std::int32_t>(best)};
    chosen.push_back(next.front());
  }
  engine.kv.release(pages);
  return chosen;
}

std::vector<std::string> texts(Engine& engine,
                               const std::vector<std::vector<std::int32_t>>& prompts,
                               std::int32_t max_tokens, const SamplingOptions& sampling = {}) {
  std::vector<std::string> out(prompts.size());
  std::vector<int> endings(prompts.size());
  Generation generation(engine, sampling, max_tokens);
  generation.run(prompts, [&](std::size_t index, const std::string& text, bool last) {
    out[index] += text;
    endings[index] += last ? 1 : 0;
  });
  for (const int count : endings) CHECK(count == 1);
  return out;
}

Engine make_engine(mr_dtype dtype, std::int32_t outputs = kMostSequences) {
  return Engine(kModel, "host", dtype, 8 * 1024, outputs, nullptr);
}

}  // namespace

TEST_CASE("float32 gives the golden ids exactly, one prompt at a time and all together") {
  Engine engine = make_engine(MR_F32);
  std::vector<std::vector<std::int32_t>> prompts;
  std::vector<std::string> wanted;
  for (const Golden& golden : goldens()) {
    CAPTURE(golden.prompt);
    const auto ids = engine.encode(golden.prompt);
    CHECK(ids == golden.prompt_ids);
    CHECK(texts(engine, {ids}, 96).front() == golden.greedy_text);
    CHECK(continue_greedily(engine, ids, golden.greedy_ids.size()) == golden.greedy_ids);
    prompts.push_back(ids);
    wanted.push_back(golden.greedy_text);
  }
  CHECK(texts(engine, prompts, 96) == wanted);
  CHECK(engine.kv.free_pages() == engine.kv.pages());
}

TEST_CASE("the first logits agree with the goldens within each dtype's arithmetic") {
  for (const auto& setting : {std::pair{MR_F32, 2e-5}, {MR_F16, 1e-2}, {MR_BF16, 8e-2}}) {
    const double tolerance = setting.second;
    Engine engine = make_engine(setting.first);
    for (const Golden& golden : goldens()) {
      CAPTURE(golden.prompt);
      CAPTURE(tolerance);
      const std::vector<float> logits = first_logits(engine, golden.prompt_ids);
      double sum = 0, square = 0;
      for (const float logit : logits) {
        sum += logit;
        square += double{logit} * logit;
      }
      // The sum's error is that of the single logits, at worst all of one sign.
      CHECK(std::fabs(sum - golden.logits_sum) <= tolerance * static_cast<double>(logits.size()));
      CHECK(std::fabs(std::sqrt(square) - golden.logits_norm) <=
            tolerance * std::sqrt(static_cast<double>(logits.size())));
      for (const auto& best : golden.top) {
        CAPTURE(best.first);
        CHECK(std::fabs(logits[static_cast<std::size_t>(best.first)] - best.second) <= tolerance);
      }
    }
  }
}

TEST_CASE("the mean negative log-likelihood agrees: 1e-5 in float32, 0.01 in bf16 and f16") {
  for (const auto& [dtype, tolerance] :
       {std::pair{MR_F32, 1e-5}, {MR_BF16, 1e-2}, {MR_F16, 1e-2}}) {
    Engine engine = make_engine(dtype, kStepTokens);
    for (const Golden& golden : goldens()) {
      CAPTURE(golden.prompt);
      std::vector<std::int32_t> ids = golden.prompt_ids;
      ids.insert(ids.end(), golden.greedy_ids.begin(), golden.greedy_ids.end());
      const Score score = score_text(engine, ids);
      CHECK(score.tokens == static_cast<std::int64_t>(ids.size()) - 1);
      CHECK(std::fabs(score.mean_nll - golden.mean_nll) <= tolerance);
    }
  }
}

TEST_CASE("a drawn text depends on its seed and index, not on its neighbours") {
  Engine engine = make_engine(MR_F32);
  const SamplingOptions sampling = {.temperature = 0.9f, .top_k = 50, .top_p = 0.95f, .seed = 7};
  const auto ids = engine.encode("Once upon a time there was a");
  const auto other = engine.encode("Alice");
  const std::string alone = texts(engine, {ids}, 48, sampling).front();
  CHECK(alone == texts(engine, {ids, other, other}, 48, sampling).front());
  SamplingOptions reseeded = sampling;
  reseeded.seed = 8;
  CHECK(alone != texts(engine, {ids}, 48, reseeded).front());
}

TEST_CASE("a text longer than a step and than the context is scored through windows") {
  Engine engine = make_engine(MR_F32, kStepTokens);
  std::vector<std::int32_t> ids;
  while (ids.size() < 2500) {
    for (const Golden& golden : goldens()) {
      ids.insert(ids.end(), golden.greedy_ids.begin(), golden.greedy_ids.end());
    }
  }
  const Score score = score_text(engine, ids);
  CHECK(score.tokens == static_cast<std::int64_t>(ids.size()) - 1);
  CHECK(score.mean_nll > 1.0);
  CHECK(score.mean_nll < 6.0);
  CHECK(engine.kv.free_pages() == engine.kv.pages());
}

TEST_CASE("more prompts than run at once, and ends at the token limit") {
  Engine engine = make_engine(MR_F32);
  const auto ids = engine.encode("The king said to his daughter,");
  const std::vector<std::vector<std::int32_t>> prompts(kMostSequences + 5, ids);
  const auto all = texts(engine, prompts, 5);
  for (const std::string& text : all) CHECK(text == all.front());
  CHECK(texts(engine, {ids}, 0).front().empty());
  CHECK_THROWS(texts(engine, {std::vector<std::int32_t>(1020, 5)}, 100));
  CHECK_THROWS(texts(engine, {{}}, 5));
}
