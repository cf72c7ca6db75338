// Addition: every device and dtype against a + b in double.
#include <cmath>

#include "support/far_memory.h"
#include "support/op_test.h"
#include "support/refusals.h"

namespace {

using test::Place;
using test::Role;
using test::Tensor;
using Args = mr_add_args;
using Shape = std::vector<int64_t>;
using Values = std::vector<double>;

constexpr test::Functions<mr_add_args> kOp = {mr_add, mr_add_prepare, mr_add_workspace,
                                              mr_add_kernel};

Args arguments(const mr_tensor& a, const mr_tensor& b, const mr_tensor& output) {
  Args args = MR_ADD_ARGS_INIT;
  args.a = a;
  args.b = b;
  args.output = output;
  return args;
}

// Added in float32, then rounded to the dtype.
Values sum_of(mr_dtype dtype, const Values& a, const Values& b) {
  Values sum(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    sum[i] = test::round_to(dtype, static_cast<double>(static_cast<float>(a[i] + b[i])));
  }
  return sum;
}

TEST_CASE("add is a + b, rounded once, at every width") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t width : {1, 7, 8, 9, 31, 32, 33, 255, 256, 257, 1000}) {
      CAPTURE(width);
      Tensor a(place, dtype, {3, width}), b(place, dtype, {3, width}),
          output(place, dtype, {3, width});
      a.randomize(1);
      b.randomize(2, 100.0);
      const Values expected = sum_of(dtype, a.get(), b.get());
      test::expect_run(kOp, place, arguments(a, b, output));
      test::expect_equal(output, expected);
      test::expect_run(kOp, place, arguments(a, b, a));
      test::expect_equal(a, expected);
      a.randomize(1);
      test::expect_run(kOp, place, arguments(a, b, b));
      test::expect_equal(b, expected);
      test::expect_run(kOp, place, arguments(b, b, b));
      test::expect_equal(b, sum_of(dtype, expected, expected));
    }
  });
}

TEST_CASE("add takes every rank, the scalar included") {
  const Shape shapes[] = {{},           {5},          {2, 3},          {2, 3, 4},
                          {2, 1, 3, 4}, {1, 1, 1, 1}, {3, 1, 2, 1, 2}, {2, 2, 2, 2, 2, 3}};
  test::for_each_float([&](Place& place, mr_dtype dtype) {
    for (const Shape& shape : shapes) {
      CAPTURE(shape.size());
      Tensor a(place, dtype, shape), b(place, dtype, shape), output(place, dtype, shape);
      a.randomize(3);
      b.randomize(4);
      test::expect_run(kOp, place, arguments(a, b, output));
      test::expect_equal(output, sum_of(dtype, a.get(), b.get()));
    }
  });
}

TEST_CASE("add follows any strides: apart, backwards, transposed, broadcast, misaligned") {
  struct Case {
    Shape shape, a, b, output;
    int64_t offset;
  };
  const Case cases[] = {
      {{4, 300}, {300, 1}, {0, 1}, {300, 1}, 0},        // a bias
      {{4, 300}, {300, 1}, {1, 0}, {300, 1}, 1},        // one value per row
      {{4, 300}, {0, 0}, {0, 0}, {301, 1}, 3},          // two constants
      {{4, 300}, {-300, -1}, {700, 2}, {-1000, 3}, 1},  // backwards and apart
      {{4, 300}, {1, 4}, {1, 4}, {1, 4}, 0},            // column-major all three
      {{4, 300}, {1, 4}, {300, 1}, {1, 4}, 0},          // and mixed
      {{2, 3, 4, 5}, {60, 20, 5, 1}, {60, 20, 5, 1}, {90, 30, 7, 1}, 0},
      {{2, 3, 4, 5}, {60, 20, 5, 1}, {1, 2, 6, 24}, {24, 8, 2, 48}, 0},
      {{2, 3, 4, 5}, {0, 5, 0, 1}, {20, 0, 5, 0}, {60, 20, 5, 1}, 0},
      {{3, 1, 2, 1, 2, 2}, {8, 77, 4, 0, 2, 1}, {8, 0, 4, 3, 2, 1}, {9, 1, 4, 1, 2, 1}, 1},
      {{70, 90}, {90, 1}, {1, 70}, {90, 1}, 0},  // more than a piece, against the grain
  };
  test::for_each_float([&](Place& place, mr_dtype dtype) {
    for (const Case& c : cases) {
      CAPTURE(&c - cases);
      Tensor a(place, dtype, c.shape, c.a, c.offset), b(place, dtype, c.shape, c.b, c.offset),
          output(place, dtype, c.shape, c.output, c.offset);
      a.randomize(5);
      b.randomize(6);
      test::expect_run(kOp, place, arguments(a, b, output));
      test::expect_equal(output, sum_of(dtype, a.get(), b.get()));
    }
  });
}

