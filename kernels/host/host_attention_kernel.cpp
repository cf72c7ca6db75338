// Attention with a running softmax, compiled per processor level.
//
// For a few query rows of one kv head the keys are walked once, a block at a time: scores of the
// block, the new maximum, the weights, and the weighted sum of v, after the running softmax of
// Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018). Decode is bound by
// reading k and v.
#include "kernels/host/host_attention_kernel.h"

#include "kernels/host/host_vector.h"
#include "millrace/op.h"

namespace mr::host::MR_HOST_NAMESPACE {
namespace {

constexpr int64_t kKeys = 32;     // per block
constexpr int64_t kPairs = 16;    // (row, head) pairs that share a block
constexpr int64_t kMaxDim = 256;  // a multiple of every vector length

MR_HOST_INLINE int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
MR_HOST_INLINE int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
MR_HOST_INLINE int64_t attention_rows(const AttentionArgs& args) {
  return min(args.cu_q[args.batch * args.cu_q_stride], args.total_q);
}
MR_HOST_INLINE int64_t padded(int64_t dim) { return (dim + kLanes - 1) / kLanes * kLanes; }

struct Sequence {
  int64_t index;
  int64_t first_row;
  int64_t queries;
  int64_t keys;
  int64_t first_key;  // contiguous
};

// The keys [low, high) that a row sees; empty if high <= low.
struct Visible {
  int64_t low;
  int64_t high;
};

struct Pair {
  int64_t row;
  int64_t head;
  Visible visible;
  float largest;  // of the scores so far
  float sum;      // of exp(score - largest)
};

// A block of keys as float32 rows, padded with zeros to whole vectors; null where a page is out of
// range. A key's place in its block is fixed, so that a row's sums do not depend on the rows beside
// it.
struct Block {
  int64_t first;  // a multiple of kKeys
  int64_t count;
  const float* k[kKeys];
  const float* v[kKeys];
};

// Everything that does not fit registers. Vectors are padded to kMaxDim.
struct Scratch {
  alignas(64) float q[kPairs * kMaxDim];
  alignas(64) float sums[kPairs * kMaxDim];  // of weights times v
  alignas(64) float k[kKeys * kMaxDim];      // copies, where v or k cannot be used in place
  alignas(64) float v[kKeys * kMaxDim];
  alignas(64) float weights[kKeys];
};

Sequence sequence_at(const AttentionArgs& args, int64_t index) {
  Sequence s;
  s.index = index;
  s.first_row = args.cu_q[index * args.cu_q_stride];
  s.queries = args.cu_q[(index + 1) * args.cu_q_stride] - s.first_row;
  s.first_key = 0;
  if (args.paged) {
    s.keys = args.kv_len[index * args.kv_len_stride];
    if (s.keys / args.page_size >= args.max_pages) s.keys = args.max_pages * args.page_size;
  } else {
    s.first_key = args.cu_kv[index * args.cu_kv_stride];
    s.keys = args.cu_kv[(index + 1) * args.cu_kv_stride] - s.first_key;
  }
  return s;
}

// The sequence that holds a row below cu_q[batch]: the last that starts at or before it.
int64_t sequence_of(const AttentionArgs& args, int64_t row) {
  int64_t low = 0, high = args.batch - 1;
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    if (args.cu_q[middle * args.cu_q_stride] <= row) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

Visible visible_to(const AttentionArgs& args, const Sequence& s, int64_t row) {
  const int64_t own = row - s.first_row + s.keys - s.queries;  // bottom-right
  Visible v = {0, s.keys};
  if (args.causal) v.high = min(v.high, own + 1);
  if (args.window_left >= 0) v.low = max(v.low, own - args.window_left);
  if (args.window_right >= 0) v.high = min(v.high, own + args.window_right + 1);
  return v;
}

// The page of key j, or -1 if it is out of range.
int64_t page_of(const AttentionArgs& args, const Sequence& s, int64_t j) {
  const int64_t page = args.block_table[s.index * args.block_table_row_stride +
                                        j / args.page_size * args.block_table_stride];
  return page >= 0 && page < args.pages ? page : -1;
}

template <class T>
const T* token(const PagedView& view, int64_t page, int64_t at, int64_t head) {
  return static_cast<const T*>(view.data) + page * view.page_stride + at * view.token_stride +
         head * view.head_stride;
}

template <class T>
void copy_padded(const T* from, int64_t n, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(load(from + i), to + i);
  if (i < n) store(load_part(from + i, n - i), to + i);
}

// float32 rows of whole vectors are used where they are.
template <class T>
const float* row_of(const T* from, int64_t dim, float* buffer) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (dim % kLanes == 0) return from;
  }
  copy_padded(from, dim, buffer);
  return buffer;
}

template <class T>
void fetch(const AttentionArgs& args, const Sequence& s, int64_t kv_head, int64_t begin,
           Block* block, Scratch* scratch) {
  for (int64_t i = begin; i < block->count; ++i) {
    const int64_t j = block->first + i;
    const int64_t page = args.paged ? page_of(args, s, j) : 0;
    const int64_t at = args.paged ? j % args.page_size : s.first_key + j;
    block->k[i] = block->v[i] = nullptr;
    if (page < 0) continue;
    block->k[i] = row_of(token<T>(args.k, page, at, kv_head), args.dim, scratch->k + i * kMaxDim);
    block->v[i] = row_of(token<T>(args.v, page, at, kv_head), args.v_dim, scratch->v + i * kMaxDim);
  }
}

// weights[0, kKeys) = scale * q . k for the keys [begin, end) of the block, -inf for the others.
void score(const Block& block, int64_t begin, int64_t end, const float* q, int64_t dim, float scale,
           float* weights) {
  const Vec low = splat(-__builtin_inff());
  for (int64_t first = 0; first < kKeys; first += 8) {
    float* to = weights + first;
    for (int i = 0; i < 8; i += kLanes < 8 ? kLanes : 8) {
      __builtin_memcpy(to + i, &low, kLanes < 8 ? sizeof low : 8 * sizeof(float));
    }
    if (first + 8 <= begin || first >= end) continue;
    const float* k[8];
    int64_t seen[8];
    for (int64_t i = 0; i < 8; ++i) {
      seen[i] = first + i >= begin && first + i < end && block.k[first + i] != nullptr;
      k[i] = seen[i] ? block.k[first + i] : q;  // any readable row: its product is not used
    }
    Vec sum[8] = {};
    for (int64_t d = 0; d < dim; d += kLanes) {
      const Vec qv = load(q + d);
      repeat<8>([&](auto i) __attribute__((always_inline)) { sum[i] += qv * load(k[i] + d); });
    }
    float all[8];
    totals8(sum, all);
    for (int64_t i = 0; i < 8; ++i) to[i] = seen[i] ? all[i] * scale : to[i];
  }
}

// sums = sums * keep + the keys' weights times v.
void accumulate(const Block& block, int64_t begin, int64_t end, const float* weights, float keep,
                int64_t dim, float* sums) {
  constexpr int kVectors = 8;
  for (int64_t d = 0; d < dim; d += kVectors * kLanes) {
    const auto chunk = [&](auto vectors) __attribute__((always_inline)) {
      constexpr int kCount = decltype(vectors)::kValue;
      Vec sum[kCount];
      repeat<kCount>([&](auto a) __attribute__((always_inline)) {
        sum[a] = load(sums + d + a * kLanes) * keep;
      });
      for (int64_t i = begin; i < end; ++i) {
        if (block.v[i] == nullptr) continue;
        const float* v = block.v[i] + d;
        repeat<kCount>([&](auto a) __attribute__((always_inline)) {
          sum[a] += weights[i] * load(v + a * kLanes);
        });
      }
      repeat<kCount>([&](auto a)
                         __attribute__((always_inline)) { store(sum[a], sums + d + a * kLanes); });
    };
    if (dim - d >= kVectors * kLanes) {
      chunk(Constant<kVectors>{});
    } else {
      const int64_t end_of_row = dim;
      for (; d < end_of_row; d += kLanes) chunk(Constant<1>{});
    }
  }
}

// One block's part in one pair's softmax.
void attend(const AttentionArgs& args, const Block& block, const float* q, Pair* pair, float* sums,
            float* weights) {
  const int64_t begin = max(pair->visible.low - block.first, 0);
  const int64_t end = min(pair->visible.high - block.first, block.count);
  if (begin >= end) return;
  score(block, begin, end, q, padded(args.dim), args.scale, weights);
  const float low = -__builtin_inff();
  Vec highest = splat(low);
  VecI32 nan = {};
  for (int64_t i = 0; i < kKeys; i += kLanes) {
    const Vec s = load(weights + i);
    nan |= s != s;
    highest = select(s > highest, s, highest);
  }
  float largest = pair->largest;
  int32_t any_nan = 0;
  for (int i = 0; i < kLanes; ++i) {
    largest = highest[i] > largest ? highest[i] : largest;
    any_nan |= nan[i];
  }
  // Every score so far is -inf: they weigh nothing, and -inf must not be subtracted from itself.
  if (largest == low && any_nan == 0) return;
  Vec sum = {};
  for (int64_t i = 0; i < kKeys; i += kLanes) {
    const Vec weight = exp_vec(load(weights + i) - largest);
    store(weight, weights + i);
    sum += weight;
  }
  const float keep = pair->largest == largest ? 1.0f : exp_vec(splat(pair->largest - largest))[0];
  pair->sum = pair->sum * keep + total(sum);
  pair->largest = largest;
  accumulate(block, begin, end, weights, keep, padded(args.v_dim), sums);
}

MR_HOST_INLINE void store_one(float x, float* to) { *to = x; }
MR_HOST_INLINE void store_one(float x, Bf16* to) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  to->bits = static_cast<uint16_t>(is_nan ? (bits >> 16) | 0x40u : rounded);
}
// As from_float<F16>() in core/dtype.h.
MR_HOST_INLINE void store_one(float x, F16* to) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t small =
      __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  uint32_t half = magnitude < 0x38800000u ? small : normal;
  half = magnitude >= 0x47800000u ? 0x7c00u : half;
  half = magnitude > 0x7f800000u ? 0x7e00u : half;
  to->bits = static_cast<uint16_t>(half | (bits >> 16 & 0x8000u));
}

