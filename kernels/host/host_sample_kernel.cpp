// The sampler, compiled per processor level and without fused multiply-add, so that a draw is the
// same on every level.
//
// Filters find a threshold instead of sorting: the largest key such that the tokens at or above it
// are enough, digit by digit from the top, as a radix select does. Enough is a count (top-k) or a
// sum of weights (top-p). Tokens that tie with the threshold are then let in by index. Without
// filters a row is read twice: for its maximum, and for the draw.
#include "kernels/host/host_sample_kernel.h"

#include "kernels/host/host_gumbel.h"
#include "kernels/host/host_vector.h"
#include "millrace/op.h"

namespace mr::host::MR_HOST_NAMESPACE {
namespace {

constexpr int64_t kBlock = kGumbelBlock;
constexpr int kDigits =
    4;  // of 8 bits: a small vocabulary pays for clearing and scanning each histogram
constexpr int kBuckets = 256;

float low() { return -__builtin_inff(); }

// A row's parameters, as far as they filter anything.
struct Row {
  const void* logits;
  int64_t stride;
  int64_t vocab;
  float temperature;
  int64_t top_k;  // 0: no filter
  float top_p;    // >= 1: no filter
  float min_p;    // <= 0: no filter
  // Found on the way.
  float largest;
  bool had_nan;
  // Tokens kept: keys above the threshold, and those equal to it up to the index last_tie.
  uint32_t threshold;
  int64_t last_tie;
};

// Keys are ordered as the values are; both zeros have one key, because blocks hold no -0.
MR_HOST_INLINE uint32_t key_of(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  return bits ^ ((bits & 0x80000000u) != 0 ? 0xffffffffu : 0x80000000u);
}

// Tokens [first, first + kBlock) as float32: NaN as -inf, -0 as 0, and -inf beyond the vocabulary.
// Returns whether there was a NaN.
template <class T>
bool load_block(const Row& row, int64_t first, float* x) {
  const T* from = static_cast<const T*>(row.logits) + first * row.stride;
  const int64_t n = row.vocab - first < kBlock ? row.vocab - first : kBlock;
  int64_t i = 0;
  if (row.stride == 1) {
    for (; i + kLanes <= n; i += kLanes) store(load(from + i), x + i);
  }
  for (; i < n; ++i) x[i] = load_one(from[i * row.stride]);
  for (; i < kBlock; ++i) x[i] = low();
  VecI32 nan = {};
  for (i = 0; i < kBlock; i += kLanes) {
    const Vec v = load(x + i);
    nan |= v != v;
    store(select(v == v, v + 0.0f, splat(low())), x + i);
  }
  int32_t any = 0;
  for (int lane = 0; lane < kLanes; ++lane) any |= nan[lane];
  return any != 0;
}

float largest_of(const float* x) {
  Vec best = splat(low());
  for (int64_t i = 0; i < kBlock; i += kLanes) {
    const Vec v = load(x + i);
    best = select(v > best, v, best);
  }
  float largest = low();
  for (int lane = 0; lane < kLanes; ++lane) largest = best[lane] > largest ? best[lane] : largest;
  return largest;
}

int64_t first_equal(const float* x, float value) {
  int64_t i = 0;
  while (i < kBlock - 1 && x[i] != value) ++i;
  return i;
}

// (x - largest) / temperature, at most 0: a tiny temperature cannot overflow upwards. With an
// infinite largest logit, only its equals have any weight.
MR_HOST_INLINE Vec scaled(const Row& row, Vec x) {
  const Vec difference = select(x == row.largest, Vec{}, x - row.largest);
  return select(x == splat(low()), splat(low()), difference / row.temperature);
}

// x becomes its weight relative to the largest, 0 where the token is not kept.
void weigh(const Row& row, int64_t first, float* x, const uint32_t* keys) {
  for (int64_t i = 0; i < kBlock; i += kLanes) store(exp_vec(scaled(row, load(x + i))), x + i);
  const int64_t ties = row.last_tie - first;
  for (int64_t i = 0; i < kBlock; ++i) {
    const bool kept = keys[i] > row.threshold || (keys[i] == row.threshold && i <= ties);
    x[i] = kept ? x[i] : 0.0f;
  }
}

// The largest logit and its index; -1 if there is no token to choose.
template <class T>
int64_t find_largest(Row* row) {
  float x[kBlock];
  float best_block[kBlock];
  int64_t best_first = -1;
  for (int64_t first = 0; first < row->vocab; first += kBlock) {
    row->had_nan |= load_block<T>(*row, first, x);
    const float largest = largest_of(x);
    if (largest > row->largest) {
      row->largest = largest;
      best_first = first;
      __builtin_memcpy(best_block, x, sizeof x);
    }
  }
  return best_first < 0 ? -1 : best_first + first_equal(best_block, row->largest);
}

bool any_starts_with(const uint32_t* keys, uint32_t prefix, int shift) {
  uint32_t any = 0;
  for (int64_t i = 0; i < kBlock; ++i) any |= ((keys[i] ^ prefix) >> shift) == 0 ? 1u : 0u;
  return any != 0;
}

struct Histogram {
  int32_t count[kBuckets];
  double weight[kBuckets];
};

// Counts, and weighs if asked to, the kept tokens whose key starts with the digits of `prefix`
// above `digit`, by their next digit.
template <class T>
void fill(const Row& row, int digit, uint32_t prefix, bool weights, Histogram* histogram) {
  __builtin_memset(histogram, 0, sizeof *histogram);
  float x[kBlock];
  uint32_t keys[kBlock];
  const int shift = 24 - 8 * digit;
  for (int64_t first = 0; first < row.vocab; first += kBlock) {
    load_block<T>(row, first, x);
    const uint32_t lowest = key_of(low());
    for (int64_t i = 0; i < kBlock; ++i) keys[i] = key_of(x[i]);
    if (digit > 0 && !any_starts_with(keys, prefix, shift + 8))
      continue;  // most, after a digit or two
    if (weights) weigh(row, first, x, keys);
    for (int64_t i = 0; i < kBlock; ++i) {
      if ((uint64_t{keys[i] ^ prefix} >> (shift + 8)) != 0 || keys[i] == lowest) continue;
      if (weights && x[i] <= 0.0f)
        continue;  // dropped by an earlier filter, or too small to matter
      const uint32_t bucket = keys[i] >> shift & (kBuckets - 1);
      ++histogram->count[bucket];
      if (weights) histogram->weight[bucket] += static_cast<double>(x[i]);
    }
  }
}

// Lowers the row to the tokens above `threshold` and the first `ties` equal to it.
template <class T>
void keep_above(Row* row, uint32_t threshold, int64_t ties) {
  float x[kBlock];
  int64_t left = ties;
  for (int64_t first = 0; first < row->vocab; first += kBlock) {
    load_block<T>(*row, first, x);
    for (int64_t i = 0; i < kBlock; ++i) {
      if (key_of(x[i]) != threshold || --left > 0) continue;
      row->threshold = threshold;
      row->last_tie = first + i;
      return;
    }
  }
}

template <class T>
void filter_top_k(Row* row) {
  if (row->top_k <= 0 || row->top_k >= row->vocab) return;
  Histogram histogram;
  int64_t need = row->top_k;
  uint32_t prefix = 0;
  for (int digit = 0; digit < kDigits; ++digit) {
    fill<T>(*row, digit, prefix, false, &histogram);
    int bucket = kBuckets - 1;
    while (bucket >= 0 && histogram.count[bucket] < need) need -= histogram.count[bucket--];
    if (bucket < 0) return;  // fewer tokens than k have any probability: all stay
    prefix |= static_cast<uint32_t>(bucket) << (24 - 8 * digit);
  }
  keep_above<T>(row, prefix, need);
}

template <class T>
void filter_top_p(Row* row) {
  if (!(row->top_p < 1.0f)) return;
  Histogram histogram;
  double need = 0.0;
  uint32_t prefix = 0;
  for (int digit = 0; digit < kDigits; ++digit) {
    fill<T>(*row, digit, prefix, true, &histogram);
    if (digit == 0) {
      for (int bucket = kBuckets - 1; bucket >= 0; --bucket) need += histogram.weight[bucket];
      need *= static_cast<double>(row->top_p);
    }
    // The first bucket that reaches what is needed; the last one with any weight if rounding lets
    // none.
    int found = -1;
    double left = need;
    for (int bucket = kBuckets - 1; bucket >= 0; --bucket) {
      if (histogram.weight[bucket] <= 0.0) continue;
      if (found >= 0) left -= histogram.weight[found];
      found = bucket;
      if (histogram.weight[bucket] >= left) break;
    }
    if (found < 0) return;
    need = left;
    prefix |= static_cast<uint32_t>(found) << (24 - 8 * digit);
    if (digit < kDigits - 1) continue;
    // Ties have one weight each.
    const int64_t count = histogram.count[found];
    const double each = histogram.weight[found] / static_cast<double>(count);
    int64_t ties = 1;
    while (ties < count && static_cast<double>(ties) * each < need) ++ties;
    keep_above<T>(row, prefix, ties);
  }
}

// scores = scaled logits of the tokens kept, -inf for the others.
void keep(const Row& row, int64_t first, const float* x, float* scores) {
  for (int64_t i = 0; i < kBlock; i += kLanes) {
    Vec s = scaled(row, load(x + i));
    if (row.min_p > 0.0f) s = select(exp_vec(s) >= row.min_p, s, splat(low()));
    store(s, scores + i);
  }
  if (row.threshold == 0) return;
  const int64_t ties = row.last_tie - first;
  for (int64_t i = 0; i < kBlock; ++i) {
    const uint32_t key = key_of(x[i]);
    const bool kept = key > row.threshold || (key == row.threshold && i <= ties);
    scores[i] = kept ? scores[i] : low();
  }
}

// The token of the largest noisy score. The largest logit is among those kept and its score is
// finite, so there is one. A block whose best could not win with the most noise is not drawn for.
template <class T>
int64_t draw(const Row& row, uint64_t seed, uint64_t offset) {
  float x[kBlock], scores[kBlock], noise[kBlock];
  float best = low();
  int64_t token = 0;
  for (int64_t first = 0; first < row.vocab; first += kBlock) {
    load_block<T>(row, first, x);
    keep(row, first, x, scores);
    const float most = largest_of(scores);
    if (most == low() || most + kGumbelMost < best) continue;
    gumbel_block(seed, offset, first, noise);
    for (int64_t i = 0; i < kBlock; i += kLanes) {
      store(load(scores + i) + load(noise + i), scores + i);
    }
    const float largest = largest_of(scores);
    if (largest > best) {
      best = largest;
      token = first + first_equal(scores, largest);
    }
  }
  return token;
}

template <class T>
int64_t choose(Row* row, uint64_t seed, uint64_t offset) {
  const int64_t largest = find_largest<T>(row);
  const bool greedy = !(row->temperature > 0.0f) || row->top_p <= 0.0f || row->top_k == 1;
  if (largest < 0 || greedy) return largest;
  filter_top_k<T>(row);
  filter_top_p<T>(row);
  return draw<T>(*row, seed, offset);
}

template <class T>
void sample_row(const SampleArgs& args, int64_t r) {
  Row row;
  row.logits = static_cast<const T*>(args.logits) + r * args.logits_row_stride;
  row.stride = args.logits_stride;
  row.vocab = args.vocab;
  row.temperature =
      args.temperature != nullptr ? args.temperature[r * args.temperature_stride] : 1.0f;
  row.top_k = args.top_k != nullptr ? args.top_k[r * args.top_k_stride] : 0;
  row.top_p = args.top_p != nullptr ? args.top_p[r * args.top_p_stride] : 1.0f;
  row.min_p = args.min_p != nullptr ? args.min_p[r * args.min_p_stride] : 0.0f;
  row.min_p = row.min_p > 1.0f ? 1.0f : row.min_p;  // the largest always stays
  row.largest = low();
  row.had_nan = false;
  row.threshold = 0;
  row.last_tie = row.vocab;
  uint64_t& offset = args.rng_offset[r * args.rng_offset_stride];
  const int64_t token = choose<T>(&row, args.seed[r * args.seed_stride], offset);
  ++offset;
  const int64_t id = token < 0 ? 0 : token;
  if (args.output_dtype == MR_I32) {
    static_cast<int32_t*>(args.output)[r * args.output_stride] = static_cast<int32_t>(id);
  } else {
    static_cast<int64_t*>(args.output)[r * args.output_stride] = id;
  }
  if (args.row_status != nullptr) {
    args.row_status[r * args.row_status_stride] =
        (row.had_nan ? MR_ROW_HAD_NAN : 0) | (token < 0 ? MR_ROW_ALL_MASKED : 0);
  }
}

}  // namespace

void sample_rows(const SampleArgs& args, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    switch (args.dtype) {
      case MR_F16:
        sample_row<F16>(args, r);
        break;
      case MR_BF16:
        sample_row<Bf16>(args, r);
        break;
      default:
        sample_row<float>(args, r);
        break;
    }
  }
}

}  // namespace mr::host::MR_HOST_NAMESPACE
