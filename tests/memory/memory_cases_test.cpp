// Hazards that users of other allocators have reported. The names give the case.
#include "memory/pool_fixture.h"

using namespace test;

TEST_CASE("M01: a block is not reused while another stream still reads it") {
  PoolFixture f;
  const StreamRef a = f.device.stream(), b = f.device.stream();
  const Piece x = f.take(a, kMiB);
  f.work(a, x);
  f.order(a, b);
  f.work(b, x);
  f.use(b, x);
  f.give(a, x);
  CHECK(f.stats().active.current == kMiB);
  SUBCASE("new memory is taken instead") {
    const Piece z = f.take(a, 2 * kMiB);
    f.work(a, z);
    CHECK(f.device.counts.waits == 1);  // the test's own
  }
  SUBCASE("or, where there is none, a wait comes first") {
    REQUIRE(f.pool.set_limit(2 * kMiB).ok());
    const Piece whole = f.take(a, kMiB);  // the rest of the segment
    const Piece z = f.take(a, kMiB);
    CHECK(z.address == x.address);
    f.work(a, z);
    f.work(a, whole);
    CHECK(f.device.counts.waits == 2);
    CHECK_FALSE(f.device.idle(a));  // nothing was waited for here
  }
  SUBCASE("and once the other stream is done, it is free without a wait") {
    f.device.run_all();
    CHECK(f.stats().active.current == 0);
    const Piece z = f.take(a, kMiB);
    f.work(a, z);
    CHECK(z.address == x.address);
    CHECK(f.device.counts.waits == 1);
    CHECK(f.device.counts.reserves == 1);
  }
}

TEST_CASE("M01: without the declaration the caller is responsible, and the checker sees it") {
  PoolFixture f;
  const StreamRef a = f.device.stream(), b = f.device.stream();
  const Piece x = f.take(a, kMiB);
  f.order(a, b);
  f.work(b, x);
  f.give(a, x);
  f.work(a, f.take(a, kMiB));
  CHECK(f.device.hazards().size() == 1);
}

TEST_CASE("M02: memory that went through a second stream keeps the order of the first") {
  PoolFixture f(2 * kMiB);
  const StreamRef a = f.device.stream(), b = f.device.stream(), c = f.device.stream();
  const Piece x = f.take(a, kMiB), y = f.take(a, kMiB);
  f.work(a, x);
  f.work(a, y);
  f.give(a, x);
  f.give(a, y);
  SUBCASE("the second stream takes it merged") {
    const Piece both = f.take(b, 2 * kMiB);
    f.work(b, both);
    f.give(b, both);
    const Piece z = f.take(c, kMiB);
    f.work(c, z);
    CHECK(z.address == x.address);
  }
  SUBCASE("the second stream takes it and never works") {
    f.give(b, f.take(b, 2 * kMiB));
    f.work(c, f.take(c, kMiB));
  }
  SUBCASE("a part stays behind") {
    f.give(b, f.take(b, kMiB));
    f.work(c, f.take(c, kMiB));
    f.work(c, f.take(c, kMiB));
  }
}

TEST_CASE("M05: idle cache makes room for a large request, and what is busy is waited for") {
  bool paged = true;
  SUBCASE("by pages") {}
  SUBCASE("in whole pieces") { paged = false; }
  PoolFixture f(64 * kMiB, 1024 * kMiB, paged);
  const StreamRef a = f.device.stream(), b = f.device.stream();
  Piece pieces[4];
  for (Piece& piece : pieces) piece = f.take(a, 16 * kMiB);
  f.work(a, pieces[2]);
  StreamRef taker = a;
  SUBCASE("on the same stream") {}
  SUBCASE("on another stream") { taker = b; }
  SUBCASE("on no stream") { taker = {}; }
  for (const Piece& piece : pieces) f.give(a, piece);
  const Piece large = f.take(taker, 64 * kMiB);
  f.work(taker.id != 0 ? taker : b, large);
  CHECK(f.device.most_held == 64 * kMiB);
  const mr_memory_stats stats = f.stats();
  CHECK(stats.retries == (paged ? 0 : 1));  // pages lie side by side, and merge
  CHECK(stats.reserved.current == 64 * kMiB);
  CHECK(stats.out_of_memory == 0);
  CHECK(stats.driver_frees == (paged ? 0 : 4));
}