template <class T>
void finish(const AttentionArgs& args, const Pair& pair, const float* sums) {
  T* to = static_cast<T*>(args.output.data) + pair.row * args.output.token_stride +
          pair.head * args.output.head_stride;
  const bool nothing = pair.sum == 0.0f;  // NaN is not nothing
  for (int64_t i = 0; i < args.v_dim; ++i) store_one(nothing ? 0.0f : sums[i] / pair.sum, to + i);
  if (args.lse == nullptr) return;
  args.lse[pair.row * args.lse_row_stride + pair.head * args.lse_stride] =
      nothing ? -__builtin_inff() : pair.largest + __builtin_logf(pair.sum);
}

// A row's status does not depend on the head: no key, or a page that is out of range.
void report(const AttentionArgs& args, const Sequence& s, int64_t row) {
  const Visible visible = visible_to(args, s, row);
  int32_t bits = 0;
  bool any = false;
  if (args.paged) {
    for (int64_t j = visible.low; j < visible.high; j += args.page_size - j % args.page_size) {
      const bool known = page_of(args, s, j) >= 0;
      any = any || known;
      bits |= known ? 0 : MR_ROW_ID_OUT_OF_RANGE;
    }
  } else {
    any = visible.low < visible.high;
  }
  args.row_status[row * args.row_status_stride] = bits | (any ? 0 : MR_ROW_ALL_MASKED);
}