// Many threads, ranges that end within rows, and rows shorter than a range.
TEST_CASE("add spreads over threads without a seam") {
  for (const char* options : {"host.threads=1", "host.threads=3"}) {
    CAPTURE(options);
    test::for_each_place(
        [](Place& place) {
          const std::pair<Shape, Shape> cases[] = {
              {{1, 200003}, {200003, 1}}, {{3, 70001}, {80000, 1}}, {{20001, 7}, {8, 1}}};
          for (const auto& [shape, strides] : cases) {
            Tensor a(place, MR_F32, shape), b(place, MR_F32, shape),
                output(place, MR_F32, shape, strides);
            a.randomize(7);
            b.randomize(8);
            test::expect_run(kOp, place, arguments(a, b, output));
            test::expect_equal(output, sum_of(MR_F32, a.get(), b.get()));
          }
        },
        options);
  }
}

TEST_CASE("add keeps NaN and infinity, and overflows to infinity as IEEE does") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    const double largest = dtype == MR_F16    ? 65504.0
                           : dtype == MR_BF16 ? 0x1.fep127
                                              : 0x1.fffffep127;
    Tensor a(place, dtype, {7}), b(place, dtype, {7}), output(place, dtype, {7});
    a.set({NAN, 1, INFINITY, INFINITY, largest, -largest, -0.0});
    b.set({1, NAN, 1, -INFINITY, largest, -largest, -0.0});
    test::expect_run(kOp, place, arguments(a, b, output));
    test::expect_equal(output, {NAN, NAN, INFINITY, NAN, INFINITY, -INFINITY, -0.0});
    CHECK(std::signbit(output.get()[6]));
  });
}

TEST_CASE("N14 add rounds to nearest even, and a NaN stays one whatever its payload") {
  test::for_each_place([](Place& place) {
    Tensor a(place, MR_BF16, {5}), b(place, MR_BF16, {5}), output(place, MR_BF16, {5});
    // The third is just over half of the last step below infinity, the fourth just under.
    a.set({1, 1, 0x1.fep127, 0x1.fep127, 0x1p-126});
    b.set({0x1p-8, 0x3p-8, 0x1.02p119, 0x1.fcp118, 0x1p-133});
    test::expect_run(kOp, place, arguments(a, b, output));
    test::expect_equal(output, {1, 1.015625, INFINITY, 0x1.fep127, 0x1.02p-126});
    const uint16_t low_payload = 0x7f81;
    mr_error error;
    REQUIRE(mr_upload(place.stream(), a.view().data, &low_payload, 2, &error) == MR_OK);
    test::expect_run(kOp, place, arguments(a, b, output));
    CHECK(std::isnan(output.get()[0]));
  });
}

TEST_CASE("N17 add keeps subnormal sums") {
  test::for_each_place([](Place& place) {
    const std::pair<mr_dtype, double> smallest[] = {
        {MR_F32, 0x1p-149}, {MR_F16, 0x1p-24}, {MR_BF16, 0x1p-133}};
    for (const auto& [dtype, tiny] : smallest) {
      Tensor a(place, dtype, {2}), b(place, dtype, {2}), output(place, dtype, {2});
      a.set({tiny, 5 * tiny});
      b.set({tiny, -4 * tiny});
      test::expect_run(kOp, place, arguments(a, b, output));
      test::expect_equal(output, {2 * tiny, tiny});
    }
  });
}

TEST_CASE("S02 add of nothing succeeds and writes nothing") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    const Shape shapes[] = {{0, 128}, {4, 0}, {0, 0}, {0}, {0, int64_t{1} << 40, int64_t{1} << 40}};
    for (const Shape& shape : shapes) {
      mr_tensor t = MR_TENSOR_INIT;
      t.dtype = dtype;
      t.rank = static_cast<int32_t>(shape.size());
      for (size_t d = 0; d < shape.size(); ++d) t.shape[d] = shape[d], t.strides[d] = 1;
      test::expect_run(kOp, place, arguments(t, t, t));
    }
    Tensor a(place, dtype, {0, 4}), output(place, dtype, {0, 4});
    test::expect_run(kOp, place, arguments(a, a, output));
    CHECK(output.all_untouched());
  });
}

TEST_CASE("S03 add of more rows than a grid's y and z can count") {
  test::for_each_place([](Place& place) {
    for (const int64_t rows : {65535, 65536, 70000}) {
      CAPTURE(rows);
      // Rows apart, so that they cannot be merged away; likewise a third dimension.
      Tensor a(place, MR_F16, {rows, 4}, {5, 1}), b(place, MR_F16, {rows, 4}, {0, 1}),
          output(place, MR_F16, {rows, 4}, {6, 1});
      Values x(static_cast<size_t>(rows * 4));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i / 4 % 251);
      a.set(x);
      b.randomize(9);
      test::expect_run(kOp, place, arguments(a, b, output));
      test::expect_equal(output, sum_of(MR_F16, x, b.get()));
    }
  });
}

