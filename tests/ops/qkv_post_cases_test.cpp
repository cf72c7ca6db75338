// The QKV post-operator: views, slots and far addresses.
#include <cmath>

#include "support/far_memory.h"
#include "support/op_test.h"
#include "support/refusals.h"
#include "support/same_bits.h"

namespace {

using test::Place;
using test::Tensor;
using Args = mr_qkv_post_args;
using Shape = std::vector<int64_t>;
using Values = std::vector<double>;

constexpr test::Functions<mr_qkv_post_args> kOp = {mr_qkv_post, mr_qkv_post_prepare,
                                                   mr_qkv_post_workspace, mr_qkv_post_kernel};
constexpr double kOut = MR_ROW_ID_OUT_OF_RANGE;

Args append(const mr_tensor& k, const mr_tensor& v, const mr_tensor& slot, const mr_tensor& k_cache,
            const mr_tensor& v_cache) {
  Args args = MR_QKV_POST_ARGS_INIT;
  args.k = k, args.v = v, args.slot = slot, args.k_cache = k_cache, args.v_cache = v_cache;
  return args;
}

TEST_CASE("qkv_post skips padding slots, and skips and reports those outside the cache") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    const Values slots = {5, -1, 6, -2, 0x1p40, -0x1p63, 0, 0x1p62};
    Tensor k(place, dtype, {8, 1, 3}), v(place, dtype, {8, 1, 2}), slot(place, MR_I64, {8}),
        k_cache(place, dtype, {2, 3, 1, 3}), v_cache(place, dtype, {2, 3, 1, 2}),
        status(place, MR_I32, {8});
    k.randomize(1), v.randomize(2);
    slot.set(slots);
    k_cache.fill(9), v_cache.fill(9);
    Args args = append(k, v, slot, k_cache, v_cache);
    args.row_status = status;
    test::expect_run(kOp, place, args);
    test::expect_equal(status, {0, 0, kOut, kOut, kOut, kOut, 0, kOut});
    Values wanted_k(18, 9.0), wanted_v(12, 9.0);
    const Values ks = k.get(), vs = v.get();
    std::copy_n(ks.begin(), 3, wanted_k.begin() + 15);
    std::copy_n(ks.begin() + 18, 3, wanted_k.begin());
    std::copy_n(vs.begin(), 2, wanted_v.begin() + 10);
    std::copy_n(vs.begin() + 12, 2, wanted_v.begin());
    test::expect_equal(k_cache, wanted_k);
    test::expect_equal(v_cache, wanted_v);
    // The status is optional.
    args.row_status.dtype = MR_ABSENT;
    test::expect_run(kOp, place, args);
    test::expect_equal(k_cache, wanted_k);
  });
}

TEST_CASE("qkv_post without k and v reports nothing, whatever the status held") {
  test::for_each_place([](Place& place) {
    Tensor q(place, MR_F32, {3, 1, 4}), output(place, MR_F32, {3, 1, 4}),
        status(place, MR_I32, {3});
    q.randomize(3);
    Args args = MR_QKV_POST_ARGS_INIT;
    args.q = q, args.q_output = output, args.row_status = status;
    test::expect_run(kOp, place, args);
    test::expect_equal(status, {0, 0, 0});
    test::expect_same_bits(output, q);
  });
}

TEST_CASE("A10 qkv_post writes caches of any page, token and head stride") {
  struct Case {
    Shape strides;
    int64_t offset;
  };
  const Case cases[] = {
      {{2 * 4 * 2 * 5, 2 * 5, 5, 1}, 0},  // k and v interleaved by page
      {{4 * 2 * 5, 5, 4 * 5, 1}, 1},      // heads before tokens
      {{100, 20, 7, 1}, 3},               // gaps everywhere
      {{-100, -20, -7, 1}, 0},
      {{5, 15, 60, 1}, 1},  // pages innermost
  };
  test::for_each_float([&](Place& place, mr_dtype dtype) {
    for (const Case& c : cases) {
      CAPTURE(&c - cases);
      Tensor k(place, dtype, {6, 2, 5}, {40, 7, 1}, 1), v(place, dtype, {6, 2, 5}, {-40, 20, 1}),
          slot(place, MR_I64, {6}, {-3}), status(place, MR_I32, {6}, {2}),
          k_cache(place, dtype, {3, 4, 2, 5}, c.strides, c.offset),
          v_cache(place, dtype, {3, 4, 2, 5}, c.strides, c.offset);
      k.randomize(4), v.randomize(5);
      slot.set({11, 0, 4, 3, -1, 12});
      k_cache.fill(9), v_cache.fill(9);
      Args args = append(k, v, slot, k_cache, v_cache);
      args.row_status = status;
      test::expect_run(kOp, place, args);
      test::expect_equal(status, {0, 0, 0, 0, 0, kOut});
      Values wanted_k(120, 9.0), wanted_v(120, 9.0);
      const Values ks = k.get(), vs = v.get();
      const int64_t to[] = {11, 0, 4, 3};
      for (int64_t t = 0; t < 4; ++t) {
        std::copy_n(ks.begin() + t * 10, 10, wanted_k.begin() + to[t] * 10);
        std::copy_n(vs.begin() + t * 10, 10, wanted_v.begin() + to[t] * 10);
      }
      test::expect_equal(k_cache, wanted_k);  // and the gaps, which may be the other tensor
      test::expect_equal(v_cache, wanted_v);
    }
  });
}

