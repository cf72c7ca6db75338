// Attention: every device and dtype against the formula in double.
#include "ops/attention_support.h"
#include "support/far_memory.h"
#include "support/same_bits.h"

namespace {

using test::Place;
using test::Ragged;
using test::Shape;
using test::Tensor;

TEST_CASE("attention at every edge of dim, v_dim and the number of keys") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    uint64_t seed = 1;
    for (const int64_t dim :
         {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 72, 80, 96, 127, 128, 129, 255, 256}) {
      for (const int64_t page_size : {0, 16}) {
        CAPTURE(dim);
        Shape shape;
        shape.sequences = {{2, 40}, {1, 3}};
        shape.dim = dim;
        shape.v_dim = 257 - dim;
        shape.page_size = page_size;
        Ragged(place, dtype, shape, seed += 10).check(place);
        shape.v_dim = dim;
        Ragged(place, dtype, shape, seed += 10).check(place);
      }
    }
    for (const int64_t kv : {0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 300}) {
      for (const int64_t page_size : {0, 1, 7, 16}) {
        for (const uint32_t flags : {0u, MR_ATTENTION_CAUSAL}) {
          CAPTURE(kv);
          CAPTURE(page_size);
          Shape shape;
          shape.sequences = {{1, kv}, {3, kv}};
          shape.page_size = page_size;
          shape.flags = flags;
          Ragged(place, dtype, shape, seed += 10).check(place);
        }
      }
    }
  });
}

TEST_CASE("attention with any whole number of query heads to a kv head") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t kv_heads : {1, 2, 3}) {
      for (const int64_t group : {1, 2, 3, 4, 5, 7, 8, 16, 17, 40}) {
        CAPTURE(kv_heads);
        CAPTURE(group);
        Shape shape;
        shape.sequences = {{5, 20}, {1, 33}};
        shape.kv_heads = kv_heads;
        shape.q_heads = kv_heads * group;
        shape.page_size = 4;
        shape.flags = MR_ATTENTION_CAUSAL;
        Ragged(place, dtype, shape, static_cast<uint64_t>(group)).check(place);
      }
    }
  });
}

TEST_CASE("attention through windows on both sides, causal or not, paged or not") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int32_t left : {-1, 0, 1, 3, 31, 32, 40, 1000}) {
      for (const int32_t right : {-1, 0, 2, 33}) {
        for (const uint32_t causal : {0u, MR_ATTENTION_CAUSAL}) {
          for (const int64_t page_size : {0, 8}) {
            CAPTURE(left);
            CAPTURE(right);
            CAPTURE(causal);
            Shape shape;
            shape.sequences = {{1, 70}, {9, 70}, {6, 2}, {12, 12}};
            shape.flags = MR_ATTENTION_WINDOW | causal;
            shape.left = left;
            shape.right = right;
            shape.page_size = page_size;
            Ragged(place, dtype, shape, 77).check(place);
          }
        }
      }
    }
  });
}

TEST_CASE("attention over ragged batches with empty members anywhere") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    const std::vector<std::vector<test::Lengths>> batches = {
        {{0, 0}},
        {{0, 5}},
        {{3, 0}},
        {{1, 0}, {0, 0}, {0, 7}, {2, 9}, {0, 1}, {1, 1}, {0, 0}},
        {{4, 4}, {4, 4}, {4, 4}},
        {{1, 50}, {1, 1}, {1, 33}, {1, 2}, {1, 64}, {1, 7}, {1, 0}, {1, 12}, {1, 5}},
        {{33, 40}, {1, 40}, {7, 7}}};
    for (const auto& sequences : batches) {
      for (const int64_t page_size : {0, 4}) {
        for (const uint32_t flags : {0u, MR_ATTENTION_CAUSAL}) {
          Shape shape;
          shape.sequences = sequences;
          shape.page_size = page_size;
          shape.flags = flags;
          shape.kv_heads = 2;
          shape.q_heads = 4;
          Ragged(place, dtype, shape, 5).check(place);
        }
      }
    }
  });
}

// q, k and v as slices of one packed projection, and everything else apart.
TEST_CASE("attention follows strides") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    constexpr int64_t kRows = 9, kHeads = 2, kDim = 24, kWidth = 3 * kHeads * kDim + 5;
    Shape shape;
    shape.sequences = {{4, 4}, {5, 5}};
    shape.q_heads = shape.kv_heads = kHeads;
    shape.dim = shape.v_dim = kDim;
    shape.flags = MR_ATTENTION_CAUSAL;
    Ragged packed(place, dtype, shape, 3);
    packed.check(place);
    const auto first_rows = [&](Tensor& t) {
      std::vector<double> values = t.get();
      values.resize(static_cast<size_t>(kRows * kHeads * kDim));
      return values;
    };
    const std::vector<int64_t> extents = {kRows, kHeads, kDim};
    Tensor q(place, dtype, extents, {kWidth, kDim + 1, 1}, 1),
        k(place, dtype, extents, {kWidth, -kDim - 3, 1}),
        v(place, dtype, extents, {-kWidth, kDim, 1}),
        output(place, dtype, extents, {kWidth, 50, 1}, 3),
        lse(place, MR_F32, {kRows, kHeads}, {1, -20}), status(place, MR_I32, {kRows}, {-3}),
        cu(place, MR_I32, {3}, {2});
    q.set(first_rows(*packed.q));
    k.set(first_rows(*packed.k));
    v.set(first_rows(*packed.v));
    cu.set({0, 4, 9});
    mr_attention_args args = packed.args();
    args.q = q, args.k = k, args.v = v, args.output = output, args.lse = lse,
    args.row_status = status;
    args.cu_q = args.cu_kv = cu;
    test::run_attention(place, args);
    test::expect_same_bits(output.get(), first_rows(*packed.output));
    std::vector<double> wanted = packed.lse->get();
    wanted.resize(kRows * kHeads);
    test::expect_same_bits(lse.get(), wanted);
    test::expect_equal(status, std::vector<double>(kRows, 0.0));
    CHECK(output.gaps_intact());
    CHECK(lse.gaps_intact());
  });
}