TEST_CASE("M05: a hopeless request leaves the cache alone") {
  PoolFixture f(64 * kMiB);
  const StreamRef a = f.device.stream();
  f.give(a, f.take(a, 16 * kMiB));
  f.give({}, f.take({}, 16 * kMiB));
  const mr_memory_stats before = f.stats();
  CHECK(f.refusal(a, 65 * kMiB) == MR_OUT_OF_DEVICE_MEMORY);
  CHECK(same_figures(f.stats(), before));
  CHECK(f.device.counts.synchronisations == 0);
  CHECK(f.stats().out_of_memory == 1);
  REQUIRE(f.pool.set_limit(0).ok());
  CHECK(f.refusal(a, 1025 * kMiB) == MR_OUT_OF_DEVICE_MEMORY);
  CHECK(same_figures(f.stats(), [&] {
    auto s = before;
    s.limit_bytes = 0;
    return s;
  }()));
}

TEST_CASE("M07: a peak reset leaves the totals alone") {
  PoolFixture f;
  const StreamRef a = f.device.stream();
  const Piece small = f.take(a, 4 * kMiB);
  f.give(a, f.take(a, 8 * kMiB));
  const mr_memory_stats before = f.stats();
  CHECK(before.allocated.peak == 12 * kMiB);
  f.pool.reset_peaks();
  mr_memory_stats after = f.stats();
  CHECK(after.allocated.current == 4 * kMiB);
  CHECK(after.allocated.peak == 4 * kMiB);
  CHECK(after.reserved.current == 12 * kMiB);
  CHECK(after.reserved.peak == 12 * kMiB);
  CHECK(after.allocated.total == before.allocated.total);
  CHECK(after.allocations == 2);
  const Piece x = f.take(a, 256 * kMiB), y = f.take(a, 256 * kMiB);
  f.give(a, x);
  after = f.stats();
  CHECK(after.allocated.current == 260 * kMiB);
  CHECK(after.allocated.peak == 516 * kMiB);
  CHECK(after.requested.peak == 516 * kMiB);
  CHECK(after.allocated.total == 524 * kMiB);
  f.give(a, y);
  f.give(a, small);
}

TEST_CASE("M10: sizes near the end of 64 bits fail and change nothing") {
  PoolFixture f;
  const StreamRef a = f.device.stream();
  const uint64_t max = ~uint64_t{0};
  const mr_memory_stats before = f.stats();
  for (const uint64_t bytes : {max, max - 255, max - 256, max - 100, uint64_t{1} << 63,
                               (uint64_t{1} << 63) - 1, max - 2 * kMiB, max - 2 * kMiB - 255}) {
    CAPTURE(bytes);
    CHECK(f.refusal(a, bytes) == MR_OUT_OF_DEVICE_MEMORY);
    Piece piece;
    CHECK(f.try_take(a, bytes, &piece, 2 * kMiB).code == MR_OUT_OF_DEVICE_MEMORY);
  }
  CHECK(same_figures(f.stats(), before));
  CHECK(f.stats().out_of_memory == 16);
  f.give(a, f.take(a, kMiB));
}

TEST_CASE("M11: memory goes away with live and busy allocations") {
  FakeBackend device;
  const StreamRef a = device.stream(), b = device.stream();
  {
    mr::CachingPool pool(device, 0, 0);
    void *x = nullptr, *y = nullptr;
    REQUIRE(pool.allocate(a, kMiB, 256, 0, &x).ok());
    REQUIRE(pool.allocate(a, 3 * kMiB, 256, 0, &y).ok());
    device.touch(a, x, kMiB, 1);
    REQUIRE(pool.use(b, y).ok());
    device.touch(b, y, kMiB, 2);
    REQUIRE(pool.free(a, y).ok());
  }
  CHECK(device.held == 0);
  CHECK(device.hazards().empty());
}

TEST_CASE("M11: memory goes away after a busy stream has") {
  FakeBackend device;
  const StreamRef a = device.stream();
  {
    mr::CachingPool pool(device, 0, 0);
    void* x = nullptr;
    REQUIRE(pool.allocate(a, kMiB, 256, 0, &x).ok());
    device.touch(a, x, kMiB, 1);
    REQUIRE(pool.free(a, x).ok());
    pool.retire(a);
  }
  CHECK(device.held == 0);
  CHECK(device.hazards().empty());
}

TEST_CASE("C03: a failed capture leaves nothing behind") {
  PoolFixture f;
  const StreamRef a = f.device.stream();
  void* graph = nullptr;
  REQUIRE(f.device.begin_capture(0, a.native).ok());
  CHECK(f.refusal(a, 32 * kMiB) == MR_CAPTURE_VIOLATION);
  bool done = false;
  CHECK_FALSE(f.device.query_stream(0, a.native, &done).ok());  // the forbidden call
  CHECK(f.device.hazards().size() == 1);
  CHECK(f.refusal(a, 32 * kMiB) == MR_CAPTURE_VIOLATION);
  CHECK(f.device.end_capture(0, a.native, &graph).code == MR_CAPTURE_VIOLATION);
  f.give(a, f.take(a, 32 * kMiB));
  REQUIRE(f.device.begin_capture(0, a.native).ok());
  const Piece kept = f.take(a, 32 * kMiB);  // a hit
  f.work(a, kept);
  f.give(a, kept);
  CHECK(f.stats().active.current == 32 * kMiB);
  SUBCASE("a good one") {
    REQUIRE(f.device.end_capture(0, a.native, &graph).ok());
    f.device.drop_graph(0, graph);
  }
  SUBCASE("a second failed one, which had taken memory") {
    CHECK_FALSE(f.device.query_stream(0, a.native, &done).ok());
    CHECK(f.device.hazards().size() == 1);
    CHECK_FALSE(f.device.end_capture(0, a.native, &graph).ok());
  }
  CHECK(f.stats().active.current == 0);
  CHECK(f.trim() == 0);
}

