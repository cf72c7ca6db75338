// Attention on the hard cases of cases.md, and on what the header says of pages, special values and
// refusals.
#include "ops/attention_support.h"
#include "support/same_bits.h"

namespace {

using test::Place;
using test::Ragged;
using test::Role;
using test::Shape;
using test::Tensor;
using Values = std::vector<double>;

const double kNan = std::nan("");

// One call with one head, from plain values: v_j everywhere in key j, k_j in every channel.
struct Plain {
  int64_t dim = 64;
  Values q;     // per row, in every channel
  Values k, v;  // per key
  Values cu_q, cu_kv;
  uint32_t flags = 0;
  int32_t left = 0, right = 0;
  float scale = 1.0f;
  int64_t page_size = 0;  // pages in order, from page 1 on
  double unused = kNan;
};

struct Result {
  Values output, lse, row_status;  // output: one channel per row, all alike
};

Values spread(const Values& values, int64_t dim) {
  Values out;
  for (const double value : values) out.insert(out.end(), static_cast<size_t>(dim), value);
  return out;
}

Result attend(Place& place, mr_dtype dtype, const Plain& plain) {
  const int64_t rows = static_cast<int64_t>(plain.q.size());
  const int64_t batch = static_cast<int64_t>(plain.cu_q.size()) - 1;
  Tensor q(place, dtype, {rows, 1, plain.dim}), output(place, dtype, {rows, 1, plain.dim}),
      lse(place, MR_F32, {rows, 1}), status(place, MR_I32, {rows}),
      cu_q(place, MR_I32, {batch + 1}), cu_kv(place, MR_I32, {batch + 1});
  q.set(spread(plain.q, plain.dim));
  cu_q.set(plain.cu_q);
  cu_kv.set(plain.cu_kv);
  mr_attention_args args = MR_ATTENTION_ARGS_INIT;
  args.flags = plain.flags;
  args.q = q, args.cu_q = cu_q, args.output = output, args.lse = lse, args.row_status = status;
  args.scale = plain.scale;
  args.window_left = plain.left;
  args.window_right = plain.right;
  const int64_t size = plain.page_size;
  std::vector<int64_t> shape = {static_cast<int64_t>(plain.k.size()) + 1, 1, plain.dim};
  Values ks = plain.k, vs = plain.v, table, lengths;
  ks.push_back(plain.unused);
  vs.push_back(plain.unused);
  int64_t pages = 1, most = 1;
  if (size > 0) {
    ks.assign(static_cast<size_t>(size), plain.unused);
    vs = ks;
    for (int64_t b = 0; b < batch; ++b) {
      const auto at = static_cast<size_t>(b);
      const auto length = static_cast<int64_t>(plain.cu_kv[at + 1] - plain.cu_kv[at]);
      lengths.push_back(static_cast<double>(length));
      most = std::max(most, (length + size - 1) / size);
    }
    table.assign(static_cast<size_t>(batch * most), -1);
    for (int64_t b = 0; b < batch; ++b) {
      const auto first = static_cast<int64_t>(plain.cu_kv[static_cast<size_t>(b)]);
      const auto length = static_cast<int64_t>(lengths[static_cast<size_t>(b)]);
      for (int64_t p = 0; p * size < length; ++p) {
        table[static_cast<size_t>(b * most + p)] = static_cast<double>(pages++);
        for (int64_t i = 0; i < size; ++i) {
          const bool used = p * size + i < length;
          const auto key = static_cast<size_t>(first + p * size + i);
          ks.push_back(used ? plain.k[key] : plain.unused);
          vs.push_back(used ? plain.v[key] : plain.unused);
        }
      }
    }
    shape = {pages, size, 1, plain.dim};
  }
  Tensor k(place, dtype, shape), v(place, dtype, shape), len(place, MR_I32, {batch}),
      blocks(place, MR_I32, {batch, most});
  k.set(spread(ks, plain.dim));
  v.set(spread(vs, plain.dim));
  args.k = k, args.v = v;
  if (size > 0) {
    len.set(lengths);
    blocks.set(table);
    args.kv_len = len, args.block_table = blocks;
  } else {
    args.cu_kv = cu_kv;
  }
  test::run_attention(place, args);
  Result result{{}, lse.get(), status.get()};
  const Values all = output.get();
  for (int64_t r = 0; r < rows; ++r) {
    const double value = all[static_cast<size_t>(r * plain.dim)];
    result.output.push_back(value);
    for (int64_t d = 1; d < plain.dim; ++d) {
      const double other = all[static_cast<size_t>(r * plain.dim + d)];
      CHECK((other == value || std::isnan(value)));
    }
  }
  return result;
}

void each(const std::function<void(Place&, mr_dtype, int64_t page_size)>& body) {
  test::for_each_float([&](Place& place, mr_dtype dtype) {
    for (const int64_t page_size : {0, 4}) body(place, dtype, page_size);
  });
}

bool near(mr_dtype dtype, double actual, double expected) {
  return test::close(dtype, actual, expected, 0.0, 1.01, 16.0);
}

TEST_CASE("A01 rows that see nothing: output 0, lse -inf, ALL_MASKED") {
  each([](Place& place, mr_dtype dtype, int64_t page_size) {
    Plain plain;
    plain.q = {0, 0}, plain.k = {1}, plain.v = {5}, plain.cu_q = {0, 2}, plain.cu_kv = {0, 1};
    plain.flags = MR_ATTENTION_CAUSAL;
    plain.page_size = page_size;
    const Result result = attend(place, dtype, plain);
    CHECK(result.output == Values{0, 5});
    CHECK(result.lse == Values{-INFINITY, 0});
    CHECK(result.row_status == Values{MR_ROW_ALL_MASKED, 0});
  });
}

TEST_CASE("A03 causal is aligned at the bottom right") {
  each([](Place& place, mr_dtype dtype, int64_t page_size) {
    Plain plain;
    plain.q = {1, 1}, plain.k = {0, 0, 0, 0}, plain.v = {0, 1, 2, 3};
    plain.cu_q = {0, 2}, plain.cu_kv = {0, 4};
    plain.flags = MR_ATTENTION_CAUSAL;
    plain.page_size = page_size;
    CHECK(attend(place, dtype, plain).output == Values{1.0, 1.5});
  });
}

TEST_CASE("A04 a window of 3 keys is window_left 2, for prompts and single queries") {
  each([](Place& place, mr_dtype dtype, int64_t page_size) {
    Plain plain;
    plain.flags = MR_ATTENTION_CAUSAL | MR_ATTENTION_WINDOW;
    plain.left = 2;
    plain.page_size = page_size;
    const Values wanted = {0, 0.5, 1, 2, 3, 4};
    for (const size_t keys : {6u, 3u, 2u}) {
      plain.k.assign(keys, 0);
      plain.v = {0, 1, 2, 3, 4, 5};
      plain.v.resize(keys);
      plain.cu_kv = {0, static_cast<double>(keys)};
      plain.q = {1}, plain.cu_q = {0, 1};
      CHECK(attend(place, dtype, plain).output == Values{wanted[keys - 1]});
      plain.q.assign(keys, 1), plain.cu_q = {0, static_cast<double>(keys)};
      const Values all = attend(place, dtype, plain).output;
      for (size_t i = 0; i < keys; ++i) CHECK(near(dtype, all[i], wanted[i]));
    }
  });
}

TEST_CASE("A06 junk in unused slots of the last page is never seen") {
  each([](Place& place, mr_dtype dtype, int64_t page_size) {
    for (const double junk : {kNan, static_cast<double>(INFINITY), 60000.0}) {
      Plain plain;
      plain.q = {1}, plain.k.assign(13, 0), plain.v.assign(13, 2);
      plain.cu_q = {0, 1}, plain.cu_kv = {0, 13};
      plain.page_size = page_size;
      plain.unused = junk;
      const Result result = attend(place, dtype, plain);
      CHECK(result.output == Values{2});
      CHECK(near(MR_F32, result.lse[0], std::log(13.0)));
    }
  });
}

TEST_CASE("A06 junk in keys that a mask hides is never seen") {
  each([](Place& place, mr_dtype dtype, int64_t page_size) {
    Plain plain;
    plain.q.assign(8, 1), plain.cu_q = {0, 8}, plain.cu_kv = {0, 8};
    plain.k = {kNan, kNan, 0, 0, 0, 0, 0, kNan}, plain.v = {kNan, INFINITY, 2, 2, 2, 2, 2, kNan};
    plain.flags = MR_ATTENTION_CAUSAL | MR_ATTENTION_WINDOW;
    plain.left = 1;
    plain.page_size = page_size;
    const Values output = attend(place, dtype, plain).output;
    for (size_t i = 3; i < 7; ++i) CHECK(output[i] == 2.0);
    for (const size_t i : {0u, 1u, 2u, 7u}) CHECK(std::isnan(output[i]));  // what is seen travels
  });
}

TEST_CASE("A07 members without queries or without keys") {
  each([](Place& place, mr_dtype dtype, int64_t page_size) {
    Plain plain;
    plain.q = {1, 1}, plain.cu_q = {0, 1, 1, 2};
    plain.k.assign(6, 0), plain.v = {1, 2, 3, 7, 8, 9}, plain.cu_kv = {0, 3, 6, 6};
    plain.page_size = page_size;
    const Result result = attend(place, dtype, plain);
    CHECK(result.output == Values{2, 0});
    CHECK(result.lse[1] == -INFINITY);
    CHECK(result.row_status == Values{0, MR_ROW_ALL_MASKED});
  });
}

TEST_CASE("A10 K and V interleaved in each block") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    Tensor cache(place, dtype, {2, 2, 4, 1, 64});
    Values values;
    for (int i = 0; i < 2 * 2 * 4 * 64; ++i) {
      const int block = i / (2 * 4 * 64), which = i / (4 * 64) % 2;
      values.push_back(which == 0 ? 0.0 : block + 1.0);
    }
    cache.set(values);
    mr_tensor k = cache.view();
    k.rank = 4;
    const int64_t shape[] = {2, 4, 1, 64}, strides[] = {512, 64, 64, 1};
    std::copy(shape, shape + 4, k.shape);
    std::copy(strides, strides + 4, k.strides);
    mr_tensor v = k;
    v.data = static_cast<char*>(k.data) + 256 * test::dtype_size(dtype);
    Tensor q(place, dtype, {1, 1, 64}), output(place, dtype, {1, 1, 64}), cu_q(place, MR_I32, {2}),
        len(place, MR_I32, {1}), table(place, MR_I32, {1, 2});
    q.fill(1);
    cu_q.set({0, 1});
    mr_attention_args args = MR_ATTENTION_ARGS_INIT;
    args.q = q, args.k = k, args.v = v, args.cu_q = cu_q, args.kv_len = len,
    args.block_table = table;
    args.output = output;
    args.scale = 1.0f;
    len.set({4});
    table.set({1, 99});
    test::run_attention(place, args);
    test::expect_equal(output, Values(64, 2.0));
    len.set({8});
    table.set({1, 0});
    test::run_attention(place, args);
    test::expect_equal(output, Values(64, 1.5));
  });
}

