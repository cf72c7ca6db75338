// The C++ binding (bindings/cpp): views are compared with plain indexing, handles with the
// library's own counts, and failures with the error that the C call gives.

#include <doctest/doctest.h>

#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "millrace.hpp"

using millrace::Buffer;
using millrace::Context;
using millrace::Error;
using millrace::Stream;
using millrace::Tensor;

namespace {

using Shape = std::vector<int64_t>;

// The elements in row-major order of the view's indices.
std::vector<int> elements(const Tensor& view) {
  std::vector<int> values;
  Shape index(static_cast<size_t>(view.rank), 0);
  for (int64_t n = view.elements(); n > 0; --n) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] * view.strides[d];
    values.push_back(static_cast<const int*>(view.data)[at]);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < view.shape[d]) break;
      index[d] = 0;
    }
  }
  return values;
}

struct Numbers {
  Numbers() : values(24) { std::iota(values.begin(), values.end(), 0); }
  Tensor tensor(const Shape& shape) { return millrace::tensor(values.data(), shape); }
  std::vector<int> values;
};

mr_status code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find(mr_status_name(error.code())) == 0);
    return error.code();
  }
  return MR_OK;
}

Shape shape_of(const Tensor& t) { return Shape(t.shape, t.shape + t.rank); }

}  // namespace

TEST_CASE("tensors: construction") {
  Numbers n;
  const Tensor t = n.tensor({2, 3, 4});
  CHECK(t.dtype == MR_I32);
  CHECK(t.elements() == 24);
  CHECK(t.bytes() == 96);
  CHECK(t.contiguous());
  CHECK(t.stride(0) == 12);
  CHECK(t.size(-1) == 4);
  CHECK(t.flags == 0);
  CHECK(elements(t) == n.values);
  const int* readable = n.values.data();
  CHECK(millrace::tensor(readable, {24}).flags == MR_TENSOR_READ_ONLY);
  CHECK_FALSE(Tensor().present());
  CHECK(Tensor(static_cast<void*>(nullptr), MR_BF16, {}).rank == 0);
  CHECK(millrace::item_bytes(MR_BF16) == 2);
  CHECK(millrace::item_bytes(MR_ABSENT) == 0);
  CHECK(code_of([&] { n.tensor({1, 1, 1, 1, 1, 1, 1}); }) == MR_INVALID_ARGUMENT);
  CHECK(code_of([&] { n.tensor({-1}); }) == MR_INVALID_ARGUMENT);
  const mr_tensor plain = t;  // and back
  CHECK(elements(plain) == n.values);
}

TEST_CASE("tensors: slice, select, transpose, insert, broadcast") {
  Numbers n;
  const Tensor t = n.tensor({2, 3, 4});
  CHECK(elements(t.slice(1, 1, 2)) == std::vector<int>{4, 5, 6, 7, 16, 17, 18, 19});
  CHECK(elements(t.slice(-1, 3, 4)) == std::vector<int>{3, 7, 11, 15, 19, 23});
  CHECK(t.slice(0, 1, 1).elements() == 0);
  CHECK(t.slice(0, 2, 2).elements() == 0);
  CHECK_FALSE(t.slice(2, 0, 3).contiguous());
  CHECK(elements(t.select(1, 2)) == std::vector<int>{8, 9, 10, 11, 20, 21, 22, 23});
  CHECK(t.select(0, 1).rank == 2);
  CHECK(elements(t.select(2, 0).transpose(0, 1)) == std::vector<int>{0, 12, 4, 16, 8, 20});
  CHECK(shape_of(t.insert(3)) == Shape{2, 3, 4, 1});
  CHECK(shape_of(t.insert(-1, 2)) == Shape{2, 3, 4, 2});
  CHECK(elements(n.tensor({2}).insert(0, 2)) == std::vector<int>{0, 1, 0, 1});
  CHECK(elements(n.tensor({2, 1}).broadcast(1, 3)) == std::vector<int>{0, 0, 0, 1, 1, 1});

  CHECK(code_of([&] { t.slice(3, 0, 1); }) == MR_INVALID_ARGUMENT);
  CHECK(code_of([&] { t.slice(-4, 0, 1); }) == MR_INVALID_ARGUMENT);
  CHECK(code_of([&] { t.slice(0, 0, 3); }) == MR_INVALID_ARGUMENT);
  CHECK(code_of([&] { t.slice(0, 2, 1); }) == MR_INVALID_ARGUMENT);
  CHECK(code_of([&] { t.slice(0, -1, 1); }) == MR_INVALID_ARGUMENT);
  CHECK(code_of([&] { t.select(0, 2); }) == MR_INVALID_ARGUMENT);
  CHECK(code_of([&] { t.broadcast(0, 2); }) == MR_INVALID_ARGUMENT);
  CHECK(code_of([&] { n.tensor({1, 1, 1, 1, 1, 24}).insert(0); }) == MR_INVALID_ARGUMENT);
}

