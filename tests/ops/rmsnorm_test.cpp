// RMSNorm: every device and dtype against the formula of norm.h, written out below in double.
#include <cmath>

#include "support/op_test.h"
#include "support/refusals.h"
#include "support/same_bits.h"

namespace {

using test::Place;
using test::Role;
using test::Tensor;
using Args = mr_rmsnorm_args;
using Values = std::vector<double>;

constexpr test::Functions<mr_rmsnorm_args> kOp = {mr_rmsnorm, mr_rmsnorm_prepare,
                                                  mr_rmsnorm_workspace, mr_rmsnorm_kernel};
constexpr int64_t kWidths[] = {1, 7, 8, 9, 31, 32, 33, 255, 256, 257, 1000};

Args arguments(const mr_tensor& input, const mr_tensor& output, float epsilon = 1e-5f) {
  Args args = MR_RMSNORM_ARGS_INIT;
  args.input = input;
  args.output = output;
  args.epsilon = epsilon;
  return args;
}

// What a + b is once mr_add has rounded it.
Values sum_of(mr_dtype dtype, const Values& a, const Values& b) {
  Values sum(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    sum[i] = test::round_to(dtype, static_cast<double>(static_cast<float>(a[i] + b[i])));
  }
  return sum;
}

// Rows of `width`; an empty weight stands for ones. `round` is the rounding before the weight.
Values norm_of(const Values& s, size_t width, const Values& weight, double epsilon,
               double plus = 0.0, mr_dtype round = MR_F64) {
  Values out(s.size());
  for (size_t row = 0; row < s.size(); row += width) {
    double squares = 0.0;
    for (size_t i = 0; i < width; ++i) squares += s[row + i] * s[row + i];
    const double root = std::sqrt(squares / static_cast<double>(width) + epsilon);
    for (size_t i = 0; i < width; ++i) {
      const double w = weight.empty() ? 1.0 : plus + weight[i];
      out[row + i] = test::round_to(round, s[row + i] / root) * w;
    }
  }
  return out;
}

TEST_CASE("rmsnorm follows the formula at every width, with and without weights") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t width : kWidths) {
      for (const mr_dtype weight_dtype : {MR_ABSENT, dtype, MR_F32}) {
        CAPTURE(width);
        CAPTURE(weight_dtype);
        Tensor input(place, dtype, {3, width}), output(place, dtype, {3, width}),
            weight(place, weight_dtype == MR_ABSENT ? MR_F32 : weight_dtype, {width});
        input.randomize(1, 3.0, 0.5);
        weight.randomize(2);
        Args args = arguments(input, output);
        if (weight_dtype != MR_ABSENT) args.weight = weight;
        test::expect_run(kOp, place, args);
        const Values w = weight_dtype == MR_ABSENT ? Values() : weight.get();
        test::expect_close(output, norm_of(input.get(), static_cast<size_t>(width), w, 1e-5f));
      }
    }
  });
}

TEST_CASE("rmsnorm adds one to the weight in float32 when asked") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const mr_dtype weight_dtype : {dtype, MR_F32}) {
      Tensor input(place, dtype, {2, 257}), output(place, dtype, {2, 257}),
          weight(place, weight_dtype, {257});
      input.randomize(3);
      weight.randomize(4, 0.01);  // 1 + w has bits that T cannot hold
      Args args = arguments(input, output);
      args.weight = weight;
      args.flags = MR_RMSNORM_WEIGHT_PLUS_ONE;
      test::expect_run(kOp, place, args);
      test::expect_close(output, norm_of(input.get(), 257, weight.get(), 1e-5f, 1.0));
      // Without a weight it is 0, so the scale is 1.
      args.weight.dtype = MR_ABSENT;
      test::expect_run(kOp, place, args);
      test::expect_close(output, norm_of(input.get(), 257, {}, 1e-5f));
    }
  });
}

