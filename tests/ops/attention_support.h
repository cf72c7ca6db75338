// What the tests of attention share: ragged batches with their tensors, and the formula in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>

#include "support/op_test.h"
#include "support/refusals.h"

namespace test {

inline constexpr Functions<mr_attention_args> kAttention = {
    mr_attention, mr_attention_prepare, mr_attention_workspace, mr_attention_kernel};

inline void run_attention(Place& place, const mr_attention_args& args) {
  mr_error error = {};
  const mr_status prepared = mr_attention_prepare(place.stream(), &args, &error);
  REQUIRE_MESSAGE(prepared == MR_OK, mr_status_name(prepared) << ": " << error.text);
  const mr_status status = mr_attention(place.stream(), &args, &error);
  REQUIRE_MESSAGE(status == MR_OK, mr_status_name(status) << ": " << error.text);
}

struct Lengths {
  int64_t q, kv;
};

struct Shape {
  std::vector<Lengths> sequences;
  int64_t q_heads = 2, kv_heads = 1, dim = 16, v_dim = 16;
  int64_t page_size = 0;  // 0: contiguous
  uint32_t flags = 0;
  int32_t left = 0, right = 0;
};

// The tensors of one call. Keys that no sequence has (the rest of a last page, pages in no table,
// rows behind the last sequence) hold NaN; unused entries of the table hold junk. Two rows of q lie
// behind the last sequence.
class Ragged {
 public:
  Ragged(Place& place, mr_dtype dtype, const Shape& shape, uint64_t seed) : shape_(shape) {
    const int64_t batch = static_cast<int64_t>(shape.sequences.size());
    std::vector<double> cu_q{0}, cu_kv{0}, kv_len;
    int64_t pages = 2;
    for (const Lengths& s : shape.sequences) {
      cu_q.push_back(cu_q.back() + static_cast<double>(s.q));
      cu_kv.push_back(cu_kv.back() + static_cast<double>(s.kv));
      kv_len.push_back(static_cast<double>(s.kv));
      if (shape.page_size > 0) {
        const int64_t own = (s.kv + shape.page_size - 1) / shape.page_size;
        pages += own;
        max_pages_ = std::max(max_pages_, own + 1);
      }
    }
    rows_ = static_cast<int64_t>(cu_q.back());
    const int64_t total_q = rows_ + 2;
    q = std::make_unique<Tensor>(place, dtype,
                                 std::vector<int64_t>{total_q, shape.q_heads, shape.dim});
    q->randomize(seed);
    output = std::make_unique<Tensor>(place, dtype,
                                      std::vector<int64_t>{total_q, shape.q_heads, shape.v_dim});
    lse = std::make_unique<Tensor>(place, MR_F32, std::vector<int64_t>{total_q, shape.q_heads});
    row_status = std::make_unique<Tensor>(place, MR_I32, std::vector<int64_t>{total_q});
    cu_q_ = vector(place, cu_q);
    if (shape.page_size > 0) {
      fill_table(pages, batch, seed);
      kv_len_ = vector(place, kv_len);
      block_table =
          std::make_unique<Tensor>(place, MR_I32, std::vector<int64_t>{batch, max_pages_});
      block_table->set(table_);
    } else {
      cu_kv_ = vector(place, cu_kv);
      const int64_t rows = static_cast<int64_t>(cu_kv.back());
      slots_ = rows + 3;
      for (int64_t b = 0, at = 0; b < batch; ++b) {
        first_slot_.push_back(at);
        at += shape.sequences[static_cast<size_t>(b)].kv;
      }
    }
    std::vector<int64_t> k_shape{slots_, shape.kv_heads, shape.dim};
    if (shape.page_size > 0) k_shape = {pages, shape.page_size, shape.kv_heads, shape.dim};
    k = std::make_unique<Tensor>(place, dtype, k_shape);
    k_shape.back() = shape.v_dim;
    v = std::make_unique<Tensor>(place, dtype, k_shape);
    k->set(keys(shape.dim, seed + 1));
    v->set(keys(shape.v_dim, seed + 2));
  }

