// Embedding: every device and dtype against the table that the test wrote.
#include <cmath>
#include <limits>

#include "support/far_memory.h"
#include "support/op_test.h"
#include "support/refusals.h"

namespace {

using test::Place;
using test::Role;
using test::Tensor;

constexpr test::Functions<mr_embedding_args> kOp = {mr_embedding, mr_embedding_prepare,
                                                    mr_embedding_workspace, mr_embedding_kernel};

mr_embedding_args arguments(const mr_tensor& ids, const mr_tensor& table, const mr_tensor& output) {
  mr_embedding_args args = MR_EMBEDDING_ARGS_INIT;
  args.ids = ids;
  args.table = table;
  args.output = output;
  return args;
}

// table [vocab, width] in row-major order; an id that is no row gives zeros.
std::vector<double> rows_of(const std::vector<double>& table, int64_t width,
                            const std::vector<double>& ids) {
  std::vector<double> rows;
  for (const double id : ids) {
    for (int64_t i = 0; i < width; ++i) {
      const double at = id * static_cast<double>(width) + static_cast<double>(i);
      const bool valid = id >= 0 && at < static_cast<double>(table.size());
      rows.push_back(valid ? table[static_cast<size_t>(at)] : 0.0);
    }
  }
  return rows;
}

TEST_CASE("embedding copies the rows at every width") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const mr_dtype ids_dtype : {MR_I32, MR_I64}) {
      for (const int64_t width : {1, 7, 8, 9, 31, 32, 33, 255, 256, 257, 1000}) {
        CAPTURE(width);
        Tensor ids(place, ids_dtype, {6}), table(place, dtype, {5, width}),
            output(place, dtype, {6, width});
        ids.set({4, 0, 2, 2, 3, 1});
        table.randomize(1);
        test::expect_run(kOp, place, arguments(ids, table, output));
        test::expect_equal(output, rows_of(table.get(), width, ids.get()));
      }
    }
  });
}

TEST_CASE("embedding keeps NaN and infinity, and changes neither input") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    Tensor ids(place, MR_I32, {2}), table(place, dtype, {2, 3}), output(place, dtype, {2, 3});
    ids.set({1, 0});
    table.set({NAN, INFINITY, -INFINITY, -0.0, 1.0, 2.0});
    test::expect_run(kOp, place, arguments(ids, table, output));
    test::expect_equal(output, {-0.0, 1.0, 2.0, NAN, INFINITY, -INFINITY});
    CHECK(std::signbit(output.get()[0]));
    test::expect_equal(table, {NAN, INFINITY, -INFINITY, -0.0, 1.0, 2.0});
    test::expect_equal(ids, {1, 0});
  });
}

TEST_CASE("embedding scales in float32 and rounds once") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const float scale : {16.0f, 11.313708f, -0.5f, 0.0f}) {
      for (const int64_t width : {1, 255, 256, 257, 600}) {
        CAPTURE(scale);
        CAPTURE(width);
        Tensor ids(place, MR_I32, {3}), table(place, dtype, {4, width}),
            output(place, dtype, {3, width});
        ids.set({3, -1, 0});
        table.randomize(2);
        mr_embedding_args args = arguments(ids, table, output);
        args.flags = MR_EMBEDDING_SCALE;
        args.scale = scale;
        test::expect_run(kOp, place, args);
        std::vector<double> expected = rows_of(table.get(), width, ids.get());
        for (double& value : expected)
          value = static_cast<double>(static_cast<float>(value * scale));
        test::expect_close(output, expected, 0.0, 1.0, 0.0);
      }
    }
  });
}

TEST_CASE("embedding ignores the scale without its flag") {
  test::for_each_place([](Place& place) {
    Tensor ids(place, MR_I32, {1}), table(place, MR_F32, {1, 2}), output(place, MR_F32, {1, 2});
    ids.set({0});
    table.set({3, 4});
    mr_embedding_args args = arguments(ids, table, output);
    args.scale = 100.0f;
    test::expect_run(kOp, place, args);
    test::expect_equal(output, {3, 4});
  });
}

TEST_CASE("embedding gives zeros for padding, and says so for other ids outside the table") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const mr_dtype ids_dtype : {MR_I32, MR_I64}) {
      const double lowest = ids_dtype == MR_I32 ? -0x1p31 : -0x1p63;
      const double highest = ids_dtype == MR_I32 ? 0x1p31 - 1 : 0x1p62;
      const std::vector<double> values = {0, -1, 3, 2, -2, lowest, highest, 1};
      for (const int64_t width : {1, 5, 300}) {
        for (const bool scaled : {false, true}) {
          CAPTURE(width);
          Tensor ids(place, ids_dtype, {8}), table(place, dtype, {3, width}),
              output(place, dtype, {8, width}), status(place, MR_I32, {8});
          ids.set(values);
          table.randomize(3);
          mr_embedding_args args = arguments(ids, table, output);
          args.row_status = status;
          args.flags = scaled ? MR_EMBEDDING_SCALE : 0u;
          args.scale = 1.0f;
          test::expect_run(kOp, place, args);
          test::expect_equal(output, rows_of(table.get(), width, values));
          constexpr double kOut = MR_ROW_ID_OUT_OF_RANGE;
          test::expect_equal(status, {0, 0, kOut, 0, kOut, kOut, kOut, 0});
        }
      }
    }
  });
}

