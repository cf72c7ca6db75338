// Memory from the host application's own allocator.
#include "memory/callback_pool.h"

#include <doctest/doctest.h>

#include <map>

#include "memory/pool_fixture.h"

using namespace test;

namespace {

// An allocator of the host application that remembers its calls.
struct Host {
  struct Call {
    bool allocate;
    void* address;
    uint64_t bytes, alignment;
    uint32_t kind;
    int32_t ordinal;
    void* stream;
  };
  std::vector<Call> calls;
  std::map<void*, uint64_t> live;
  uint64_t next = 0x10000000;
  uint64_t skew = 0;
  bool empty = false;
  std::function<void()> inside;

  static void* allocate(void* user, uint64_t bytes, uint64_t alignment, uint32_t kind,
                        int32_t ordinal, void* stream) {
    Host& host = *static_cast<Host*>(user);
    if (host.inside) host.inside();
    if (host.empty) return nullptr;
    host.next = (host.next + alignment - 1) & ~(alignment - 1);
    void* address = reinterpret_cast<void*>(host.next + host.skew);
    host.next += bytes + 1;
    host.live[address] = bytes;
    host.calls.push_back({true, address, bytes, alignment, kind, ordinal, stream});
    return address;
  }
  static void deallocate(void* user, void* address, uint64_t bytes, uint32_t kind, int32_t ordinal,
                         void* stream) {
    Host& host = *static_cast<Host*>(user);
    if (host.inside) host.inside();
    CHECK(host.live.count(address) == 1);
    CHECK(host.live[address] == bytes);
    host.live.erase(address);
    host.calls.push_back({false, address, bytes, 0, kind, ordinal, stream});
  }
  mr_memory_config config(uint64_t limit = 0) {
    mr_memory_config out = MR_MEMORY_CONFIG_INIT;
    out.limit_bytes = limit;
    out.allocate = allocate;
    out.deallocate = deallocate;
    out.user = this;
    return out;
  }
};

struct Fixture {
  explicit Fixture(uint64_t limit = 0) : pool(device, 0, host.config(limit)) {}
  ~Fixture() {
    for (const std::string& hazard : device.hazards()) FAIL_CHECK(hazard);
    const mr_memory_stats stats = stats_of(pool);
    CHECK(mr::PoolProbe::check_stats(stats).empty());
    uint64_t sum = 0;
    for (const auto& [address, bytes] : host.live) sum += bytes;
    CHECK(stats.reserved.current == sum);
    CHECK(stats.allocated.current == sum);
    CHECK(stats.inactive.peak == 0);
  }
  void* take(StreamRef stream, uint64_t bytes, uint64_t alignment = 256) {
    void* out = nullptr;
    REQUIRE(pool.allocate(stream, bytes, alignment, MR_TAG_KV, &out).ok());
    return out;
  }
  mr_status refusal(StreamRef stream, uint64_t bytes) {
    void* out = nullptr;
    return pool.allocate(stream, bytes, 256, 0, &out).code;
  }
  FakeBackend device;
  Host host;
  mr::CallbackPool pool;
  StreamRef a = device.stream(), b = device.stream();
};

}  // namespace

