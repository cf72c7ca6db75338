// Matmul on the hard cases of cases.md, and on what the header says of special values and kernels.
#include <thread>

#include "ops/matmul_support.h"
#include "support/same_bits.h"

namespace {

using test::Place;
using test::Product;
using test::Tensor;
using Values = std::vector<double>;

const double kNan = std::nan("");

Values iota(int64_t count) {
  Values values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  return values;
}

Values integers(int64_t count, uint64_t seed, int64_t limit) {
  Values values = test::normal(static_cast<size_t>(count), seed);
  for (double& value : values)
    value = std::fmod(std::round(value * 50.0), static_cast<double>(limit + 1));
  return values;
}

TEST_CASE("G01 beta 0 does not read c, alpha 0 reads neither x nor w") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const uint32_t flags : {0u, MR_MATMUL_ADD_C}) {
      Tensor x(place, dtype, {2, 2}), w(place, dtype, {2, 2}), c(place, dtype, {2, 2}),
          d(place, dtype, {2, 2});
      x.set({1, 2, 3, 4});
      w.set({1, 0, 0, 1});
      c.fill(kNan);
      d.fill(kNan);
      mr_matmul_args args = test::matmul_args(x, w, d);
      args.c = c;
      args.flags = flags;
      test::run_matmul(place, args);
      test::expect_equal(d, {1, 2, 3, 4});
      args.c.data = nullptr;  // what is not read need not be there
      test::run_matmul(place, args);
      x.fill(kNan);
      w.fill(kNan);
      args.alpha = 0.0f;
      test::run_matmul(place, args);
      test::expect_equal(d, {0, 0, 0, 0});
      args.alpha = -0.0f;
      args.x.data = args.w.data = nullptr;
      d.fill(kNan);
      test::run_matmul(place, args);
      test::expect_equal(d, {0, 0, 0, 0});
      args.c = d;  // over itself
      test::run_matmul(place, args);
      test::expect_equal(d, {0, 0, 0, 0});
    }
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{17, 19, 5}, {40, 67, 129}}) {
      Tensor x(place, dtype, {m, k}), w(place, dtype, {n, k}), c(place, MR_F32, {m, n}),
          d(place, MR_F32, {m, n});
      x.set(integers(m * k, 1, 8));
      w.set(integers(n * k, 2, 8));
      c.fill(kNan);
      d.fill(kNan);
      Product product;
      product.m = m, product.n = n, product.k = k, product.x = x.get(), product.w = w.get();
      mr_matmul_args args = test::matmul_args(x, w, d);
      args.c = c;
      args.flags = MR_MATMUL_ADD_C;
      test::run_matmul(place, args);
      test::expect_equal(d, product.d());
      args.c = d;
      d.fill(kNan);
      test::run_matmul(place, args);
      test::expect_equal(d, product.d());
    }
  });
}

TEST_CASE("G03 bias, and every other operand, at an address of one element's alignment") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (int shifted = 0; shifted < 5; ++shifted) {
      const auto shift = [&](int which) { return which == shifted ? 1 : 0; };
      Tensor x(place, dtype, {64, 64}, {64, 1}, shift(0)),
          w(place, dtype, {64, 64}, {64, 1}, shift(1)), bias(place, dtype, {64}, {1}, shift(2)),
          c(place, dtype, {64, 64}, {64, 1}, shift(3)),
          d(place, dtype, {64, 64}, {64, 1}, shift(4));
      x.fill(0);
      w.randomize(1);
      c.fill(0);
      bias.set(iota(64));
      mr_matmul_args args = test::matmul_args(x, w, d);
      args.bias = bias;
      args.c = c;
      args.beta = 1.0f;
      args.flags = MR_MATMUL_ADD_C;
      test::run_matmul(place, args);
      Values expected;
      for (int row = 0; row < 64; ++row) {
        for (int j = 0; j < 64; ++j) expected.push_back(j);
      }
      test::expect_equal(d, expected);
    }
  });
}

TEST_CASE("G04 odd m, n and k") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    Tensor x(place, dtype, {2, 3}), w(place, dtype, {4, 3}, {1, 4}), d(place, dtype, {2, 4});
    x.set(iota(6));
    w.set({0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});  // row-major [3, 4] of 0 to 11
    test::run_matmul(place, test::matmul_args(x, w, d));
    test::expect_equal(d, {20, 23, 26, 29, 56, 68, 80, 92});
    Tensor ones(place, dtype, {1, 107}), all(place, dtype, {105, 107}), out(place, dtype, {1, 105});
    ones.fill(1);
    all.fill(1);
    test::run_matmul(place, test::matmul_args(ones, all, out));
    test::expect_equal(out, Values(105, 107));
  });
}

