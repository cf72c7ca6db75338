// RMSNorm: hard cases of rounding, range, shape and address, with their right values in closed
// form.
#include <cmath>

#include "support/far_memory.h"
#include "support/op_test.h"
#include "support/refusals.h"
#include "support/same_bits.h"

namespace {

using test::Place;
using test::Tensor;
using Args = mr_rmsnorm_args;
using Values = std::vector<double>;

constexpr test::Functions<mr_rmsnorm_args> kOp = {mr_rmsnorm, mr_rmsnorm_prepare,
                                                  mr_rmsnorm_workspace, mr_rmsnorm_kernel};

Args arguments(const mr_tensor& input, const mr_tensor& output, float epsilon = 1e-5f) {
  Args args = MR_RMSNORM_ARGS_INIT;
  args.input = input;
  args.output = output;
  args.epsilon = epsilon;
  return args;
}

TEST_CASE("N04 rmsnorm of half-precision rows whose squares leave float16") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t width : {1, 63, 4096, 5000}) {
      CAPTURE(width);
      Tensor input(place, dtype, {3, width}), output(place, dtype, {3, width}),
          weight(place, dtype, {width});
      Values x(static_cast<size_t>(3 * width)), wanted(x.size());
      for (size_t i = 0; i < x.size(); ++i) {
        const double sign = i % 2 == 0 ? 1.0 : -1.0;
        const size_t row = i / static_cast<size_t>(width);
        x[i] = row == 0 ? 300.0 : sign * (row == 1 ? 1000.0 : 65504.0);
        wanted[i] = row == 0 ? 1.0 : sign;
      }
      input.set(x);
      weight.fill(1.0);
      Args args = arguments(input, output, 1e-6f);
      args.weight = weight;
      test::expect_run(kOp, place, args);
      test::expect_close(output, wanted, 0.0, 0.0);
    }
  });
}

// Float32 sums are within the contract; the host's are wider.
TEST_CASE("N04 rmsnorm of rows whose squares leave float32, on the host") {
  test::for_each_place([](Place& place) {
    if (!place.on_host()) return;
    for (const mr_dtype dtype : {MR_F32, MR_BF16}) {
      for (const double size : {0x1p100, 0x1p-100}) {
        CAPTURE(size);
        Tensor input(place, dtype, {1, 300}), output(place, dtype, {1, 300});
        Values wanted(300, 1.0);
        for (size_t i = 0; i < wanted.size(); i += 3) wanted[i] = -1.0;
        Values x = wanted;
        for (double& v : x) v *= size;
        input.set(x);
        test::expect_run(kOp, place, arguments(input, output, 0.0f));
        test::expect_close(output, wanted, 0.0, 0.0);
      }
    }
  });
}

TEST_CASE("N11 rmsnorm over rows longer than float16 can count") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t width : {65504, 65520, 100003}) {
      CAPTURE(width);
      Tensor input(place, dtype, {1, width}), output(place, dtype, {1, width});
      input.fill(1.0);
      test::expect_run(kOp, place, arguments(input, output, 0.0f));
      test::expect_equal(output, Values(static_cast<size_t>(width), 1.0));
      input.fill(200.0);
      test::expect_run(kOp, place, arguments(input, output, 0.0f));
      test::expect_close(output, Values(static_cast<size_t>(width), 1.0), 0.0, 0.0);
    }
  });
}

// With a scale of exactly 1, the output is the float32 weight converted to T.
TEST_CASE("N14 rmsnorm rounds float32 to nearest even on store, and keeps a NaN one") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    const Values values = {
        0.2691408770292272, 3.14,      1 + 0x1p-8, 1 + 0x3p-8, 3.4e38,  1 + 0x1p-11,
        1 + 0x3p-11,        65519.996, 65520.0,    0x1p-25,    0x3p-25, 0x1.002p-15};
    const auto width = static_cast<int64_t>(values.size());
    Tensor input(place, dtype, {1, width}), output(place, dtype, {1, width}),
        weight(place, MR_F32, {width});
    input.fill(1.0);
    weight.set(values);
    Args args = arguments(input, output, 0.0f);
    args.weight = weight;
    test::expect_run(kOp, place, args);
    Values wanted;
    for (const double v : weight.get()) wanted.push_back(test::round_to(dtype, v));
    test::expect_equal(output, wanted);
    if (dtype == MR_BF16) {  // the report's own numbers
      const Values got = output.get();
      CHECK(Values(got.begin(), got.begin() + 5) ==
            Values{0.26953125, 3.140625, 1.0, 1.015625, INFINITY});
    }
    // A NaN whose payload is in the low bits only: shifted away, it would be an infinity.
    const uint32_t nan = 0x7f800001u;
    mr_error error;
    REQUIRE(mr_upload(place.stream(), args.weight.data, &nan, sizeof nan, &error) == MR_OK);
    test::expect_run(kOp, place, args);
    CHECK(std::isnan(output.get()[0]));
  });
}