TEST_CASE("callbacks: each request passes through, in order, with its size and stream") {
  Fixture f;
  void* x = f.take(f.a, 1000, 4096);
  void* y = f.take({}, 256);
  REQUIRE(f.pool.free(f.a, x).ok());
  REQUIRE(f.pool.free({}, y).ok());
  const Host::Call wanted[] = {{true, x, 1024, 4096, MR_MEMORY_DEVICE, 0, f.a.native},
                               {true, y, 256, 256, MR_MEMORY_DEVICE, 0, nullptr},
                               {false, x, 1024, 0, MR_MEMORY_DEVICE, 0, f.a.native},
                               {false, y, 256, 0, MR_MEMORY_DEVICE, 0, nullptr}};
  REQUIRE(f.host.calls.size() == 4);
  for (size_t i = 0; i < 4; ++i) {
    const Host::Call& is = f.host.calls[i];
    CAPTURE(i);
    CHECK(is.allocate == wanted[i].allocate);
    CHECK(is.address == wanted[i].address);
    CHECK(is.bytes == wanted[i].bytes);
    CHECK(is.alignment == wanted[i].alignment);
    CHECK(is.kind == wanted[i].kind);
    CHECK(is.ordinal == wanted[i].ordinal);
    CHECK(is.stream == wanted[i].stream);
  }
  const mr_memory_stats stats = stats_of(f.pool);
  CHECK(stats.requested.peak == 1256);
  CHECK(stats.reserved.peak == 1280);
  CHECK(stats.tags[MR_TAG_KV].peak == 1280);
  CHECK(stats.driver_allocations == 2);
  CHECK(stats.driver_frees == 2);
  CHECK(f.device.counts.driver() == 0);
  f.pool.reset_peaks();
  CHECK(stats_of(f.pool).reserved.peak == 0);
  CHECK(stats_of(f.pool).reserved.total == 1280);
}

TEST_CASE("callbacks: the limit is exact and the host is not asked beyond it") {
  Fixture f(4096);
  void* x = f.take(f.a, 4096 - 256);
  CHECK(f.refusal(f.a, 257) == MR_OUT_OF_DEVICE_MEMORY);
  CHECK(f.host.calls.size() == 1);
  void* y = f.take(f.a, 256);
  CHECK(f.refusal(f.a, 1) == MR_OUT_OF_DEVICE_MEMORY);
  REQUIRE(f.pool.free(f.a, x).ok());
  REQUIRE(f.pool.set_limit(256).ok());
  CHECK(f.refusal(f.a, 1) == MR_OUT_OF_DEVICE_MEMORY);
  REQUIRE(f.pool.set_limit(0).ok());
  f.take(f.a, 1);
  REQUIRE(f.pool.free(f.a, y).ok());
  CHECK(stats_of(f.pool).out_of_memory == 3);
  uint64_t reserved = 0;
  REQUIRE(f.pool.trim(0, &reserved).ok());
  CHECK(reserved == 256);
}

TEST_CASE("callbacks: a host without memory, or with odd memory, changes nothing") {
  Fixture f;
  f.take(f.a, 256);
  const mr_memory_stats before = stats_of(f.pool);
  SUBCASE("none") {
    f.host.empty = true;
    CHECK(f.refusal(f.a, 256) == MR_OUT_OF_DEVICE_MEMORY);
    CHECK(stats_of(f.pool).out_of_memory == 1);
  }
  SUBCASE("misaligned") {
    f.host.skew = 16;
    CHECK(f.refusal(f.a, 256) == MR_INVALID_ARGUMENT);
    CHECK(f.host.live.size() == 1);  // given back
  }
  SUBCASE("too much") {
    for (const uint64_t bytes : {~uint64_t{0}, ~uint64_t{0} - 255}) {
      CHECK(f.refusal(f.a, bytes) == MR_OUT_OF_DEVICE_MEMORY);
    }
  }
  CHECK(same_figures(stats_of(f.pool), before));
}

TEST_CASE("callbacks: what others are being given counts against the limit") {
  Fixture f(1024);
  mr_status inner = MR_OK;
  f.host.inside = [&] {
    f.host.inside = nullptr;
    inner = f.refusal(f.b, 512);
  };
  void* x = f.take(f.a, 768);
  CHECK(inner == MR_OUT_OF_DEVICE_MEMORY);
  REQUIRE(f.pool.free(f.a, x).ok());
  f.take(f.a, 1024);
}

