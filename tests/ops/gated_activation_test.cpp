// Gated activation: every device and dtype against the formulas of op.h in long double.
#include <cmath>
#include <numbers>

#include "support/far_memory.h"
#include "support/op_test.h"
#include "support/refusals.h"
#include "support/same_bits.h"

namespace {

using test::Place;
using test::Role;
using test::Tensor;
using Args = mr_gated_activation_args;
using Shape = std::vector<int64_t>;
using Values = std::vector<double>;

constexpr test::Functions<mr_gated_activation_args> kOp = {
    mr_gated_activation, mr_gated_activation_prepare, mr_gated_activation_workspace,
    mr_gated_activation_kernel};

Args arguments(uint32_t activation, const mr_tensor& gate, const mr_tensor& up,
               const mr_tensor& output) {
  Args args = MR_GATED_ACTIVATION_ARGS_INIT;
  args.gate = gate;
  args.up = up;
  args.output = output;
  args.activation = activation;
  return args;
}

double activation_of(uint32_t activation, double value) {
  const long double x = value;
  switch (activation) {
    case MR_ACTIVATION_RELU:
      return static_cast<double>(x > 0 ? x : x == x ? 0.0L : x);
    case MR_ACTIVATION_RELU_SQUARED:
      return static_cast<double>(x > 0 ? x * x : x == x ? 0.0L : x);
    case MR_ACTIVATION_SILU:
      return static_cast<double>(x / (1 + std::exp(-x)));
    case MR_ACTIVATION_GELU_TANH: {
      const long double u =
          std::sqrt(2 / std::numbers::pi_v<long double>) * (x + 0.044715L * x * x * x);
      return static_cast<double>(x / (1 + std::exp(-2 * u)));
    }
    case MR_ACTIVATION_GELU_ERF:
      return static_cast<double>(x / 2 * std::erfc(-x / std::numbers::sqrt2_v<long double>));
    default:
      return value;
  }
}

Values gated(uint32_t activation, const Values& gate, const Values& up) {
  Values out(gate.size());
  for (size_t i = 0; i < gate.size(); ++i) {
    // The activation is rounded to float32 before the product.
    out[i] = static_cast<double>(static_cast<float>(activation_of(activation, gate[i]))) * up[i];
  }
  return out;
}

constexpr uint32_t kAll[] = {MR_ACTIVATION_NONE,         MR_ACTIVATION_RELU,
                             MR_ACTIVATION_RELU_SQUARED, MR_ACTIVATION_SILU,
                             MR_ACTIVATION_GELU_TANH,    MR_ACTIVATION_GELU_ERF};

// activation(x) alone, in float32 unless said.
Values activated(Place& place, uint32_t activation, const Values& x, mr_dtype dtype = MR_F32) {
  const auto width = static_cast<int64_t>(x.size());
  Tensor gate(place, dtype, {width}), up(place, dtype, {width}), output(place, dtype, {width});
  gate.set(x);
  up.fill(1.0);
  test::expect_run(kOp, place, arguments(activation, gate, up, output));
  return output.get();
}

void expect_relative(const Values& actual, const Values& expected, double tolerance) {
  REQUIRE(actual.size() == expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    CAPTURE(i);
    CHECK(std::fabs(actual[i] - expected[i]) <= tolerance * std::fabs(expected[i]));
  }
}

TEST_CASE("gated_activation follows the formula of each activation at every width") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const uint32_t activation : kAll) {
      for (const int64_t width : {1, 7, 8, 9, 31, 32, 33, 255, 256, 257, 1000}) {
        CAPTURE(activation);
        CAPTURE(width);
        Tensor gate(place, dtype, {2, width}), up(place, dtype, {2, width}),
            output(place, dtype, {2, width});
        gate.randomize(1, 3.0);
        up.randomize(2);
        const Values expected = gated(activation, gate.get(), up.get());
        test::expect_run(kOp, place, arguments(activation, gate, up, output));
        test::expect_close(output, expected);
        // Over either operand.
        test::expect_run(kOp, place, arguments(activation, gate, up, gate));
        test::expect_same_bits(gate, output);
        gate.randomize(1, 3.0);
        test::expect_run(kOp, place, arguments(activation, gate, up, up));
        test::expect_same_bits(up, output);
      }
    }
  });
}

