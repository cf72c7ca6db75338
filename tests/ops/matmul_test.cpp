// Matmul: every device and dtype against d = activation(alpha * x w^T + bias) + beta * c in double.
#include <array>

#include "ops/matmul_support.h"
#include "support/far_memory.h"

namespace {

using test::Place;
using test::Product;
using test::Tensor;
using Shape = std::vector<int64_t>;

void check_product(Place& place, mr_dtype dtype, mr_dtype d_dtype, int64_t m, int64_t n,
                   int64_t k) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  Tensor x(place, dtype, {m, k}), w(place, dtype, {n, k}), d(place, d_dtype, {m, n});
  x.randomize(1);
  w.randomize(2);
  Product product;
  product.m = m, product.n = n, product.k = k, product.x = x.get(), product.w = w.get();
  test::run_matmul(place, test::matmul_args(x, w, d));
  const auto [expected, scale] = product.evaluate();
  test::expect_close(d, expected, scale);
}

TEST_CASE("matmul is x w^T at every edge of m, n and k") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t edge : {1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 31, 32, 33, 63, 64, 65, 129}) {
      check_product(place, dtype, dtype, edge, 10, 24);
      check_product(place, dtype, dtype, 3, edge, 24);
      check_product(place, dtype, dtype, 5, 10, edge);
      check_product(place, dtype, MR_F32, 1, edge, edge);
      check_product(place, dtype, MR_F32, edge, 33, 17);
    }
    for (const int64_t k : {255, 256, 257, 511, 512, 513, 1025}) {
      check_product(place, dtype, dtype, 2, 9, k);
      check_product(place, dtype, MR_F32, 33, 3, k);
    }
  });
}

TEST_CASE("matmul applies alpha, bias, activation, beta and c in that order, rounding once") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    uint64_t seed = 10;
    for (uint32_t activation = 0; activation <= MR_ACTIVATION_GELU_ERF; ++activation) {
      for (const mr_dtype bias_dtype : {MR_ABSENT, dtype, MR_F32}) {
        for (const mr_dtype d_dtype : {dtype, MR_F32}) {
          for (const bool add_c : {false, true}) {
            for (const int64_t m : {3, 40}) {
              CAPTURE(activation);
              CAPTURE(add_c);
              CAPTURE(m);
              Tensor x(place, dtype, {m, 20}), w(place, dtype, {9, 20}), d(place, d_dtype, {m, 9}),
                  c(place, d_dtype, {m, 9});
              Tensor bias(place, bias_dtype != MR_ABSENT ? bias_dtype : MR_F32, {9});
              x.randomize(seed++, 0.5);
              w.randomize(seed++, 0.5);
              c.randomize(seed++);
              bias.randomize(seed++);
              mr_matmul_args args = test::matmul_args(x, w, d);
              Product product;
              product.m = m, product.n = 9, product.k = 20, product.x = x.get(),
              product.w = w.get();
              args.activation = product.activation = activation;
              args.alpha = 0.75f;
              product.alpha = 0.75;
              args.c = c;
              if (bias_dtype != MR_ABSENT) {
                args.bias = bias;
                product.bias = bias.get();
              }
              if (add_c) {
                args.flags = MR_MATMUL_ADD_C;
                args.beta = -1.5f;
                product.beta = -1.5;
                product.c = c.get();
              }
              test::run_matmul(place, args);
              const auto [expected, scale] = product.evaluate();
              test::expect_close(d, expected, scale);
            }
          }
        }
      }
    }
  });
}

struct Layout {
  const char* name;
  Shape x, w, bias, c, d;  // strides for m = 5 or 37, n = 11, k = 13
};