TEST_CASE("callbacks: a stream that left while capturing is not touched") {
  Fixture f;
  void *x = f.take(f.a, 256), *y = f.take(f.b, 256);
  REQUIRE(f.pool.use(f.a, y).ok());
  void* graph = nullptr;
  REQUIRE(f.device.begin_capture(0, f.a.native).ok());
  f.pool.retire(f.a);
  REQUIRE(f.device.end_capture(0, f.a.native, &graph).ok());
  f.device.drop_graph(0, graph);
  f.device.destroy(f.a);
  CHECK(f.pool.free(f.b, y).code == MR_CAPTURE_VIOLATION);
  REQUIRE(f.pool.free({}, x).ok());
}

TEST_CASE("callbacks: run without a lock") {
  Fixture f;
  uint64_t seen = 0;
  f.host.inside = [&] { seen = stats_of(f.pool).allocations; };  // would hang
  void* x = f.take(f.a, 256);
  void* y = f.take(f.a, 256);
  CHECK(seen == 1);
  REQUIRE(f.pool.free(f.a, x).ok());
  CHECK(seen == 2);
  REQUIRE(f.pool.free(f.a, y).ok());
  f.host.inside = nullptr;
}

TEST_CASE("callbacks: the stream given waits for the others that use the memory") {
  Fixture f;
  const StreamRef c = f.device.stream();
  void* x = f.take(f.a, 256);
  f.device.touch(f.a, x, 256, 1);
  REQUIRE(f.pool.use(f.b, x).ok());
  REQUIRE(f.pool.use(c, x).ok());
  f.device.touch(f.b, x, 256, 1);
  StreamRef last = f.a;
  SUBCASE("on the owner") {}
  SUBCASE("on another user") { last = f.b; }
  SUBCASE("on a fourth") { last = f.device.stream(); }
  SUBCASE("after a user went away") {
    f.pool.retire(f.b);
    f.device.destroy(f.b);
  }
  SUBCASE("after the owner went away") {
    f.pool.retire(f.a);
    f.device.destroy(f.a);
    last = c;
  }
  REQUIRE(f.pool.free(last, x).ok());
  f.device.touch(last, x, 256, 2);  // the host application reuses it in that stream's order
  CHECK(f.host.calls.back().stream == last.native);
  CHECK(f.device.counts.synchronisations == 0);
  CHECK(f.device.counts.records == (last.id > c.id ? 3 : 2));  // none of its own
}

TEST_CASE("callbacks: captures") {
  Fixture f;
  void *x = f.take(f.a, 256), *y = f.take(f.a, 256), *z = f.take(f.b, 256);
  REQUIRE(f.device.begin_capture(0, f.a.native).ok());
  CHECK(f.refusal(f.a, 256) == MR_CAPTURE_VIOLATION);
  REQUIRE(f.pool.free(f.a, x).ok());  // the host application knows its capture
  const mr_memory_stats before = stats_of(f.pool);
  CHECK(f.pool.free(f.b, y).code == MR_CAPTURE_VIOLATION);
  CHECK(f.pool.free(f.a, z).code == MR_CAPTURE_VIOLATION);
  CHECK(same_figures(stats_of(f.pool), before));
  void* graph = nullptr;
  REQUIRE(f.device.end_capture(0, f.a.native, &graph).ok());
  f.device.drop_graph(0, graph);
  f.device.touch(f.a, y, 256, 1);
  REQUIRE(f.pool.free(f.b, y).ok());
  f.device.touch(f.b, y, 256, 2);
  REQUIRE(f.pool.free(f.a, z).ok());
  CHECK(f.pool.free(f.a, z).code == MR_INVALID_ARGUMENT);
  CHECK(f.pool.use(f.a, z).code == MR_INVALID_ARGUMENT);
}

TEST_CASE("callbacks: live allocations go back when the memory goes") {
  FakeBackend device;
  Host host;
  const StreamRef a = device.stream();
  void* x = nullptr;
  {
    mr::CallbackPool pool(device, 0, host.config());
    REQUIRE(pool.allocate(a, 256, 256, 0, &x).ok());
    device.touch(a, x, 256, 1);
  }
  CHECK(host.live.empty());
  CHECK(device.idle(a));
  CHECK(host.calls.back().stream == nullptr);
}