// 2^32 + 1 must not be taken for 1.
TEST_CASE("embedding looks at all bits of a 64-bit id") {
  test::for_each_place([](Place& place) {
    Tensor ids(place, MR_I64, {3}), table(place, MR_F32, {2, 1}), output(place, MR_F32, {3, 1}),
        status(place, MR_I32, {3});
    ids.set({0x1p32 + 1, 0x1p32 - 1, 1});
    table.set({5, 6});
    mr_embedding_args args = arguments(ids, table, output);
    args.row_status = status;
    test::expect_run(kOp, place, args);
    test::expect_equal(output, {0, 0, 6});
    test::expect_equal(status, {MR_ROW_ID_OUT_OF_RANGE, MR_ROW_ID_OUT_OF_RANGE, 0});
  });
}

TEST_CASE("embedding follows any strides and any alignment of whole elements") {
  struct Case {
    std::vector<int64_t> table, output;
    int64_t ids, status, offset;
  };
  const Case cases[] = {
      {{41, 1}, {50, 1}, 1, 1, 0},                                 // rows apart
      {{33, 1}, {33, 1}, 1, 1, 1},                                 // off the vector's alignment
      {{80, 2}, {99, 3}, 2, 3, 3},                                 // elements apart
      {{-35, 1}, {-40, 1}, -1, -2, 0},                             // backwards
      {{-66, -2}, {-70, -2}, 1, 1, 5}, {{1, 4}, {1, 7}, 1, 1, 0},  // column-major
      {{0, 1}, {33, 1}, 0, 1, 0},                                  // one row, one id for all
      {{1, 0}, {33, 1}, 1, 1, 0},                                  // one value per row
  };
  test::for_each_float([&](Place& place, mr_dtype dtype) {
    for (const Case& c : cases) {
      for (const bool scaled : {false, true}) {
        CAPTURE(&c - cases);
        Tensor ids(place, MR_I64, {7}, {c.ids}), table(place, dtype, {4, 33}, c.table, c.offset),
            output(place, dtype, {7, 33}, c.output, c.offset),
            status(place, MR_I32, {7}, {c.status});
        ids.set({3, 0, -1, 2, 1, 9, 2});
        table.randomize(4);
        mr_embedding_args args = arguments(ids, table, output);
        args.row_status = status;
        args.flags = scaled ? MR_EMBEDDING_SCALE : 0u;
        args.scale = 1.0f;
        test::expect_run(kOp, place, args);
        test::expect_equal(output, rows_of(table.get(), 33, ids.get()));
        std::vector<double> wanted;
        for (const double id : ids.get()) wanted.push_back(id > 3 ? MR_ROW_ID_OUT_OF_RANGE : 0);
        test::expect_equal(status, wanted);
      }
    }
  });
}

TEST_CASE("S02 embedding of nothing succeeds and writes nothing") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    const std::pair<int64_t, int64_t> shapes[] = {{0, 128}, {4, 0}, {0, 0}};
    for (const auto& [rows, width] : shapes) {
      mr_tensor ids = MR_TENSOR_INIT, table = MR_TENSOR_INIT, output = MR_TENSOR_INIT;
      const int64_t ids_shape[] = {rows}, table_shape[] = {3, width},
                    output_shape[] = {rows, width};
      Tensor some(place, MR_I32, {4}), entries(place, dtype, {3, 128});
      some.fill(0);
      mr_tensor_pack(rows > 0 ? some.view().data : nullptr, MR_I32, 1, ids_shape, &ids, nullptr);
      mr_tensor_pack(width > 0 ? entries.view().data : nullptr, dtype, 2, table_shape, &table,
                     nullptr);
      mr_tensor_pack(nullptr, dtype, 2, output_shape, &output, nullptr);
      test::expect_run(kOp, place, arguments(ids, table, output));
    }
    // No width still leaves a status to write; no vocabulary leaves no id in range.
    Tensor ids(place, MR_I32, {3}), status(place, MR_I32, {3}), output(place, dtype, {3, 2}),
        empty(place, dtype, {0, 2}), thin(place, dtype, {3, 0}), thin_output(place, dtype, {3, 0});
    ids.set({-1, 0, 7});
    mr_embedding_args args = arguments(ids, thin, thin_output);
    args.row_status = status;
    test::expect_run(kOp, place, args);
    test::expect_equal(status, {0, 0, MR_ROW_ID_OUT_OF_RANGE});
    args = arguments(ids, empty, output);
    args.row_status = status;
    test::expect_run(kOp, place, args);
    test::expect_equal(output, std::vector<double>(6, 0.0));
    test::expect_equal(status, {0, MR_ROW_ID_OUT_OF_RANGE, MR_ROW_ID_OUT_OF_RANGE});
  });
}

