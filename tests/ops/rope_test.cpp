// RoPE: every device and dtype against the rotation of rope.h in double. rope_scaling_test.cpp
// holds the scalings of the frequencies.
#include <cmath>

#include "support/far_memory.h"
#include "support/op_test.h"
#include "support/refusals.h"
#include "support/same_bits.h"

namespace {

using test::Place;
using test::Role;
using test::Tensor;
using Args = mr_rope_args;
using Shape = std::vector<int64_t>;
using Values = std::vector<double>;

constexpr test::Functions<mr_rope_args> kOp = {mr_rope, mr_rope_prepare, mr_rope_workspace,
                                               mr_rope_kernel};

Args arguments(const mr_tensor& input, const mr_tensor& positions, const mr_tensor& output,
               uint32_t pairing = MR_ROPE_NEOX, int32_t rotary_dim = 0) {
  Args args = MR_ROPE_ARGS_INIT;
  args.input = input;
  args.positions = positions;
  args.output = output;
  args.rope.pairing = pairing;
  args.rope.rotary_dim = rotary_dim;
  return args;
}

// Rotated values, and for each what a wrong angle may move it by: float32 angles are within the
// contract, so beside the rounding stands radius * angle * 2^-23 for devices that use them.
struct Rotated {
  Values value;
  Values radius;
  Values angle;
};

Rotated rotate(const Values& x, const Values& positions, size_t heads, size_t dim, uint32_t pairing,
               size_t rotary, double theta) {
  Rotated out = {x, Values(x.size(), 0.0), Values(x.size(), 0.0)};
  for (size_t t = 0; t < positions.size(); ++t) {
    if (positions[t] < 0) continue;
    for (size_t h = 0; h < heads; ++h) {
      const size_t base = (t * heads + h) * dim;
      for (size_t i = 0; i < rotary / 2; ++i) {
        const size_t a = base + (pairing == MR_ROPE_NEOX ? i : 2 * i);
        const size_t b = pairing == MR_ROPE_NEOX ? a + rotary / 2 : a + 1;
        const double power = -2.0 * static_cast<double>(i) / static_cast<double>(rotary);
        const double p = positions[t] * std::pow(theta, power);
        out.value[a] = x[a] * std::cos(p) - x[b] * std::sin(p);
        out.value[b] = x[b] * std::cos(p) + x[a] * std::sin(p);
        out.radius[a] = out.radius[b] = std::hypot(x[a], x[b]);
        out.angle[a] = out.angle[b] = p;
      }
    }
  }
  return out;
}

void expect_rotated(Place& place, Tensor& actual, const Rotated& expected) {
  const Values got = actual.get();
  const mr_dtype dtype = actual.view().dtype;
  for (size_t i = 0; i < got.size(); ++i) {
    const double slack = place.on_host() ? 0.0 : expected.angle[i];
    if (test::close(dtype, got[i], expected.value[i], expected.radius[i], 1.01,
                    4.0 + 2.0 * slack)) {
      continue;
    }
    FAIL_CHECK("element " << i << " is " << got[i] << ", expected " << expected.value[i]);
    break;
  }
  CHECK(actual.gaps_intact());
}

TEST_CASE("rope rotates pairs of either kind at every width") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const uint32_t pairing : {MR_ROPE_NEOX, MR_ROPE_GPTJ}) {
      for (const mr_dtype positions_dtype : {MR_I32, MR_I64}) {
        for (const int64_t dim : {2, 4, 14, 16, 18, 62, 64, 66, 128, 256, 510, 512, 514, 1030}) {
          CAPTURE(dim);
          Tensor input(place, dtype, {5, 3, dim}), output(place, dtype, {5, 3, dim}),
              positions(place, positions_dtype, {5});
          input.randomize(1);
          positions.set({0, 1, 7, 1000, 131071});
          test::expect_run(kOp, place, arguments(input, positions, output, pairing));
          const Rotated expected = rotate(input.get(), positions.get(), 3, static_cast<size_t>(dim),
                                          pairing, static_cast<size_t>(dim), 10000.0);
          expect_rotated(place, output, expected);
          test::expect_run(kOp, place, arguments(input, positions, input, pairing));
          test::expect_same_bits(input, output);
        }
      }
    }
  });
}

