// Memory that goes from stream to stream: what users of other allocators reported, each as the
// calls that led there. The names give the report.
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "memory/callback_pool.h"
#include "memory/pool_fixture.h"

using namespace test;

namespace {

struct Fixture : PoolFixture {
  explicit Fixture(const Kind& kind, uint64_t limit = 0, uint64_t capacity = 1024 * kMiB)
      : PoolFixture(limit, capacity, kind.paged, kind.books) {}
  StreamRef a = device.stream(), b = device.stream();
  uint64_t orders = 0;  // waits that are the test's own
  // `second` works with it behind `first`, which is declared.
  void work_behind(StreamRef first, StreamRef second, const Piece& piece) {
    order(first, second);
    ++orders;
    use(second, piece);
    work(second, piece);
  }
};

// True once it holds; false if it does not within a time that no sound run takes.
template <class Condition>
bool eventually(Condition&& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

}  // namespace

TEST_CASE("R2: a block that is about to be free serves a full device, behind a wait") {
  constexpr uint64_t kAll = 64 * kMiB;
  for (const Kind& kind : kKinds) {
    for (const bool limited : {true, false}) {
      CAPTURE(kind.paged);
      CAPTURE(limited);
      Fixture f(kind, limited ? kAll : 0, limited ? 1024 * kMiB : kAll);
      const Piece x = f.take(f.a, kAll);
      f.work(f.a, x);
      f.work_behind(f.a, f.b, x);
      f.give(f.a, x);
      const Piece y = f.take(f.a, kAll);  // the first time already
      CHECK(y.address == x.address);
      f.work(f.a, y);
      CHECK(f.device.counts.waits == f.orders + 1);
      CHECK(f.device.counts.synchronisations == 0);
      CHECK_FALSE(f.device.idle(f.b));
      CHECK(f.stats().out_of_memory == 0);
    }
  }
}

TEST_CASE("R13: running ahead of a slow stream needs no more than the limit, and no polling") {
  for (const Kind& kind : kKinds) {
    CAPTURE(kind.paged);
    Fixture f(kind, 8 * kMiB);
    for (int i = 0; i < 100; ++i) {
      const Piece x = f.take(f.a, 2 * kMiB);
      f.work(f.a, x);
      f.work_behind(f.a, f.b, x);
      f.give(f.a, x);
    }
    CHECK(f.device.most_held == 8 * kMiB);
    CHECK(f.device.counts.synchronisations == 0);
    CHECK(f.device.counts.waits == f.orders + 96);  // all but the first four took over a block
    CHECK(f.device.counts.queries <= 200);          // a request asks, and does not ask until it is
    CHECK_FALSE(f.device.idle(f.b));
  }
}

TEST_CASE("R15: what a stream cached outlives it, whatever books are kept") {
  for (const Kind& kind : kKinds) {
    for (const bool busy : {true, false}) {
      CAPTURE(kind.paged);
      CAPTURE(busy);
      Fixture f(kind, 0, 4096 * kMiB);
      for (int i = 0; i < 5; ++i) {
        const StreamRef once = f.device.stream();
        const Piece x = f.take(once, 1024 * kMiB);
        f.work(once, x);
        f.give(once, x);
        if (!busy) f.device.run(once);
        f.pool.retire(once);
        f.device.destroy(once);
        f.device.run_all();
      }
      const Piece y = f.take(f.a, 1024 * kMiB);
      f.work(f.a, y);
      const mr_memory_stats stats = f.stats();
      CHECK(stats.reserved.peak == 1024 * kMiB);
      CHECK(stats.allocated.current == 1024 * kMiB);
      CHECK(stats.allocated.total == 6 * 1024 * kMiB);
      CHECK(stats.allocations == 6);
      CHECK(stats.frees == 5);
    }
  }
}

TEST_CASE("R16: a cold pool grows rather than make streams wait for each other") {
  for (const Kind& kind : kKinds) {
    CAPTURE(kind.paged);
    Fixture f(kind);
    StreamRef streams[4];
    for (StreamRef& stream : streams) stream = f.device.stream();
    for (int round = 0; round < 10; ++round) {
      for (const StreamRef& stream : streams) {
        const Piece x = f.take(stream, 4 * kMiB);
        f.work(stream, x);
        f.give(stream, x);
      }
    }
    CHECK(f.device.counts.waits == 0);
    CHECK(f.device.counts.synchronisations == 0);
    CHECK(f.stats().reserved.peak == 16 * kMiB);
    // Nor do they now that the memory is there: each may run ahead on its own.
    f.device.run(streams[3]);
    CHECK_FALSE(f.device.idle(streams[0]));
  }
}

// Streams whose handles have the same value: the default stream of each thread, or a new stream at
// the address of one that is gone. Their ids differ.
TEST_CASE("R17: a stream is known by its id, not by the value of its handle") {
  for (const Kind& kind : kKinds) {
    CAPTURE(kind.paged);
    Fixture f(kind);
    mr::StreamSeat other_seat;
    for (mr::StreamSeat* seat : {&other_seat, f.a.seat, static_cast<mr::StreamSeat*>(nullptr)}) {
      StreamRef twin = f.a;
      twin.id += 1000000;
      twin.seat = seat;
      const Piece x = f.take(f.a, 2 * kMiB);
      f.work(f.a, x);
      f.give(f.a, x);  // its work has not run
      const Piece y = f.take(twin, 2 * kMiB);
      CHECK(y.address != x.address);
      CHECK(f.take(f.a, 2 * kMiB).address == x.address);
      f.give(twin, y);
      f.pool.retire(twin);
    }
    CHECK(f.device.counts.waits == 0);
  }
}

// The order of the steps within one free cannot be seen from one thread.
TEST_CASE("R18: a block that another thread sees free has its fence already") {
  for (const Books books : {Books::kShared, Books::kPerStream}) {
    PoolFixture f(4 * kMiB, 1024 * kMiB, true, books);
    const StreamRef a = f.device.stream(), helper = f.device.stream(), b = f.device.stream();
    std::atomic<uint64_t> lives{0};
    std::atomic<int> failures{0}, taken{0};
    const auto rounds = [&](StreamRef own, bool helped) {
      for (int i = 0; i < 500; ++i) {
        void* address = nullptr;
        if (!f.pool.allocate(own, 2 * kMiB, 256, 0, &address).ok()) {
          ++failures;
          continue;
        }
        ++taken;
        const uint64_t life = ++lives;
        f.device.touch(own, address, 2 * kMiB, life);
        if (helped) {
          f.order(own, helper);
          failures += !f.pool.use(helper, address).ok();
          f.device.touch(helper, address, 2 * kMiB, life);
        }
        failures += !f.pool.free(own, address).ok();
        f.device.step(own, 2);
      }
    };
    std::thread other(rounds, b, false);
    rounds(a, true);
    other.join();
    CHECK(failures == 0);
    CHECK(taken == 1000);
    f.device.run_all();
  }
}

TEST_CASE("R19: memory that was had without a stream is idle, wherever it is used and freed") {
  for (const Kind& kind : kKinds) {
    CAPTURE(kind.paged);
    Fixture f(kind, 2 * kMiB);
    const Piece x = f.take(f.a, 2 * kMiB);
    f.work(f.a, x);
    f.give(f.a, x);
    const Piece y = f.take({}, 2 * kMiB);  // there is no other memory than x's
    CHECK(y.address == x.address);
    f.work(f.b, y);  // behind nothing
    f.give(f.b, y);
    CHECK(f.device.counts.records <= 1);  // b's order is enough for the free
    const Piece z = f.take(f.b, 2 * kMiB);
    CHECK(z.address == x.address);
    f.work(f.b, z);
    f.give(f.b, z);
    f.work(f.a, f.take(f.a, 2 * kMiB));
    CHECK(f.device.counts.waits == 1);  // for b
  }
}

// A peer's stream is one more stream: with one device, as much of it as there is.
TEST_CASE("R24: memory does not go back to the device under a writer on another stream") {
  for (const Kind& kind : kKinds) {
    CAPTURE(kind.paged);
    Fixture f(kind);
    const Piece x = f.take(f.a, 8 * kMiB);
    f.work_behind(f.a, f.b, x);
    StreamRef freeing = f.a;
    f.device.run(f.a);  // nothing but the peer is busy
    f.give(freeing, x);
    CHECK(f.stats().active.current == 8 * kMiB);
    CHECK_FALSE(f.device.idle(f.b));
    CHECK(f.trim() == 0);
    CHECK(f.device.idle(f.b));
    // And the next user of the addresses is not disturbed.
    const Piece y = f.take(f.a, 8 * kMiB);
    f.work(f.a, y);
    f.device.run_all();
  }
}

TEST_CASE("R33: nothing is unmapped under running work, and a free waits for nothing") {
  enum class By { kTrim, kLimit, kRequest, kEnd };
  for (const Kind& kind : kKinds) {
    for (const By by : {By::kTrim, By::kLimit, By::kRequest, By::kEnd}) {
      CAPTURE(kind.paged);
      CAPTURE(static_cast<int>(by));
      Fixture f(kind, 0, 64 * kMiB);
      const StreamRef bystander = f.device.stream();
      const Piece other = f.take(bystander, 2 * kMiB);
      f.work(bystander, other);
      // Side by side, but kept apart: no hole is as large as both.
      const Piece x = f.take(f.a, 24 * kMiB), wall = f.take(f.a, 2 * kMiB);
      const Piece y = f.take(f.a, 24 * kMiB);
      for (const Piece& piece : {x, y}) {
        f.work(f.a, piece);
        f.give(f.a, piece);
      }
      CHECK(f.device.counts.synchronisations == 0);
      CHECK_FALSE(f.device.idle(f.a));
      if (by == By::kEnd) continue;
      if (by == By::kTrim) CHECK(f.trim() == 4 * kMiB);
      if (by == By::kLimit) {
        REQUIRE(f.pool.set_limit(4 * kMiB).ok());
        CHECK(f.device.held == 4 * kMiB);
      }
      if (by == By::kRequest) f.work(f.a, f.take(f.a, 48 * kMiB));
      CHECK(f.stats().driver_frees > 0);
      CHECK_FALSE(f.device.idle(bystander));
      f.work(f.a, wall);
    }
  }
}

TEST_CASE("R43: a free does not wait for the device, nor for a thread that does") {
  for (const Kind& kind : kKinds) {
    CAPTURE(kind.paged);
    Fixture f(kind);
    const Piece small = f.take(f.b, 256);  // keeps a chunk for more of them
    const Piece shared = f.take(f.b, 2 * kMiB), x = f.take(f.a, 2 * kMiB);
    f.work(f.b, shared);
    f.work_behind(f.b, f.a, shared);
    f.work(f.a, x);
    f.give(f.a, x);
    CHECK(f.device.counts.synchronisations == 0);
    // One thread waits for stream a. Another one goes on with b, which a may be waiting for in
    // turn: it frees what both work with, enqueues more, and needs more memory for it.
    std::atomic<bool> done{false};
    std::atomic<int> slow_calls{0};
    std::atomic<int> failures{0};
    bool went_on = false;
    std::thread other;
    const uint64_t life = ++f.lives;
    f.device.on_slow_call = [&] {
      if (slow_calls++ > 0) return;
      other = std::thread([&] {
        void* address = nullptr;
        failures += !f.pool.free(f.b, shared.address).ok();
        failures += !f.pool.allocate(f.b, 256, 256, MR_TAG_OTHER, &address).ok();
        f.device.touch(f.b, address, 256, life);
        failures += !f.pool.free(f.b, address).ok();
        failures += !f.pool.allocate(f.b, 8 * kMiB, 256, MR_TAG_OTHER, &address).ok();
        failures += !f.pool.free(f.b, address).ok();
        done = true;
      });
      went_on = eventually([&] { return done.load(); });
    };
    f.trim();
    f.device.on_slow_call = nullptr;
    REQUIRE(other.joinable());
    other.join();
    CHECK(went_on);
    CHECK(failures == 0);
    f.give(f.b, small);
    CHECK(f.stats().allocated.current == 0);
  }
}

TEST_CASE("R46: what the host application does in a callback may need the allocator again") {
  struct Host {
    mr::CallbackPool* pool = nullptr;
    StreamRef stream;
    char* next = reinterpret_cast<char*>(uintptr_t{0x10000000});
    void* kept = nullptr;  // what the freed object owned, or its replacement
    int frees = 0, failures = 0;
  } host;
  mr_memory_config config = MR_MEMORY_CONFIG_INIT;
  config.user = &host;
  config.allocate = [](void* user, uint64_t bytes, uint64_t, uint32_t, int32_t, void*) {
    auto& h = *static_cast<Host*>(user);
    return static_cast<void*>(std::exchange(h.next, h.next + bytes));
  };
  config.deallocate = [](void* user, void*, uint64_t, uint32_t, int32_t, void*) {
    auto& h = *static_cast<Host*>(user);
    if (++h.frees != 1) return;
    void* fresh = nullptr;
    h.failures += !h.pool->allocate(h.stream, 256, 256, MR_TAG_OTHER, &fresh).ok();
    h.failures += !h.pool->free(h.stream, std::exchange(h.kept, fresh)).ok();
  };
  FakeBackend device;
  mr::CallbackPool pool(device, 0, config);
  host.pool = &pool;
  host.stream = device.stream();
  void* x = nullptr;
  REQUIRE(pool.allocate(host.stream, 512, 256, MR_TAG_OTHER, &x).ok());
  REQUIRE(pool.allocate(host.stream, 1024, 256, MR_TAG_OTHER, &host.kept).ok());
  REQUIRE(pool.free(host.stream, x).ok());  // would hang
  CHECK(host.frees == 2);
  CHECK(host.failures == 0);
  CHECK(stats_of(pool).allocated.current == 256);
  REQUIRE(pool.free(host.stream, host.kept).ok());
  CHECK(stats_of(pool).reserved.current == 0);
}

TEST_CASE("R47: threads on streams of their own make no event, and wait for no slow one") {
  constexpr int kThreads = 4;
  for (const Kind& kind : kKinds) {
    CAPTURE(kind.paged);
    Fixture f(kind);
    StreamRef streams[kThreads];
    for (StreamRef& stream : streams) {
      stream = f.device.stream();
      f.give(stream, f.take(stream, 4 * kKiB));
    }
    std::atomic<int> ended{0}, failures{0}, slow_calls{0};
    std::vector<std::thread> threads;
    bool went_on = false;
    const auto body = [&](int index) {
      const StreamRef own = streams[index];
      for (int i = 0; i < 1000; ++i) {
        void* address = nullptr;
        failures += !allocate(f.pool, own, 4 * kKiB, 256, MR_TAG_OTHER, &address).ok();
        failures += !f.pool.free(own, address).ok();
      }
      ++ended;
    };
    // All of it happens within one growth.
    f.device.on_slow_call = [&] {
      if (slow_calls++ > 0) return;
      for (int i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
      went_on = eventually([&] { return ended == kThreads; });
    };
    const uint64_t before = f.device.counts.driver();
    f.take(f.a, 2 * kMiB);
    f.device.on_slow_call = nullptr;
    for (std::thread& thread : threads) thread.join();
    CHECK(went_on);
    CHECK(failures == 0);
    CHECK(f.device.counts.driver() == before + 1);  // the growth
    CHECK(f.device.counts.events == 0);
    CHECK(f.stats().allocations == kThreads * 1001 + 1);
  }
}
