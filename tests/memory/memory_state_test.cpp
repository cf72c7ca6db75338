// mr_memory itself: arguments, the choice of a pool, pinned memory, forks.
#include "memory/memory_state.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "memory/failing_new.h"
#include "memory/pool_fixture.h"
#include "support/in_child.h"

using namespace test;

namespace {

struct Memory {
  explicit Memory(mr_memory_config config = MR_MEMORY_CONFIG_INIT) {
    REQUIRE(mr_memory::create(device, 0, config, &memory).ok());
  }
  mr_memory_stats stats() {
    mr_memory_stats out = MR_MEMORY_STATS_INIT;
    memory->stats(&out);
    return out;
  }
  FakeBackend device;
  mr::Ref<mr_memory> memory;
};

}  // namespace

TEST_CASE("M08: zero bytes and NULL succeed and change nothing") {
  Memory m;
  const StreamRef a = m.device.stream();
  const mr_memory_stats before = m.stats();
  void *x = &m, *y = &m, *z = &m;
  REQUIRE(m.memory->allocate(a, 0, 0, 0, &x).ok());
  REQUIRE(m.memory->allocate({}, 0, 4096, 0, &y).ok());
  REQUIRE(m.memory->allocate_pinned(0, &z).ok());
  CHECK(x == nullptr);
  CHECK(y == nullptr);
  CHECK(z == nullptr);
  CHECK(m.memory->free(a, x).ok());
  CHECK(m.memory->free({}, y).ok());
  CHECK(m.memory->use(a, x).ok());
  m.memory->free_pinned(z);
  CHECK(same_figures(m.stats(), before));
  CHECK(m.device.counts.reserves == 0);
}

TEST_CASE("alignments and tags outside their range are refused") {
  Memory m;
  void* out = &m;
  for (const uint64_t alignment :
       {uint64_t{3}, uint64_t{257}, 2 * kMiB + 1, 4 * kMiB, uint64_t{1} << 63, ~uint64_t{0}}) {
    CAPTURE(alignment);
    CHECK(m.memory->allocate({}, 256, alignment, 0, &out).code == MR_INVALID_ARGUMENT);
  }
  for (const uint32_t tag : {MR_TAG_COUNT, ~0u}) {
    CHECK(m.memory->allocate({}, 256, 0, tag, &out).code == MR_INVALID_ARGUMENT);
  }
  CHECK(out == &m);
  for (const uint64_t alignment :
       {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{128}, 2 * kMiB}) {
    CAPTURE(alignment);
    REQUIRE(m.memory->allocate({}, 1, alignment, MR_TAG_COUNT - 1, &out).ok());
    CHECK(reinterpret_cast<uintptr_t>(out) % std::max<uint64_t>(alignment, 256) == 0);
  }
  CHECK(m.stats().tags[MR_TAG_COUNT - 1].current == 4 * 256 + 32 * kKiB);
}

TEST_CASE("a host without memory is a status, not an exception") {
  Memory m;
  const StreamRef a = m.device.stream();
  void *x = nullptr, *y = &m;
  REQUIRE(m.memory->allocate(a, 256, 0, 0, &x).ok());
  const mr_memory_stats before = m.stats();
  const auto without_memory = [](auto&& call) {
    allocations_left = 0;
    const mr_status code = call().code;
    allocations_left = -1;
    return code;
  };
  const StreamRef b = m.device.stream();
  CHECK(without_memory([&] { return m.memory->allocate(b, 256, 0, 0, &y); }) ==
        MR_OUT_OF_HOST_MEMORY);
  CHECK(without_memory([&] { return m.memory->use(b, x); }) == MR_OUT_OF_HOST_MEMORY);
  CHECK(without_memory([&] { return m.memory->free(b, x); }) == MR_OUT_OF_HOST_MEMORY);
  CHECK(without_memory([&] { return m.memory->allocate_pinned(1, &y); }) == MR_OUT_OF_HOST_MEMORY);
  mr::Ref<mr_memory> other;
  const mr_memory_config config = MR_MEMORY_CONFIG_INIT;
  CHECK(without_memory([&] { return mr_memory::create(m.device, 0, config, &other); }) ==
        MR_OUT_OF_HOST_MEMORY);
  CHECK(y == &m);
  CHECK(same_figures(m.stats(), before));
}

