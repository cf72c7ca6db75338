// Every call of the device, and every allocation of host memory, is made to fail in turn: the call
// that meets the failure reports it and changes nothing, and the same call succeeds afterwards.
#include <functional>
#include <new>

#include "memory/callback_pool.h"
#include "memory/failing_new.h"
#include "memory/pool_fixture.h"

using namespace test;

namespace {

// What a scenario needs; its own fixture for each failure.
struct Stage : PoolFixture {
  explicit Stage(uint64_t limit) : PoolFixture(limit) {}
  Status call() { return action(); }
  // What a failure may have left behind shows when graphs have gone and work has finished.
  void wind_up() {
    for (const StreamRef& stream : {a, b, c}) {
      CaptureInfo capture;
      REQUIRE(device.capture_info(0, stream.native, &capture).ok());
      if (capture.state == mr::CaptureState::kNone) continue;
      REQUIRE(device.end_capture(0, stream.native, &graph).ok());
      device.drop_graph(0, graph);
    }
    trim();
    verify();
    CHECK(stats().active.current == stats().allocated.current);
  }
  StreamRef a = device.stream(), b = device.stream(), c = device.stream();
  std::function<Status()> action;
  Piece got;
  void* graph = nullptr;
};

struct Scenario {
  const char* name;
  uint64_t limit;
  // True where work is waited for or cache is given back on the way: active and reserved memory may
  // then have become less.
  bool frees_cache;
  void (*prepare)(Stage& s);
};

void take_later(Stage& s, StreamRef stream, uint64_t bytes) {
  s.action = [&s, stream, bytes] { return s.try_take(stream, bytes, &s.got); };
}

void give_later(Stage& s, StreamRef stream, const Piece& piece) {
  s.action = [&s, stream, piece] { return s.pool.free(stream, piece.address); };
}

const Scenario kScenarios[] = {
    {"a first allocation", 0, false, [](Stage& s) { take_later(s, s.a, 1000); }},
    {"an aligned hit", 0, false,
     [](Stage& s) {
       s.give({}, s.take({}, 8 * kMiB));
       s.action = [&s] { return s.try_take(s.a, 2 * kMiB, &s.got, kMiB); };
     }},
    {"a free on the same stream", 0, false,
     [](Stage& s) { give_later(s, s.a, s.take(s.a, 1000)); }},
    {"a free that users of two other streams hold back", 0, false,
     [](Stage& s) {
       const Piece x = s.take(s.a, 1000);
       s.use(s.b, x);
       s.use(s.c, x);
       give_later(s, s.a, x);
     }},
    {"a free on another stream", 0, false, [](Stage& s) { give_later(s, s.b, s.take(s.a, 1000)); }},
    {"a free into a capture, with another stream", 0, false,
     [](Stage& s) {
       const Piece x = s.take(s.a, 1000);
       s.use(s.b, x);
       REQUIRE(s.device.begin_capture(0, s.a.native).ok());
       give_later(s, s.a, x);
     }},
    {"a free elsewhere while the owner captures", 0, false,
     [](Stage& s) {
       const Piece x = s.take(s.a, 1000);
       REQUIRE(s.device.begin_capture(0, s.a.native).ok());
       give_later(s, s.b, x);
     }},
    {"a use", 0, false,
     [](Stage& s) {
       const Piece x = s.take(s.a, 1000);
       s.action = [&s, x] { return s.pool.use(s.b, x.address); };
     }},
    {"taking another stream's free memory", 2 * kMiB, false,
     [](Stage& s) {
       s.work(s.a, s.take(s.a, kMiB));
       const Piece x = s.take(s.a, kMiB);
       s.work(s.a, x);
       s.give(s.a, x);
       take_later(s, s.b, 1000);
     }},
    {"taking pending memory", 2 * kMiB, false,
     [](Stage& s) {
       s.take(s.a, kMiB);
       const Piece x = s.take(s.a, kMiB);
       s.use(s.b, x);
       s.work(s.b, x);
       s.give(s.a, x);
       take_later(s, s.a, 1000);
     }},
    {"taking memory that is pending on a third stream", 2 * kMiB, false,
     [](Stage& s) {
       s.take(s.a, kMiB);
       const Piece x = s.take(s.a, kMiB);
       s.use(s.b, x);
       s.work(s.b, x);
       s.give(s.a, x);
       take_later(s, s.c, 1000);
     }},
    {"giving idle memory back to grow", 8 * kMiB, true,
     [](Stage& s) {
       s.give({}, s.take({}, 4 * kMiB));
       s.give({}, s.take({}, 4 * kMiB));
       take_later(s, s.a, 8 * kMiB);
     }},
    {"giving idle memory back because the device is full", 0, true,
     [](Stage& s) {
       s.give({}, s.take({}, 4 * kMiB));
       s.device.others = s.device.capacity - 10 * kMiB;
       take_later(s, s.a, 8 * kMiB);
     }},
    {"waiting for work, on a stream", 8 * kMiB, true,
     [](Stage& s) {
       for (int i = 0; i < 2; ++i) {
         const Piece x = s.take(s.a, 2 * kMiB), y = s.take(s.b, 2 * kMiB);
         s.use(s.c, y);
         s.work(s.c, y);
         s.work(s.a, x);
         s.give(s.a, x);
         s.give(s.b, y);
         if (i == 0) continue;
         take_later(s, s.b, 8 * kMiB);
       }
     }},
    {"waiting for work, on no stream", 4 * kMiB, true,
     [](Stage& s) {
       const Piece x = s.take(s.a, 4 * kMiB);
       s.work(s.a, x);
       s.give(s.a, x);
       take_later(s, {}, 4 * kMiB);
     }},
    {"memory that a graph held, and older work", 2 * kMiB, true,
     [](Stage& s) {
       const Piece x = s.take(s.a, 2 * kMiB);
       s.work(s.a, x);
       REQUIRE(s.device.begin_capture(0, s.a.native).ok());
       s.give(s.b, x);
       REQUIRE(s.device.end_capture(0, s.a.native, &s.graph).ok());
       s.device.drop_graph(0, s.graph);
       take_later(s, s.c, 2 * kMiB);
     }},
    {"a trim", 0, true,
     [](Stage& s) {
       const Piece x = s.take(s.a, 4 * kMiB), y = s.take(s.b, 4 * kMiB);
       s.work(s.a, x);
       s.give(s.a, x);
       s.use(s.c, y);
       s.give(s.b, y);
       s.action = [&s] {
         uint64_t reserved = 0;
         return s.pool.trim(0, &reserved);
       };
     }},
    {"a lower limit", 0, true,
     [](Stage& s) {
       const Piece x = s.take(s.a, 4 * kMiB);
       s.work(s.a, x);
       s.give(s.a, x);
       s.action = [&s] { return s.pool.set_limit(2 * kMiB); };
     }},
};

void check_unchanged(const mr_memory_stats& before, const mr_memory_stats& after,
                     bool frees_cache) {
  if (!frees_cache) {
    CHECK(same_figures(after, before));
    return;
  }
  CHECK(std::memcmp(&after.requested, &before.requested, 2 * sizeof(mr_counter)) == 0);
  CHECK(std::memcmp(&after.tags, &before.tags, sizeof after.tags) == 0);
  CHECK(after.active.current <= before.active.current);
  CHECK(after.reserved.current <= before.reserved.current);
  CHECK(after.active.peak == before.active.peak);
  CHECK(after.reserved.peak == before.reserved.peak);
  CHECK(after.allocations == before.allocations);
  CHECK(after.frees == before.frees);
  CHECK(after.retries == before.retries);
  CHECK(after.limit_bytes == before.limit_bytes);
}

// Returns how many failures were reported.
int fail_device(const Scenario& scenario, mr_status code) {
  int failures = 0;
  for (uint64_t k = 1;; ++k) {
    REQUIRE(k < 200);
    CAPTURE(k);
    Stage s(scenario.limit);
    scenario.prepare(s);
    const mr_memory_stats before = s.stats();
    s.device.fail_call(k, code);
    const Status status = s.call();
    const bool met = s.device.calls() >= k;
    s.device.fail_call(0);
    if (!met) {
      REQUIRE(status.ok());
      return failures;
    }
    s.verify();
    if (status.ok()) continue;  // it found another way
    ++failures;
    CHECK(status.code == code);
    check_unchanged(before, s.stats(), scenario.frees_cache);
    const Status again = s.call();
    CHECK_MESSAGE(again.ok(), again.sentence);
    s.wind_up();
  }
}

int fail_host_memory(const Scenario& scenario) {
  int failures = 0;
  for (int64_t k = 0;; ++k) {
    REQUIRE(k < 200);
    CAPTURE(k);
    Stage s(scenario.limit);
    scenario.prepare(s);
    const mr_memory_stats before = s.stats();
    bool threw = false;
    Status status;
    allocations_left = k;
    try {
      status = s.call();
    } catch (const std::bad_alloc&) {
      threw = true;
    }
    const bool met = allocations_left < 0;
    allocations_left = -1;
    CHECK(status.ok());
    if (!met) return failures;
    s.verify();
    if (!threw) continue;  // it could do without
    ++failures;
    check_unchanged(before, s.stats(), scenario.frees_cache);
    const Status again = s.call();
    CHECK_MESSAGE(again.ok(), again.sentence);
    s.wind_up();
  }
}

}  // namespace

