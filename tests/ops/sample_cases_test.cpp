// Sampling on the hard cases of cases.md, and what it refuses.
#include <cstring>

#include "ops/sample_support.h"

namespace {

using test::Parameters;
using test::Place;
using test::Role;
using test::Sampler;
using test::Tensor;
using Values = std::vector<double>;

TEST_CASE("P02 top_k of 0, below 0, the vocabulary and above") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    Sampler sampler(place, dtype, 100, 4);
    sampler.set_logits({-INFINITY, 0, -INFINITY, -INFINITY});  // probabilities 0, 1, 0, 0
    for (const int64_t k : {0, -1, 4, 5, 1 << 30, 1, 2, 3}) {
      sampler.set({.top_k = k});
      CHECK(sampler.counts(place)[1] == 100.0);
    }
  });
}

TEST_CASE("P03 top_p of 0, almost 0 and 1") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    constexpr int64_t kDraws = 1000;
    Sampler sampler(place, dtype, kDraws, 3);
    sampler.set_logits({0, 3, 1});
    for (const double p : {0.0, 1e-9, 1e-45}) {
      sampler.set({.top_p = p});
      CHECK(sampler.counts(place)[1] == kDraws);
    }
    sampler.set({.top_p = 1.0});
    test::check_frequencies(sampler.counts(place), {0.04201, 0.84379, 0.11420});
  });
}

TEST_CASE("P05 a temperature of 0, or a tiny one") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    Sampler sampler(place, dtype, 50, 3);
    sampler.set_logits({2.875, 2.955, 11.0625});
    for (const double t : {1e-12, 1e-5, 0.0, 1e-40, 1e-45}) {
      sampler.set({.temperature = t});
      CHECK(sampler.counts(place)[2] == 50.0);
      for (const double bits : sampler.row_status.get()) CHECK(bits == 0.0);
    }
    sampler.set_logits({11.0625, 2.955, 11.0625});
    sampler.set({.temperature = 0.0});
    CHECK(sampler.counts(place)[0] == 50.0);
    sampler.set({.temperature = 1e-45});  // two tokens of probability 1/2
    const Values counts = sampler.counts(place);
    CHECK(counts[1] == 0.0);
    CHECK(counts[0] > 5.0);
    CHECK(counts[2] > 5.0);
  });
}

// (seed 42, these offsets): found by search for the extremes of the words that tokens 0 and 1 get.
constexpr double kMostNoiseFor0 = 3301514243.0;  // word 0x00000000
constexpr double kLeastNoiseFor0 = 430954732.0;  // word 0xffffffff
constexpr double kLeastNoiseFor1 = 312550098.0;  // word 0xffffffff

TEST_CASE("P06 a token of probability 0 is never drawn, whatever the random word") {
  CHECK(test::philox({0, 0, 3301514243u, 0}, {42, 0})[0] == 0x00000000u);
  CHECK(test::philox({0, 0, 430954732u, 0}, {42, 0})[0] == 0xffffffffu);
  CHECK(test::philox({0, 0, 312550098u, 0}, {42, 0})[1] == 0xffffffffu);
  test::for_each_float([](Place& place, mr_dtype dtype) {
    Sampler sampler(place, dtype, 5000, 2);
    for (const double zero :
         {-static_cast<double>(INFINITY), -60000.0, -200.0}) {  // exp(-200) is no float32
      for (int round = 0; round < 3; ++round) {
        sampler.set_logits({zero, 0});
        CHECK(sampler.counts(place)[1] == 5000.0);
      }
      sampler.set_logits({0, zero});
      CHECK(sampler.counts(place)[0] == 5000.0);
    }
    Sampler extreme(place, dtype, 3, 2);
    extreme.seed.fill(42);
    for (const double zero : {-static_cast<double>(INFINITY), -60000.0, -200.0}) {
      extreme.logits.set({zero, 0, 0, zero, zero, 0});
      extreme.rng_offset.set({kMostNoiseFor0, kLeastNoiseFor0, kLeastNoiseFor1});
      CHECK(extreme.draw(place) == Values{1, 0, 1});
    }
    // The most noise there is lies between 22.8 and 22.9 above 0: all 32 bits of the word count.
    extreme.logits.set({0, 22, -24, 0, 0, 0});
    extreme.rng_offset.set({kMostNoiseFor0, kMostNoiseFor0, 0});
    CHECK(extreme.draw(place)[0] == 0.0);
    CHECK(extreme.draw(place)[1] == 1.0);
  });
}