TEST_CASE("rope takes heads of up to 65536 elements") {
  test::for_each_place([](Place& place) {
    for (const int32_t rotary : {0, 65534}) {
      Tensor input(place, MR_F16, {2, 1, 65536}), output(place, MR_F16, {2, 1, 65536}),
          positions(place, MR_I32, {2});
      input.randomize(7);
      positions.set({100, 3});
      test::expect_run(kOp, place, arguments(input, positions, output, MR_ROPE_GPTJ, rotary));
      const size_t rotated = rotary == 0 ? 65536 : 65534;
      expect_rotated(
          place, output,
          rotate(input.get(), positions.get(), 1, 65536, MR_ROPE_GPTJ, rotated, 10000.0));
    }
  });
}

TEST_CASE("rope copies what is beyond rotary_dim") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const uint32_t pairing : {MR_ROPE_NEOX, MR_ROPE_GPTJ}) {
      for (const int64_t dim : {64, 65, 80, 600}) {
        for (const int32_t rotary : {2, 30, 32, 64}) {
          CAPTURE(dim);
          CAPTURE(rotary);
          Tensor input(place, dtype, {3, 2, dim}), output(place, dtype, {3, 2, dim}),
              positions(place, MR_I32, {3});
          Values x = test::normal(static_cast<size_t>(6 * dim), 2);
          if (rotary < dim) x.back() = NAN;
          input.set(x);
          positions.set({5, 3, 99});
          test::expect_run(kOp, place, arguments(input, positions, output, pairing, rotary));
          expect_rotated(place, output,
                         rotate(input.get(), positions.get(), 2, static_cast<size_t>(dim), pairing,
                                static_cast<size_t>(rotary), 10000.0));
        }
      }
    }
  });
}

TEST_CASE("rope copies the heads of padding tokens") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const mr_dtype positions_dtype : {MR_I32, MR_I64}) {
      Tensor input(place, dtype, {4, 2, 64}), output(place, dtype, {4, 2, 64}),
          positions(place, positions_dtype, {4});
      input.randomize(3);
      const double lowest = positions_dtype == MR_I32 ? -0x1p31 : -0x1p63;
      positions.set({-1, 3, lowest, 3});
      test::expect_run(kOp, place, arguments(input, positions, output, MR_ROPE_NEOX, 32));
      const Values in = input.get(), out = output.get();
      const auto token = [](const Values& v, int t) {
        return Values(v.begin() + t * 128, v.begin() + (t + 1) * 128);
      };
      test::expect_same_bits(token(out, 0), token(in, 0));
      test::expect_same_bits(token(out, 2), token(in, 2));
      expect_rotated(place, output, rotate(in, positions.get(), 2, 64, MR_ROPE_NEOX, 32, 10000.0));
    }
  });
}

TEST_CASE("rope takes views of a packed tensor, and any stride of tokens and heads") {
  struct Case {
    Shape input, output;
    int64_t positions, offset;
  };
  const Case cases[] = {
      {{8 * 34, 34, 1}, {3 * 34, 34, 1}, 1, 0},  // three heads of eight
      {{34, 7 * 34, 1}, {34, 7 * 34, 1}, 1, 1},  // heads outermost
      {{-500, 70, 1}, {400, -70, 1}, -2, 3},     // backwards
      {{0, 34, 1}, {200, 50, 1}, 2, 0},          // the same heads at many positions
  };
  test::for_each_float([&](Place& place, mr_dtype dtype) {
    for (const Case& c : cases) {
      CAPTURE(&c - cases);
      Tensor input(place, dtype, {7, 3, 34}, c.input, c.offset),
          output(place, dtype, {7, 3, 34}, c.output, c.offset),
          positions(place, MR_I64, {7}, {c.positions});
      input.randomize(4);
      positions.set({9, 0, -1, 44, 2, 100000, 1});
      test::expect_run(kOp, place, arguments(input, positions, output, MR_ROPE_GPTJ));
      expect_rotated(place, output,
                     rotate(input.get(), positions.get(), 3, 34, MR_ROPE_GPTJ, 34, 10000.0));
    }
  });
}