TEST_CASE("rmsnorm rounds before the weight when asked, and only then") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    // scale 1 exactly: mean of squares 1 with these and epsilon 0. 1 + 3 * 2^-8 is no bfloat16.
    Tensor input(place, dtype, {1, 300}), output(place, dtype, {1, 300}),
        weight(place, MR_F32, {300});
    input.randomize(5);
    weight.randomize(6);
    Args args = arguments(input, output);
    args.weight = weight;
    test::expect_run(kOp, place, args);
    const Values once = output.get();
    args.flags = MR_RMSNORM_ROUND_BEFORE_WEIGHT;
    test::expect_run(kOp, place, args);
    const Values twice = output.get();
    // A value that lies within float32's error of a rounding boundary may fall to either side.
    const Values expected = norm_of(input.get(), 300, weight.get(), 1e-5f, 0.0, dtype);
    size_t off = 0;
    for (size_t i = 0; i < twice.size(); ++i) {
      if (!test::close(dtype, twice[i], expected[i])) ++off;
    }
    CHECK(off <= 2);
    CHECK((once == twice) == (dtype == MR_F32));
  });
}

TEST_CASE("rmsnorm with a residual equals add, then rmsnorm, bit for bit") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t width : kWidths) {
      for (const uint32_t flags :
           {0u, MR_RMSNORM_WEIGHT_PLUS_ONE | MR_RMSNORM_ROUND_BEFORE_WEIGHT}) {
        CAPTURE(width);
        Tensor input(place, dtype, {4, width}), residual(place, dtype, {4, width}),
            weight(place, dtype, {width}), sum(place, dtype, {4, width}),
            wanted(place, dtype, {4, width}), kept(place, dtype, {4, width}),
            output(place, dtype, {4, width});
        input.randomize(7);
        Values values = test::normal(static_cast<size_t>(4 * width), 8);
        values.back() = NAN;
        values.front() = INFINITY;
        residual.set(values);
        weight.randomize(9);
        mr_add_args add = MR_ADD_ARGS_INIT;
        add.a = input, add.b = residual, add.output = sum;
        CHECK(mr_add(place.stream(), &add, nullptr) == MR_OK);
        Args args = arguments(sum, wanted);
        args.weight = weight;
        args.flags = flags;
        test::expect_run(kOp, place, args);

        args.input = input, args.output = output;
        args.residual = residual, args.residual_output = kept;
        test::expect_run(kOp, place, args);
        test::expect_same_bits(output, wanted);
        test::expect_same_bits(kept, sum);
        output.poison();
        args.residual_output.dtype = MR_ABSENT;
        test::expect_run(kOp, place, args);
        test::expect_same_bits(output, wanted);
      }
    }
  });
}

TEST_CASE("rmsnorm with a residual follows the formula") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    Tensor input(place, dtype, {3, 257}), residual(place, dtype, {3, 257}),
        output(place, dtype, {3, 257}), kept(place, dtype, {3, 257});
    input.randomize(10);
    residual.randomize(11, 5.0);
    Args args = arguments(input, output);
    args.residual = residual, args.residual_output = kept;
    test::expect_run(kOp, place, args);
    const Values sum = sum_of(dtype, input.get(), residual.get());
    test::expect_equal(kept, sum);
    test::expect_close(output, norm_of(sum, 257, {}, 1e-5f));
  });
}

TEST_CASE("rmsnorm writes over its operands where the header allows it") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t width : {5, 256, 700}) {
      CAPTURE(width);
      const auto w = static_cast<size_t>(width);
      Tensor x(place, dtype, {3, width}), r(place, dtype, {3, width}), y(place, dtype, {3, width});
      x.randomize(12);
      r.randomize(13);
      const Values input = x.get(), residual = r.get(), sum = sum_of(dtype, input, residual);
      const Values expected = norm_of(sum, w, {}, 1e-5f);

      Args args = arguments(x, x);  // output over input
      test::expect_run(kOp, place, args);
      test::expect_close(x, norm_of(input, w, {}, 1e-5f));

      x.set(input);
      args = arguments(x, x);  // and the sum over the residual
      args.residual = r, args.residual_output = r;
      test::expect_run(kOp, place, args);
      test::expect_close(x, expected);
      test::expect_equal(r, sum);

      x.set(input), r.set(residual);
      args = arguments(x, y);  // the sum over the input
      args.residual = r, args.residual_output = x;
      test::expect_run(kOp, place, args);
      test::expect_close(y, expected);
      test::expect_equal(x, sum);
      test::expect_equal(r, residual);

      x.set(input), r.set(residual);
      args = arguments(x, r);  // output over the residual
      args.residual = r;
      test::expect_run(kOp, place, args);
      test::expect_close(r, expected);
      test::expect_equal(x, input);
    }
  });
}