TEST_CASE("matmul follows any strides: apart, backwards, transposed, broadcast") {
  const Layout layouts[] = {
      {"rows apart", {20, 1}, {17, 1}, {1}, {30, 1}, {12, 1}},
      {"inner stride 2", {40, 2}, {26, 2}, {2}, {22, 2}, {22, 2}},
      {"w as [k, n]", {13, 1}, {1, 11}, {1}, {11, 1}, {11, 1}},
      {"w as [k, n], rows apart", {13, 1}, {1, 16}, {1}, {11, 1}, {11, 1}},
      {"all transposed", {1, 40}, {1, 11}, {1}, {1, 50}, {1, 50}},
      {"backwards", {-13, -1}, {-13, 1}, {-1}, {-11, -1}, {-11, 1}},
      {"broadcast", {0, 1}, {0, 1}, {0}, {0, 0}, {11, 1}},
      {"broadcast the other way", {1, 0}, {1, 0}, {0}, {1, 0}, {11, 1}},
  };
  test::for_each_float([&](Place& place, mr_dtype dtype) {
    for (const Layout& layout : layouts) {
      for (const int64_t m : {5, 37}) {
        for (const int64_t offset : {0, 1}) {
          CAPTURE(std::string(layout.name));
          CAPTURE(m);
          Tensor x(place, dtype, {m, 13}, layout.x, offset),
              w(place, dtype, {11, 13}, layout.w, offset),
              bias(place, dtype, {11}, layout.bias, offset),
              c(place, dtype, {m, 11}, layout.c, offset),
              d(place, dtype, {m, 11}, layout.d, offset);
          x.randomize(30);
          w.randomize(31);
          bias.randomize(32);
          c.randomize(33);
          Product product;
          product.m = m, product.n = 11, product.k = 13;
          product.x = x.get(), product.w = w.get(), product.bias = bias.get(), product.c = c.get();
          product.beta = 2.0;
          mr_matmul_args args = test::matmul_args(x, w, d);
          args.bias = bias;
          args.c = c;
          args.beta = 2.0f;
          args.flags = MR_MATMUL_ADD_C;
          test::run_matmul(place, args);
          const auto [expected, scale] = product.evaluate();
          test::expect_close(d, expected, scale);
        }
      }
    }
  });
}

TEST_CASE("matmul of plain operands follows any strides of d") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const Shape& strides :
         {Shape{11, 1}, Shape{14, 1}, Shape{1, 40}, Shape{23, 2}, Shape{-11, -1}}) {
      Tensor x(place, dtype, {37, 13}), w(place, dtype, {11, 13}),
          d(place, dtype, {37, 11}, strides);
      x.randomize(34);
      w.randomize(35);
      Product product;
      product.m = 37, product.n = 11, product.k = 13, product.x = x.get(), product.w = w.get();
      test::run_matmul(place, test::matmul_args(x, w, d));
      const auto [expected, scale] = product.evaluate();
      test::expect_close(d, expected, scale);
    }
  });
}

// Large enough for the host's BLAS, where there is one: each layout that it takes, and each that it
// does not.
TEST_CASE("matmul of large operands, by rows and by columns, with and without an epilogue") {
  constexpr int64_t kM = 165, kN = 161, kK = 163;
  struct Case {
    Shape x, w, d;
    bool bias, add_c, over_c;
    float alpha;
  };
  const Case cases[] = {{{kK, 1}, {kK, 1}, {kN, 1}, false, false, false, 1.0f},
                        {{1, kM}, {kK, 1}, {kN, 1}, true, false, false, 0.5f},
                        {{kK + 5, 1}, {1, kN}, {kN + 7, 1}, false, true, false, 1.0f},
                        {{1, kM + 3}, {1, kN + 2}, {kN, 1}, false, true, true, 1.0f},
                        {{kK, 1}, {kK, 1}, {1, kM}, false, false, false, 1.0f},
                        {{kK, 1}, {kK, 1}, {kN, 1}, true, true, true, 2.0f}};
  test::for_each_place([&](Place& place) {
    for (const Case& layout : cases) {
      Tensor x(place, MR_F32, {kM, kK}, layout.x), w(place, MR_F32, {kN, kK}, layout.w),
          bias(place, MR_F32, {kN}), c(place, MR_F32, {kM, kN}, layout.d),
          d(place, MR_F32, {kM, kN}, layout.d);
      x.randomize(60);
      w.randomize(61);
      bias.randomize(62);
      c.randomize(63, 8.0);
      Tensor& out = layout.over_c ? c : d;
      mr_matmul_args args = test::matmul_args(x, w, out);
      Product product;
      product.m = kM, product.n = kN, product.k = kK, product.x = x.get(), product.w = w.get();
      args.alpha = layout.alpha;
      product.alpha = static_cast<double>(layout.alpha);
      if (layout.bias) {
        args.bias = bias;
        product.bias = bias.get();
        args.activation = product.activation = MR_ACTIVATION_RELU;
      }
      if (layout.add_c) {
        args.flags = MR_MATMUL_ADD_C;
        args.c = c;
        args.beta = 0.25f;
        product.beta = 0.25;
        product.c = c.get();
      }
      test::run_matmul(place, args);
      const auto [expected, scale] = product.evaluate();
      test::expect_close(out, expected, scale);
    }
  });
}