TEST_CASE("gated_activation is right to the last bits over the whole range of float32") {
  Values x;
  for (double v = -110.0; v < 110.0; v += 0.37) x.push_back(test::round_to(MR_F32, v));
  for (double v = 1e-30; v < 1e30; v *= 17.0) x.push_back(test::round_to(MR_F32, v));
  for (size_t i = x.size(); i-- > 0;) x.push_back(-x[i]);
  test::for_each_place([&](Place& place) {
    for (const uint32_t activation : kAll) {
      CAPTURE(activation);
      const Values y = activated(place, activation, x);
      for (size_t i = 0; i < x.size(); ++i) {
        CAPTURE(x[i]);
        CHECK(test::close(MR_F32, y[i], activation_of(activation, x[i]), 0.0, 1.01, 16.0));
      }
    }
  });
}

TEST_CASE("N07 GELU by erfc keeps its negative tail") {
  test::for_each_place([](Place& place) {
    expect_relative(activated(place, MR_ACTIVATION_GELU_ERF, {-3, -5, -6, -8, -10}),
                    {-4.0496941e-3, -1.4332579e-6, -5.9195259e-9, -4.9767685e-15, -7.619853e-23},
                    1e-6);
    // x / 2 * erfc(-x / sqrt(2)) at 50 digits with mpmath.
    expect_relative(activated(place, MR_ACTIVATION_GELU_ERF, {-0.5, -1, -13, 0.5, 6}),
                    {-0.15426877, -0.15865525, -7.9523137e-38, 0.34573123, 6.0}, 1e-6);
  });
}

TEST_CASE("N08 GELU by tanh keeps its negative tail and large arguments") {
  test::for_each_place([](Place& place) {
    expect_relative(activated(place, MR_ACTIVATION_GELU_TANH, {-3, -5, -6, -8}),
                    {-3.6373921e-3, -2.2917962e-7, -8.4396467e-11, -3.1077829e-21}, 1e-6);
    for (const mr_dtype dtype : test::kFloats) {
      Values x = {300, 12000};
      for (double v = 10.5; v <= 15.5; v += 0.5) x.push_back(v);
      Values rounded;
      for (const double v : x) rounded.push_back(test::round_to(dtype, v));
      CHECK(activated(place, MR_ACTIVATION_GELU_TANH, x, dtype) == rounded);
      CHECK(activated(place, MR_ACTIVATION_SILU, {300, 12000}, dtype) ==
            Values(rounded.begin(), rounded.begin() + 2));
      CHECK(activated(place, MR_ACTIVATION_GELU_ERF, x, dtype) == rounded);
    }
  });
}

TEST_CASE("N10 no activation loses a NaN, wherever it stands") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const uint32_t activation : kAll) {
      CAPTURE(activation);
      for (size_t at = 0; at < 40; at += 3) {
        Values x(40, -1.0);
        x[at] = NAN;
        const Values y = activated(place, activation, x, dtype);
        for (size_t i = 0; i < y.size(); ++i) CHECK(std::isnan(y[i]) == (i == at));
      }
    }
    const Values y = activated(place, MR_ACTIVATION_RELU, {NAN, -1, 0, 2}, dtype);
    CHECK(std::isnan(y[0]));
    CHECK(Values(y.begin() + 1, y.end()) == Values{0, 0, 2});
    // And in the other factor, where the activation is zero.
    Tensor gate(place, dtype, {2}), up(place, dtype, {2}), output(place, dtype, {2});
    gate.set({-1, 0});
    up.set({NAN, INFINITY});
    test::expect_run(kOp, place, arguments(MR_ACTIVATION_RELU, gate, up, output));
    test::expect_equal(output, {NAN, NAN});
  });
}