TEST_CASE("P08 a seeded row does not depend on its neighbours or its place") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    const Values mine = test::normal(32, 9);
    struct Company {
      int64_t rows, at;
    };
    Values alone;
    for (const Company& company : {Company{1, 0}, {2, 0}, {8, 7}, {65, 30}}) {
      for (const bool filters : {false, true}) {
        Sampler sampler(place, dtype, company.rows, 32);
        const auto at = static_cast<size_t>(company.at);
        Values logits = test::normal(static_cast<size_t>(32 * company.rows), 10);
        std::copy(mine.begin(), mine.end(), logits.begin() + 32 * company.at);
        sampler.logits.set(logits);
        const auto fill = [&](Tensor& tensor, double others, double own) {
          Values values(static_cast<size_t>(company.rows), others);
          values[at] = own;
          tensor.set(values);
        };
        fill(sampler.temperature, filters ? 0.0 : 1.3, 0.8);
        fill(sampler.top_k, filters ? 3 : 0, 0);
        fill(sampler.top_p, filters ? 0.5 : 1.0, 1.0);
        fill(sampler.seed, 7, 42);
        fill(sampler.rng_offset, 1000, 0);
        Values steps;
        for (int step = 0; step < 16; ++step) steps.push_back(sampler.draw(place)[at]);
        if (alone.empty()) alone = steps;
        CHECK(steps == alone);
      }
    }
  });
}

TEST_CASE("P09 the tokens kept and drawn repeat bit for bit") {
  test::for_each_place([](Place& place) {
    constexpr int64_t kVocab = 131072;
    Sampler sampler(place, MR_F32, 4, kVocab);
    sampler.logits.randomize(12, 2.0);
    sampler.set({.top_k = 50, .top_p = 0.9999});
    Values first;
    for (int repeat = 0; repeat < 20; ++repeat) {
      sampler.rng_offset.fill(5);
      const Values tokens = sampler.draw(place);
      if (first.empty()) first = tokens;
      CHECK(tokens == first);
    }
  });
}

TEST_CASE("P11 rows with their own k, and a workspace of exactly what was asked for") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    constexpr int64_t kVocab = 1000;
    Sampler sampler(place, dtype, 2, kVocab);
    sampler.logits.randomize(13);
    sampler.set({.temperature = 3.0, .top_p = 0.999});
    sampler.top_k.set({5, 1000});
    const mr_sample_args args = sampler.args();
    uint64_t bytes = 0;
    REQUIRE(mr_sample_workspace(place.stream(), &args, &bytes, nullptr) == MR_OK);
    const int64_t guard = 4096, all = static_cast<int64_t>(bytes) + guard + 256;
    Tensor memory(place, MR_U8, {all});
    memory.fill(0x5a);
    auto* base = static_cast<char*>(memory.view().data);
    const auto misaligned = reinterpret_cast<uintptr_t>(base) % 256;
    base += misaligned == 0 ? 0 : 256 - misaligned;
    if (bytes > 0) {
      REQUIRE(mr_stream_set_workspace(place.stream(), base, bytes, nullptr) == MR_OK);
    }
    const Values row = sampler.logits.get();
    const std::vector<int64_t> best =
        test::kept_tokens({row.begin(), row.begin() + kVocab}, {3.0, 5, 1.0, 0.0});
    bool beyond = false;
    for (int i = 0; i < 200; ++i) {
      const Values tokens = sampler.draw(place);
      CHECK(std::find(best.begin(), best.end(), static_cast<int64_t>(tokens[0])) != best.end());
      beyond = beyond || tokens[1] != sampler.draw(place)[1];
    }
    CHECK(beyond);  // the second row is not held to a handful
    REQUIRE(mr_stream_set_workspace(place.stream(), nullptr, 0, nullptr) == MR_OK);
    const Values after = memory.get();
    const int64_t end = base - static_cast<char*>(memory.view().data) + static_cast<int64_t>(bytes);
    CHECK(std::all_of(after.begin() + end, after.end(), [](double byte) { return byte == 0x5a; }));
  });
}

TEST_CASE("C06 a replayed graph draws on, and a new seed takes effect") {
  test::for_each_place([](Place& place) {
    Sampler sampler(place, MR_F32, 2, 1000);
    sampler.logits.fill(0);
    const auto restart = [&](double seed) {
      sampler.seed.fill(seed);
      sampler.rng_offset.set({0, 10});
    };
    restart(1);
    std::vector<Values> eager;
    for (int i = 0; i < 3; ++i) eager.push_back(sampler.draw(place));
    CHECK(eager[0] != eager[1]);
    CHECK(eager[1] != eager[2]);
    restart(2);
    const Values reseeded = sampler.draw(place);
    CHECK(reseeded != eager[0]);

    restart(1);
    sampler.output.fill(-1);
    const mr_sample_args args = sampler.args();
    mr_error error = {};
    mr_graph* graph = nullptr;
    mr_status status = mr_sample_prepare(place.stream(), &args, &error);
    REQUIRE_MESSAGE(status == MR_OK, error.text);
    status = mr_graph_begin(place.stream(), nullptr, &error);
    REQUIRE_MESSAGE(status == MR_OK, error.text);
    status = mr_sample(place.stream(), &args, &error);
    REQUIRE_MESSAGE(status == MR_OK, error.text);
    status = mr_graph_end(place.stream(), &graph, &error);
    REQUIRE_MESSAGE(status == MR_OK, error.text);
    CHECK(sampler.output.get() == Values{-1, -1});  // recorded, not run
    for (int i = 0; i < 3; ++i) {
      REQUIRE(mr_graph_launch(graph, place.stream(), nullptr) == MR_OK);
      CHECK(sampler.output.get() == eager[static_cast<size_t>(i)]);
    }
    test::expect_equal(sampler.rng_offset, {3, 13});
    restart(2);
    REQUIRE(mr_graph_launch(graph, place.stream(), nullptr) == MR_OK);
    CHECK(sampler.output.get() == reseeded);
    mr_graph_release(graph);
  });
}