TEST_CASE("matmul works through batches, packed, strided and broadcast") {
  struct Case {
    Shape x, w, c;
  };
  const Case cases[] = {{{180, 20, 1}, {140, 20, 1}, {63, 7, 1}},
                        {{20, 60, 1}, {7 * 20, 20, 1}, {7, 21, 1}},  // batch and row swapped
                        {{0, 20, 1}, {140, 20, 1}, {0, 7, 1}},
                        {{180, 20, 1}, {0, 20, 1}, {63, 0, 1}}};
  test::for_each_float([&](Place& place, mr_dtype dtype) {
    for (const Case& strides : cases) {
      Tensor x(place, dtype, {3, 9, 20}, strides.x), w(place, dtype, {3, 7, 20}, strides.w),
          c(place, dtype, {3, 9, 7}, strides.c), d(place, dtype, {3, 9, 7}, {70, 7, 1});
      x.randomize(40);
      w.randomize(41);
      c.randomize(42);
      Product product;
      product.batch = 3, product.m = 9, product.n = 7, product.k = 20;
      product.x = x.get(), product.w = w.get(), product.c = c.get(), product.beta = 1.0;
      mr_matmul_args args = test::matmul_args(x, w, d);
      args.c = c;
      args.beta = 1.0f;
      args.flags = MR_MATMUL_ADD_C;
      test::run_matmul(place, args);
      const auto [expected, scale] = product.evaluate();
      test::expect_close(d, expected, scale);
    }
  });
}

TEST_CASE("matmul may write d over c, whatever else the call asks for") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t m : {1, 6, 48}) {
      for (const bool with_bias : {false, true}) {
        for (const mr_dtype d_dtype : {dtype, MR_F32}) {
          Tensor x(place, dtype, {m, 70}), w(place, dtype, {65, 70}), c(place, d_dtype, {m, 65}),
              bias(place, dtype, {65});
          x.randomize(50);
          w.randomize(51);
          c.randomize(52, 4.0);
          bias.randomize(53);
          Product product;
          product.m = m, product.n = 65, product.k = 70, product.beta = 0.5;
          product.x = x.get(), product.w = w.get(), product.c = c.get();
          mr_matmul_args args = test::matmul_args(x, w, c);
          args.c = c;
          args.beta = 0.5f;
          args.flags = MR_MATMUL_ADD_C;
          if (with_bias) {
            args.bias = bias;
            product.bias = bias.get();
            args.activation = product.activation = MR_ACTIVATION_SILU;
          }
          test::run_matmul(place, args);
          const auto [expected, scale] = product.evaluate();
          test::expect_close(c, expected, scale);
        }
      }
    }
  });
}

