// Limits, failures and the end: what users of other allocators reported, each as the calls that led
// there. The names give the report.
#include <map>

#include "memory/callback_pool.h"
#include "memory/pool_fixture.h"

using namespace test;

namespace {

constexpr uint64_t kGiB = 1024 * kMiB;

// The host application's allocator: a device of so many bytes, which knows what it gave.
struct Host {
  explicit Host(uint64_t bytes, uintptr_t from) : capacity(bytes), next(from) {}
  mr_memory_config config() {
    mr_memory_config out = MR_MEMORY_CONFIG_INIT;
    out.user = this;
    out.allocate = [](void* user, uint64_t bytes, uint64_t, uint32_t, int32_t, void*) -> void* {
      auto& h = *static_cast<Host*>(user);
      if (bytes > h.capacity - h.held) return nullptr;
      h.held += bytes;
      h.next += bytes;
      h.live[h.next - bytes] = bytes;
      return reinterpret_cast<void*>(h.next - bytes);
    };
    out.deallocate = [](void* user, void* address, uint64_t bytes, uint32_t, int32_t, void*) {
      auto& h = *static_cast<Host*>(user);
      const auto at = h.live.find(reinterpret_cast<uintptr_t>(address));
      if (at == h.live.end() || at->second != bytes) return void(++h.foreign);
      h.held -= bytes;
      h.live.erase(at);
    };
    return out;
  }
  uint64_t capacity, held = 0;
  uintptr_t next;
  std::map<uintptr_t, uint64_t> live;
  int foreign = 0;  // what came back and is not its own
};

}  // namespace

TEST_CASE("R35: what an allocator gave goes back to it, at a trim and at the end") {
  FakeBackend device;
  Host first(kGiB, 0x10000000), second(kGiB, 0x80000000);
  {
    mr::Ref<mr_memory> own[3];
    REQUIRE(mr_memory::create(device, 0, first.config(), &own[0]).ok());
    REQUIRE(mr_memory::create(device, 0, second.config(), &own[1]).ok());
    REQUIRE(mr_memory::create(device, 0, MR_MEMORY_CONFIG_INIT, &own[2]).ok());
    const StreamRef s = device.stream();
    for (mr::Ref<mr_memory>& memory : own) {
      void *x = nullptr, *y = nullptr, *pinned = nullptr;
      uint64_t reserved = 99;
      REQUIRE(memory->allocate(s, 4 * kMiB, 0, MR_TAG_KV, &x).ok());
      REQUIRE(memory->free(s, x).ok());
      REQUIRE(memory->trim(0, &reserved).ok());
      CHECK(reserved == 0);
      // These are left to the end of the memory.
      REQUIRE(memory->allocate(s, 2 * kMiB, 0, MR_TAG_KV, &y).ok());
      REQUIRE(memory->allocate_pinned(4096, &pinned).ok());
    }
    CHECK(first.held == 2 * kMiB + 4096);
    CHECK(second.held == first.held);
    CHECK(device.held == 2 * kMiB);
    CHECK(device.pinned_held == 4096);
    own[0] = {};
    CHECK(first.live.empty());
    CHECK(second.held == 2 * kMiB + 4096);
    CHECK(device.held == 2 * kMiB);
  }
  CHECK(second.live.empty());
  CHECK(first.foreign + second.foreign == 0);
  CHECK(device.held == 0);
  CHECK(device.pinned_held == 0);
  CHECK(device.hazards().empty());
}

TEST_CASE("R36: a pool gives its cache back before it refuses, whatever memory it is made of") {
  for (const bool paged : {true, false}) {
    for (const bool limited : {true, false}) {
      CAPTURE(paged);
      CAPTURE(limited);
      PoolFixture f(limited ? 80 * kGiB : 0, (limited ? 100 : 80) * kGiB, paged);
      const StreamRef s = f.device.stream();
      const Piece x = f.take(s, 60 * kGiB);
      f.work(s, x);
      f.give(s, x);
      f.work(s, f.take(s, 70 * kGiB));
      CHECK(f.device.most_held <= 80 * kGiB);
      CHECK(f.stats().out_of_memory == 0);
    }
  }
  FakeBackend device;
  Host host(80 * kGiB, 0x10000000);
  {
    mr::CallbackPool pool(device, 0, host.config());
    const StreamRef s = device.stream();
    void* x = nullptr;
    REQUIRE(pool.allocate(s, 60 * kGiB, 256, MR_TAG_OTHER, &x).ok());
    REQUIRE(pool.free(s, x).ok());
    CHECK(pool.allocate(s, 70 * kGiB, 256, MR_TAG_OTHER, &x).ok());
  }
  CHECK(host.live.empty());
}