TEST_CASE("each host kernel of sampling, forced, draws the same tokens") {
  Values first;
  for (const char* name : {"host_sample", "host_sample_v3", "host_sample_v4"}) {
    CAPTURE(std::string(name));
    Place place(MR_BACKEND_HOST, "inline", ("force_kernel=" + std::string(name)).c_str());
    Sampler sampler(place, MR_F16, 500, 300);
    sampler.logits.randomize(14);
    sampler.set({.temperature = 1.3, .top_k = 200, .top_p = 0.95, .min_p = 0.001});
    const mr_sample_args args = sampler.args();
    mr_kernel_info info = MR_KERNEL_INFO_INIT;
    if (mr_sample_kernel(place.stream(), &args, &info, nullptr) != MR_OK) {
      CHECK(!first.empty());
      mr_error error = {};
      test::expect_refused(mr_sample(place.stream(), &args, &error), error, MR_UNSUPPORTED,
                           "architecture");
      continue;
    }
    CHECK(std::string(info.name) == name);
    const Values tokens = sampler.draw(place);
    if (first.empty()) first = tokens;
    CHECK(tokens == first);
  }
}

TEST_CASE("sampling refuses every wrong description and writes nothing") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    Sampler sampler(place, dtype, 3, 8);
    sampler.output.poison();
    sampler.row_status.poison();
    const mr_sample_args good = sampler.args();
    using Args = mr_sample_args;
    const auto bad_tensor = [&](mr_tensor Args::*field, const char* name, Role role) {
      test::expect_bad_tensor_refused(test::kSample, place, good, field, name, role);
    };
    bad_tensor(&Args::logits, "args.logits", Role::kInput);
    bad_tensor(&Args::temperature, "args.temperature", Role::kOptionalInput);
    bad_tensor(&Args::top_k, "args.top_k", Role::kOptionalInput);
    bad_tensor(&Args::top_p, "args.top_p", Role::kOptionalInput);
    bad_tensor(&Args::min_p, "args.min_p", Role::kOptionalInput);
    bad_tensor(&Args::seed, "args.seed", Role::kInput);
    bad_tensor(&Args::rng_offset, "args.rng_offset", Role::kOutput);
    bad_tensor(&Args::output, "args.output", Role::kOutput);
    bad_tensor(&Args::row_status, "args.row_status", Role::kOptionalOutput);
    const auto refuse = [&](const char* name, auto&& change) {
      Args bad = good;
      change(bad);
      test::expect_all_refuse(test::kSample, place, bad, MR_INVALID_ARGUMENT, name);
    };
    refuse("args.flags", [](Args& a) { a.flags = 1; });
    refuse("args.logits", [](Args& a) { a.logits.rank = 1; });
    refuse("args.logits", [](Args& a) { a.logits.shape[1] = 0; });
    refuse("args.logits", [](Args& a) { a.logits.dtype = MR_I32; });
    refuse("args.logits", [](Args& a) {
      a.logits.shape[1] = (int64_t{1} << 31) + 1;
      a.logits.strides[1] = 0;
    });
    for (const auto& [field, name] : {std::pair{&Args::temperature, "args.temperature"},
                                      {&Args::top_k, "args.top_k"},
                                      {&Args::top_p, "args.top_p"},
                                      {&Args::min_p, "args.min_p"},
                                      {&Args::seed, "args.seed"},
                                      {&Args::rng_offset, "args.rng_offset"},
                                      {&Args::output, "args.output"},
                                      {&Args::row_status, "args.row_status"}}) {
      mr_tensor Args::*const member = field;
      refuse(name, [&](Args& a) { (a.*member).shape[0] = 2; });
      refuse(name, [&](Args& a) { (a.*member).rank = 2; });
      refuse(name, [&](Args& a) { (a.*member).dtype = MR_F64; });
    }
    refuse("args.output", [](Args& a) { a.output.dtype = MR_U32; });
    refuse("args.seed", [](Args& a) { a.seed.dtype = MR_I64; });
    refuse("args.top_k", [](Args& a) { a.top_k.dtype = MR_F32; });
    CHECK(sampler.output.all_untouched());
    CHECK(sampler.row_status.all_untouched());
    test::expect_equal(sampler.rng_offset, {0, 1, 2});  // not advanced either
  });
}

}  // namespace
