// Copies and fills: every direction, sizes from nothing to more than one staging half, what is
// refused.
#include <numeric>

#include "api/api_fixture.h"
#include "api/slow_page.h"

namespace {

using test::both_modes;
using test::Bytes;
using test::Engine;
using test::kMiB;
using test::SlowPage;

constexpr uint64_t kTooMany = uint64_t{1} << 63;

std::vector<unsigned char> pattern(size_t bytes, unsigned seed = 1) {
  std::vector<unsigned char> values(bytes);
  for (unsigned char& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<unsigned char>(seed >> 24);
  }
  return values;
}

}  // namespace

TEST_CASE("upload, copy on the device, copy to pinned memory and download keep every byte") {
  both_modes([](Engine& engine) {
    for (const uint64_t bytes : {uint64_t{1}, uint64_t{255}, uint64_t{4097}, 9 * kMiB + 3}) {
      CAPTURE(bytes);
      Bytes x(engine.a, bytes), y(engine.a, bytes), pinned(engine.a, bytes, MR_MEMORY_PINNED);
      const std::vector<unsigned char> sent = pattern(bytes);
      std::vector<unsigned char> got(bytes);
      MR_OK_OR_FAIL(mr_upload(engine.a, x.data, sent.data(), bytes, nullptr));
      MR_OK_OR_FAIL(mr_copy(engine.a, y.data, x.data, bytes, MR_COPY_ON_DEVICE, nullptr));
      MR_OK_OR_FAIL(mr_copy(engine.a, pinned.data, y.data, bytes, MR_COPY_TO_HOST, nullptr));
      MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
      CHECK(std::memcmp(pinned.data, sent.data(), bytes) == 0);
      MR_OK_OR_FAIL(mr_fill(engine.a, x.data, 0, bytes, nullptr));
      MR_OK_OR_FAIL(mr_copy(engine.a, x.data, pinned.data, bytes, MR_COPY_TO_DEVICE, nullptr));
      MR_OK_OR_FAIL(mr_download(engine.a, got.data(), x.data, bytes, nullptr));
      CHECK(got == sent);
    }
  });
}

TEST_CASE("a fill sets exactly the bytes that it is given") {
  both_modes([](Engine& engine) {
    Bytes x(engine.a, 64);
    for (const uint32_t value : {0u, 1u, 127u, 128u, 255u}) {
      x.fill(0x55);
      MR_OK_OR_FAIL(mr_fill(engine.a, x.data + 3, value, 58, nullptr));
      MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
      for (uint64_t i = 0; i < 64; ++i) {
        CHECK(x.data[i] == (i >= 3 && i < 61 ? value : 0x55u));
      }
    }
  });
}

TEST_CASE("no bytes are no work: NULL is accepted, nothing is read or written") {
  both_modes([](Engine& engine) {
    for (const uint32_t direction : {MR_COPY_ON_DEVICE, MR_COPY_TO_DEVICE, MR_COPY_TO_HOST}) {
      CHECK(mr_copy(engine.a, nullptr, nullptr, 0, direction, nullptr) == MR_OK);
    }
    CHECK(mr_fill(engine.a, nullptr, 3, 0, nullptr) == MR_OK);
    CHECK(mr_upload(engine.a, nullptr, nullptr, 0, nullptr) == MR_OK);
    CHECK(mr_download(engine.a, nullptr, nullptr, 0, nullptr) == MR_OK);
  });
}

TEST_CASE("what is refused, with the argument's name, and nothing written") {
  both_modes([](Engine& engine) {
    Bytes x(engine.a, 64), y(engine.a, 64);
    x.fill(1), y.fill(2);
    MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
    const auto refused = [](const char* argument, auto&& call) {
      mr_error error = {};
      CHECK(call(&error) == MR_INVALID_ARGUMENT);
      CHECK_MESSAGE(std::string(error.text).find(std::string(argument) + ":") == 0, error.text);
    };
    for (const uint32_t direction : {MR_COPY_ON_DEVICE, MR_COPY_TO_DEVICE, MR_COPY_TO_HOST}) {
      refused("to",
              [&](mr_error* e) { return mr_copy(engine.a, nullptr, y.data, 8, direction, e); });
      refused("from",
              [&](mr_error* e) { return mr_copy(engine.a, x.data, nullptr, 8, direction, e); });
      refused("bytes", [&](mr_error* e) {
        return mr_copy(engine.a, x.data, y.data, kTooMany, direction, e);
      });
    }
    refused("direction", [&](mr_error* e) { return mr_copy(engine.a, x.data, y.data, 8, 3, e); });
    refused("direction", [&](mr_error* e) { return mr_copy(engine.a, x.data, y.data, 0, 3, e); });
    refused("to", [&](mr_error* e) { return mr_fill(engine.a, nullptr, 1, 8, e); });
    refused("value", [&](mr_error* e) { return mr_fill(engine.a, x.data, 256, 8, e); });
    refused("value", [&](mr_error* e) { return mr_fill(engine.a, x.data, 0xffffffffu, 0, e); });
    refused("bytes", [&](mr_error* e) { return mr_fill(engine.a, x.data, 1, UINT64_MAX, e); });
    refused("to_device", [&](mr_error* e) { return mr_upload(engine.a, nullptr, y.data, 8, e); });
    refused("from_host", [&](mr_error* e) { return mr_upload(engine.a, x.data, nullptr, 8, e); });
    refused("bytes", [&](mr_error* e) { return mr_upload(engine.a, x.data, y.data, kTooMany, e); });
    refused("to_host", [&](mr_error* e) { return mr_download(engine.a, nullptr, x.data, 8, e); });
    refused("from_device",
            [&](mr_error* e) { return mr_download(engine.a, y.data, nullptr, 8, e); });
    refused("bytes",
            [&](mr_error* e) { return mr_download(engine.a, y.data, x.data, kTooMany, e); });
    CHECK(x.value() == 1);
    CHECK(y.value() == 2);
  });
}

TEST_CASE("copies keep the stream's order, and upload and download wait for theirs") {
  SlowPage page;
  Engine engine("deferred");
  Bytes x(engine.a, 64);
  x.fill(1);
  page.hold_up(engine.a);
  x.fill(2);
  std::vector<unsigned char> three(64, 3), got(64);
  std::thread opener([&] {
    page.wait_for_arrival();
    page.appear();
  });
  MR_OK_OR_FAIL(mr_upload(engine.a, x.data, three.data(), 64, nullptr));
  std::fill(three.begin(), three.end(), static_cast<unsigned char>(0));  // may be reused at once
  CHECK(mr_stream_query(engine.a, nullptr) == MR_OK);
  MR_OK_OR_FAIL(mr_download(engine.a, got.data(), x.data, 64, nullptr));
  CHECK(got == std::vector<unsigned char>(64, 3));
  opener.join();
}

TEST_CASE("pinned memory is counted, addressable, and not the device's") {
  both_modes([](Engine& engine) {
    const mr_memory_stats before = test::stats_of(engine.memory);
    {
      Bytes pinned(engine.a, 1000, MR_MEMORY_PINNED);
      std::memset(pinned.data, 1, 1000);
      const mr_memory_stats during = test::stats_of(engine.memory);
      CHECK(during.pinned.current == before.pinned.current + 1000);
      CHECK(during.allocated.current == before.allocated.current);
      CHECK(mr_buffer_use(pinned.handle, engine.b, nullptr) == MR_INVALID_ARGUMENT);
    }
    CHECK(test::stats_of(engine.memory).pinned.current == before.pinned.current);
  });
}