TEST_CASE("R41: the limit counts what is taken from the device, by the page") {
  for (const bool paged : {true, false}) {
    CAPTURE(paged);
    PoolFixture f(64 * kMiB, 1024 * kMiB, paged);
    const StreamRef s = f.device.stream();
    const Piece x = f.take(s, 40 * kMiB);
    CHECK(f.refusal(s, 24 * kMiB + 1) == MR_OUT_OF_DEVICE_MEMORY);
    f.give(s, x);
    // By pages the cached block is extended, and only the rest counts.
    const Piece y = f.take(s, 64 * kMiB);
    CHECK(f.device.held == 64 * kMiB);
    CHECK(f.device.counts.releases == (paged ? 0 : 1));
    CHECK(f.refusal(s, 1) == MR_OUT_OF_DEVICE_MEMORY);
    f.give(s, y);
    CHECK(f.refusal(s, 64 * kMiB + 1) == MR_OUT_OF_DEVICE_MEMORY);
    CHECK(f.device.most_held == 64 * kMiB);
  }
}

TEST_CASE("R41: what others use is not in the limit, and is reported") {
  FakeBackend device;
  mr_memory_config config = MR_MEMORY_CONFIG_INIT;
  config.limit_bytes = 512 * kMiB;
  mr::Ref<mr_memory> memory, neighbour;
  REQUIRE(mr_memory::create(device, 0, config, &memory).ok());
  REQUIRE(mr_memory::create(device, 0, config, &neighbour).ok());
  device.others = 90 * kMiB;  // contexts, other programs
  const StreamRef s = device.stream();
  void *x = nullptr, *y = nullptr;
  REQUIRE(neighbour->allocate(s, 20 * kMiB, 0, MR_TAG_OTHER, &y).ok());
  REQUIRE(memory->allocate(s, 512 * kMiB, 0, MR_TAG_OTHER, &x).ok());
  mr_memory_stats stats = MR_MEMORY_STATS_INIT;
  memory->stats(&stats);
  CHECK(stats.reserved.current == 512 * kMiB);
  CHECK(stats.limit_bytes == 512 * kMiB);
  CHECK(stats.external == 110 * kMiB);
  CHECK(stats.device_free == 402 * kMiB);
}

// With a driver that has ended too, every call fails; here each one in turn.
TEST_CASE("R45: the end of a memory survives a device that does not answer") {
  for (uint64_t k = 1;; ++k) {
    REQUIRE(k < 50);
    CAPTURE(k);
    FakeBackend device;
    const StreamRef a = device.stream(), b = device.stream(), gone = device.stream();
    {
      mr::CachingPool pool(device, 0, 0);
      void *x = nullptr, *y = nullptr, *z = nullptr;
      REQUIRE(pool.allocate(a, kMiB, 256, 0, &x).ok());
      REQUIRE(pool.allocate(a, 3 * kMiB, 256, 0, &y).ok());
      REQUIRE(pool.allocate(gone, kMiB, 256, 0, &z).ok());
      device.touch(b, y, 3 * kMiB, 1);
      device.touch(gone, z, kMiB, 2);
      REQUIRE(pool.use(b, y).ok());
      REQUIRE(pool.free(a, y).ok());
      pool.retire(gone);
      device.destroy(gone);
      device.fail_call(k, MR_DEVICE_LOST);
    }
    CHECK(device.held == 0);
    // What a wait would have told is not known then; with an answer each, nothing is in use.
    const bool met = device.calls() >= k;
    if (met) (void)device.hazards();
    CHECK(device.hazards().empty());
    if (!met) break;
  }
}

TEST_CASE("R49: a refusal is the failing call's alone") {
  for (const bool paged : {true, false}) {
    CAPTURE(paged);
    PoolFixture f(0, 64 * kMiB, paged);
    mr::CachingPool neighbour(f.device, 0, 0);
    const StreamRef a = f.device.stream(), b = f.device.stream();
    f.give(b, f.take(b, 2 * kMiB));
    f.device.others = 62 * kMiB;  // the device is full
    const Piece x = f.take(b, 2 * kMiB);
    f.work(b, x);
    const mr_memory_stats before = f.stats();
    CHECK(f.refusal(a, 8 * kMiB) == MR_OUT_OF_DEVICE_MEMORY);
    CHECK(same_figures(f.stats(), before));
    // What follows is as if it had not been.
    bool done = true;
    CHECK(f.device.query_stream(0, b.native, &done).ok());
    CHECK_FALSE(done);
    f.use(a, x);
    f.give(b, x);
    f.device.run_all();
    CHECK(f.stats().active.current == 0);
    void* address = nullptr;
    CHECK(neighbour.allocate(a, 2 * kMiB, 256, 0, &address).code == MR_OUT_OF_DEVICE_MEMORY);
    f.device.others = 0;
    CHECK(neighbour.allocate(a, 2 * kMiB, 256, 0, &address).ok());
    f.work(a, f.take(a, 8 * kMiB));  // there is room, and it is asked for again
    f.work(b, f.take(b, 2 * kMiB));
    CHECK(f.stats().out_of_memory == 1);
  }
}