TEST_CASE("tensors: reshape gives the same elements, or throws") {
  Numbers n;
  const Tensor t = n.tensor({2, 3, 4});
  for (const Shape& shape : {Shape{24}, Shape{6, 4}, Shape{4, 6}, Shape{2, 12}, Shape{-1},
                             Shape{3, -1, 2}, Shape{1, 24, 1}, Shape{2, 2, 2, 3}}) {
    const Tensor view = t.reshape(shape);
    CHECK(elements(view) == n.values);
    CHECK(view.contiguous());
  }
  // A packed [tokens, (4 heads) * 3] with a gap behind each row: splitting heads needs no copy.
  const Tensor rows = n.tensor({2, 12}).slice(1, 0, 9);
  const Tensor heads = rows.reshape({2, 3, 3});
  CHECK(elements(heads) == elements(rows));
  CHECK(heads.stride(0) == 12);
  CHECK(elements(rows.reshape({1, 2, 3, 1, 3})) == elements(rows));
  CHECK(code_of([&] { rows.reshape({18}); }) == MR_INVALID_ARGUMENT);
  CHECK(code_of([&] { rows.reshape({3, 6}); }) == MR_INVALID_ARGUMENT);
  // Transposed dimensions do not merge; negative strides do.
  CHECK(code_of([&] { t.transpose(0, 1).reshape({24}); }) == MR_INVALID_ARGUMENT);
  Tensor backwards = n.tensor({24});
  backwards.data = &n.values[23];
  backwards.strides[0] = -1;
  CHECK(elements(backwards.reshape({4, 6})) == elements(backwards));
  // Repeated elements split and merge among themselves only.
  const Tensor repeated = n.tensor({1, 4}).broadcast(0, 6);
  CHECK(elements(repeated.reshape({2, 3, 4})) == elements(repeated));
  CHECK(code_of([&] { repeated.reshape({24}); }) == MR_INVALID_ARGUMENT);
  // Counts.
  CHECK(code_of([&] { t.reshape({23}); }) == MR_INVALID_ARGUMENT);
  CHECK(code_of([&] { t.reshape({-1, 5}); }) == MR_INVALID_ARGUMENT);
  CHECK(code_of([&] { t.reshape({-1, -1}); }) == MR_INVALID_ARGUMENT);
  CHECK(code_of([&] { t.reshape({INT64_MAX, 4}); }) == MR_INVALID_ARGUMENT);
  CHECK(shape_of(t.slice(0, 0, 0).reshape({4, 0, 9})) == Shape{4, 0, 9});
  CHECK(code_of([&] { t.slice(0, 0, 0).reshape({4}); }) == MR_INVALID_ARGUMENT);
  CHECK(n.tensor({1}).reshape({}).rank == 0);
}

TEST_CASE("handles: copies share, moves empty, the last one gone frees") {
  const Context context(MR_BACKEND_HOST);
  const millrace::Memory memory = context.memory();
  const uint64_t before = memory.stats().requested.current;
  {
    const Stream stream(context);
    const uint64_t with_stream = memory.stats().requested.current;
    Buffer buffer(stream, 4096);
    Buffer copy = buffer;
    CHECK(copy.get() == buffer.get());
    Buffer moved = std::move(buffer);
    CHECK(buffer.get() == nullptr);  // NOLINT: that is the point
    copy = Buffer();
    CHECK(memory.stats().requested.current == with_stream + 4096);
    Buffer& same = moved;
    moved = same;
    CHECK(moved.bytes() == 4096);
    moved = Buffer(stream, 16);
    stream.synchronize();
    CHECK(memory.stats().requested.current == with_stream + 16);
    CHECK(stream.context().get() == context.get());
    mr_buffer* raw = moved.detach();
    CHECK_FALSE(static_cast<bool>(moved));
    CHECK(Buffer::share(raw).bytes() == 16);
    CHECK(Buffer::adopt(raw).bytes() == 16);
  }
  CHECK(memory.stats().requested.current == before);
}