// Up to kPairs pairs of one sequence and kv head.
template <class T>
void work_on(const AttentionArgs& args, const Sequence& s, int64_t kv_head, Pair* pairs,
             int64_t count, Scratch* scratch) {
  int64_t low = s.keys, high = 0;
  for (int64_t i = 0; i < count; ++i) {
    Pair& pair = pairs[i];
    if (pair.visible.low < pair.visible.high) {
      low = min(low, pair.visible.low);
      high = max(high, pair.visible.high);
    }
    copy_padded(static_cast<const T*>(args.q.data) + pair.row * args.q.token_stride +
                    pair.head * args.q.head_stride,
                args.dim, scratch->q + i * kMaxDim);
    float* sums = scratch->sums + i * kMaxDim;
    for (int64_t d = 0; d < padded(args.v_dim); ++d) sums[d] = 0.0f;
  }
  Block block;
  for (int64_t first = low / kKeys * kKeys; first < high; first += kKeys) {
    block.first = first;
    block.count = min(first + kKeys, high) - first;
    // Keys below low are not looked at: their pages may be gone.
    fetch<T>(args, s, kv_head, max(low - first, 0), &block, scratch);
    for (int64_t i = 0; i < count; ++i) {
      attend(args, block, scratch->q + i * kMaxDim, &pairs[i], scratch->sums + i * kMaxDim,
             scratch->weights);
    }
  }
  for (int64_t i = 0; i < count; ++i) finish<T>(args, pairs[i], scratch->sums + i * kMaxDim);
}

template <class T>
void items_of(const AttentionArgs& args, int64_t begin, int64_t end) {
  Scratch scratch;
  Pair pairs[kPairs];
  const int64_t rows = attention_rows(args);
  const int64_t blocks = (rows + kAttentionRows - 1) / kAttentionRows;
  const int64_t group = args.q_heads / args.kv_heads;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t kv_head = item / blocks;
    int64_t row = item % blocks * kAttentionRows;
    const int64_t last = min(row + kAttentionRows, rows);
    while (row < last) {
      const Sequence s = sequence_at(args, sequence_of(args, row));
      const int64_t stop = min(last, s.first_row + s.queries);
      if (stop <= row) break;  // cu_q decreases: nothing can be right, but it must end
      if (kv_head == 0 && args.row_status != nullptr) {
        for (int64_t r = row; r < stop; ++r) report(args, s, r);
      }
      const int64_t all = (stop - row) * group;
      for (int64_t at = 0; at < all; at += kPairs) {
        const int64_t count = min(kPairs, all - at);
        for (int64_t i = 0; i < count; ++i) {
          const int64_t r = row + (at + i) / group;
          pairs[i] = {r, kv_head * group + (at + i) % group, visible_to(args, s, r),
                      -__builtin_inff(), 0.0f};
        }
        work_on<T>(args, s, kv_head, pairs, count, &scratch);
      }
      row = stop;
    }
  }
}

}  // namespace

void attention_items(const AttentionArgs& args, int64_t begin, int64_t end) {
  switch (args.dtype) {
    case MR_F16:
      items_of<F16>(args, begin, end);
      break;
    case MR_BF16:
      items_of<Bf16>(args, begin, end);
      break;
    default:
      items_of<float>(args, begin, end);
      break;
  }
}

}  // namespace mr::host::MR_HOST_NAMESPACE