TEST_CASE("trim, limit, use and retire reach the pool") {
  Memory m;
  const StreamRef a = m.device.stream(), b = m.device.stream();
  void *x = nullptr, *y = nullptr;
  REQUIRE(m.memory->allocate(a, 2 * kMiB, 0, MR_TAG_KV, &x).ok());
  REQUIRE(m.memory->use(b, x).ok());
  m.device.touch(b, x, 2 * kMiB, 1);
  REQUIRE(m.memory->free(a, x).ok());
  CHECK(m.stats().active.current == 2 * kMiB);
  m.memory->retire(a);
  m.memory->retire(b);
  m.device.destroy(a);
  m.device.destroy(b);
  REQUIRE(m.memory->set_limit(2 * kMiB).ok());
  CHECK(m.memory->allocate({}, 4 * kMiB, 0, 0, &y).code == MR_OUT_OF_DEVICE_MEMORY);
  uint64_t reserved = 1;
  REQUIRE(m.memory->trim(0, &reserved).ok());
  CHECK(reserved == 0);
  REQUIRE(m.memory->trim(0, nullptr).ok());
  CHECK(m.device.hazards().empty());
}

TEST_CASE("configs: both callbacks or neither, no unknown flag, a device that exists") {
  FakeBackend device;
  mr::Ref<mr_memory> memory;
  mr_memory_config config = MR_MEMORY_CONFIG_INIT;
  config.flags = 2;
  CHECK(mr_memory::create(device, 0, config, &memory).code == MR_INVALID_ARGUMENT);
  config.flags = 0;
  config.deallocate = [](void*, void*, uint64_t, uint32_t, int32_t, void*) {};
  CHECK(mr_memory::create(device, 0, config, &memory).code == MR_INVALID_ARGUMENT);
  config = MR_MEMORY_CONFIG_INIT;
  config.backend = MR_BACKEND_CUDA + 1;
  CHECK(mr_memory::create(config, &memory).code == MR_INVALID_ARGUMENT);
  config.backend = mr::backends().back()->kind();
  config.ordinal = -1;
  CHECK(mr_memory::create(config, &memory).code == MR_NO_DEVICE);
  config.ordinal = 1 << 20;
  CHECK(mr_memory::create(config, &memory).code == MR_NO_DEVICE);
  CHECK_FALSE(memory);
  config.ordinal = 0;
  REQUIRE(mr_memory::create(config, &memory).ok());
  CHECK(&memory->backend() == mr::backends().back());
  config.backend = MR_BACKEND_AUTO;
  REQUIRE(mr_memory::create(config, &memory).ok());
  CHECK(memory->device() == 0);
}

TEST_CASE("the device's figures, and what they leave unexplained") {
  Memory m;
  m.device.others = 100 * kMiB;
  void* x = nullptr;
  REQUIRE(m.memory->allocate({}, 10 * kMiB, 0, 0, &x).ok());
  CHECK(m.stats().device_total == 1024 * kMiB);
  CHECK(m.stats().device_free == 914 * kMiB);
  CHECK(m.stats().external == 100 * kMiB);
  m.device.fail_call(1);
  CHECK(m.stats().device_total == 0);
  CHECK(m.stats().device_total == 1024 * kMiB);
  m.device.held -= 2 * kMiB;  // a driver that says less than it gave
  m.device.others = 0;
  CHECK(m.stats().external == 0);
  m.device.held += 2 * kMiB;
}

TEST_CASE("pinned memory is counted on its own and goes back with the memory") {
  Memory m;
  void *x = nullptr, *y = nullptr;
  REQUIRE(m.memory->allocate_pinned(1000, &x).ok());
  REQUIRE(m.memory->allocate_pinned(5000, &y).ok());
  m.memory->free_pinned(x);
  m.memory->free_pinned(x);
  m.memory->free_pinned(&m);
  mr_memory_stats stats = m.stats();
  CHECK(stats.pinned.current == 5000);
  CHECK(stats.pinned.peak == 6000);
  CHECK(stats.pinned.total == 6000);
  CHECK(stats.reserved.total == 0);
  CHECK(stats.allocations == 0);
  CHECK(m.device.pinned_held == 5000);
  m.memory->reset_peaks();
  CHECK(m.stats().pinned.peak == 5000);
  for (const uint64_t bytes : {~uint64_t{0}, uint64_t{1} << 63, 4096 * kMiB}) {
    CHECK(m.memory->allocate_pinned(bytes, &x).code == MR_OUT_OF_HOST_MEMORY);
  }
  CHECK(m.stats().pinned.current == 5000);
  m.memory = {};
  CHECK(m.device.pinned_held == 0);
}

