// The QKV post-operator equals the sequence of the library's own operators, bit for bit, over every
// device, dtype and combination of its options. qkv_post_cases_test.cpp holds views, slots and
// refusals.
#include <cmath>

#include "support/op_test.h"
#include "support/refusals.h"
#include "support/same_bits.h"

namespace {

using test::Place;
using test::Tensor;
using Args = mr_qkv_post_args;
using Values = std::vector<double>;

constexpr test::Functions<mr_qkv_post_args> kOp = {mr_qkv_post, mr_qkv_post_prepare,
                                                   mr_qkv_post_workspace, mr_qkv_post_kernel};

struct Config {
  int64_t tokens = 5, q_heads = 4, kv_heads = 2, dim = 64, v_dim = 64;
  bool q = true, kv = true, bias = false, rotate = false, plus_one = false, in_place = false;
  mr_dtype norm = MR_ABSENT;  // of the norms' weights
  mr_rope_config rope = MR_ROPE_CONFIG_INIT;
  float epsilon = 1e-5f;
};

void ok(mr_status status) { CHECK(status == MR_OK); }

// [tokens, heads, dim] of x through mr_add, mr_rmsnorm and mr_rope, in place, as far as the options
// go.
void run_sequence(Place& place, const Config& config, Tensor& x, Tensor* bias, Tensor* norm,
                  Tensor* positions) {
  if (bias != nullptr) {
    mr_add_args add = MR_ADD_ARGS_INIT;
    add.a = add.output = x;
    add.b = *bias;
    add.b.rank = 3;  // the same for every token
    for (int d = 2; d >= 0; --d) add.b.shape[d] = add.a.shape[d];
    add.b.strides[2] = 1, add.b.strides[1] = add.a.shape[2], add.b.strides[0] = 0;
    ok(mr_add(place.stream(), &add, nullptr));
  }
  if (norm != nullptr) {
    mr_rmsnorm_args args = MR_RMSNORM_ARGS_INIT;
    args.input = args.output = x;
    args.weight = *norm;
    args.epsilon = config.epsilon;
    args.flags = config.plus_one ? MR_RMSNORM_WEIGHT_PLUS_ONE : 0u;
    ok(mr_rmsnorm(place.stream(), &args, nullptr));
  }
  if (positions != nullptr) {
    mr_rope_args args = MR_ROPE_ARGS_INIT;
    args.input = args.output = x;
    args.positions = *positions;
    args.rope = config.rope;
    ok(mr_rope(place.stream(), &args, nullptr));
  }
}

// Heads [first, first + heads) of the packed rows.
mr_tensor slice(Tensor& packed, int64_t first, int64_t heads, int64_t dim) {
  mr_tensor view = packed;
  view.data = static_cast<char*>(view.data) + first * test::dtype_size(view.dtype);
  view.rank = 3;
  view.shape[1] = heads, view.shape[2] = dim;
  view.strides[1] = dim, view.strides[2] = 1;
  return view;
}

Values slice(const Values& packed, int64_t row, int64_t first, int64_t count) {
  Values out;
  for (size_t at = static_cast<size_t>(first); at < packed.size(); at += static_cast<size_t>(row)) {
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) out.push_back(packed[at + i]);
  }
  return out;
}

