// Sampling: every device and dtype against the filters and the draw in double, and against
// frequencies.
#include "ops/sample_support.h"
#include "support/far_memory.h"

namespace {

using test::Parameters;
using test::Place;
using test::Sampler;
using test::Tensor;
using Values = std::vector<double>;

// The known answers that Random123 publishes for philox4x32 with 10 rounds: they hold the tests'
// own copy to the paper, and check() below holds the library to that copy.
TEST_CASE("the tests' Philox4x32-10 gives the published answers") {
  CHECK(test::philox({0, 0, 0, 0}, {0, 0}) ==
        test::Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr uint32_t kOnes = 0xffffffff;
  CHECK(test::philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) ==
        test::Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(test::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        test::Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a draw is the argmax of logit / temperature + noise, at every width") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t vocab :
         {1, 2, 3, 4, 5, 7, 8, 31, 33, 63, 64, 65, 127, 128, 129, 1000, 1024}) {
      for (const double temperature : {1.0, 0.3, 5.0}) {
        CAPTURE(vocab);
        Sampler sampler(place, dtype, 6, vocab, vocab % 2 == 0 ? MR_I32 : MR_I64);
        sampler.set({.temperature = temperature});
        sampler.logits.randomize(static_cast<uint64_t>(vocab), 2.0);
        sampler.seed.set({0, 1, 0xdeadbeef, 4294967296.0, 9007199254740991.0, 77});
        sampler.rng_offset.set({0, 4294967295.0, 4294967296.0, 5, 9007199254740990.0, 1});
        sampler.check(place);
        sampler.check(place);  // with the offsets that the first left
      }
    }
  });
}

TEST_CASE("filters keep what the formula keeps, alone and together") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t vocab : {5, 64, 200}) {
      for (const int64_t top_k : {0, 1, 2, 5, 63}) {
        for (const double top_p : {1.0, 0.95, 0.5, 0.01}) {
          for (const double min_p : {0.0, 0.02, 0.3, 1.0}) {
            CAPTURE(vocab);
            CAPTURE(top_k);
            CAPTURE(top_p);
            CAPTURE(min_p);
            Sampler sampler(place, dtype, 12, vocab);
            sampler.set({.temperature = 1.7, .top_k = top_k, .top_p = top_p, .min_p = min_p});
            sampler.logits.randomize(static_cast<uint64_t>(vocab), 2.0);
            sampler.check(place);
          }
        }
      }
    }
  });
}

// Coarse logits make ties at every boundary: bf16 and f16 rows of real models are full of them.
TEST_CASE("exactly k tokens stay, ties going to the lower index") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t vocab : {6, 100, 300}) {
      for (const int64_t top_k : {1, 2, 3, 4, 5, 17, 99}) {
        Values row = test::normal(static_cast<size_t>(vocab), static_cast<uint64_t>(top_k));
        for (double& x : row) x = std::round(x);
        for (const bool equal : {false, true}) {
          if (equal) std::fill(row.begin(), row.end(), 0.25);
          Sampler sampler(place, dtype, 200, vocab);
          sampler.set({.temperature = 100.0, .top_k = top_k});
          sampler.set_logits(row);
          const std::vector<int64_t> kept = test::kept_tokens(row, {100.0, top_k, 1.0, 0.0});
          const Values counts = sampler.counts(place);
          int wrong = 0;
          for (size_t v = 0; v < counts.size(); ++v) {
            const bool stays =
                std::find(kept.begin(), kept.end(), static_cast<int64_t>(v)) != kept.end();
            wrong += stays ? kept.size() <= 5 && counts[v] == 0.0 : counts[v] != 0.0;
          }
          CHECK(wrong == 0);
          // And with a nucleus that ends among ties.
          sampler.set({.temperature = 100.0, .top_k = top_k, .top_p = 0.6});
          sampler.check(place);
        }
      }
    }
  });
}

TEST_CASE("+0 and -0 tie") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    Sampler sampler(place, dtype, 200, 3);
    sampler.set_logits({-0.0, 0.0, -0.0});
    sampler.set({.top_k = 2});
    CHECK(sampler.counts(place)[2] == 0.0);
    sampler.set({.temperature = 0.0});
    CHECK(sampler.counts(place)[0] == 200.0);
    sampler.set_logits({0.0, -0.0, 0.0});
    sampler.set({.top_k = 2});
    CHECK(sampler.counts(place)[2] == 0.0);
  });
}