TEST_CASE("buffers: tensors stay inside") {
  const Context context(MR_BACKEND_HOST);
  const Stream stream(context);
  const Buffer buffer(stream, 64);
  CHECK(buffer.tensor(MR_F32, {4, 4}).data == buffer.data());
  CHECK(buffer.tensor(MR_F32, {4}, 48).data == buffer.data_as<char>() + 48);
  CHECK(buffer.tensor(MR_F32, {0}, 64).elements() == 0);
  CHECK(code_of([&] { buffer.tensor(MR_F32, {17}); }) == MR_INVALID_ARGUMENT);
  CHECK(code_of([&] { buffer.tensor(MR_F32, {4}, 49); }) == MR_INVALID_ARGUMENT);
  CHECK(code_of([&] { buffer.tensor(MR_F32, {0}, 65); }) == MR_INVALID_ARGUMENT);
}

TEST_CASE("streams: operators, readiness, capture") {
  for (const char* options : {"host.streams=inline", "host.streams=deferred"}) {
    CAPTURE(std::string(options));
    const Context context(MR_BACKEND_HOST, options);
    const Stream stream(context);
    const Buffer x(stream, 32);
    const std::vector<float> ones(8, 1.0f), fives(8, 5.0f);
    auto norm = millrace::args<mr_rmsnorm_args>();
    norm.input = norm.output = x.tensor(MR_F32, {2, 4});
    stream.upload(x.data(), fives.data(), 32);
    stream.rmsnorm(norm);
    CHECK(stream.download<float>(x.data(), 8) == ones);
    CHECK(stream.ready());
    CHECK(stream.workspace(norm) < (1u << 20));
    CHECK(stream.kernel(norm).name[0] != '\0');
    stream.prepare(norm);

    auto sum = millrace::args<mr_add_args>();
    sum.a = sum.b = sum.output = x.tensor(MR_F32, {8});
    const millrace::Graph doubling = stream.capture([&] {
      CHECK(stream.capturing());
      stream.add(sum);
    });
    CHECK_FALSE(stream.capturing());
    stream.launch(doubling);
    stream.launch(doubling);
    CHECK(stream.download<float>(x.data(), 8) == std::vector<float>(8, 4.0f));

    // A throw inside drops the recording; the stream goes on.
    CHECK_THROWS_AS(stream.capture([&] { throw std::logic_error("mine"); }), std::logic_error);
    CHECK_FALSE(stream.capturing());
    stream.add(sum);
    CHECK(stream.download<float>(x.data(), 8) == std::vector<float>(8, 8.0f));

    const Stream other(context);
    const millrace::Event done(context);
    stream.fill(x.data(), 0, 32);
    stream.record(done);
    other.wait(done);
    CHECK(other.download<float>(x.data(), 8) == std::vector<float>(8, 0.0f));
    CHECK(done.ready());

    const millrace::Ring ring(context, 2, 32);
    ring.push(1, stream, x.data(), 32);
    CHECK(ring.wait<float>(1)[7] == 0.0f);
    CHECK(ring.ready(1));
    CHECK(code_of([&] { ring.push(2, stream, x.data(), 32); }) == MR_INVALID_ARGUMENT);
  }
}

TEST_CASE("errors carry what the C call reported") {
  const Context context(MR_BACKEND_HOST);
  const Stream stream(context);
  const auto absent = millrace::args<mr_rmsnorm_args>();
  mr_error err;
  REQUIRE(mr_rmsnorm(stream.get(), &absent, &err) == MR_INVALID_ARGUMENT);
  try {
    stream.rmsnorm(absent);
    FAIL("no exception");
  } catch (const Error& error) {
    CHECK(error.code() == err.code);
    CHECK(error.domain() == err.domain);
    CHECK(error.native_code() == err.native_code);
    CHECK(error.flags() == err.flags);
    CHECK(std::string(error.what()) == std::string("MR_INVALID_ARGUMENT: ") + err.text);
  }
  CHECK(code_of([&] { Context(77u); }) != MR_OK);
  CHECK(code_of([&] { context.option("no.such.option"); }) == MR_INVALID_ARGUMENT);
  CHECK(context.option("host.streams") == "inline");
  CHECK(context.device().backend == MR_BACKEND_HOST);
  CHECK(millrace::devices().size() == millrace::probe().device_count);
}