TEST_CASE("A12 very low scores are not outweighed by padding") {
  each([](Place& place, mr_dtype dtype, int64_t page_size) {
    for (const int64_t keys : {3, 64, 192, 31, 33}) {
      Plain plain;
      plain.q = {-200.0 / 64.0}, plain.cu_q = {0, 1}, plain.cu_kv = {0, static_cast<double>(keys)};
      double sum = 0.0;
      for (int64_t j = 0; j < keys; ++j) {
        plain.k.push_back(1);
        plain.v.push_back(static_cast<double>(j % 3 + 1));
        sum += plain.v.back();
      }
      plain.page_size = page_size;
      const Result result = attend(place, dtype, plain);
      CHECK(near(dtype, result.output[0], sum / static_cast<double>(keys)));
      CHECK(near(MR_F32, result.lse[0], std::log(static_cast<double>(keys)) - 200.0));
    }
  });
}

TEST_CASE("N02 leading scores of -inf, and nothing but -inf") {
  each([](Place& place, mr_dtype dtype, int64_t page_size) {
    for (const size_t leading : {1u, 31u, 32u, 64u, 70u}) {
      Plain plain;
      plain.q = {1}, plain.cu_q = {0, 1};
      plain.k.assign(leading, -INFINITY), plain.v.assign(leading, 100);
      plain.page_size = page_size;
      plain.cu_kv = {0, static_cast<double>(leading)};
      const Result nothing = attend(place, dtype, plain);
      CHECK(nothing.output == Values{0});
      CHECK(nothing.lse == Values{-INFINITY});
      CHECK(nothing.row_status == Values{0});  // keys were visible
      plain.k.insert(plain.k.end(), {0, 0, -INFINITY}), plain.v.insert(plain.v.end(), {1, 2, 100});
      plain.cu_kv = {0, static_cast<double>(leading + 3)};
      const Result result = attend(place, dtype, plain);
      CHECK(near(dtype, result.output[0], 1.5));
      CHECK(near(MR_F32, result.lse[0], std::log(2.0)));
    }
  });
}