// The bits of a row depend neither on strides, alignment, neighbours nor threads.
TEST_CASE("rmsnorm of any view is the same, bit for bit") {
  struct Case {
    std::vector<int64_t> strides;
    int64_t offset;
  };
  const Case cases[] = {
      {{33 * 5, 33, 1}, 1}, {{1000, 40, 1}, 3}, {{600, 100, 2}, 0}, {{-33 * 5, -33, -1}, 0},
      {{33, 33 * 6, 1}, 0}, {{1, 6, 31}, 0},    {{-400, 66, 1}, 5},
  };
  test::for_each_float([&](Place& place, mr_dtype dtype) {
    Tensor plain(place, dtype, {6, 5, 33}), wanted(place, dtype, {6, 5, 33}),
        weight(place, dtype, {33});
    plain.randomize(14);
    weight.randomize(15);
    Args args = arguments(plain, wanted);
    args.weight = weight;
    test::expect_run(kOp, place, args);
    for (const Case& c : cases) {
      CAPTURE(&c - cases);
      Tensor input(place, dtype, {6, 5, 33}, c.strides, c.offset),
          output(place, dtype, {6, 5, 33}, c.strides, c.offset),
          stepped(place, dtype, {33}, {-3}, 1);
      input.set(plain.get());
      stepped.set(weight.get());
      args.input = input, args.output = output, args.weight = stepped;
      test::expect_run(kOp, place, args);
      test::expect_same_bits(output, wanted);
      CHECK(output.gaps_intact());
    }
  });
}

TEST_CASE("rmsnorm of a row does not depend on how many there are, nor on the threads") {
  for (const char* options : {"host.threads=1", "host.threads=4"}) {
    CAPTURE(options);
    test::for_each_place(
        [](Place& place) {
          Tensor many(place, MR_BF16, {301, 700}), all(place, MR_BF16, {301, 700}),
              one(place, MR_BF16, {1, 700});
          many.randomize(16);
          test::expect_run(kOp, place, arguments(many, all));
          const Values rows = all.get();
          test::expect_close(all, norm_of(many.get(), 700, {}, 1e-5f));
          mr_tensor row = many.view();
          row.shape[0] = 1;
          for (const int64_t r : {0, 150, 300}) {
            row.data = static_cast<char*>(many.view().data) + r * 700 * 2;
            test::expect_run(kOp, place, arguments(row, one));
            test::expect_equal(one, Values(rows.begin() + r * 700, rows.begin() + (r + 1) * 700));
          }
        },
        options);
  }
}

TEST_CASE("rmsnorm takes ranks 1 to 6 whose leading dimensions merge into two") {
  test::for_each_place([](Place& place) {
    const std::vector<int64_t> shapes[] = {{8},          {2, 8},          {2, 3, 8},
                                           {2, 3, 4, 8}, {2, 1, 3, 4, 8}, {2, 3, 1, 2, 2, 8}};
    for (const std::vector<int64_t>& shape : shapes) {
      CAPTURE(shape.size());
      Tensor input(place, MR_F32, shape), output(place, MR_F32, shape);
      input.randomize(17);
      test::expect_run(kOp, place, arguments(input, output));
      test::expect_close(output, norm_of(input.get(), 8, {}, 1e-5f));
    }
    // [a, b] of one tensor steps once, [b, c] of the other: no split in two serves both.
    Tensor input(place, MR_F32, {2, 2, 2, 8}, {32, 16, 16 * 9, 1}),
        output(place, MR_F32, {2, 2, 2, 8}, {500, 100, 30, 1});
    input.randomize(18);
    test::expect_all_refuse(kOp, place, arguments(input, output), MR_UNSUPPORTED, "args.input");
    CHECK(output.all_untouched());
  });
}

