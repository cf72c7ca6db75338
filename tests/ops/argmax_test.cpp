// Argmax: every device and dtype against a plain search in double.
#include <cmath>

#include "support/far_memory.h"
#include "support/op_test.h"
#include "support/refusals.h"

namespace {

using test::Place;
using test::Role;
using test::Tensor;
using Args = mr_argmax_args;
using Values = std::vector<double>;

constexpr test::Functions<mr_argmax_args> kOp = {mr_argmax, mr_argmax_prepare, mr_argmax_workspace,
                                                 mr_argmax_kernel};
constexpr double kNan = MR_ROW_HAD_NAN;
constexpr double kNone = MR_ROW_ALL_MASKED;

Args arguments(const mr_tensor& input, const mr_tensor& output) {
  Args args = MR_ARGMAX_ARGS_INIT;
  args.input = input;
  args.output = output;
  return args;
}

struct Answer {
  Values index, status;
};

Answer search(const Values& x, size_t width) {
  Answer answer;
  for (size_t row = 0; row < x.size(); row += width) {
    size_t best = width;
    bool nan = false;
    for (size_t i = 0; i < width; ++i) {
      if (std::isnan(x[row + i])) {
        nan = true;
      } else if (best == width || x[row + i] > x[row + best]) {
        best = i;
      }
    }
    answer.index.push_back(best == width ? 0.0 : static_cast<double>(best));
    answer.status.push_back((nan ? kNan : 0.0) + (best == width ? kNone : 0.0));
  }
  return answer;
}

// Runs with both index types and checks index and status of each row.
void expect_answer(Place& place, Tensor& input, const Answer& wanted) {
  const auto rows = static_cast<int64_t>(wanted.index.size());
  for (const mr_dtype index : {MR_I32, MR_I64}) {
    Tensor output(place, index, {rows}), status(place, MR_I32, {rows});
    Args args = arguments(input, output);
    test::expect_run(kOp, place, args);
    test::expect_equal(output, wanted.index);
    output.poison();
    args.row_status = status;
    test::expect_run(kOp, place, args);
    test::expect_equal(output, wanted.index);
    test::expect_equal(status, wanted.status);
  }
}

TEST_CASE("argmax finds the largest at every width") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t width : {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 255, 256, 257, 511, 1000}) {
      CAPTURE(width);
      Tensor input(place, dtype, {9, width});
      input.randomize(static_cast<uint64_t>(width));
      expect_answer(place, input, search(input.get(), static_cast<size_t>(width)));
    }
  });
}

TEST_CASE("argmax finds the largest wherever it stands") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t width : {40, 300}) {
      Tensor input(place, dtype, {width, width});
      Values x = test::normal(static_cast<size_t>(width * width), 3), wanted;
      for (size_t r = 0; r < static_cast<size_t>(width); ++r) {
        x[r * static_cast<size_t>(width) + r] = 50.0;
        wanted.push_back(static_cast<double>(r));
      }
      input.set(x);
      expect_answer(place, input, {wanted, Values(wanted.size(), 0.0)});
    }
  });
}

TEST_CASE("argmax gives a tie to the lowest index") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t width : {2, 16, 33, 257, 900}) {
      CAPTURE(width);
      const auto n = static_cast<size_t>(width);
      Tensor input(place, dtype, {4, width});
      Values x(4 * n, -1.0);
      for (size_t i = n / 2; i < n; ++i) x[n + i] = 2.0;  // row 1: the second half
      x[2 * n + n - 1] = x[2 * n + n / 3] = 7.0;          // row 2: two places
      for (size_t i = 0; i < n; ++i)
        x[3 * n + i] = i % 2 == 0 ? -0.0 : 0.0;  // row 3: zeros are equal
      input.set(x);
      expect_answer(place, input,
                    {{0, static_cast<double>(n / 2), static_cast<double>(n / 3), 0}, {0, 0, 0, 0}});
    }
  });
}