TEST_CASE("gated_activation of infinities is the limit") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const uint32_t activation : kAll) {
      CAPTURE(activation);
      const Values y = activated(place, activation, {INFINITY, -INFINITY, -3e4}, dtype);
      CHECK(y[0] == INFINITY);
      if (activation == MR_ACTIVATION_NONE) {
        CHECK(y[1] == -INFINITY);
      } else {
        CHECK(y[1] == 0.0);
        CHECK(y[2] == 0.0);
        const bool relu = activation <= MR_ACTIVATION_RELU_SQUARED;
        CHECK(std::signbit(y[1]) == !relu);
      }
    }
  });
}

TEST_CASE("gated_activation takes split halves, interleaved pairs and other views") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    constexpr int64_t kWidth = 300;
    Tensor both(place, dtype, {4, 2 * kWidth}), output(place, dtype, {4, kWidth});
    both.randomize(3);
    const Values values = both.get();
    const int64_t size = test::dtype_size(dtype);
    for (const bool interleaved : {false, true}) {
      CAPTURE(interleaved);
      mr_tensor gate = both, up = both;
      gate.shape[1] = up.shape[1] = kWidth;
      gate.strides[1] = up.strides[1] = interleaved ? 2 : 1;
      up.data = static_cast<char*>(up.data) + (interleaved ? 1 : kWidth) * size;
      Values g, u;
      for (size_t r = 0; r < 4; ++r) {
        for (size_t i = 0; i < kWidth; ++i) {
          const size_t row = r * 2 * kWidth;
          g.push_back(values[row + (interleaved ? 2 * i : i)]);
          u.push_back(values[row + (interleaved ? 2 * i + 1 : kWidth + i)]);
        }
      }
      test::expect_run(kOp, place, arguments(MR_ACTIVATION_SILU, gate, up, output));
      test::expect_close(output, gated(MR_ACTIVATION_SILU, g, u));
    }
    struct Case {
      Shape gate, up, output;
    };
    const Case cases[] = {
        {{35 * 3, 35, 1}, {35 * 3, 35, 1}, {200, 60, 1}},
        {{-200, 60, -1}, {35, 140, 1}, {1, 4, 12}},
        {{0, 0, 1}, {0, 1, 0}, {300, 100, -2}},
    };
    for (const Case& c : cases) {
      CAPTURE(&c - cases);
      Tensor gate(place, dtype, {4, 3, 35}, c.gate, 1), up(place, dtype, {4, 3, 35}, c.up, 3),
          view(place, dtype, {4, 3, 35}, c.output, 1);
      gate.randomize(4);
      up.randomize(5);
      test::expect_run(kOp, place, arguments(MR_ACTIVATION_GELU_TANH, gate, up, view));
      test::expect_close(view, gated(MR_ACTIVATION_GELU_TANH, gate.get(), up.get()));
    }
  });
}

TEST_CASE("gated_activation spreads over threads without a seam") {
  for (const char* options : {"host.threads=1", "host.threads=3"}) {
    test::for_each_place(
        [](Place& place) {
          for (const Shape& shape : {Shape{1, 30011}, Shape{3001, 7}, Shape{5, 4099}}) {
            Tensor gate(place, MR_F32, shape), up(place, MR_F32, shape),
                output(place, MR_F32, shape);
            gate.randomize(6);
            up.randomize(7);
            test::expect_run(kOp, place, arguments(MR_ACTIVATION_SILU, gate, up, output));
            test::expect_close(output, gated(MR_ACTIVATION_SILU, gate.get(), up.get()));
          }
        },
        options);
  }
}

TEST_CASE("S02 gated_activation of nothing succeeds and writes nothing") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const Shape& shape : {Shape{0, 128}, Shape{4, 0}, Shape{0, 0}, Shape{0}, Shape{2, 0, 3}}) {
      mr_tensor t = MR_TENSOR_INIT;
      mr_tensor_pack(nullptr, dtype, static_cast<int32_t>(shape.size()), shape.data(), &t, nullptr);
      test::expect_run(kOp, place, arguments(MR_ACTIVATION_SILU, t, t, t));
    }
  });
}