// Runs the fused operator on a packed tensor, and the sequence on copies; compares all of it.
void expect_sequence(Place& place, mr_dtype dtype, const Config& c) {
  const int64_t q_width = c.q_heads * c.dim, k_width = c.kv_heads * c.dim,
                v_width = c.kv_heads * c.v_dim, row = q_width + k_width + v_width;
  constexpr int64_t kPages = 3, kPageSize = 4;
  Tensor packed(place, dtype, {c.tokens, row}), q_out(place, dtype, {c.tokens, c.q_heads, c.dim}),
      k_cache(place, dtype, {kPages, kPageSize, c.kv_heads, c.dim}),
      v_cache(place, dtype, {kPages, kPageSize, c.kv_heads, c.v_dim}),
      positions(place, MR_I32, {c.tokens}), slot(place, MR_I64, {c.tokens}),
      q_bias(place, dtype, {c.q_heads, c.dim}), k_bias(place, dtype, {c.kv_heads, c.dim}),
      v_bias(place, dtype, {c.kv_heads, c.v_dim}), status(place, MR_I32, {c.tokens});
  const mr_dtype norm_dtype = c.norm == MR_ABSENT ? MR_F32 : c.norm;
  Tensor q_norm(place, norm_dtype, {c.dim}), k_norm(place, norm_dtype, {c.dim});
  Values x = test::normal(static_cast<size_t>(c.tokens * row), 1);
  x[0] = INFINITY, x[static_cast<size_t>(q_width)] = NAN;
  packed.set(x);
  q_bias.randomize(2), k_bias.randomize(3), v_bias.randomize(4);
  q_norm.randomize(5), k_norm.randomize(6);
  k_cache.fill(7.0), v_cache.fill(8.0);
  Values p, s;
  for (int64_t t = 0; t < c.tokens; ++t) {
    p.push_back(t == 3 ? -1.0 : static_cast<double>(1000 * t + 1));
    s.push_back(static_cast<double>(t == 1 ? -1 : 11 - 2 * t));
  }
  positions.set(p), slot.set(s);

  Args args = MR_QKV_POST_ARGS_INIT;
  args.flags = (c.rotate ? MR_QKV_POST_ROPE : 0u) | (c.plus_one ? MR_QKV_POST_WEIGHT_PLUS_ONE : 0u);
  args.epsilon = c.epsilon;
  args.row_status = status;
  if (c.rotate) args.positions = positions, args.rope = c.rope;
  if (c.q) {
    args.q = slice(packed, 0, c.q_heads, c.dim);
    args.q_output = c.in_place ? args.q : q_out.view();
    if (c.bias) args.q_bias = q_bias;
    if (c.norm != MR_ABSENT) args.q_norm = q_norm;
  }
  if (c.kv) {
    args.k = slice(packed, q_width, c.kv_heads, c.dim);
    args.v = slice(packed, q_width + k_width, c.kv_heads, c.v_dim);
    if (c.bias) args.k_bias = k_bias, args.v_bias = v_bias;
    if (c.norm != MR_ABSENT) args.k_norm = k_norm;
    args.k_cache = k_cache, args.v_cache = v_cache, args.slot = slot;
  }
  const Values before = packed.get();
  test::expect_run(kOp, place, args);

  Tensor* const norm_q = c.norm != MR_ABSENT ? &q_norm : nullptr;
  Tensor* const norm_k = c.norm != MR_ABSENT ? &k_norm : nullptr;
  Tensor* const at = c.rotate ? &positions : nullptr;
  Values wanted_packed = before;
  if (c.q) {
    Tensor q(place, dtype, {c.tokens, c.q_heads, c.dim});
    q.set(slice(before, row, 0, q_width));
    run_sequence(place, c, q, c.bias ? &q_bias : nullptr, norm_q, at);
    const Values wanted = q.get();
    if (c.in_place) {
      for (size_t i = 0; i < wanted.size(); ++i) {
        const size_t width = static_cast<size_t>(q_width);
        wanted_packed[i / width * static_cast<size_t>(row) + i % width] = wanted[i];
      }
    } else {
      test::expect_same_bits(q_out.get(), wanted);
    }
  }
  if (!c.q || c.in_place) CHECK(q_out.all_untouched());
  test::expect_same_bits(packed.get(), wanted_packed);  // k and v are left as they are

  Values wanted_k = Values(static_cast<size_t>(kPages * kPageSize * k_width), 7.0);
  Values wanted_v = Values(static_cast<size_t>(kPages * kPageSize * v_width), 8.0);
  if (c.kv) {
    Tensor k(place, dtype, {c.tokens, c.kv_heads, c.dim}),
        v(place, dtype, {c.tokens, c.kv_heads, c.v_dim});
    k.set(slice(before, row, q_width, k_width));
    v.set(slice(before, row, q_width + k_width, v_width));
    run_sequence(place, c, k, c.bias ? &k_bias : nullptr, norm_k, at);
    run_sequence(place, c, v, c.bias ? &v_bias : nullptr, nullptr, nullptr);
    const Values ks = k.get(), vs = v.get();
    for (int64_t t = 0; t < c.tokens; ++t) {
      const auto to = static_cast<int64_t>(s[static_cast<size_t>(t)]);
      if (to < 0) continue;
      std::copy_n(ks.begin() + t * k_width, k_width, wanted_k.begin() + to * k_width);
      std::copy_n(vs.begin() + t * v_width, v_width, wanted_v.begin() + to * v_width);
    }
  }
  test::expect_same_bits(k_cache.get(), wanted_k);
  test::expect_same_bits(v_cache.get(), wanted_v);
  test::expect_equal(status, Values(static_cast<size_t>(c.tokens), 0.0));
}