TEST_CASE("rmsnorm of zeros is zero if epsilon is above 0, else NaN") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    Tensor input(place, dtype, {2, 9}), output(place, dtype, {2, 9});
    input.fill(0.0);
    test::expect_run(kOp, place, arguments(input, output, 1e-12f));
    test::expect_equal(output, Values(18, 0.0));
    test::expect_run(kOp, place, arguments(input, output, 0.0f));
    test::expect_equal(output, Values(18, NAN));
  });
}

TEST_CASE("rmsnorm lets NaN and infinity through, in their row alone") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    Tensor input(place, dtype, {3, 4}), output(place, dtype, {3, 4});
    input.set({1, NAN, 1, 1, 2, INFINITY, -2, 0, 3, 3, -3, 3});
    test::expect_run(kOp, place, arguments(input, output, 0.0f));
    test::expect_equal(output, {NAN, NAN, NAN, NAN, 0, NAN, 0, 0, 1, 1, -1, 1});
  });
}

TEST_CASE("rmsnorm refuses what its header forbids, and writes nothing") {
  test::for_each_place([](Place& place) {
    Tensor input(place, MR_F16, {2, 4}), residual(place, MR_F16, {2, 4}),
        weight(place, MR_F16, {4}), output(place, MR_F16, {2, 4}), kept(place, MR_F16, {2, 4});
    input.fill(2), residual.fill(1), weight.fill(1);
    Args good = arguments(input, output);
    good.residual = residual, good.weight = weight, good.residual_output = kept;
    good.input.flags = good.residual.flags = good.weight.flags = MR_TENSOR_READ_ONLY;
    const auto bad_tensor = [&](mr_tensor Args::*field, const char* name, Role role) {
      test::expect_bad_tensor_refused(kOp, place, good, field, name, role);
    };
    bad_tensor(&Args::input, "args.input", Role::kInput);
    bad_tensor(&Args::residual, "args.residual", Role::kOptionalInput);
    bad_tensor(&Args::weight, "args.weight", Role::kOptionalInput);
    bad_tensor(&Args::output, "args.output", Role::kOutput);
    bad_tensor(&Args::residual_output, "args.residual_output", Role::kOptionalOutput);
    const auto refuse = [&](const char* name, auto&& change) {
      Args bad = good;
      change(bad);
      test::expect_all_refuse(kOp, place, bad, MR_INVALID_ARGUMENT, name);
    };
    refuse("args.flags", [](Args& a) { a.flags = 0x4; });
    refuse("args.reserved", [](Args& a) { a.reserved = 1; });
    refuse("args.epsilon", [](Args& a) { a.epsilon = -1e-6f; });
    refuse("args.epsilon", [](Args& a) { a.epsilon = NAN; });
    refuse("args.epsilon", [](Args& a) { a.epsilon = INFINITY; });
    refuse("args.input", [](Args& a) { a.input.rank = 0; });
    refuse("args.input", [](Args& a) { a.input.dtype = MR_F64, a.input.shape[0] = 1; });
    refuse("args.weight", [](Args& a) { a.weight.dtype = MR_BF16; });
    refuse("args.weight", [](Args& a) { a.weight.shape[0] = 3; });
    refuse("args.weight", [](Args& a) { a.weight.rank = 2, a.weight.shape[1] = 1; });
    refuse("args.residual", [](Args& a) { a.residual.shape[0] = 1; });
    refuse("args.residual", [](Args& a) { a.residual.dtype = MR_BF16; });
    refuse("args.residual_output", [](Args& a) { a.residual.dtype = MR_ABSENT; });
    refuse("args.residual_output", [](Args& a) { a.residual_output.shape[1] = 3; });
    refuse("args.residual_output", [](Args& a) { a.residual_output.dtype = MR_BF16; });
    refuse("args.output", [](Args& a) { a.output.rank = 1; });
    refuse("args.output", [](Args& a) { a.output.shape[1] = 3; });
    refuse("args.output", [](Args& a) { a.output.dtype = MR_BF16; });
    CHECK(output.all_untouched());
    CHECK(kept.all_untouched());
    test::expect_run(kOp, place, good);
    test::expect_equal(kept, Values(8, 3.0));
  });
}

}  // namespace