TEST_CASE("argmax takes infinities for numbers") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    constexpr double inf = INFINITY;
    Tensor input(place, dtype, {5, 3});
    input.set({-inf, -inf, -inf, 1, inf, inf, -inf, -5, -inf, -inf, NAN, -3, NAN, NAN, -inf});
    expect_answer(place, input, {{0, 1, 1, 2, 2}, {0, 0, 0, kNan, kNan}});
  });
}

TEST_CASE("N10 argmax never chooses a NaN and always reports it, wherever it stands") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t width : {3, 17, 257, 600}) {
      CAPTURE(width);
      const auto n = static_cast<size_t>(width);
      Tensor input(place, dtype, {width, width});
      Values x(n * n, -2.0), wanted;
      for (size_t r = 0; r < n; ++r) {
        x[r * n + r] = r % 2 == 0 ? NAN : -NAN;
        x[r * n + (r + 1) % n] = -1.0;  // the largest number stands beside it
        wanted.push_back(static_cast<double>((r + 1) % n));
      }
      input.set(x);
      expect_answer(place, input, {wanted, Values(n, kNan)});
      input.fill(NAN);
      expect_answer(place, input, {Values(n, 0.0), Values(n, kNan + kNone)});
      // All NaN but one -inf: it is a number.
      Values last(n * n, NAN);
      last.back() = -INFINITY;
      input.set(last);
      Answer answer = {Values(n, 0.0), Values(n, kNan + kNone)};
      answer.index.back() = static_cast<double>(n - 1);
      answer.status.back() = kNan;
      expect_answer(place, input, answer);
    }
  });
}

TEST_CASE("argmax follows any strides and any alignment of whole elements") {
  struct Case {
    std::vector<int64_t> input;
    int64_t output, status, offset;
  };
  const Case cases[] = {
      {{300, 1}, 1, 1, 0}, {{261, 1}, 2, 3, 1}, {{600, 2}, -1, 1, 3}, {{-270, -1}, 3, -2, 1},
      {{1, 6}, 1, 1, 0},   {{0, 1}, 1, 1, 0},   {{260, 0}, 1, 1, 0},
  };
  test::for_each_float([&](Place& place, mr_dtype dtype) {
    for (const Case& c : cases) {
      CAPTURE(&c - cases);
      Tensor input(place, dtype, {5, 260}, c.input, c.offset),
          output(place, MR_I32, {5}, {c.output}, c.offset), status(place, MR_I32, {5}, {c.status});
      input.randomize(4);
      Args args = arguments(input, output);
      args.row_status = status;
      test::expect_run(kOp, place, args);
      const Answer wanted = search(input.get(), 260);
      test::expect_equal(output, wanted.index);
      test::expect_equal(status, wanted.status);
    }
  });
}

TEST_CASE("argmax of a vocabulary, on any number of threads") {
  for (const char* options : {"host.threads=1", "host.threads=3"}) {
    test::for_each_place(
        [](Place& place) {
          Tensor input(place, MR_BF16, {5, 50257});
          Values x = test::normal(5 * 50257, 5);
          x[50256] = x[2 * 50257 + 31000] = 9.0;
          x[2 * 50257 + 31001] = 9.0;
          input.set(x);
          expect_answer(place, input, search(input.get(), 50257));
        },
        options);
  }
}

TEST_CASE("S02 argmax of no rows succeeds, and of rows of no width is refused") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t width : {128, 0}) {
      Tensor input(place, dtype, {0, width}), output(place, MR_I32, {0});
      test::expect_run(kOp, place, arguments(input, output));
      mr_tensor nothing = input, nowhere = output;
      nothing.data = nowhere.data = nullptr;
      test::expect_run(kOp, place, arguments(nothing, nowhere));
    }
    Tensor input(place, dtype, {4, 0}), output(place, MR_I32, {4});
    test::expect_all_refuse(kOp, place, arguments(input, output), MR_INVALID_ARGUMENT,
                            "args.input");
    CHECK(output.all_untouched());
  });
}