TEST_CASE("C05: memory freed in a capture stays with the graph") {
  PoolFixture f;
  const StreamRef a = f.device.stream(), b = f.device.stream();
  f.give(a, f.take(a, kMiB));
  f.finish(a);
  REQUIRE(f.device.begin_capture(0, a.native).ok());
  const Piece temporary = f.take(a, kMiB);
  f.work(a, temporary);
  f.give(a, temporary);
  void* graph = nullptr;
  REQUIRE(f.device.end_capture(0, a.native, &graph).ok());
  CHECK(f.trim() == 2 * kMiB);
  for (int i = 0; i < 3; ++i) f.work(i == 1 ? b : a, f.take(i == 1 ? b : a, kMiB));
  REQUIRE(f.device.launch_graph(0, graph, b.native).ok());
  f.finish(b);
  f.device.drop_graph(0, graph);
  const Piece next = f.take(a, kMiB);
  CHECK(next.address == temporary.address);
  f.work(a, next);
}

TEST_CASE("C09: memory used by a graph is freed after it like any other") {
  PoolFixture f;
  const StreamRef a = f.device.stream(), b = f.device.stream();
  const Piece x = f.take(a, kMiB);
  f.use(b, x);
  REQUIRE(f.device.begin_capture(0, a.native).ok());
  f.work(a, x);
  void* graph = nullptr;
  REQUIRE(f.device.end_capture(0, a.native, &graph).ok());
  f.device.drop_graph(0, graph);
  f.give(a, x);
  f.device.run_all();
  CHECK(f.trim() == 0);
}

TEST_CASE("R13: a slow side stream does not make memory pile up at the limit") {
  PoolFixture f(8 * kMiB);
  const StreamRef a = f.device.stream(), slow = f.device.stream();
  for (int i = 0; i < 100; ++i) {
    const Piece x = f.take(a, 2 * kMiB);
    f.work(a, x);
    f.order(a, slow);
    f.use(slow, x);
    f.work(slow, x);
    f.give(a, x);
  }
  CHECK(f.device.counts.synchronisations == 0);
  CHECK(f.stats().reserved.peak == 8 * kMiB);
}

TEST_CASE("R14: a slow stream does not hold back what a fast one has finished with") {
  PoolFixture f;
  const StreamRef a = f.device.stream(), slow = f.device.stream(), fast = f.device.stream();
  const Piece x = f.take(a, 4 * kMiB), y = f.take(a, 4 * kMiB);
  f.use(slow, x);
  f.work(slow, x);
  f.use(fast, y);
  f.work(fast, y);
  f.give(a, x);
  f.give(a, y);
  f.device.run(fast);
  CHECK(f.stats().active.current == 4 * kMiB);
  CHECK(f.take(a, 4 * kMiB).address == y.address);
}

TEST_CASE("R15: a stream that goes away leaves its cache to others") {
  PoolFixture f;
  const StreamRef a = f.device.stream(), b = f.device.stream();
  const Piece x = f.take(a, 20 * kMiB);
  f.work(a, x);
  f.give(a, x);
  SUBCASE("when its work is done") { f.device.run(a); }
  SUBCASE("and also before") {}
  f.pool.retire(a);
  f.device.destroy(a);
  f.device.run_all();
  const Piece y = f.take(b, 20 * kMiB);
  f.work(b, y);
  CHECK(y.address == x.address);
  CHECK(f.stats().reserved.total == 20 * kMiB);
}

TEST_CASE("R4, R40: a block is never given to a larger request") {
  for (const bool paged : {true, false}) {
    PoolFixture f(0, 1024 * kMiB, paged);
    const StreamRef a = f.device.stream();
    const Piece x = f.take(a, 150 * kMiB);
    f.give(a, x);
    const Piece y = f.take(a, 150 * kMiB + 1);
    f.work(a, y);
    CHECK((y.address == x.address) == paged);  // extended, or another one
    CHECK(f.stats().reserved.current == (paged ? 152 : 302) * kMiB);
  }
}