TEST_CASE("G06 a batch stride of 0 repeats an input, and is refused for d") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t m : {2, 40}) {
      const int64_t n = m;
      Tensor x(place, dtype, {3, m, n}), b(place, dtype, {m + 1, n}), d(place, dtype, {3, m, n});
      Values eyes, base = integers(m * n, 5, 4), with_poison = base, expected;
      for (int64_t i = 0; i < 3 * m * n; ++i) {
        eyes.push_back(i / n % m == i % n ? static_cast<double>(i / (m * n) + 1) : 0.0);
        expected.push_back(static_cast<double>(i / (m * n) + 1) *
                           base[static_cast<size_t>(i % (m * n))]);
      }
      for (int64_t i = 0; i < n; ++i) with_poison.push_back(7.0);
      x.set(eyes);
      b.set(with_poison);
      mr_matmul_args args = test::matmul_args(x, b, d);
      args.w.rank = 3;  // b as w: [batch, n, k] with w[n, k] = b[k, n]
      args.w.shape[0] = 3, args.w.shape[1] = n, args.w.shape[2] = m;
      args.w.strides[0] = 0, args.w.strides[1] = 1, args.w.strides[2] = n;
      test::run_matmul(place, args);
      test::expect_equal(d, expected);
      args.d.strides[0] = 0;
      test::expect_all_refuse(test::kMatmul, place, args, MR_INVALID_ARGUMENT, "args.d");
    }
  });
}

TEST_CASE("G07 two streams at once, each with its own scratch") {
  for (const mr_dtype dtype : {MR_F32, MR_F16}) {
    Place place(MR_BACKEND_HOST, "deferred");
    mr_stream* other = nullptr;
    REQUIRE(mr_stream_create(place.context(), nullptr, &other, nullptr) == MR_OK);
    Tensor x(place, dtype, {64, 4096}), w(place, dtype, {64, 4096}), d0(place, MR_F32, {64, 64}),
        d1(place, MR_F32, {64, 64});
    x.fill(1);
    w.fill(1);
    mr_matmul_args a0 = test::matmul_args(x, w, d0), a1 = test::matmul_args(x, w, d1);
    for (int round = 0; round < 3; ++round) {
      REQUIRE(mr_matmul(place.stream(), &a0, nullptr) == MR_OK);
      REQUIRE(mr_matmul(other, &a1, nullptr) == MR_OK);
    }
    REQUIRE(mr_stream_synchronize(other, nullptr) == MR_OK);
    test::expect_equal(d0, Values(64 * 64, 4096));
    test::expect_equal(d1, Values(64 * 64, 4096));
    mr_stream_release(other);
  }
}

// The first row of d for several m.
void check_rows_alike(Place& place, mr_dtype dtype, int64_t k, bool whole_numbers) {
  const int64_t n = 67;
  Values row = whole_numbers ? integers(k, 7, 8) : test::normal(static_cast<size_t>(k), 7);
  Tensor w(place, dtype, {n, k}), bias(place, dtype, {n});
  w.set(whole_numbers ? integers(n * k, 8, 8) : test::normal(static_cast<size_t>(n * k), 8));
  bias.set(integers(n, 9, 8));
  Values first;
  for (const int64_t m : {1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64, 97}) {
    for (const int64_t at : {int64_t{0}, m - 1}) {
      Tensor x(place, dtype, {m, k}), d(place, MR_F32, {m, n});
      Values values = integers(m * k, static_cast<uint64_t>(m), 8);
      std::copy(row.begin(), row.end(), values.begin() + at * k);
      x.set(values);
      mr_matmul_args args = test::matmul_args(x, w, d);
      args.bias = bias;
      test::run_matmul(place, args);
      const Values all = d.get();
      const Values here(all.begin() + at * n, all.begin() + (at + 1) * n);
      if (first.empty()) first = here;
      CAPTURE(m);
      CAPTURE(at);
      test::expect_same_bits(here, first);
    }
  }
}

TEST_CASE("G10 a row's result does not depend on how many rows there are") {
  test::for_each_float(
      [](Place& place, mr_dtype dtype) { check_rows_alike(place, dtype, 128, true); });
  test::for_each_place(
      [](Place& place) {
        for (const mr_dtype dtype : test::kFloats) {
          for (const int64_t k : {100, 128, 1000}) check_rows_alike(place, dtype, k, false);
        }
      },
      "determinism=batch-invariant");
}

TEST_CASE("matmul with determinism=run-to-run repeats its bits") {
  test::for_each_place(
      [](Place& place) {
        for (const mr_dtype dtype : test::kFloats) {
          Tensor x(place, dtype, {70, 300}), w(place, dtype, {129, 300}),
              d(place, dtype, {70, 129}), again(place, dtype, {70, 129});
          x.randomize(1);
          w.randomize(2);
          test::run_matmul(place, test::matmul_args(x, w, d));
          for (int i = 0; i < 5; ++i) {
            test::run_matmul(place, test::matmul_args(x, w, again));
            test::expect_same_bits(again, d);
          }
        }
      },
      "determinism=run-to-run");
}