TEST_CASE("qkv_post equals add, rmsnorm, rope and copy, bit for bit, in every combination") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (int bits = 0; bits < 64; ++bits) {
      for (const mr_dtype norm : {MR_ABSENT, dtype, MR_F32}) {
        Config c;
        c.bias = (bits & 1) != 0, c.rotate = (bits & 2) != 0, c.plus_one = (bits & 4) != 0;
        c.in_place = (bits & 8) != 0, c.q = (bits & 16) == 0, c.kv = (bits & 32) == 0;
        c.norm = norm;
        if (!c.q && !c.kv) continue;
        CAPTURE(bits);
        CAPTURE(norm);
        expect_sequence(place, dtype, c);
      }
    }
  });
}

TEST_CASE(
    "qkv_post equals the sequence for every pairing, scaling and part of a head that rotates") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const uint32_t pairing : {MR_ROPE_NEOX, MR_ROPE_GPTJ}) {
      for (uint32_t scaling = 0; scaling <= MR_ROPE_SCALING_LLAMA3; ++scaling) {
        for (const int32_t rotary : {0, 2, 32}) {
          CAPTURE(pairing);
          CAPTURE(scaling);
          CAPTURE(rotary);
          Config c;
          c.rotate = true, c.norm = dtype;
          c.rope.pairing = pairing, c.rope.scaling = scaling, c.rope.rotary_dim = rotary;
          c.rope.factor = 4.0f, c.rope.original_max_position = 2048;
          c.rope.low_freq_factor = 1.0f, c.rope.high_freq_factor = 4.0f;
          expect_sequence(place, dtype, c);
        }
      }
    }
  });
}

TEST_CASE("qkv_post equals the sequence for every width of head") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t dim : {2, 14, 16, 62, 66, 80, 128, 254, 256, 258, 512, 514, 1100}) {
      for (const int64_t v_dim : {dim, int64_t{1}, int64_t{300}}) {
        CAPTURE(dim);
        CAPTURE(v_dim);
        Config c;
        c.tokens = 4, c.q_heads = 3, c.kv_heads = 1, c.dim = dim, c.v_dim = v_dim;
        c.bias = c.rotate = true, c.norm = MR_F32;
        expect_sequence(place, dtype, c);
      }
    }
    Config odd;  // without rotation any width will do
    odd.dim = 33, odd.norm = dtype, odd.bias = true;
    expect_sequence(place, dtype, odd);
  });
}

// The sequence is not its own proof: one call against the formulas.
TEST_CASE("qkv_post follows the formulas of its steps") {
  test::for_each_place([](Place& place) {
    Tensor q(place, MR_F32, {1, 1, 2}), output(place, MR_F32, {1, 1, 2}),
        bias(place, MR_F32, {1, 2}), norm(place, MR_F32, {2}), positions(place, MR_I64, {1});
    q.set({1, 3}), bias.set({2, 1}), norm.set({0.5, 2}), positions.set({2});
    Args args = MR_QKV_POST_ARGS_INIT;
    args.flags = MR_QKV_POST_ROPE | MR_QKV_POST_WEIGHT_PLUS_ONE;
    args.q = q, args.q_output = output, args.q_bias = bias, args.q_norm = norm;
    args.positions = positions;
    args.epsilon = 0.5f;
    test::expect_run(kOp, place, args);
    const double root = std::sqrt((9.0 + 16.0) / 2.0 + 0.5);
    const double a = 3.0 / root * 1.5, b = 4.0 / root * 3.0;
    test::expect_close(
        output, {a * std::cos(2.0) - b * std::sin(2.0), b * std::cos(2.0) + a * std::sin(2.0)},
        std::hypot(a, b));
  });
}

}  // namespace