TEST_CASE("each call of the device fails in turn") {
  int failures = 0;
  for (const Scenario& scenario : kScenarios) {
    CAPTURE(scenario.name);
    failures += fail_device(scenario, MR_DEVICE_LOST);
  }
  CHECK(failures > 50);
}

TEST_CASE("a poll that fails half way loses nothing") {
  Stage s(0);
  const Piece x = s.take(s.a, 256), y = s.take(s.a, 256);
  s.use(s.b, x);
  s.use(s.c, y);
  s.give(s.a, x);
  s.give(s.a, y);
  s.device.run_all();
  s.device.fail_call(2);
  CHECK(s.stats().active.current == 256);
  CHECK(s.stats().active.current == 0);
}

TEST_CASE("each allocation of host memory fails in turn") {
  int failures = 0;
  for (const Scenario& scenario : kScenarios) {
    CAPTURE(scenario.name);
    failures += fail_host_memory(scenario);
  }
  CHECK(failures > 50);
}

TEST_CASE("retiring a stream cannot fail, whatever does") {
  for (int what = 0; what < 2; ++what) {
    for (uint64_t k = 1; k < 12; ++k) {
      CAPTURE(what);
      CAPTURE(k);
      Stage s(4 * kMiB);
      const Piece x = s.take(s.a, kMiB), y = s.take(s.a, 2 * kMiB);
      s.work(s.a, x);
      s.work(s.a, y);
      s.give(s.a, x);
      if (what == 0) s.device.fail_call(k, MR_DEVICE_ERROR);
      if (what == 1) allocations_left = static_cast<int64_t>(k) - 1;
      s.pool.retire(s.a);
      allocations_left = -1;
      s.device.fail_call(0);
      s.device.destroy(s.a);
      s.work(s.b, s.take(s.b, kMiB));
      s.give(s.b, y);
      s.work(s.b, s.take(s.b, 2 * kMiB));
    }
  }
}