TEST_CASE("frequencies are the softmax's, filtered and renormalised") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    constexpr int64_t kDraws = 5000;
    const Values row = {0.0, 1.0, -1.0, 2.5, 0.5, -3.0, 1.5};
    Sampler sampler(place, dtype, kDraws, 7);
    sampler.set_logits(row);
    for (const double temperature : {1.0, 0.5, 3.0}) {
      for (const Parameters& filter : {Parameters{}, Parameters{.top_k = 3},
                                       Parameters{.top_p = 0.8}, Parameters{.min_p = 0.2}}) {
        Parameters p = filter;
        p.temperature = temperature;
        sampler.set(p);
        Values probabilities(row.size(), 0.0);
        double sum = 0.0;
        for (const int64_t v : test::kept_tokens(row, p)) {
          const auto at = static_cast<size_t>(v);
          sum += probabilities[at] = std::exp(row[at] / temperature);
        }
        for (double& x : probabilities) x /= sum;
        test::check_frequencies(sampler.counts(place), probabilities);
      }
    }
  });
}

TEST_CASE("tokens next to each other, and draws one after the other, are independent") {
  test::for_each_place([](Place& place) {
    // Pairs of draws of the same row over 4 equal tokens: 16 cells, each with 1/16.
    constexpr int64_t kRows = 16000;
    Sampler sampler(place, MR_F32, kRows, 4);
    sampler.logits.fill(0);
    Values seeds(kRows);
    std::iota(seeds.begin(), seeds.end(), 100.0);
    sampler.seed.set(seeds);
    sampler.rng_offset.fill(0);
    const Values first = sampler.draw(place), second = sampler.draw(place);
    Values cells(16, 0.0);
    for (size_t i = 0; i < kRows; ++i)
      cells[static_cast<size_t>(first[i] * 4.0 + second[i])] += 1.0;
    test::check_frequencies(cells, Values(16, 1.0 / 16.0));
  });
}

TEST_CASE("special logits: NaN, infinities, rows of nothing") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    const double nan = std::nan(""), inf = INFINITY;
    const std::vector<Values> rows = {
        {nan, 1, 2, nan, 0},           {-inf, -inf, -inf, -inf, -inf},
        {nan, nan, nan, nan, nan},     {nan, -inf, nan, -inf, nan},
        {inf, 5, inf, -inf, nan},      {-inf, 3, -inf, -inf, -inf},
        {inf, inf, inf, inf, inf},     {-60000, -60000, -60000, -60000, -60000},
        {60000, -60000, 0, 60000, nan}};
    for (const Parameters& p :
         {Parameters{}, Parameters{.top_k = 2}, Parameters{.top_p = 0.5}, Parameters{.min_p = 0.5},
          Parameters{.temperature = 0.0}, Parameters{.temperature = 1e-30},
          Parameters{.temperature = 1e30}, Parameters{.top_k = 3, .top_p = 0.9, .min_p = 0.01}}) {
      Sampler sampler(place, dtype, static_cast<int64_t>(rows.size()), 5);
      Values all;
      for (const Values& row : rows) all.insert(all.end(), row.begin(), row.end());
      sampler.logits.set(all);
      sampler.set(p);
      for (int i = 0; i < 4; ++i) sampler.check(place);
    }
  });
}

TEST_CASE("special parameters: absent, NaN, infinite, out of range") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    const double nan = std::nan("");
    Sampler sampler(place, dtype, 300, 6);
    const Values row = {0, 2, 1, 2, -1, 0.5};
    sampler.set_logits(row);
    const auto offsets = [&] {
      Values counting(300);
      std::iota(counting.begin(), counting.end(), 0.0);
      sampler.rng_offset.set(counting);
    };
    const Values plain = sampler.draw(place);
    for (const Parameters& same :
         {Parameters{.top_k = -1}, Parameters{.top_k = -2147483647 - 1}, Parameters{.top_k = 6},
          Parameters{.top_k = 2147483647}, Parameters{.top_p = 1.5}, Parameters{.top_p = INFINITY},
          Parameters{.top_p = nan}, Parameters{.min_p = -1}, Parameters{.min_p = nan}}) {
      offsets();
      sampler.set(same);
      CHECK(sampler.draw(place) == plain);
    }
    offsets();
    mr_sample_args absent = sampler.args();
    absent.temperature = absent.top_k = absent.top_p = absent.min_p = absent.row_status =
        MR_TENSOR_INIT;
    test::run_sample(place, absent);
    CHECK(sampler.output.get() == plain);
    // Greedy, lowest index of the largest; min_p above 1 keeps the largest ones.
    for (const double t : {0.0, -0.0, -1.0, -static_cast<double>(INFINITY), nan}) {
      sampler.set({.temperature = t});
      CHECK(sampler.counts(place)[1] == 300.0);
    }
    for (const Parameters& one :
         {Parameters{.top_p = 0.0}, Parameters{.top_p = -5.0}, Parameters{.top_k = 1}}) {
      sampler.set(one);
      CHECK(sampler.counts(place)[1] == 300.0);
    }
    sampler.set({.min_p = 7.0});
    const Values largest = sampler.counts(place);
    CHECK(largest[1] + largest[3] == 300.0);
    CHECK(largest[1] > 0.0);
    CHECK(largest[3] > 0.0);
    sampler.set({.temperature = INFINITY});  // uniform
    for (const double count : sampler.counts(place)) CHECK(count > 20.0);
  });
}

