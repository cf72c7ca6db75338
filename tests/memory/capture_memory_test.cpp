// Memory and streams that are being captured: what is handed out, and what a graph keeps.
#include "memory/pool_fixture.h"

using namespace test;

TEST_CASE("retire while capturing keeps the cache until the stream comes back") {
  PoolFixture f(2 * kMiB);
  const StreamRef a = f.device.stream(), b = f.device.stream();
  const Piece x = f.take(a, 2 * kMiB);
  f.work(a, x);
  f.give(a, x);
  REQUIRE(f.device.begin_capture(0, a.native).ok());
  f.pool.retire(a);
  CHECK(f.refusal(b, 2 * kMiB) == MR_OUT_OF_DEVICE_MEMORY);
  void* graph = nullptr;
  REQUIRE(f.device.end_capture(0, a.native, &graph).ok());
  f.device.drop_graph(0, graph);
  SUBCASE("it does not") {
    f.device.destroy(a);
    CHECK(f.refusal(b, 2 * kMiB) == MR_OUT_OF_DEVICE_MEMORY);
    CHECK(f.refusal({}, 2 * kMiB) == MR_OUT_OF_DEVICE_MEMORY);
    CHECK(f.trim() == 2 * kMiB);
  }
  SUBCASE("it allocates") {
    const Piece y = f.take(a, 2 * kMiB);
    CHECK(y.address == x.address);
    f.give(a, y);
    f.work(b, f.take(b, 2 * kMiB));
  }
  SUBCASE("it goes away again, with nothing in the way this time") {
    f.pool.retire(a);
    f.device.destroy(a);
    f.work(b, f.take(b, 2 * kMiB));
  }
}

TEST_CASE("a stream that left while capturing is not touched for memory freed elsewhere") {
  PoolFixture f(2 * kMiB);
  const StreamRef a = f.device.stream(), b = f.device.stream();
  const Piece x = f.take(a, kMiB), y = f.take(a, kMiB);
  f.work(a, x);
  REQUIRE(f.device.begin_capture(0, a.native).ok());
  f.give(b, x);
  f.pool.retire(a);
  void* graph = nullptr;
  REQUIRE(f.device.end_capture(0, a.native, &graph).ok());
  f.device.drop_graph(0, graph);
  f.device.destroy(a);
  f.give(b, y);
  CHECK(f.trim() == 2 * kMiB);
  CHECK(f.refusal(b, kMiB) == MR_OUT_OF_DEVICE_MEMORY);
  CHECK(f.stats().active.current == 2 * kMiB);
}

TEST_CASE("a donor that captures is passed over for one that does not") {
  PoolFixture f(8 * kMiB);
  const StreamRef a = f.device.stream(), b = f.device.stream(), c = f.device.stream();
  const Piece x = f.take(a, 2 * kMiB), y = f.take(b, 4 * kMiB), z = f.take(c, 2 * kMiB);
  for (const auto& [stream, piece] : {std::pair(a, x), std::pair(b, y)}) {
    f.work(stream, piece);
    f.give(stream, piece);
  }
  REQUIRE(f.device.begin_capture(0, a.native).ok());
  const Piece taken = f.take(c, 2 * kMiB);
  CHECK(taken.address == y.address);
  CHECK(f.device.counts.synchronisations == 0);
  f.work(c, taken);
  f.work(c, z);
  // Nor is there a fence for what a capturing stream has freed, where nothing else is left.
  f.give(b, f.take(b, 2 * kMiB));
  const Piece rest = f.take(c, 2 * kMiB);
  CHECK(f.refusal(c, 2 * kMiB) == MR_OUT_OF_DEVICE_MEMORY);
  f.work(c, rest);
}

TEST_CASE("a capture hits what an earlier graph has let go of") {
  PoolFixture f;
  const StreamRef a = f.device.stream();
  f.give(a, f.take(a, 4 * kMiB));
  void* graph = nullptr;
  REQUIRE(f.device.begin_capture(0, a.native).ok());
  const Piece x = f.take(a, 4 * kMiB);
  f.give(a, x);
  REQUIRE(f.device.end_capture(0, a.native, &graph).ok());
  REQUIRE(f.device.begin_capture(0, a.native).ok());
  CHECK(f.refusal(a, 4 * kMiB) == MR_CAPTURE_VIOLATION);
  f.device.drop_graph(0, graph);
  CHECK(f.take(a, 4 * kMiB).address == x.address);
}

TEST_CASE("while capturing: hits only, and no other stream's memory") {
  PoolFixture f;
  const StreamRef a = f.device.stream(), b = f.device.stream();
  f.give(a, f.take(a, 4 * kMiB));
  f.give(b, f.take(b, 8 * kMiB));
  f.give({}, f.take({}, 16 * kMiB));
  REQUIRE(f.device.begin_capture(0, a.native).ok());
  const Piece own = f.take(a, 4 * kMiB), idle = f.take(a, 16 * kMiB);
  CHECK(f.refusal(a, 8 * kMiB) == MR_CAPTURE_VIOLATION);
  CHECK(f.stats().out_of_memory == 0);
  // Others are not held up, and do not touch the capture.
  f.give(b, f.take(b, 32 * kMiB));
  REQUIRE(f.pool.set_limit(f.stats().reserved.current).ok());
  CHECK(f.refusal(b, 41 * kMiB) == MR_OUT_OF_DEVICE_MEMORY);
  f.give(b, own);
  f.give(a, idle);
  CHECK(f.trim() == 20 * kMiB);
  void* graph = nullptr;
  REQUIRE(f.device.end_capture(0, a.native, &graph).ok());
  CHECK(f.trim() == 20 * kMiB);
  f.device.drop_graph(0, graph);
  CHECK(f.trim() == 0);
}

TEST_CASE(
    "freed elsewhere while its stream captures: the graph first, then the stream's older work") {
  PoolFixture f(2 * kMiB);
  const StreamRef a = f.device.stream(), b = f.device.stream(), c = f.device.stream();
  const Piece x = f.take(a, 2 * kMiB);
  f.work(a, x);
  REQUIRE(f.device.begin_capture(0, a.native).ok());
  f.give(b, x);
  void* graph = nullptr;
  REQUIRE(f.device.end_capture(0, a.native, &graph).ok());
  CHECK(f.refusal(c, 2 * kMiB) == MR_OUT_OF_DEVICE_MEMORY);
  f.device.drop_graph(0, graph);
  CHECK(f.stats().active.current == 2 * kMiB);  // the work from before the capture
  f.work(c, f.take(c, 2 * kMiB));
}

TEST_CASE("graphs may outlive the pool") {
  FakeBackend device;
  const StreamRef a = device.stream();
  void* graph = nullptr;
  {
    mr::CachingPool pool(device, 0, 0);
    void* x = nullptr;
    REQUIRE(pool.allocate(a, kMiB, 256, 0, &x).ok());
    REQUIRE(device.begin_capture(0, a.native).ok());
    REQUIRE(pool.free(a, x).ok());
    REQUIRE(device.end_capture(0, a.native, &graph).ok());
  }
  device.drop_graph(0, graph);
  CHECK(device.held == 0);
}