TEST_CASE("with the host application's allocator too, a failure changes nothing") {
  alignas(256) static char memory[4096];
  mr_memory_config config = MR_MEMORY_CONFIG_INIT;
  config.allocate = [](void*, uint64_t, uint64_t, uint32_t, int32_t, void*) {
    return static_cast<void*>(memory);
  };
  config.deallocate = [](void*, void*, uint64_t, uint32_t, int32_t, void*) {};
  int failures = 0;
  for (int what = 0; what < 2; ++what) {
    for (uint64_t k = 1; k < 12; ++k) {
      CAPTURE(what);
      CAPTURE(k);
      FakeBackend device;
      const StreamRef a = device.stream(), b = device.stream();
      mr::CallbackPool pool(device, 0, config);
      void* x = nullptr;
      const auto attempt = [&](const std::function<Status()>& call) {
        const mr_memory_stats before = stats_of(pool);
        if (what == 0) device.fail_call(k);
        if (what == 1) allocations_left = static_cast<int64_t>(k) - 1;
        bool failed = false;
        try {
          failed = !call().ok();
        } catch (const std::bad_alloc&) {
          failed = true;
        }
        allocations_left = -1;
        device.fail_call(0);
        if (!failed) return;
        ++failures;
        CHECK(same_figures(stats_of(pool), before));
        REQUIRE(call().ok());
      };
      attempt([&] { return pool.allocate(a, 1000, 256, 0, &x); });
      attempt([&] { return pool.use(b, x); });
      attempt([&] { return pool.free(a, x); });
      CHECK(stats_of(pool).reserved.current == 0);
    }
  }
  CHECK(failures > 8);
}