TEST_CASE("S02 rmsnorm of nothing succeeds and writes nothing") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    // The last: what nothing bounds because there are no elements must not overflow either.
    constexpr int64_t kHuge = int64_t{1} << 62;
    const std::vector<int64_t> shapes[] = {{0, 128}, {4, 0},    {0, 0},
                                           {0},      {2, 0, 3}, {kHuge, 0, kHuge, kHuge}};
    for (const std::vector<int64_t>& shape : shapes) {
      CAPTURE(shape.size());
      mr_tensor empty = MR_TENSOR_INIT;
      empty.dtype = dtype;
      empty.rank = static_cast<int32_t>(shape.size());
      for (size_t d = 0; d < shape.size(); ++d) empty.shape[d] = empty.strides[d] = shape[d];
      test::expect_run(kOp, place, arguments(empty, empty));
      uint64_t bytes = 77;
      Args args = arguments(empty, empty);
      CHECK(mr_rmsnorm_workspace(place.stream(), &args, &bytes, nullptr) == MR_OK);
      CHECK(bytes == 0);
    }
  });
}

TEST_CASE("S03 rmsnorm of more rows than a grid's y and z can count") {
  test::for_each_place([](Place& place) {
    for (const int64_t rows : {65535, 65536, 70000}) {
      CAPTURE(rows);
      Tensor input(place, MR_F32, {rows, 4}), output(place, MR_F32, {rows, 4});
      Values x(static_cast<size_t>(rows * 4));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i / 4 % 251);
      input.set(x);
      test::expect_run(kOp, place, arguments(input, output, 1.0f));
      Values wanted(x.size());
      for (size_t i = 0; i < x.size(); ++i) wanted[i] = x[i] / std::sqrt(x[i] * x[i] + 1.0);
      test::expect_close(output, wanted);
    }
  });
}

TEST_CASE("S06 rmsnorm off the vector's alignment equals the aligned run, bit for bit") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t hidden : {7, 8, 3584}) {
      Tensor input(place, dtype, {3, hidden}), weight(place, dtype, {hidden}),
          wanted(place, dtype, {3, hidden});
      input.randomize(19);
      weight.randomize(20);
      Args args = arguments(input, wanted);
      args.weight = weight;
      test::expect_run(kOp, place, args);
      for (const int64_t offset : {1, 3}) {
        CAPTURE(hidden);
        const std::vector<int64_t> strides = {hidden, 1};
        Tensor x(place, dtype, {3, hidden}, strides, offset),
            w(place, dtype, {hidden}, {1}, offset), y(place, dtype, {3, hidden}, strides, offset);
        x.set(input.get());
        w.set(weight.get());
        const std::pair<mr_tensor*, mr_tensor> moved[] = {
            {&args.input, x}, {&args.weight, w}, {&args.output, y}};
        for (const auto& [field, view] : moved) {
          args.input = input, args.weight = weight, args.output = wanted;
          Tensor output(place, dtype, {3, hidden});
          args.output = output;
          *field = view;
          test::expect_run(kOp, place, args);
          test::expect_same_bits(field == &args.output ? y : output, wanted);
        }
      }
    }
  });
}

TEST_CASE("rmsnorm addresses rows more than 2^31 elements apart") {
  test::for_each_place([](Place& place) {
    if (!place.on_host()) return;
    for (const int64_t far_stride : {(int64_t{1} << 31) + 8, (int64_t{1} << 32) + 8}) {
      test::FarMemory far(static_cast<uint64_t>(2 * (2 * far_stride + 64)));
      const mr_tensor view = far.view(MR_F16, {3, 2}, {far_stride, 1});
      for (int64_t r = 0; r < 3; ++r) {
        far.set(MR_F16, r * far_stride, static_cast<double>(r + 1));
        far.set(MR_F16, r * far_stride + 1, static_cast<double>(-r - 1));
      }
      test::expect_run(kOp, place, arguments(view, view, 0.0f));
      place.synchronize();
      for (int64_t r = 0; r < 3; ++r) {
        CHECK(far.get(MR_F16, r * far_stride) == 1.0);
        CHECK(far.get(MR_F16, r * far_stride + 1) == -1.0);
      }
    }
  });
}

}  // namespace