TEST_CASE("S03 65535, 65536 and 70000 rows or batches") {
  test::for_each_place([](Place& place) {
    for (const int64_t count : {65535, 65536, 70000}) {
      for (const bool batched : {false, true}) {
        const std::vector<int64_t> shape =
            batched ? std::vector<int64_t>{count, 1, 4} : std::vector<int64_t>{count, 4};
        Tensor x(place, MR_F32, shape), d(place, MR_F32, shape), w(place, MR_F32, {4, 4});
        w.set({2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2});
        Values values(static_cast<size_t>(count * 4));
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i / 4 % 251);
        x.set(values);
        mr_matmul_args args = test::matmul_args(x, w, d);
        if (batched) {
          args.w.rank = 3;
          args.w.shape[0] = count, args.w.shape[1] = 4, args.w.shape[2] = 4;
          args.w.strides[0] = 0, args.w.strides[1] = 4, args.w.strides[2] = 1;
        }
        test::run_matmul(place, args);
        for (double& value : values) value *= 2.0;
        test::expect_equal(d, values);
      }
    }
  });
}

TEST_CASE("S09 sizes whose product passes 2^31 are planned in 64 bits") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{23491, 128256, 4096},
                                  {int64_t{1} << 40, 3, 5},
                                  {3, int64_t{1} << 40, 5},
                                  {3, 5, int64_t{1} << 40}}) {
      mr_matmul_args args = MR_MATMUL_ARGS_INIT;
      const int64_t x_shape[] = {m, k}, w_shape[] = {n, k}, d_shape[] = {m, n};
      mr_tensor_pack(nullptr, dtype, 2, x_shape, &args.x, nullptr);
      mr_tensor_pack(nullptr, dtype, 2, w_shape, &args.w, nullptr);
      mr_tensor_pack(nullptr, dtype, 2, d_shape, &args.d, nullptr);
      uint64_t bytes = 0;
      CHECK(mr_matmul_workspace(place.stream(), &args, &bytes, nullptr) == MR_OK);
      CHECK(bytes <= uint64_t{64} << 20);
      CHECK(test::kernel_name(place, args) != "");
    }
  });
}

TEST_CASE("matmul passes NaN and infinity on, to their own rows and columns only") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t m : {3, 40}) {
      Tensor x(place, dtype, {m, 33}), w(place, dtype, {5, 33}), d(place, dtype, {m, 5});
      Values xs = integers(m * 33, 3, 2), ws = integers(5 * 33, 4, 2);
      Product product;
      product.m = m, product.n = 5, product.k = 33;
      xs[1 * 33 + 32] = kNan;
      xs[2 * 33 + 0] = INFINITY;
      ws[0] = 0.0;  // 0 * inf
      ws[33] = -1.0;
      ws[2 * 33] = 1.0;
      ws[4 * 33 + 5] = kNan;
      x.set(xs);
      w.set(ws);
      product.x = x.get(), product.w = w.get();
      test::run_matmul(place, test::matmul_args(x, w, d));
      const Values expected = product.d();
      CHECK(std::isnan(expected[5]));
      CHECK(std::isnan(expected[10]));
      CHECK(expected[11] == -INFINITY);
      CHECK(std::isfinite(expected[0]));
      test::expect_equal(d, expected);
    }
  });
}

TEST_CASE("matmul sums in float32 and may overflow only on the store") {
  test::for_each_place([](Place& place) {
    Tensor x(place, MR_F16, {1, 8}), w(place, MR_F16, {1, 8}), d(place, MR_F16, {1, 1}),
        wide(place, MR_F32, {1, 1});
    x.set({32000, 32000, 32000, 32000, -32000, -32000, -32000, -32000});
    w.fill(2);
    test::run_matmul(place, test::matmul_args(x, w, d));
    test::expect_equal(d, {0});  // N11: partial sums far above 65504 come back
    x.fill(32000);
    test::run_matmul(place, test::matmul_args(x, w, d));
    test::expect_equal(d, {INFINITY});
    test::run_matmul(place, test::matmul_args(x, w, wide));
    test::expect_equal(wide, {512000});
    // One rounding: 1 + 2^-8 + 2^-24 lies above the tie of bf16, and 1 + 2^-8 on it.
    Tensor a(place, MR_BF16, {1, 2}), b(place, MR_BF16, {1, 2}), bias(place, MR_F32, {1}),
        once(place, MR_BF16, {1, 1});
    a.set({1, 0x1p-8});
    b.set({1, 1});
    bias.set({0x1p-20});
    mr_matmul_args args = test::matmul_args(a, b, once);
    test::run_matmul(place, args);
    test::expect_equal(once, {1.0});
    args.bias = bias;
    test::run_matmul(place, args);
    test::expect_equal(once, {1.0 + 0x1p-7});
  });
}

}  // namespace