TEST_CASE("S06 add off the vector's alignment equals the aligned run") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t hidden : {7, 8, 3584}) {
      Tensor a(place, dtype, {3, hidden}), b(place, dtype, {3, hidden}),
          x(place, dtype, {3, hidden}, {hidden, 1}, 1),
          y(place, dtype, {3, hidden}, {hidden, 1}, 1),
          z(place, dtype, {3, hidden}, {hidden, 1}, 1), output(place, dtype, {3, hidden});
      a.randomize(10), b.randomize(11);
      x.set(a.get()), y.set(b.get());
      const Values expected = sum_of(dtype, a.get(), b.get());
      test::expect_run(kOp, place, arguments(x, b, output));
      test::expect_equal(output, expected);
      test::expect_run(kOp, place, arguments(a, y, output));
      test::expect_equal(output, expected);
      test::expect_run(kOp, place, arguments(a, b, z));
      test::expect_equal(z, expected);
    }
  });
}

TEST_CASE("add addresses elements more than 2^32 apart") {
  test::for_each_place([](Place& place) {
    if (!place.on_host()) return;
    constexpr int64_t kFar = (int64_t{1} << 32) + 4;
    test::FarMemory far(uint64_t{2} * (2 * kFar + 64));
    // The far step is the inner one for a, and the outer one of rows for the output.
    const mr_tensor column = far.view(MR_F16, {3}, {kFar});
    Tensor b(place, MR_F16, {3});
    b.set({1, 2, 3});
    for (int64_t i = 0; i < 3; ++i) far.set(MR_F16, i * kFar, 10.0 * static_cast<double>(i));
    test::expect_run(kOp, place, arguments(column, b, column));
    place.synchronize();
    for (int64_t i = 0; i < 3; ++i) {
      CHECK(far.get(MR_F16, i * kFar) == 11.0 * static_cast<double>(i) + 1.0);
    }
    Tensor rows(place, MR_F16, {3, 2});
    rows.set({1, 2, 3, 4, 5, 6});
    const mr_tensor apart = far.view(MR_F16, {3, 2}, {kFar, 1}, 8);
    test::expect_run(kOp, place, arguments(rows, rows, apart));
    place.synchronize();
    CHECK(far.get(MR_F16, 8 + 2 * kFar + 1) == 12.0);
  });
}

TEST_CASE("add refuses what its header forbids, and writes nothing") {
  test::for_each_place([](Place& place) {
    Tensor a(place, MR_F16, {2, 4}), b(place, MR_F16, {2, 4}), output(place, MR_F16, {2, 4});
    a.fill(1), b.fill(2);
    Args good = arguments(a, b, output);
    good.a.flags = good.b.flags = MR_TENSOR_READ_ONLY;
    test::expect_bad_tensor_refused(kOp, place, good, &Args::b, "args.b", Role::kInput);
    test::expect_bad_tensor_refused(kOp, place, good, &Args::output, "args.output", Role::kOutput);
    test::expect_bad_tensor_refused(kOp, place, good, &Args::a, "args.a", Role::kInput);
    const auto refuse = [&](const char* name, auto&& change) {
      Args bad = good;
      change(bad);
      test::expect_all_refuse(kOp, place, bad, MR_INVALID_ARGUMENT, name);
    };
    refuse("args.flags", [](Args& x) { x.flags = 0x1; });
    refuse("args.a", [](Args& x) { x.a.dtype = MR_I32, x.a.shape[0] = 1; });
    refuse("args.b", [](Args& x) { x.b.dtype = MR_BF16; });
    refuse("args.b", [](Args& x) { x.b.rank = 1; });
    refuse("args.b", [](Args& x) { x.b.shape[1] = 1; });  // broadcasting is by stride, not by shape
    refuse("args.output", [](Args& x) { x.output.dtype = MR_BF16; });
    refuse("args.output", [](Args& x) { x.output.rank = 3, x.output.shape[2] = 1; });
    refuse("args.output", [](Args& x) { x.output.shape[0] = 3; });
    refuse("args.output", [](Args& x) { x.output.strides[0] = 3; });
    refuse("args.output", [](Args& x) { x.output.strides[1] = 0; });
    refuse("args.a", [](Args& x) { x.a.shape[0] = 0, x.a.shape[1] = -1; });
    CHECK(output.all_untouched());
    test::expect_run(kOp, place, good);
    test::expect_equal(output, Values(8, 3.0));
  });
}

}  // namespace