TEST_CASE("S03 embedding of more rows than a grid's y and z can count") {
  test::for_each_place([](Place& place) {
    for (const int64_t rows : {65535, 65536, 70000}) {
      CAPTURE(rows);
      Tensor ids(place, MR_I32, {rows}), table(place, MR_F16, {251, 4}),
          output(place, MR_F16, {rows, 4});
      std::vector<double> values(static_cast<size_t>(rows));
      for (size_t r = 0; r < values.size(); ++r) values[r] = static_cast<double>(r % 251);
      ids.set(values);
      table.randomize(5);
      test::expect_run(kOp, place, arguments(ids, table, output));
      test::expect_equal(output, rows_of(table.get(), 4, values));
    }
  });
}

TEST_CASE("N17 embedding keeps subnormal products") {
  test::for_each_place([](Place& place) {
    Tensor ids(place, MR_I32, {1}), table(place, MR_F32, {1, 2}), output(place, MR_F32, {1, 2});
    ids.set({0});
    table.set({0x1p-126, 0x1p-148});
    mr_embedding_args args = arguments(ids, table, output);
    args.flags = MR_EMBEDDING_SCALE;
    args.scale = 0.5f;
    test::expect_run(kOp, place, args);
    test::expect_equal(output, {0x1p-127, 0x1p-149});
  });
}

// Row numbers times strides beyond 32 bits, on the table's side and on the output's.
TEST_CASE("embedding addresses rows more than 2^32 elements apart") {
  test::for_each_place([](Place& place) {
    if (!place.on_host()) return;
    constexpr int64_t kFar = (int64_t{1} << 32) + 16;
    test::FarMemory far(uint64_t{2} * (2 * kFar + 64));
    Tensor ids(place, MR_I32, {2}), near(place, MR_BF16, {2, 3});
    ids.set({2, 1});
    const mr_tensor table = far.view(MR_BF16, {3, 3}, {kFar, 1});
    for (int64_t i = 0; i < 3; ++i) {
      far.set(MR_BF16, kFar + i, 10.0 + static_cast<double>(i));
      far.set(MR_BF16, 2 * kFar + i, 20.0 + static_cast<double>(i));
    }
    test::expect_run(kOp, place, arguments(ids, table, near));
    test::expect_equal(near, {20, 21, 22, 10, 11, 12});
    ids.set({0, 1});
    test::expect_run(kOp, place, arguments(ids, near, far.view(MR_BF16, {2, 3}, {kFar, 1}, 32)));
    place.synchronize();
    CHECK(far.get(MR_BF16, 32) == 20);
    CHECK(far.get(MR_BF16, 32 + kFar + 2) == 12);
  });
}

TEST_CASE("embedding refuses what its header forbids, and writes nothing") {
  test::for_each_place([](Place& place) {
    Tensor ids(place, MR_I32, {2}), table(place, MR_F16, {3, 4}), output(place, MR_F16, {2, 4}),
        status(place, MR_I32, {2});
    ids.fill(0);
    table.fill(1);
    mr_embedding_args good = arguments(ids, table, output);
    good.row_status = status;
    good.ids.flags = good.table.flags = MR_TENSOR_READ_ONLY;
    using Args = mr_embedding_args;
    test::expect_bad_tensor_refused(kOp, place, good, &Args::ids, "args.ids", Role::kInput);
    test::expect_bad_tensor_refused(kOp, place, good, &Args::table, "args.table", Role::kInput);
    test::expect_bad_tensor_refused(kOp, place, good, &Args::output, "args.output", Role::kOutput);
    test::expect_bad_tensor_refused(kOp, place, good, &Args::row_status, "args.row_status",
                                    Role::kOptionalOutput);
    const auto refuse = [&](const char* name, auto&& change) {
      mr_embedding_args bad = good;
      change(bad);
      test::expect_all_refuse(kOp, place, bad, MR_INVALID_ARGUMENT, name);
    };
    refuse("args.flags", [](Args& a) { a.flags = 0x2; });
    refuse("args.reserved", [](Args& a) { a.reserved = 1; });
    refuse("args.ids", [](Args& a) { a.ids.rank = 0; });
    refuse("args.ids", [](Args& a) { a.ids.rank = 2, a.ids.shape[1] = 1; });
    refuse("args.ids", [](Args& a) { a.ids.dtype = MR_F32; });
    refuse("args.table", [](Args& a) { a.table.rank = 1; });
    refuse("args.table", [](Args& a) { a.table.dtype = MR_I32, a.table.shape[0] = 1; });
    refuse("args.output", [](Args& a) { a.output.dtype = MR_BF16; });
    refuse("args.output", [](Args& a) { a.output.rank = 1; });
    refuse("args.output", [](Args& a) { a.output.shape[0] = 1; });
    refuse("args.output", [](Args& a) { a.output.shape[1] = 3; });
    refuse("args.output", [](Args& a) { a.output.strides[0] = 3; });
    refuse("args.row_status", [](Args& a) { a.row_status.shape[0] = 1; });
    refuse("args.row_status", [](Args& a) { a.row_status.dtype = MR_U32; });
    CHECK(output.all_untouched());
    CHECK(status.all_untouched());
    test::expect_run(kOp, place, good);
    test::expect_equal(output, std::vector<double>(8, 1.0));
  });
}

}  // namespace