TEST_CASE("qkv_post takes any stride of q, biases, norms and positions") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    const auto run = [&](const Shape& head_strides, int64_t step, int64_t offset) {
      Tensor q(place, dtype, {4, 3, 20}, head_strides, offset),
          output(place, dtype, {4, 3, 20}, head_strides, offset),
          bias(place, dtype, {3, 20}, {step * 25, step}, offset),
          norm(place, MR_F32, {20}, {step}, offset), positions(place, MR_I32, {4}, {step}, offset);
      q.randomize(6), bias.randomize(7), norm.randomize(8);
      positions.set({3, 1, -1, 500});
      Args args = MR_QKV_POST_ARGS_INIT;
      args.flags = MR_QKV_POST_ROPE;
      args.q = q, args.q_output = output, args.q_bias = bias, args.q_norm = norm;
      args.positions = positions;
      args.epsilon = 1e-6f;
      test::expect_run(kOp, place, args);
      CHECK(output.gaps_intact());
      return output.get();
    };
    const Values plain = run({60, 20, 1}, 1, 0);
    test::expect_same_bits(run({90, 30, 1}, 2, 1), plain);
    test::expect_same_bits(run({20, 80, 1}, -1, 3), plain);
    test::expect_same_bits(run({-200, -20, 1}, -3, 0), plain);
  });
}

TEST_CASE("S06 qkv_post off the vector's alignment equals the aligned run, bit for bit") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    const auto run = [&](int64_t offset, Values* v_out) {
      Tensor k(place, dtype, {3, 2, 64}, {128, 64, 1}, offset),
          v(place, dtype, {3, 2, 64}, {128, 64, 1}, offset), slot(place, MR_I64, {3}),
          norm(place, dtype, {64}, {1}, offset), positions(place, MR_I32, {3}),
          k_cache(place, dtype, {1, 3, 2, 64}, {384, 128, 64, 1}, offset),
          v_cache(place, dtype, {1, 3, 2, 64}, {384, 128, 64, 1}, offset);
      k.randomize(9), v.randomize(10), norm.randomize(11);
      slot.set({2, 0, 1}), positions.set({7, 8, 9});
      Args args = append(k, v, slot, k_cache, v_cache);
      args.flags = MR_QKV_POST_ROPE;
      args.k_norm = norm, args.positions = positions;
      test::expect_run(kOp, place, args);
      *v_out = v_cache.get();
      return k_cache.get();
    };
    Values v, moved_v;
    const Values k = run(0, &v);
    for (const int64_t offset : {1, 3, 5}) {
      test::expect_same_bits(run(offset, &moved_v), k);
      test::expect_same_bits(moved_v, v);
    }
  });
}

TEST_CASE("qkv_post of a token does not depend on its neighbours, nor on the threads") {
  for (const char* options : {"host.threads=1", "host.threads=4"}) {
    test::for_each_place(
        [](Place& place) {
          constexpr int64_t kTokens = 150, kHead = 4 * 64;
          Tensor q(place, MR_BF16, {kTokens, 4, 64}), output(place, MR_BF16, {kTokens, 4, 64}),
              one(place, MR_BF16, {1, 4, 64}), norm(place, MR_BF16, {64}),
              positions(place, MR_I32, {kTokens});
          q.randomize(12), norm.randomize(13);
          Values p(kTokens);
          for (size_t t = 0; t < p.size(); ++t) p[t] = static_cast<double>(t * 31 % 2048);
          positions.set(p);
          Args args = MR_QKV_POST_ARGS_INIT;
          args.flags = MR_QKV_POST_ROPE;
          args.q = q, args.q_output = output, args.q_norm = norm, args.positions = positions;
          args.epsilon = 1e-6f;
          test::expect_run(kOp, place, args);
          const Values all = output.get();
          for (const int64_t t : {0, 70, 149}) {
            args.q = q, args.positions = positions, args.q_output = one;
            args.q.shape[0] = args.positions.shape[0] = 1;
            args.q.data = static_cast<char*>(args.q.data) + t * kHead * 2;
            args.positions.data = static_cast<int32_t*>(args.positions.data) + t;
            test::expect_run(kOp, place, args);
            test::expect_equal(one, Values(all.begin() + t * kHead, all.begin() + (t + 1) * kHead));
          }
        },
        options);
  }
}