TEST_CASE("pinned memory comes from the host application's allocator where there is one") {
  struct Host {
    uint64_t live = 0;
    uint32_t kind = ~0u;
    uint64_t skew = 0;
    alignas(256) char bytes[512];
  } host;
  mr_memory_config config = MR_MEMORY_CONFIG_INIT;
  config.user = &host;
  config.allocate = [](void* user, uint64_t bytes, uint64_t, uint32_t kind, int32_t, void*) {
    auto* h = static_cast<Host*>(user);
    h->live += bytes;
    h->kind = kind;
    return static_cast<void*>(h->bytes + h->skew);
  };
  config.deallocate = [](void* user, void*, uint64_t bytes, uint32_t, int32_t, void*) {
    static_cast<Host*>(user)->live -= bytes;
  };
  Memory m(config);
  void* x = nullptr;
  REQUIRE(m.memory->allocate_pinned(500, &x).ok());
  CHECK(x == host.bytes);
  CHECK(host.kind == MR_MEMORY_PINNED);
  CHECK(host.live == 500);
  m.memory->free_pinned(x);
  CHECK(host.live == 0);
  CHECK(m.device.pinned_held == 0);
  host.skew = 8;
  CHECK(m.memory->allocate_pinned(100, &x).code == MR_INVALID_ARGUMENT);
  CHECK(host.live == 0);
  CHECK(m.stats().pinned.current == 0);
}

TEST_CASE("R44: after a fork, only the release works, and it touches no device") {
  static int returned;
  returned = 0;
  mr_memory_config config = MR_MEMORY_CONFIG_INIT;
  SUBCASE("the library's own pool") {}
  SUBCASE("the host application's allocator") {
    config.allocate = [](void*, uint64_t bytes, uint64_t alignment, uint32_t, int32_t, void*) {
      return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    };
    config.deallocate = [](void*, void* address, uint64_t, uint32_t, int32_t, void*) {
      std::free(address);
      ++returned;
    };
  }
  Memory m(config);
  const StreamRef a = m.device.stream(), b = m.device.stream();
  void *x = nullptr, *y = nullptr, *pinned = nullptr;
  REQUIRE(m.memory->allocate(a, 256, 0, 0, &x).ok());
  REQUIRE(m.memory->allocate(a, 256, 0, 0, &y).ok());
  REQUIRE(m.memory->allocate_pinned(256, &pinned).ok());
  REQUIRE(m.memory->use(b, x).ok());
  REQUIRE(m.memory->free(a, x).ok());
  CHECK(test::in_child([&]() -> std::string {
          const int before = returned;
          void* out = nullptr;
          if (m.memory->allocate(a, 256, 0, 0, &out).code != MR_FORKED) return "allocate";
          if (m.memory->free(a, y).code != MR_FORKED) return "free";
          if (m.memory->use(a, y).code != MR_FORKED) return "use";
          if (m.memory->trim(0, nullptr).code != MR_FORKED) return "trim";
          if (m.memory->set_limit(1).code != MR_FORKED) return "set_limit";
          if (m.memory->allocate_pinned(1, &out).code != MR_FORKED) return "allocate_pinned";
          m.memory->free_pinned(pinned);
          m.memory->retire(a);
          m.memory = {};
          if (returned != before || m.device.counts.releases != 0) return "memory was given back";
          return m.device.counts.synchronisations == 0 ? "" : "the child waited for the device";
        }) == "");
  REQUIRE(m.memory->free(a, y).ok());
  m.memory = {};
  CHECK(m.device.held == 0);
  CHECK(m.device.pinned_held == 0);
  CHECK(returned == (config.allocate != nullptr ? 3 : 0));
}