TEST_CASE("rope of a token does not depend on its neighbours, nor on the threads") {
  for (const char* options : {"host.threads=1", "host.threads=4"}) {
    CAPTURE(options);
    test::for_each_place(
        [](Place& place) {
          constexpr int64_t kTokens = 200, kHead = 4 * 64;
          Tensor input(place, MR_F32, {kTokens, 4, 64}), output(place, MR_F32, {kTokens, 4, 64}),
              one(place, MR_F32, {1, 4, 64}), positions(place, MR_I32, {kTokens});
          input.randomize(5);
          Values p(kTokens);
          for (size_t t = 0; t < p.size(); ++t) p[t] = static_cast<double>(t * 97 % 4096);
          positions.set(p);
          test::expect_run(kOp, place, arguments(input, positions, output));
          expect_rotated(place, output, rotate(input.get(), p, 4, 64, MR_ROPE_NEOX, 64, 10000.0));
          const Values all = output.get();
          for (const int64_t t : {0, 77, 199}) {
            mr_tensor token = input, position = positions;
            token.shape[0] = position.shape[0] = 1;
            token.data = static_cast<float*>(token.data) + t * kHead;
            position.data = static_cast<int32_t*>(position.data) + t;
            test::expect_run(kOp, place, arguments(token, position, one));
            test::expect_equal(one, Values(all.begin() + t * kHead, all.begin() + (t + 1) * kHead));
          }
        },
        options);
  }
}

TEST_CASE("rope keeps far positions apart") {
  test::for_each_place([](Place& place) {
    // A pair (1, 0) gives (cos p, sin p): right to float32 however far, and different for
    // neighbours.
    const Values positions = {0x1p24, 0x1p24 + 1, 1e9, 0x1p31 - 1};
    Tensor input(place, MR_F32, {4, 1, 2}), output(place, MR_F32, {4, 1, 2}),
        at(place, MR_I64, {4});
    input.set({1, 0, 1, 0, 1, 0, 1, 0});
    at.set(positions);
    test::expect_run(kOp, place, arguments(input, at, output));
    const Values got = output.get();
    for (size_t t = 0; t < 4; ++t) {
      CAPTURE(t);
      // Whole positions below 2^24 and a frequency of 1 are exact in float32; beyond, only in
      // double.
      if (!place.on_host()) continue;
      CHECK(test::close(MR_F32, got[2 * t], std::cos(positions[t]), 1.0));
      CHECK(test::close(MR_F32, got[2 * t + 1], std::sin(positions[t]), 1.0));
    }
  });
}

TEST_CASE("N13 rope tells positions apart that bfloat16 and float16 cannot hold") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const mr_dtype positions_dtype : {MR_I32, MR_I64}) {
      Tensor input(place, dtype, {4, 1, 2}), output(place, dtype, {4, 1, 2}),
          positions(place, positions_dtype, {4});
      input.set({1, 0, 1, 0, 1, 0, 1, 0});
      positions.set({256, 257, 4096, 4097});
      test::expect_run(kOp, place, arguments(input, positions, output));
      test::expect_close(output,
                         {std::cos(256.0), std::sin(256.0), std::cos(257.0), std::sin(257.0),
                          std::cos(4096.0), std::sin(4096.0), std::cos(4097.0), std::sin(4097.0)});
      const Values got = output.get();
      CHECK(std::fabs(got[0] - -0.03979) < 0.0003);
      CHECK(std::fabs(got[2] - 0.81931) < 0.003);
      CHECK(std::fabs(got[3] - -0.57336) < 0.003);
    }
  });
}

TEST_CASE("rope lets NaN and infinity through, in their pair alone") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    Tensor input(place, dtype, {1, 1, 6}), output(place, dtype, {1, 1, 6}),
        positions(place, MR_I32, {1});
    input.set({NAN, 1, 2, 0, 0, 0});
    positions.set({0});
    test::expect_run(kOp, place, arguments(input, positions, output));
    test::expect_equal(output, {NAN, 1, 2, NAN, 0, 0});
  });
}

TEST_CASE("S02 rope of nothing succeeds and writes nothing") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const Shape& shape : {Shape{0, 2, 64}, Shape{3, 0, 64}, Shape{3, 2, 0}, Shape{0, 0, 0}}) {
      mr_tensor heads = MR_TENSOR_INIT, at = MR_TENSOR_INIT;
      Tensor some(place, MR_I32, {3});
      some.fill(1);
      mr_tensor_pack(nullptr, dtype, 3, shape.data(), &heads, nullptr);
      mr_tensor_pack(some.view().data, MR_I32, 1, shape.data(), &at, nullptr);
      test::expect_run(kOp, place, arguments(heads, at, heads));
    }
  });
}