TEST_CASE("attention passes a visible NaN on, to its own rows only") {
  each([](Place& place, mr_dtype dtype, int64_t page_size) {
    for (const size_t keys : {1u, 40u}) {
      for (const size_t at : {size_t{0}, keys - 1}) {
        Plain plain;
        plain.q = {1, kNan, 1}, plain.cu_q = {0, 1, 2, 3};
        plain.k.assign(3 * keys, 0), plain.v.assign(3 * keys, 2);
        const auto n = static_cast<double>(keys);
        plain.cu_kv = {0, n, 2 * n, 3 * n};
        plain.k[2 * keys + at] = kNan;
        plain.page_size = page_size;
        const Result result = attend(place, dtype, plain);
        CHECK(result.output[0] == 2.0);
        CHECK(std::isnan(result.output[1]));
        CHECK(std::isnan(result.output[2]));
        CHECK(std::isnan(result.lse[2]));
        CHECK(result.row_status == Values{0, 0, 0});
      }
    }
  });
}

TEST_CASE("S08 every channel of a head counts") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const int64_t dim : {63, 64, 65, 72, 80, 96, 128, 255, 256}) {
      Tensor q(place, dtype, {1, 1, dim}), k(place, dtype, {2, 1, dim}),
          v(place, dtype, {2, 1, dim}), output(place, dtype, {1, 1, dim}), cu_q(place, MR_I32, {2}),
          cu_kv(place, MR_I32, {2});
      Values qs(static_cast<size_t>(dim), 0.0), ks(static_cast<size_t>(2 * dim), 0.0), vs = ks;
      qs.back() = 1.0;
      ks.back() = std::log(3.0);
      std::fill(vs.begin() + dim, vs.end(), 4.0);
      q.set(qs), k.set(ks), v.set(vs), cu_q.set({0, 1}), cu_kv.set({0, 2});
      mr_attention_args args = MR_ATTENTION_ARGS_INIT;
      args.q = q, args.k = k, args.v = v, args.cu_q = cu_q, args.cu_kv = cu_kv,
      args.output = output;
      args.scale = 1.0f;
      test::run_attention(place, args);
      const double weight = std::exp(test::round_to(dtype, std::log(3.0)));
      test::expect_close(output, Values(static_cast<size_t>(dim), 4.0 * weight / (1.0 + weight)));
    }
  });
}

