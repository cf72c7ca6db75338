// What the tests of sampling share: the random numbers, the filters and the draw, as sampling.h
// states them, in double.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>

#include "support/op_test.h"
#include "support/refusals.h"

namespace test {

inline constexpr Functions<mr_sample_args> kSample = {mr_sample, mr_sample_prepare,
                                                      mr_sample_workspace, mr_sample_kernel};

inline void run_sample(Place& place, const mr_sample_args& args) {
  mr_error error = {};
  const mr_status prepared = mr_sample_prepare(place.stream(), &args, &error);
  REQUIRE_MESSAGE(prepared == MR_OK, mr_status_name(prepared) << ": " << error.text);
  const mr_status status = mr_sample(place.stream(), &args, &error);
  REQUIRE_MESSAGE(status == MR_OK, mr_status_name(status) << ": " << error.text);
}

using Words = std::array<uint32_t, 4>;

// Philox4x32-10, written from the paper's description.
inline Words philox(Words counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

inline double gumbel(uint64_t seed, uint64_t offset, int64_t token) {
  const auto block = static_cast<uint64_t>(token) / 4;
  const Words words = philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                              static_cast<uint32_t>(offset), static_cast<uint32_t>(offset >> 32)},
                             {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const double word = words[static_cast<size_t>(token) % 4];
  return -std::log(-std::log1p(-std::min((word + 0.5) * 0x1p-32, 1.0 - 0x1p-24)));
}

struct Parameters {
  double temperature = 1.0;
  int64_t top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
};

inline bool usable(double logit) { return !std::isnan(logit) && logit != -INFINITY; }

// (logit - largest) / temperature, 0 for the largest.
inline double relative(double logit, double largest, double temperature) {
  return logit == largest ? 0.0 : (logit - largest) / temperature;
}

// The tokens that the filters keep, largest first, ties by index; temperatures at or below 0 keep
// one.
inline std::vector<int64_t> kept_tokens(const std::vector<double>& logits, const Parameters& p) {
  std::vector<int64_t> order;
  for (size_t v = 0; v < logits.size(); ++v) {
    if (usable(logits[v])) order.push_back(static_cast<int64_t>(v));
  }
  const auto logit = [&](int64_t v) { return logits[static_cast<size_t>(v)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return logit(a) > logit(b); });
  if (order.empty()) return order;
  if (!(p.temperature > 0.0)) return {order[0]};
  if (p.top_k > 0 && p.top_k < static_cast<int64_t>(order.size())) {
    order.resize(static_cast<size_t>(p.top_k));
  }
  std::vector<double> weights;
  for (const int64_t v : order) {
    weights.push_back(std::exp(relative(logit(v), logit(order[0]), p.temperature)));
  }
  if (p.top_p < 1.0) {
    const double need = p.top_p * std::accumulate(weights.begin(), weights.end(), 0.0);
    size_t count = 1;
    for (double sum = weights[0]; sum < need && count < order.size(); ++count)
      sum += weights[count];
    order.resize(count);
  }
  size_t count = order.size();
  while (count > 1 && p.min_p > 0.0 && weights[count - 1] < p.min_p) --count;
  order.resize(count);
  return order;
}

// The token drawn, and one that is too close to call; the same where nothing is.
inline std::pair<int64_t, int64_t> drawn(const std::vector<double>& logits, const Parameters& p,
                                         uint64_t seed, uint64_t offset) {
  const std::vector<int64_t> kept = kept_tokens(logits, p);
  if (kept.empty()) return {0, 0};
  if (kept.size() == 1) return {kept[0], kept[0]};
  double best = -INFINITY, second = -INFINITY;
  int64_t token = 0, rival = 0;
  for (const int64_t v : kept) {
    const double score = relative(logits[static_cast<size_t>(v)],
                                  logits[static_cast<size_t>(kept[0])], p.temperature) +
                         gumbel(seed, offset, v);
    if (score > best || (score == best && v < token)) {
      second = best, rival = token;
      best = score, token = v;
    } else if (score > second) {
      second = score, rival = v;
    }
  }
  return {token, best - second > 1e-4 ? token : rival};
}

// A call over `rows` rows whose parameters are tensors, each optional.
class Sampler {
 public:
  Sampler(Place& place, mr_dtype dtype, int64_t rows, int64_t vocab, mr_dtype id_dtype = MR_I32)
      : logits(place, dtype, {rows, vocab}),
        temperature(place, MR_F32, {rows}),
        top_k(place, MR_I32, {rows}),
        top_p(place, MR_F32, {rows}),
        min_p(place, MR_F32, {rows}),
        seed(place, MR_U64, {rows}),
        rng_offset(place, MR_U64, {rows}),
        output(place, id_dtype, {rows}),
        row_status(place, MR_I32, {rows}),
        rows_(rows) {
    set({});
    seed.fill(1);
    std::vector<double> counting(static_cast<size_t>(rows));
    std::iota(counting.begin(), counting.end(), 0.0);
    rng_offset.set(counting);
  }

  // The same parameters in every row.
  void set(const Parameters& p) {
    temperature.fill(p.temperature);
    top_k.fill(static_cast<double>(p.top_k));
    top_p.fill(p.top_p);
    min_p.fill(p.min_p);
  }
  // The same logits in every row.
  void set_logits(const std::vector<double>& row) {
    std::vector<double> all;
    for (int64_t r = 0; r < rows_; ++r) all.insert(all.end(), row.begin(), row.end());
    logits.set(all);
  }

  mr_sample_args args() const {
    mr_sample_args args = MR_SAMPLE_ARGS_INIT;
    args.logits = logits;
    args.temperature = temperature;
    args.top_k = top_k;
    args.top_p = top_p;
    args.min_p = min_p;
    args.seed = seed;
    args.rng_offset = rng_offset;
    args.output = output;
    args.row_status = row_status;
    return args;
  }

  std::vector<double> draw(Place& place) {
    run_sample(place, args());
    return output.get();
  }

  // How often each token of [0, vocab) is drawn, one draw per row.
  std::vector<double> counts(Place& place) {
    std::vector<double> counts(static_cast<size_t>(logits.view().shape[1]), 0.0);
    bool in_range = true;
    for (const double token : draw(place)) {
      in_range = in_range && token >= 0.0 && token < static_cast<double>(counts.size());
      if (in_range) counts[static_cast<size_t>(token)] += 1.0;
    }
    CHECK(in_range);
    return counts;
  }

  // Draws, and compares every row with the formula.
  void check(Place& place) {
    const std::vector<double> all = logits.get(), t = temperature.get(), k = top_k.get(),
                              p = top_p.get(), m = min_p.get(), seeds = seed.get(),
                              offsets = rng_offset.get();
    const std::vector<double> got = draw(place);
    const size_t vocab = all.size() / static_cast<size_t>(rows_);
    std::vector<double> advanced, status;
    for (size_t r = 0; r < static_cast<size_t>(rows_); ++r) {
      const std::vector<double> row(all.begin() + static_cast<int64_t>(r * vocab),
                                    all.begin() + static_cast<int64_t>((r + 1) * vocab));
      const Parameters params = {t[r], static_cast<int64_t>(k[r]), p[r], m[r]};
      const auto either =
          drawn(row, params, static_cast<uint64_t>(seeds[r]), static_cast<uint64_t>(offsets[r]));
      const auto token = either.first, rival = either.second;
      CAPTURE(r);
      CHECK_MESSAGE((got[r] == static_cast<double>(token) || got[r] == static_cast<double>(rival)),
                    "drew " << got[r] << ", not " << token);
      advanced.push_back(offsets[r] + 1.0);
      const bool nan = std::any_of(row.begin(), row.end(), [](double x) { return std::isnan(x); });
      const bool none = std::none_of(row.begin(), row.end(), usable);
      status.push_back((nan ? MR_ROW_HAD_NAN : 0) | (none ? MR_ROW_ALL_MASKED : 0));
    }
    expect_equal(rng_offset, advanced);
    expect_equal(row_status, status);
    CHECK(output.gaps_intact());
  }

  Tensor logits, temperature, top_k, top_p, min_p, seed, rng_offset, output, row_status;

 private:
  int64_t rows_;
};

// Frequencies within four standard deviations of `rows` draws with these probabilities; a
// probability of 0 is never drawn.
inline void check_frequencies(const std::vector<double>& counts,
                              const std::vector<double>& probabilities) {
  const double rows = std::accumulate(counts.begin(), counts.end(), 0.0);
  for (size_t v = 0; v < counts.size(); ++v) {
    const double p = probabilities[v];
    CAPTURE(v);
    CHECK(std::fabs(counts[v] - rows * p) <= 4.0 * std::sqrt(rows * p * (1.0 - p)) + 1e-9);
  }
}

inline std::vector<double> softmax(const std::vector<double>& logits, double temperature = 1.0) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> out;
  double sum = 0.0;
  for (const double x : logits) sum += out.emplace_back(std::exp((x - largest) / temperature));
  for (double& x : out) x /= sum;
  return out;
}

}  // namespace test