  mr_attention_args args() const {
    mr_attention_args args = MR_ATTENTION_ARGS_INIT;
    args.flags = shape_.flags;
    args.q = *q;
    args.k = *k;
    args.v = *v;
    args.cu_q = *cu_q_;
    if (shape_.page_size > 0) {
      args.kv_len = *kv_len_;
      args.block_table = *block_table;
    } else {
      args.cu_kv = *cu_kv_;
    }
    args.output = *output;
    args.lse = *lse;
    args.row_status = *row_status;
    args.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape_.dim)));
    args.window_left = shape_.left;
    args.window_right = shape_.right;
    return args;
  }

  // The slot (row of all keys, page by page) of key j of sequence b.
  int64_t slot(int64_t b, int64_t j) const {
    if (shape_.page_size == 0) return first_slot_[static_cast<size_t>(b)] + j;
    const double page = table_[static_cast<size_t>(b * max_pages_ + j / shape_.page_size)];
    return static_cast<int64_t>(page) * shape_.page_size + j % shape_.page_size;
  }

  struct Expected {
    std::vector<double> output, lse, row_status;
    double v_scale = 0.0, s_scale = 1.0;
  };

  // The formula, for the rows below cu_q[batch].
  Expected expected(double scale) const {
    Expected out;
    const std::vector<double> qs = q->get(), ks = k->get(), vs = v->get();
    const int64_t group = shape_.q_heads / shape_.kv_heads;
    int64_t row = 0;
    for (size_t b = 0; b < shape_.sequences.size(); ++b) {
      const auto [q_len, kv_len] = shape_.sequences[b];
      for (int64_t i = 0; i < q_len; ++i, ++row) {
        bool any = false;
        for (int64_t h = 0; h < shape_.q_heads; ++h) {
          std::vector<double> sums(static_cast<size_t>(shape_.v_dim), 0.0);
          std::vector<double> scores;
          std::vector<int64_t> slots;
          for (int64_t j = 0; j < kv_len; ++j) {
            if (!sees(i + kv_len - q_len, j)) continue;
            double s = 0.0;
            const int64_t at = slot(static_cast<int64_t>(b), j) * shape_.kv_heads + h / group;
            for (int64_t d = 0; d < shape_.dim; ++d) {
              s += qs[static_cast<size_t>((row * shape_.q_heads + h) * shape_.dim + d)] *
                   ks[static_cast<size_t>(at * shape_.dim + d)];
            }
            scores.push_back(scale * s);
            slots.push_back(at);
          }
          any = !scores.empty();
          const double largest = any ? *std::max_element(scores.begin(), scores.end()) : 0.0;
          double sum = 0.0;
          for (size_t n = 0; n < scores.size(); ++n) {
            const double weight = std::exp(scores[n] - largest);
            sum += weight;
            out.s_scale = std::max(out.s_scale, std::fabs(scores[n]));
            for (int64_t d = 0; d < shape_.v_dim; ++d) {
              const double value = vs[static_cast<size_t>(slots[n] * shape_.v_dim + d)];
              sums[static_cast<size_t>(d)] += weight * value;
              out.v_scale = std::max(out.v_scale, std::fabs(value));
            }
          }
          for (const double value : sums) out.output.push_back(any ? value / sum : 0.0);
          out.lse.push_back(any ? largest + std::log(sum) : -INFINITY);
        }
        out.row_status.push_back(any ? 0 : MR_ROW_ALL_MASKED);
      }
    }
    return out;
  }

  // Runs and compares everything, the rows behind the last sequence included.
  void check(Place& place) {
    const mr_attention_args call = args();
    output->poison();
    lse->poison();
    row_status->poison();
    const double untouched = output->get().back(), untouched_lse = lse->get().back(),
                 untouched_status = row_status->get().back();
    run_attention(place, call);
    Expected wanted = expected(static_cast<double>(call.scale));
    wanted.output.resize(static_cast<size_t>(output->count()), untouched);
    wanted.lse.resize(static_cast<size_t>(lse->count()), untouched_lse);
    wanted.row_status.resize(static_cast<size_t>(row_status->count()), untouched_status);
    expect_close(*output, wanted.output, wanted.v_scale * wanted.s_scale, 1.01, 16.0);
    expect_close(*lse, wanted.lse, wanted.s_scale, 1.01, 16.0);
    expect_equal(*row_status, wanted.row_status);
  }

  std::unique_ptr<Tensor> q, k, v, output, lse, row_status, block_table;
  int64_t rows() const { return rows_; }

 private:
  static std::unique_ptr<Tensor> vector(Place& place, const std::vector<double>& values) {
    auto tensor = std::make_unique<Tensor>(
        place, MR_I32, std::vector<int64_t>{static_cast<int64_t>(values.size())});
    tensor->set(values);
    return tensor;
  }

  bool sees(int64_t own, int64_t j) const {
    if ((shape_.flags & MR_ATTENTION_CAUSAL) != 0 && j > own) return false;
    if ((shape_.flags & MR_ATTENTION_WINDOW) == 0) return true;
    if (shape_.left >= 0 && j < own - shape_.left) return false;
    return shape_.right < 0 || j <= own + shape_.right;
  }

  void fill_table(int64_t pages, int64_t batch, uint64_t seed) {
    std::vector<double> order(static_cast<size_t>(pages));
    std::iota(order.begin(), order.end(), 0.0);
    std::mt19937_64 engine(seed);
    std::shuffle(order.begin(), order.end(), engine);
    table_.assign(static_cast<size_t>(batch * max_pages_), -7.0);
    size_t next = 0;
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t kv = shape_.sequences[static_cast<size_t>(b)].kv;
      for (int64_t p = 0; p * shape_.page_size < kv; ++p) {
        table_[static_cast<size_t>(b * max_pages_ + p)] = order[next++];
      }
    }
    slots_ = pages * shape_.page_size;
  }

  // Normal numbers where a sequence has a key, NaN elsewhere.
  std::vector<double> keys(int64_t dim, uint64_t seed) const {
    const int64_t width = shape_.kv_heads * dim;
    std::vector<double> random = normal(static_cast<size_t>(slots_ * width), seed);
    std::vector<double> values(random.size(), std::nan(""));
    for (size_t b = 0; b < shape_.sequences.size(); ++b) {
      for (int64_t j = 0; j < shape_.sequences[b].kv; ++j) {
        const int64_t at = slot(static_cast<int64_t>(b), j) * width;
        std::copy(random.begin() + at, random.begin() + at + width, values.begin() + at);
      }
    }
    return values;
  }

  Shape shape_;
  std::vector<double> table_;
  std::vector<int64_t> first_slot_;
  std::unique_ptr<Tensor> cu_q_, cu_kv_, kv_len_;
  int64_t rows_ = 0, max_pages_ = 1, slots_ = 0;
};

}  // namespace test