TEST_CASE("a page out of range is skipped, and only where it would be seen") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    for (const double wrong : {-1.0, 3.0, 2147483647.0, -2147483648.0}) {
      Tensor q(place, dtype, {4, 2, 8}), k(place, dtype, {3, 2, 1, 8}),
          v(place, dtype, {3, 2, 1, 8}), output(place, dtype, {4, 2, 8}),
          lse(place, MR_F32, {4, 2}), status(place, MR_I32, {4}), cu_q(place, MR_I32, {4}),
          len(place, MR_I32, {3}), table(place, MR_I32, {3, 3});
      q.fill(1);
      k.fill(0);
      Values vs;
      for (int i = 0; i < 3 * 2 * 8; ++i) vs.push_back(i / 16 + 1);  // page p holds p + 1
      v.set(vs);
      cu_q.set({0, 1, 2, 4});
      len.set({6, 2, 6});
      table.set({0, wrong, 2, wrong, wrong, wrong, wrong, 1, 2});
      mr_attention_args args = MR_ATTENTION_ARGS_INIT;
      args.flags = MR_ATTENTION_WINDOW;
      args.window_left = 3;
      args.window_right = -1;
      args.q = q, args.k = k, args.v = v, args.cu_q = cu_q, args.kv_len = len,
      args.block_table = table;
      args.output = output, args.lse = lse, args.row_status = status;
      args.scale = 1.0f;
      test::run_attention(place, args);
      // Row 0 sees keys 2 to 5, of which 2 and 3 are nowhere; row 1 sees nothing that exists; row 2
      // sees keys 1 to 5, row 3 keys 2 to 5, so that page 0 is only row 2's.
      const Values rows = {3, 0, 2.5, 2.5}, counts = {2, 0, 4, 4};
      Values outputs, sums;
      for (size_t r = 0; r < 4; ++r) {
        outputs.insert(outputs.end(), 16, rows[r]);
        sums.insert(sums.end(), 2, std::log(counts[r]));
      }
      test::expect_equal(output, outputs);
      test::expect_close(lse, sums);
      constexpr double kBoth = MR_ROW_ALL_MASKED | MR_ROW_ID_OUT_OF_RANGE;
      test::expect_equal(status, {MR_ROW_ID_OUT_OF_RANGE, kBoth, MR_ROW_ID_OUT_OF_RANGE, 0});
    }
  });
}

TEST_CASE("kv_len beyond the table is clamped to it") {
  test::for_each_float([](Place& place, mr_dtype dtype) {
    Shape shape;
    shape.sequences = {{2, 12}};
    shape.page_size = 4;
    shape.flags = MR_ATTENTION_CAUSAL;
    Ragged ragged(place, dtype, shape, 4);
    ragged.check(place);
    const Values wanted = ragged.output->get();
    Tensor table(place, MR_I32, {1, 3}), len(place, MR_I32, {1});
    Values pages = ragged.block_table->get();
    pages.resize(3);
    table.set(pages);
    mr_attention_args args = ragged.args();
    args.block_table = table;
    args.kv_len = len;
    for (const double length : {13.0, 1000.0, 2147483647.0}) {
      len.set({length});
      test::run_attention(place, args);
      test::expect_same_bits(ragged.output->get(), wanted);
    }
  });
}

}  // namespace
