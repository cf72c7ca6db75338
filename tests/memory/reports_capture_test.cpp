// Memory and captured graphs: what users of other allocators reported, each as the calls that led
// there. The names give the report.
#include "memory/pool_fixture.h"

using namespace test;

namespace {

struct Fixture : PoolFixture {
  explicit Fixture(const Kind& kind, uint64_t capacity = 1024 * kMiB)
      : PoolFixture(0, capacity, kind.paged, kind.books) {}
  StreamRef a = device.stream(), b = device.stream();

  void begin(StreamRef stream) { REQUIRE(device.begin_capture(0, stream.native).ok()); }
  void* end(StreamRef stream) {
    void* graph = nullptr;
    REQUIRE(device.end_capture(0, stream.native, &graph).ok());
    return graph;
  }
  void launch(void* graph, StreamRef stream) {
    REQUIRE(device.launch_graph(0, graph, stream.native).ok());
  }
};

}  // namespace

TEST_CASE("R27: a capture on a full device gives nothing back, and survives the refusal") {
  for (const Kind& kind : kKinds) {
    CAPTURE(kind.paged);
    Fixture f(kind, 64 * kMiB);
    // Live memory, the stream's own cache, and idle cache: all that the device has.
    const Piece live = f.take(f.b, 24 * kMiB);
    f.give(f.a, f.take(f.a, 24 * kMiB));
    f.give({}, f.take({}, 16 * kMiB));
    REQUIRE(f.device.held == 64 * kMiB);
    const uint64_t calls = f.device.counts.driver();
    f.begin(f.a);
    const mr_memory_stats before = f.stats();
    CHECK(f.refusal(f.a, 32 * kMiB) == MR_CAPTURE_VIOLATION);
    CHECK(same_figures(f.stats(), before));
    CHECK(f.device.counts.driver() == calls);
    const Piece hit = f.take(f.a, 24 * kMiB);
    f.work(f.a, hit);
    // Another stream's request goes down the whole ladder beside it.
    f.work(f.b, live);
    f.give(f.b, live);
    const Piece large = f.take(f.b, 32 * kMiB);
    f.work(f.b, large);
    void* graph = f.end(f.a);  // still valid
    f.launch(graph, f.a);
    f.device.run_all();
    f.device.drop_graph(0, graph);
    f.give(f.a, hit);
    f.give(f.b, large);
    CHECK(f.trim() == 0);
  }
}

// Nothing of it is used again within the capture; see memory.h.
TEST_CASE("R28: what a capture frees all comes back, once each graph that it is in has gone") {
  constexpr int kOperations = 1000;
  for (const Kind& kind : kKinds) {
    CAPTURE(kind.paged);
    Fixture f(kind);
    std::vector<Piece> warm;
    for (int i = 0; i < kOperations; ++i) warm.push_back(f.take(f.a, 64 * kKiB));
    for (const Piece& piece : warm) f.give(f.a, piece);
    const uint64_t reserved = f.stats().reserved.current;
    f.begin(f.a);
    f.begin(f.b);
    for (int i = 0; i < kOperations; ++i) {
      const Piece x = f.take(f.a, 64 * kKiB);
      f.work(f.a, x);
      f.use(f.b, x);
      f.work(f.b, x);
      f.give(f.a, x);
    }
    void* const graphs[] = {f.end(f.a), f.end(f.b)};
    CHECK(f.stats().allocated.current == 0);
    CHECK(f.stats().active.current == kOperations * 64 * kKiB);
    f.device.drop_graph(0, graphs[0]);
    f.trim();  // which waits for everything but the other graph
    CHECK(f.stats().active.current == kOperations * 64 * kKiB);
    f.launch(graphs[1], f.b);
    f.finish(f.b);
    f.device.drop_graph(0, graphs[1]);
    CHECK(f.trim() == 0);
    CHECK(f.stats().active.current == 0);
    CHECK(f.stats().reserved.peak == reserved);
  }
}

TEST_CASE("R29: graphs that replace one another share the pool, in whatever order of sizes") {
  for (const bool ascending : {true, false}) {
    CAPTURE(ascending);
    Fixture f({true, Books::kShared}, 4096 * kMiB);
    for (int i = 0; i < 11; ++i) {
      const uint64_t bytes = static_cast<uint64_t>(ascending ? i + 1 : 11 - i) * 32 * kMiB;
      f.give(f.a, f.take(f.a, bytes));  // the run that warms up
      f.begin(f.a);
      const Piece x = f.take(f.a, bytes);
      f.work(f.a, x);
      f.give(f.a, x);
      void* graph = f.end(f.a);
      f.launch(graph, f.a);
      f.device.run_all();
      f.device.drop_graph(0, graph);
    }
    CHECK(f.stats().reserved.peak == 11 * 32 * kMiB);
  }
}

TEST_CASE("R30: after its graphs have gone, memory serves the next capture, live blocks stay") {
  for (const Kind& kind : kKinds) {
    CAPTURE(kind.paged);
    Fixture f(kind);
    Piece warm[3];
    for (Piece& piece : warm) piece = f.take(f.a, 4 * kMiB);
    for (const Piece& piece : warm) f.give(f.a, piece);
    Piece live;
    void* graphs[2];
    for (void*& graph : graphs) {
      f.begin(f.a);
      const Piece x = f.take(f.a, 4 * kMiB);
      f.work(f.a, x);
      if (live.address == nullptr) live = f.take(f.a, 4 * kMiB);
      f.work(f.a, live);
      f.give(f.a, x);
      graph = f.end(f.a);
    }
    for (void* graph : graphs) {
      f.launch(graph, f.a);
      f.finish(f.a);
      f.device.drop_graph(0, graph);
    }
    CHECK(f.stats().active.current == 4 * kMiB);
    f.begin(f.a);
    const Piece again = f.take(f.a, 4 * kMiB), more = f.take(f.a, 4 * kMiB);
    CHECK(again.address != live.address);
    CHECK(more.address != live.address);
    f.work(f.a, again);
    f.work(f.a, live);
    f.give(f.a, again);
    f.give(f.a, more);
    void* graph = f.end(f.a);
    f.launch(graph, f.a);
    f.work(f.a, live);
    f.finish(f.a);
    f.device.drop_graph(0, graph);
    f.give(f.a, live);
    CHECK(f.stats().reserved.total == 12 * kMiB);  // no growth but for the first three
    CHECK(f.trim() == 0);
  }
}