TEST_CASE("S03 gated_activation of more rows than a grid's y and z can count") {
  test::for_each_place([](Place& place) {
    for (const int64_t rows : {65535, 65536, 70000}) {
      CAPTURE(rows);
      Tensor gate(place, MR_F32, {rows, 4}, {9, 1}), up(place, MR_F32, {rows, 4}, {0, 1}),
          output(place, MR_F32, {rows, 4});
      Values x(static_cast<size_t>(rows * 4));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i / 4 % 251) - 100.0;
      gate.set(x);
      up.fill(2.0);
      test::expect_run(kOp, place, arguments(MR_ACTIVATION_RELU, gate, up, output));
      for (double& v : x) v = v > 0 ? 2.0 * v : 0.0;
      test::expect_equal(output, x);
    }
  });
}

TEST_CASE("gated_activation addresses rows more than 2^32 elements apart") {
  test::for_each_place([](Place& place) {
    if (!place.on_host()) return;
    constexpr int64_t kFar = (int64_t{1} << 32) + 4;
    test::FarMemory far(uint64_t{2} * (2 * kFar + 64));
    const mr_tensor view = far.view(MR_F16, {3, 2}, {kFar, 1});
    for (int64_t r = 0; r < 3; ++r) {
      far.set(MR_F16, r * kFar, static_cast<double>(r + 2));
      far.set(MR_F16, r * kFar + 1, -1.0);
    }
    test::expect_run(kOp, place, arguments(MR_ACTIVATION_RELU_SQUARED, view, view, view));
    place.synchronize();
    for (int64_t r = 0; r < 3; ++r) {
      CHECK(far.get(MR_F16, r * kFar) == std::pow(static_cast<double>(r + 2), 3.0));
      CHECK(far.get(MR_F16, r * kFar + 1) == 0.0);
    }
  });
}

TEST_CASE("gated_activation refuses what its header forbids, and writes nothing") {
  test::for_each_place([](Place& place) {
    Tensor gate(place, MR_F16, {2, 4}), up(place, MR_F16, {2, 4}), output(place, MR_F16, {2, 4});
    gate.fill(2), up.fill(3);
    Args good = arguments(MR_ACTIVATION_NONE, gate, up, output);
    good.gate.flags = good.up.flags = MR_TENSOR_READ_ONLY;
    test::expect_bad_tensor_refused(kOp, place, good, &Args::gate, "args.gate", Role::kInput);
    test::expect_bad_tensor_refused(kOp, place, good, &Args::up, "args.up", Role::kInput);
    test::expect_bad_tensor_refused(kOp, place, good, &Args::output, "args.output", Role::kOutput);
    const auto refuse = [&](const char* name, auto&& change) {
      Args bad = good;
      change(bad);
      test::expect_all_refuse(kOp, place, bad, MR_INVALID_ARGUMENT, name);
    };
    refuse("args.flags", [](Args& a) { a.flags = 0x1; });
    refuse("args.reserved", [](Args& a) { a.reserved = 1; });
    refuse("args.activation", [](Args& a) { a.activation = MR_ACTIVATION_GELU_ERF + 1; });
    refuse("args.activation", [](Args& a) { a.activation = 0xffffffffu; });
    refuse("args.gate", [](Args& a) { a.gate.rank = 0; });
    refuse("args.gate", [](Args& a) { a.gate.dtype = MR_I32, a.gate.shape[0] = 1; });
    refuse("args.up", [](Args& a) { a.up.dtype = MR_BF16; });
    refuse("args.up", [](Args& a) { a.up.shape[1] = 8; });
    refuse("args.output", [](Args& a) { a.output.rank = 1; });
    refuse("args.output", [](Args& a) { a.output.dtype = MR_BF16; });
    refuse("args.output", [](Args& a) { a.output.strides[0] = 3; });
    Tensor odd(place, MR_F16, {2, 2, 2, 8}, {32, 16, 16 * 9, 1}),
        view(place, MR_F16, {2, 2, 2, 8}, {500, 100, 30, 1});
    test::expect_all_refuse(kOp, place, arguments(MR_ACTIVATION_SILU, odd, odd, view),
                            MR_UNSUPPORTED, "args.gate");
    CHECK(view.all_untouched());
    CHECK(output.all_untouched());
    test::expect_run(kOp, place, good);
    test::expect_equal(output, Values(8, 6.0));
  });
}

}  // namespace