// A row's bits, in a batch of its own kind of company and alone.
TEST_CASE("attention of a row does not depend on its batch, nor on how a prompt is cut") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const uint32_t flags : {0u, MR_ATTENTION_WINDOW}) {
      Shape shape;
      shape.sequences = {{37, 70}};
      shape.q_heads = 6;
      shape.kv_heads = 2;
      shape.dim = shape.v_dim = 40;
      shape.page_size = 16;
      shape.flags = MR_ATTENTION_CAUSAL | flags;
      shape.left = 19;
      shape.right = -1;
      Ragged whole(place, dtype, shape, 11);
      test::run_attention(place, whole.args());
      const std::vector<double> all = whole.output->get();
      constexpr int64_t kWidth = 6 * 40;
      for (const int64_t row : {0, 1, 5, 17, 36}) {
        // The same row as the last query of a shorter sequence, third in a batch of three.
        const int64_t kv = row + 1 + 70 - 37;
        Tensor cu_q(place, MR_I32, {4}), kv_len(place, MR_I32, {3}), table(place, MR_I32, {3, 6}),
            q(place, dtype, {3, 6, 40}), output(place, dtype, {3, 6, 40});
        cu_q.set({0, 1, 2, 3});
        kv_len.set({64, 3, static_cast<double>(kv)});
        std::vector<double> pages = whole.block_table->get(), three;
        for (int i = 0; i < 3; ++i) three.insert(three.end(), pages.begin(), pages.begin() + 6);
        table.set(three);
        std::vector<double> qs = whole.q->get(), mine(3 * kWidth, 0.5);
        std::copy(qs.begin() + row * kWidth, qs.begin() + (row + 1) * kWidth,
                  mine.begin() + 2 * kWidth);
        q.set(mine);
        mr_attention_args args = whole.args();
        args.q = q, args.cu_q = cu_q, args.kv_len = kv_len, args.block_table = table;
        args.output = output;
        args.lse = args.row_status = MR_TENSOR_INIT;
        test::run_attention(place, args);
        const std::vector<double> got = output.get();
        CAPTURE(row);
        test::expect_same_bits({got.begin() + 2 * kWidth, got.end()},
                               {all.begin() + row * kWidth, all.begin() + (row + 1) * kWidth});
      }
    }
  });
}

TEST_CASE("attention of nothing: no rows, no sequences, no heads, no keys at all") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    Tensor cu(place, MR_I32, {1}), zeros(place, MR_I32, {2});
    cu.set({0});
    zeros.set({0, 0});
    mr_attention_args args = MR_ATTENTION_ARGS_INIT;
    const auto pack = [&](int64_t rows, int64_t heads, mr_tensor* out) {
      const int64_t shape[] = {rows, heads, 8};
      mr_tensor_pack(nullptr, dtype, 3, shape, out, nullptr);
    };
    pack(0, 2, &args.q), pack(0, 2, &args.output), pack(0, 1, &args.k), pack(0, 1, &args.v);
    args.cu_q = args.cu_kv = cu;
    args.scale = 1.0f;
    test::expect_run(test::kAttention, place, args);  // wholly empty
    args.cu_q = args.cu_kv = zeros;
    test::expect_run(test::kAttention, place, args);
    Tensor q(place, dtype, {3, 2, 8}), output(place, dtype, {3, 2, 8});
    q.fill(1);
    args.q = q, args.output = output;
    test::run_attention(place, args);  // no row belongs to a sequence
    CHECK(output.all_untouched());
    args.cu_q = args.cu_kv = cu;
    test::run_attention(place, args);
    CHECK(output.all_untouched());
    Tensor three(place, MR_I32, {2});
    three.set({0, 3});
    args.cu_q = three;
    args.cu_kv = zeros;
    test::run_attention(place, args);  // three queries and no keys
    test::expect_equal(output, std::vector<double>(48, 0.0));
  });
}

// Host memory that is only reserved makes far addresses cheap there.
TEST_CASE("attention reaches pages more than 2^31 and 2^32 elements away") {
  for (const char* mode : {"inline", "deferred"}) {
    Place place(MR_BACKEND_HOST, mode);
    for (const int64_t far : {(int64_t{1} << 31) + 64, (int64_t{1} << 32) + 64}) {
      test::FarMemory memory(static_cast<uint64_t>(far) * 4 + 4096);
      Tensor q(place, MR_BF16, {1, 1, 8}), cu(place, MR_I32, {2}), len(place, MR_I32, {1}),
          table(place, MR_I32, {1, 1});
      q.fill(1);
      cu.set({0, 1});
      len.set({2});
      table.set({1});
      mr_attention_args args = MR_ATTENTION_ARGS_INIT;
      args.q = q, args.cu_q = cu, args.kv_len = len, args.block_table = table;
      args.k = memory.view(MR_BF16, {2, 2, 1, 8}, {far, 8, 8, 1});
      args.v = memory.view(MR_BF16, {2, 2, 1, 8}, {far, 8, 8, 1}, 16);
      args.output = memory.view(MR_BF16, {1, 1, 8}, {far, 8, 1}, far + 200);
      args.scale = 1.0f;
      for (int64_t i = 0; i < 16; ++i) memory.set(MR_BF16, far + 16 + i, i < 8 ? 2 : 6);
      test::run_attention(place, args);
      place.synchronize();
      CHECK(memory.get(MR_BF16, far + 207) == 4.0);
    }
  }
}

}  // namespace