TEST_CASE("S03 argmax of more rows than a grid's y and z can count") {
  test::for_each_place([](Place& place) {
    for (const int64_t rows : {65535, 65536, 70000}) {
      CAPTURE(rows);
      Tensor input(place, MR_F16, {rows, 4});
      input.randomize(6);
      expect_answer(place, input, search(input.get(), 4));
    }
  });
}

TEST_CASE("argmax addresses rows and elements more than 2^32 apart") {
  test::for_each_place([](Place& place) {
    if (!place.on_host()) return;
    constexpr int64_t kFar = (int64_t{1} << 32) + 4;
    test::FarMemory far(uint64_t{4} * (2 * kFar + 64));
    far.set(MR_F32, 2 * kFar, 5.0);
    far.set(MR_F32, kFar + 1, 4.0);
    far.set(MR_F32, 2 * kFar + 1, 3.0);
    Tensor rows(place, MR_I32, {3}), one(place, MR_I64, {1});
    test::expect_run(kOp, place, arguments(far.view(MR_F32, {3, 2}, {kFar, 1}), rows));
    test::expect_equal(rows, {0, 1, 0});
    test::expect_run(kOp, place, arguments(far.view(MR_F32, {1, 3}, {1, kFar}), one));
    test::expect_equal(one, {2});
  });
}

TEST_CASE("argmax refuses what its header forbids, and writes nothing") {
  test::for_each_place([](Place& place) {
    Tensor input(place, MR_F16, {2, 4}), output(place, MR_I32, {2}), status(place, MR_I32, {2});
    input.fill(1);
    Args good = arguments(input, output);
    good.row_status = status;
    good.input.flags = MR_TENSOR_READ_ONLY;
    test::expect_bad_tensor_refused(kOp, place, good, &Args::input, "args.input", Role::kInput);
    test::expect_bad_tensor_refused(kOp, place, good, &Args::output, "args.output", Role::kOutput);
    test::expect_bad_tensor_refused(kOp, place, good, &Args::row_status, "args.row_status",
                                    Role::kOptionalOutput);
    const auto refuse = [&](const char* name, auto&& change) {
      Args bad = good;
      change(bad);
      test::expect_all_refuse(kOp, place, bad, MR_INVALID_ARGUMENT, name);
    };
    refuse("args.flags", [](Args& a) { a.flags = 0x1; });
    refuse("args.input", [](Args& a) { a.input.rank = 1; });
    refuse("args.input", [](Args& a) { a.input.rank = 3, a.input.shape[2] = 1; });
    refuse("args.input", [](Args& a) { a.input.dtype = MR_I32, a.input.shape[0] = 1; });
    refuse("args.output", [](Args& a) { a.output.dtype = MR_F32; });
    refuse("args.output", [](Args& a) { a.output.dtype = MR_U32; });
    refuse("args.output", [](Args& a) { a.output.rank = 0; });
    refuse("args.output", [](Args& a) { a.output.shape[0] = 3; });
    refuse("args.row_status",
           [](Args& a) { a.row_status.dtype = MR_I64, a.row_status.shape[0] = 1; });
    refuse("args.row_status", [](Args& a) { a.row_status.shape[0] = 1; });
    CHECK(output.all_untouched());
    CHECK(status.all_untouched());

    // An index that I32 cannot say; one less is fine, and so is I64. Only asked, never run.
    Args wide = good;
    wide.input.strides[0] = wide.input.strides[1] = 0;
    wide.input.shape[1] = (int64_t{1} << 31) + 1;
    test::expect_all_refuse(kOp, place, wide, MR_INVALID_ARGUMENT, "args.input");
    uint64_t bytes = 0;
    wide.output.dtype = MR_I64;
    wide.output.data = nullptr;
    CHECK(mr_argmax_workspace(place.stream(), &wide, &bytes, nullptr) == MR_OK);
    wide.output.dtype = MR_I32;
    wide.input.shape[1] = int64_t{1} << 31;
    CHECK(mr_argmax_workspace(place.stream(), &wide, &bytes, nullptr) == MR_OK);
    CHECK(output.all_untouched());
  });
}

}  // namespace