TEST_CASE("matmul of nothing: zero rows, columns, batches and k") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const auto& [batch, m, n] :
         {std::array<int64_t, 3>{1, 0, 8}, {1, 8, 0}, {1, 0, 0}, {0, 4, 4}}) {
      Tensor guard(place, dtype, {16});
      mr_matmul_args args = MR_MATMUL_ARGS_INIT;
      const int64_t x_shape[] = {batch, m, 5}, w_shape[] = {batch, n, 5}, d_shape[] = {batch, m, n};
      mr_tensor_pack(nullptr, dtype, 3, x_shape, &args.x, nullptr);
      mr_tensor_pack(nullptr, dtype, 3, w_shape, &args.w, nullptr);
      mr_tensor_pack(nullptr, dtype, 3, d_shape, &args.d, nullptr);
      if (m > 0) args.x.data = guard.view().data;
      if (n > 0) args.w.data = guard.view().data;
      test::expect_run(test::kMatmul, place, args);
      uint64_t bytes = 77;
      CHECK(mr_matmul_workspace(place.stream(), &args, &bytes, nullptr) == MR_OK);
      CHECK(bytes == 0);
      CHECK(guard.all_untouched());
    }
    // K = 0 is activation(bias) + beta * c, whatever alpha is.
    for (const float alpha : {1.0f, 0.0f, INFINITY, NAN}) {
      Tensor bias(place, dtype, {3}), c(place, dtype, {2, 3}), d(place, dtype, {2, 3});
      bias.set({-1, 0.5, 2});
      c.set({1, 2, 3, 4, 5, 6});
      mr_matmul_args args = MR_MATMUL_ARGS_INIT;
      const int64_t x_shape[] = {2, 0}, w_shape[] = {3, 0};
      mr_tensor_pack(nullptr, dtype, 2, x_shape, &args.x, nullptr);
      mr_tensor_pack(nullptr, dtype, 2, w_shape, &args.w, nullptr);
      args.bias = bias;
      args.c = c;
      args.d = d;
      args.alpha = alpha;
      args.beta = 2.0f;
      args.activation = MR_ACTIVATION_RELU;
      args.flags = MR_MATMUL_ADD_C;
      test::run_matmul(place, args);
      test::expect_equal(d, {2, 4.5, 8, 8, 10.5, 14});
      args.bias.dtype = MR_ABSENT;
      args.flags = 0;
      test::run_matmul(place, args);
      test::expect_equal(d, {0, 0, 0, 0, 0, 0});
    }
  });
}

TEST_CASE("matmul reaches elements more than 2^31 and 2^32 apart") {
  for (const char* mode : {"inline", "deferred"}) {
    Place place(MR_BACKEND_HOST, mode);
    for (const int64_t far : {(int64_t{1} << 31) + 1, (int64_t{1} << 32) + 3}) {
      test::FarMemory memory(static_cast<uint64_t>(far) * 8 + 4096);
      // Element (1, j) of each lies at far + ..., so that a 32-bit product of row and stride is
      // seen.
      const mr_tensor x = memory.view(MR_BF16, {2, 2}, {far, 1});
      const mr_tensor w = memory.view(MR_BF16, {2, 2}, {far, 1}, 8);
      const mr_tensor c = memory.view(MR_BF16, {2, 2}, {far, 1}, 16);
      const mr_tensor d = memory.view(MR_BF16, {2, 2}, {far, 1}, 24);
      const double values[] = {1, 2, 3, 4};
      for (int64_t i = 0; i < 4; ++i) {
        memory.set(MR_BF16, i / 2 * far + i % 2, values[i]);
        memory.set(MR_BF16, 8 + i / 2 * far + i % 2, values[i]);
        memory.set(MR_BF16, 16 + i / 2 * far + i % 2, 100);
      }
      mr_matmul_args args = test::matmul_args(x, w, d);
      args.c = c;
      args.beta = 1.0f;
      args.flags = MR_MATMUL_ADD_C;
      test::run_matmul(place, args);
      place.synchronize();
      const double expected[] = {105, 111, 111, 125};
      for (int64_t i = 0; i < 4; ++i) {
        CHECK(memory.get(MR_BF16, 24 + i / 2 * far + i % 2) ==
              test::round_to(MR_BF16, expected[i]));
      }
    }
  }
}

}  // namespace