TEST_CASE("S03 rope of more tokens, and of more heads, than a grid's y and z can count") {
  test::for_each_place([](Place& place) {
    for (const int64_t count : {65535, 65536, 70000}) {
      CAPTURE(count);
      for (const bool heads : {false, true}) {
        const Shape shape = {heads ? 1 : count, heads ? count : 1, 4};
        Tensor input(place, MR_F16, shape), output(place, MR_F16, shape),
            positions(place, MR_I32, {shape[0]});
        input.randomize(6);
        Values p(static_cast<size_t>(shape[0]), 3.0);
        if (!heads) p.back() = 17;
        positions.set(p);
        test::expect_run(kOp, place, arguments(input, positions, output));
        expect_rotated(
            place, output,
            rotate(input.get(), p, static_cast<size_t>(shape[1]), 4, MR_ROPE_NEOX, 4, 10000.0));
      }
    }
  });
}

TEST_CASE("rope addresses tokens and heads more than 2^32 elements apart") {
  test::for_each_place([](Place& place) {
    if (!place.on_host()) return;
    constexpr int64_t kFar = (int64_t{1} << 32) + 4;
    test::FarMemory far(uint64_t{4} * (2 * kFar + 64));
    Tensor positions(place, MR_I32, {3});
    positions.set({0, 1, 2});
    for (const bool by_token : {true, false}) {
      const mr_tensor view = by_token ? far.view(MR_F32, {3, 1, 2}, {kFar, 2, 1})
                                      : far.view(MR_F32, {3, 3, 2}, {2, kFar, 1}, 16);
      const int64_t first = by_token ? 0 : 16 + 2 * 2;  // by head: all three of token 2
      for (int64_t i = 0; i < 3; ++i) far.set(MR_F32, first + i * kFar, 1.0);
      test::expect_run(kOp, place, arguments(view, positions, view));
      place.synchronize();
      for (int64_t i = 0; i < 3; ++i) {
        const double angle = by_token ? static_cast<double>(i) : 2.0;
        CHECK(test::close(MR_F32, far.get(MR_F32, first + i * kFar), std::cos(angle), 1.0));
        CHECK(test::close(MR_F32, far.get(MR_F32, first + i * kFar + 1), std::sin(angle), 1.0));
      }
    }
  });
}

TEST_CASE("rope refuses what its header forbids, and writes nothing") {
  test::for_each_place([](Place& place) {
    Tensor input(place, MR_F16, {2, 3, 8}), output(place, MR_F16, {2, 3, 8}),
        positions(place, MR_I32, {2});
    input.fill(1), positions.fill(0);
    Args good = arguments(input, positions, output);
    good.input.flags = good.positions.flags = MR_TENSOR_READ_ONLY;
    const auto bad_tensor = [&](mr_tensor Args::*field, const char* name, Role role) {
      test::expect_bad_tensor_refused(kOp, place, good, field, name, role);
    };
    bad_tensor(&Args::input, "args.input", Role::kInput);
    bad_tensor(&Args::positions, "args.positions", Role::kInput);
    bad_tensor(&Args::output, "args.output", Role::kOutput);
    const auto refuse = [&](const char* name, auto&& change) {
      Args bad = good;
      change(bad);
      test::expect_all_refuse(kOp, place, bad, MR_INVALID_ARGUMENT, name);
    };
    refuse("args.flags", [](Args& a) { a.flags = 0x1; });
    refuse("args.input", [](Args& a) { a.input.rank = 2; });
    refuse("args.input", [](Args& a) { a.input.dtype = MR_I32, a.input.shape[0] = 1; });
    refuse("args.input", [](Args& a) { a.input.strides[2] = 2; });
    refuse("args.input", [](Args& a) { a.input.strides[2] = -1; });
    refuse("args.input", [](Args& a) { a.input.shape[2] = 65538; });
    refuse("args.positions", [](Args& a) { a.positions.dtype = MR_F32; });
    refuse("args.positions", [](Args& a) { a.positions.shape[0] = 1; });
    refuse("args.positions", [](Args& a) { a.positions.rank = 2, a.positions.shape[1] = 1; });
    refuse("args.output", [](Args& a) { a.output.dtype = MR_BF16; });
    refuse("args.output", [](Args& a) { a.output.shape[1] = 2; });
    refuse("args.output", [](Args& a) { a.output.strides[1] = 7; });
    refuse("args.output", [](Args& a) {
      a.output.strides[2] = 2, a.output.strides[1] = 16, a.output.strides[0] = 64;
    });
    CHECK(output.all_untouched());
    test::expect_run(kOp, place, good);
    test::expect_equal(output, Values(48, 1.0));
  });
}

}  // namespace
