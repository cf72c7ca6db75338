// The host as a device: raw memory, figures, streams and events as the rest of the library sees
// them.
#include "backend/host/host_backend.h"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <string>

#include "backend/backend.h"

namespace {

using mr::MemoryKind;

mr::Backend& host() { return mr::host_backend(); }

}  // namespace

TEST_CASE("the host is the last backend, always usable, with one device") {
  CHECK(mr::backends().back() == &host());
  CHECK(host().kind() == MR_BACKEND_HOST);
  CHECK(std::string(host().name()) == "host");
  CHECK(host().status().ok());
  REQUIRE(host().devices().size() == 1);
  const mr::DeviceInfo& device = host().devices().front();
  CHECK(device.backend == MR_BACKEND_HOST);
  CHECK(device.usable == MR_OK);
  CHECK(device.multiprocessors >= 1);
  CHECK(device.architecture >= 0);
  CHECK(device.architecture <= 4);
  CHECK(!device.name.empty());
  CHECK(host().open(0).ok());
  CHECK(host().open(0).ok());
}

TEST_CASE("the figures of memory are sane") {
  uint64_t free = 0, total = 0;
  REQUIRE(host().memory_info(0, &free, &total).ok());
  CHECK(total >= uint64_t{64} << 20);
  CHECK(total < uint64_t{1} << 50);
  CHECK(free > 0);
  CHECK(free <= total);
  CHECK(host().devices().front().memory_bytes == total);
}

TEST_CASE("raw memory is aligned and writable; what no machine has is refused by kind") {
  for (const size_t bytes : {size_t{1}, size_t{4095}, size_t{4097}, size_t{1} << 20}) {
    for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kPinned}) {
      void* address = nullptr;
      REQUIRE(host().reserve(0, kind, bytes, &address).ok());
      CHECK(reinterpret_cast<uintptr_t>(address) % 256 == 0);
      std::memset(address, 0x5a, bytes);
      CHECK(host().is_pinned(0, address));
      host().release(0, kind, address, bytes);
    }
  }
  const size_t top = std::numeric_limits<size_t>::max();
  for (const size_t bytes : {top, top - 4095, top - 4096, top / 2, size_t{1} << 50}) {
    void* address = &host();
    CHECK(host().reserve(0, MemoryKind::kDevice, bytes, &address).code == MR_OUT_OF_DEVICE_MEMORY);
    CHECK(host().reserve(0, MemoryKind::kPinned, bytes, &address).code == MR_OUT_OF_HOST_MEMORY);
    CHECK(address == &host());
  }
}

TEST_CASE("dependencies: the host knows a BLAS and nothing else") {
  std::string text = "kept";
  CHECK(host().dependency("cublaslt", &text).code == MR_INVALID_ARGUMENT);
  CHECK(host().dependency("", &text).code == MR_INVALID_ARGUMENT);
  CHECK(text == "kept");
  const mr::Status status = host().dependency("blas", &text);
  CHECK((status.ok() || status.code == MR_DEPENDENCY_MISSING));
}

TEST_CASE("streams through the void pointers of the ABI") {
  for (const bool deferred : {false, true}) {
    mr::BackendOptions options;
    options.deferred_streams = deferred;
    options.host_threads = 1;
    void *first = nullptr, *second = nullptr, *event = nullptr;
    REQUIRE(host().make_stream(0, options, 0, &first).ok());
    REQUIRE(host().make_stream(0, options, 5, &second).ok());
    REQUIRE(host().make_event(0, true, &event).ok());
    CHECK(host().stream_id(0, first) != host().stream_id(0, second));
    CHECK(host().adopt_stream(0, first, false).ok());
    CHECK(host().adopt_stream(0, nullptr, true).code == MR_INVALID_ARGUMENT);

    unsigned char from[64], to[64] = {};
    REQUIRE(host().fill(0, first, from, 7, sizeof from).ok());
    REQUIRE(host().record_event(0, event, first, false).ok());
    REQUIRE(host().wait_event(0, second, event, false).ok());
    REQUIRE(host().copy(0, second, to, from, sizeof to, mr::CopyDirection::kOnDevice).ok());
    REQUIRE(host().synchronize_stream(0, second).ok());
    CHECK(to[0] == 7);
    CHECK(to[63] == 7);
    bool done = false;
    CHECK(host().query_event(0, event, &done).ok());
    CHECK(done);
    done = false;
    CHECK(host().query_stream(0, second, &done).ok());
    CHECK(done);
    mr::CaptureInfo info;
    CHECK(host().capture_info(0, first, &info).ok());
    CHECK(info.state == mr::CaptureState::kNone);
    host().drop_event(0, event);
    host().drop_stream(0, first);
    host().drop_stream(0, second);
  }
}