TEST_CASE("sampling follows strides, and shares parameters by a stride of 0") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    constexpr int64_t kRows = 5, kVocab = 70;
    Sampler packed(place, dtype, kRows, kVocab);
    packed.logits.randomize(3);
    packed.set({.temperature = 0.8, .top_k = 20, .top_p = 0.9, .min_p = 0.01});
    const Values wanted = packed.draw(place);
    for (const std::vector<int64_t>& strides :
         {std::vector<int64_t>{kVocab + 3, 1}, {2 * kVocab, 2}, {1, kRows}, {-kVocab, -1}}) {
      Tensor logits(place, dtype, {kRows, kVocab}, strides, 1), one_f(place, MR_F32, {kRows}, {0}),
          one_k(place, MR_I32, {kRows}, {0}), one_p(place, MR_F32, {kRows}, {0}),
          one_m(place, MR_F32, {kRows}, {0}), seed(place, MR_U64, {kRows}, {0}),
          offset(place, MR_U64, {kRows}, {-2}), output(place, MR_I64, {kRows}, {3}),
          status(place, MR_I32, {kRows}, {-1});
      logits.set(packed.logits.get());
      one_f.fill(0.8), one_k.fill(20), one_p.fill(0.9), one_m.fill(0.01), seed.fill(1);
      offset.set({0, 1, 2, 3, 4});
      mr_sample_args args = packed.args();
      args.logits = logits, args.temperature = one_f, args.top_k = one_k, args.top_p = one_p;
      args.min_p = one_m, args.seed = seed, args.rng_offset = offset, args.output = output;
      args.row_status = status;
      test::run_sample(place, args);
      test::expect_equal(output, wanted);
      test::expect_equal(offset, {1, 2, 3, 4, 5});
    }
    Tensor shared(place, dtype, {kRows, kVocab}, {0, 1});  // one row of logits for all
    shared.randomize(4);
    mr_sample_args args = packed.args();
    args.logits = shared;
    test::run_sample(place, args);
    for (const double token : packed.output.get()) CHECK(token < kVocab);
  });
}

TEST_CASE("sampling over a vocabulary of a real model") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    constexpr int64_t kVocab = 151936;
    Sampler sampler(place, dtype, 1, kVocab);
    sampler.logits.randomize(5, 3.0);
    for (const Parameters& p :
         {Parameters{}, Parameters{.temperature = 0.7, .top_k = 50, .top_p = 0.95},
          Parameters{.top_p = 0.9}, Parameters{.min_p = 0.05},
          Parameters{.top_k = 100000, .top_p = 0.999}}) {
      sampler.set(p);
      sampler.check(place);
    }
  });
}

TEST_CASE("sampling of no rows; far rows") {
  test::for_each_place([](Place& place) {
    mr_sample_args args = MR_SAMPLE_ARGS_INIT;
    const int64_t logits[] = {0, 5}, rows[] = {0};
    mr_tensor_pack(nullptr, MR_F32, 2, logits, &args.logits, nullptr);
    mr_tensor_pack(nullptr, MR_U64, 1, rows, &args.seed, nullptr);
    args.rng_offset = args.seed;
    mr_tensor_pack(nullptr, MR_I32, 1, rows, &args.output, nullptr);
    test::expect_run(test::kSample, place, args);
    args.logits.shape[1] = 0;
    test::expect_run(test::kSample, place, args);
  });
  for (const char* mode : {"inline", "deferred"}) {
    Place place(MR_BACKEND_HOST, mode);
    constexpr int64_t kFar = (int64_t{1} << 32) + 8;
    test::FarMemory memory(static_cast<uint64_t>(kFar) * 2 + 4096);
    Tensor seed(place, MR_U64, {2}), offset(place, MR_U64, {2}), output(place, MR_I32, {2});
    seed.fill(0), offset.fill(0);
    mr_sample_args args = MR_SAMPLE_ARGS_INIT;
    args.logits = memory.view(MR_BF16, {2, 4}, {kFar, 1});
    args.seed = seed, args.rng_offset = offset, args.output = output;
    memory.set(MR_BF16, 1, 500);
    memory.set(MR_BF16, kFar + 3, 500);
    test::run_sample(place, args);
    test::expect_equal(output, {1, 3});
  }
}

}  // namespace