TEST_CASE("S02 qkv_post of nothing succeeds and writes nothing") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const uint32_t flags : {0u, MR_QKV_POST_ROPE}) {
      const Shape shapes[] = {{0, 2, 64}, {3, 0, 64}, {3, 2, 0}};
      for (const Shape& shape : shapes) {
        Tensor heads(place, dtype, shape), slot(place, MR_I64, {shape[0]}),
            positions(place, MR_I32, {shape[0]}), cache(place, dtype, {2, 4, shape[1], shape[2]}),
            status(place, MR_I32, {shape[0]});
        positions.fill(1);
        Values slots(static_cast<size_t>(shape[0]), 3.0);
        if (!slots.empty()) slots.back() = 8.0;
        slot.set(slots);
        Args args = append(heads, heads, slot, cache, cache);
        args.q = heads, args.q_output = heads;
        args.flags = flags, args.positions = positions;
        if (heads.count() == 0) {
          for (mr_tensor* t : {&args.q, &args.q_output, &args.k, &args.v}) t->data = nullptr;
        }
        test::expect_run(kOp, place, args);
        // A token without elements still has a slot, which is in the cache or not.
        args.row_status = status;
        test::expect_run(kOp, place, args);
        for (double& s : slots) s = s == 8.0 ? kOut : 0.0;
        test::expect_equal(status, slots);
      }
    }
    // A cache of no pages has no slot in range.
    Tensor k(place, dtype, {2, 1, 4}), slot(place, MR_I64, {2}), status(place, MR_I32, {2});
    k.fill(1), slot.set({0, -1});
    for (const Shape& shape : {Shape{0, 4, 1, 4}, Shape{4, 0, 1, 4}}) {
      Tensor cache(place, dtype, shape);
      Args args = append(k, k, slot, cache, cache);
      args.row_status = status;
      test::expect_run(kOp, place, args);
      test::expect_equal(status, {kOut, 0});
    }
  });
}

TEST_CASE("S03 qkv_post of more tokens than a grid's y and z can count") {
  test::for_each_place([](Place& place) {
    for (const int64_t tokens : {65535, 65536, 70000}) {
      CAPTURE(tokens);
      Tensor k(place, MR_F16, {tokens, 1, 4}), v(place, MR_F16, {tokens, 1, 2}),
          slot(place, MR_I64, {tokens}), k_cache(place, MR_F16, {tokens, 1, 1, 4}),
          v_cache(place, MR_F16, {tokens, 1, 1, 2}), q_output(place, MR_F16, {tokens, 1, 4});
      k.randomize(14), v.randomize(15);
      Values order(static_cast<size_t>(tokens));
      for (size_t t = 0; t < order.size(); ++t) order[t] = static_cast<double>(t);
      slot.set(order);
      Args args = append(k, v, slot, k_cache, v_cache);
      args.q = k, args.q_output = q_output;
      test::expect_run(kOp, place, args);
      test::expect_equal(k_cache, k.get());
      test::expect_equal(v_cache, v.get());
      test::expect_equal(q_output, k.get());
    }
  });
}

TEST_CASE("S05 qkv_post appends to pages beyond 2^31 and 2^32 elements") {
  test::for_each_place([](Place& place) {
    if (!place.on_host()) return;
    constexpr int64_t kPage = 16 * 8 * 128;  // elements
    constexpr int64_t kPages = 262145;
    test::FarMemory k_far(uint64_t{2} * kPage * kPages), v_far(uint64_t{2} * kPage * kPages);
    const mr_tensor k_cache = k_far.view(MR_BF16, {kPages, 16, 8, 128}, {kPage, 8 * 128, 128, 1});
    const mr_tensor v_cache = v_far.view(MR_BF16, {kPages, 16, 8, 128}, {kPage, 8 * 128, 128, 1});
    Tensor k(place, MR_BF16, {3, 8, 128}), v(place, MR_BF16, {3, 8, 128}), slot(place, MR_I64, {3}),
        status(place, MR_I32, {3});
    const int64_t pages[] = {131071, 131072, 262144};  // the last starts at 2^32
    k.fill(2.0), v.fill(3.0);
    slot.set({131071.0 * 16 + 14, 131072.0 * 16, 262144.0 * 16 + 1});
    Args args = append(k, v, slot, k_cache, v_cache);
    args.row_status = status;
    test::expect_run(kOp, place, args);
    test::expect_equal(status, {0, 0, 0});
    const int64_t within[] = {14, 0, 1};
    for (int t = 0; t < 3; ++t) {
      CAPTURE(t);
      const int64_t at = pages[t] * kPage + within[t] * 8 * 128;
      CHECK(k_far.get(MR_BF16, at) == 2.0);
      CHECK(v_far.get(MR_BF16, at + 8 * 128 - 1) == 3.0);
      CHECK(v_far.get(MR_BF16, at - 1) == 0.0);
    }
    slot.set({262145.0 * 16, 262145.0 * 16 - 1, -1});  // one beyond the last, and the last
    test::expect_run(kOp, place, args);
    test::expect_equal(status, {kOut, 0, 0});
  });
}

}  // namespace
