// The scratch of streams: their own, the caller's, leases of a capture's reserve, and a graph
// pool's. The host's kernels need none, so the test asks for it as an operator's launch does.
#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>

#include "api/api_fixture.h"
#include "api/slow_page.h"
#include "runtime/graph_state.h"
#include "runtime/scratch_reserve.h"
#include "runtime/stream_state.h"

namespace {

using mr::Ref;
using mr::ScratchReserve;
using mr::Status;
using test::both_modes;
using test::Bytes;
using test::Engine;
using test::kKiB;
using test::SlowPage;

void* scratch(mr_stream* stream, uint64_t bytes) {
  void* address = nullptr;
  const Status status = stream->scratch(bytes, &address);
  REQUIRE_MESSAGE(status.ok(), std::string(status.sentence));
  return address;
}

Status refusal(mr_stream* stream, uint64_t bytes) {
  void* address = &bytes;
  const Status status = stream->scratch(bytes, &address);
  CHECK(status.code == MR_WORKSPACE_TOO_SMALL);
  CHECK(address == &bytes);
  return status;
}

mr_graph* end(mr_stream* stream) {
  mr_graph* graph = nullptr;
  MR_OK_OR_FAIL(mr_graph_end(stream, &graph, nullptr));
  return graph;
}

}  // namespace

TEST_CASE("the stream's own scratch: the same bytes each time, to the last one") {
  both_modes([](Engine& engine) {
    void* const own = scratch(engine.a, 1);
    CHECK(reinterpret_cast<uintptr_t>(own) % 256 == 0);
    CHECK(scratch(engine.a, 64 * kKiB) == own);
    CHECK(scratch(engine.b, 1) != own);
    const Status status = refusal(engine.a, 64 * kKiB + 1);
    CHECK(status.value == 64 * kKiB + 1);
    CHECK(status.limit == 64 * kKiB);
  });
}

TEST_CASE("the caller's scratch takes its place, in a capture too, until it is taken back") {
  both_modes([](Engine& engine) {
    Bytes given(engine.a, 1024);
    void* const own = scratch(engine.a, 1);
    MR_OK_OR_FAIL(mr_stream_set_workspace(engine.a, given.data, 1024, nullptr));
    CHECK(scratch(engine.a, 1024) == given.data);
    CHECK(refusal(engine.a, 1025).limit == 1024);
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    CHECK(scratch(engine.a, 1024) == given.data);
    mr_graph_release(end(engine.a));
    MR_OK_OR_FAIL(mr_stream_set_workspace(engine.a, nullptr, 0, nullptr));
    CHECK(scratch(engine.a, 1) == own);
  });
}

TEST_CASE("without a reserve, a capture's need is refused with its size") {
  both_modes([](Engine& engine) {
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    const Status status = refusal(engine.a, 1000);
    CHECK(status.value == 1000);
    CHECK(std::string(status.sentence).find("mr_stream_reserve_capture") != std::string::npos);
    mr_graph_release(end(engine.a));
  });
}

TEST_CASE("a capture leases what it needs, and its graph keeps that until it is destroyed") {
  both_modes([](Engine& engine) {
    MR_OK_OR_FAIL(mr_stream_reserve_capture(engine.a, 1024, nullptr));
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    void* const first = scratch(engine.a, 300);  // 512 of it
    CHECK(scratch(engine.a, 300) == first);
    CHECK(scratch(engine.a, 17) == first);
    void* const second = scratch(engine.a, 400);  // more than the lease asked for: another one
    CHECK(second != first);
    CHECK(scratch(engine.a, 100) == second);
    CHECK(refusal(engine.a, 513).code == MR_WORKSPACE_TOO_SMALL);
    mr_graph* graph = end(engine.a);
    CHECK(scratch(engine.a, 1) != first);  // outside: the stream's own

    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    (void)refusal(engine.a, 1);  // all of it is leased
    mr_graph_release(end(engine.a));
    mr_graph_release(graph);
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    CHECK(scratch(engine.a, 1024) == first);  // one range again
    mr_graph_release(end(engine.a));
  });
}

TEST_CASE("a graph that still runs keeps its lease") {
  SlowPage page;
  Engine engine("deferred");
  MR_OK_OR_FAIL(mr_stream_reserve_capture(engine.a, 512, nullptr));
  MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
  void* const leased = scratch(engine.a, 512);
  page.hold_up(engine.a);
  mr_graph* graph = end(engine.a);
  MR_OK_OR_FAIL(mr_graph_launch(graph, engine.b, nullptr));
  page.wait_for_arrival();
  MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
  (void)refusal(engine.a, 1);
  mr_graph_release(end(engine.a));
  std::thread opener([&] { page.appear(); });
  mr_graph_release(graph);
  opener.join();
  MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
  CHECK(scratch(engine.a, 512) == leased);
  mr_graph_release(end(engine.a));
}

TEST_CASE("a failed capture, and a stream that goes away, give their leases back") {
  both_modes([](Engine& engine) {
    MR_OK_OR_FAIL(mr_stream_reserve_capture(engine.a, 512, nullptr));
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    void* const leased = scratch(engine.a, 512);
    CHECK(mr_stream_synchronize(engine.a, nullptr) == MR_CAPTURE_VIOLATION);
    mr_graph* graph = nullptr;
    CHECK(mr_graph_end(engine.a, &graph, nullptr) == MR_CAPTURE_VIOLATION);
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    CHECK(scratch(engine.a, 512) == leased);
    mr_graph_release(end(engine.a));

    const uint64_t before = test::stats_of(engine.memory).allocated.current;
    mr_stream* stream = nullptr;
    MR_OK_OR_FAIL(mr_stream_create(engine.context, nullptr, &stream, nullptr));
    MR_OK_OR_FAIL(mr_stream_reserve_capture(stream, 4096, nullptr));
    MR_OK_OR_FAIL(mr_graph_begin(stream, nullptr, nullptr));
    (void)scratch(stream, 4096);
    graph = end(stream);
    mr_stream_release(stream);
    CHECK(test::stats_of(engine.memory).allocated.current == before + 4096);  // the graph's
    mr_graph_release(graph);
    CHECK(test::stats_of(engine.memory).allocated.current == before);
  });
}

TEST_CASE("graphs of one pool share its bytes, and never run at once") {
  SlowPage page;
  Engine engine("deferred");
  mr_graph_pool* pool = nullptr;
  MR_OK_OR_FAIL(mr_graph_pool_create(engine.context, 512, &pool, nullptr));
  Bytes seen(engine.a, 64);
  mr_graph* graphs[2] = {};
  void* shared = nullptr;
  for (int i = 0; i < 2; ++i) {
    mr_stream* const stream = i == 0 ? engine.a : engine.b;
    MR_OK_OR_FAIL(mr_graph_begin(stream, pool, nullptr));
    void* const address = scratch(stream, 512);
    CHECK((shared == nullptr || shared == address));
    shared = address;
    CHECK(scratch(stream, 1) == address);
    CHECK(refusal(stream, 513).limit == 512);
    MR_OK_OR_FAIL(mr_fill(stream, address, static_cast<uint32_t>(i + 1), 64, nullptr));
    if (i == 0) {
      page.hold_up(stream);
      MR_OK_OR_FAIL(mr_copy(stream, seen.data, address, 64, MR_COPY_ON_DEVICE, nullptr));
    }
    graphs[i] = end(stream);
  }
  MR_OK_OR_FAIL(mr_graph_launch(graphs[0], engine.a, nullptr));
  MR_OK_OR_FAIL(mr_graph_launch(graphs[1], engine.b, nullptr));
  page.wait_for_arrival();
  CHECK(mr_stream_query(engine.b, nullptr) == MR_NOT_READY);
  page.appear();
  CHECK(seen.value_on(engine.a) == 1);  // the second graph has not written there before
  MR_OK_OR_FAIL(mr_stream_synchronize(engine.b, nullptr));
  CHECK(static_cast<unsigned char*>(shared)[0] == 2);
  mr_graph_pool_release(pool);  // the graphs keep it
  MR_OK_OR_FAIL(mr_graph_launch(graphs[0], engine.b, nullptr));
  for (mr_graph* graph : graphs) mr_graph_release(graph);
}

TEST_CASE("a pool of no bytes serves captures that need none") {
  both_modes([](Engine& engine) {
    mr_graph_pool* pool = nullptr;
    MR_OK_OR_FAIL(mr_graph_pool_create(engine.context, 0, &pool, nullptr));
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, pool, nullptr));
    (void)refusal(engine.a, 1);
    mr_graph_release(end(engine.a));
    mr_graph_pool_release(pool);
  });
}

// ---- The reserve alone --------------------------------------------------------------------------

TEST_CASE("the reserve gives the smallest range that fits, and merges within a piece only") {
  Engine engine;
  Ref<ScratchReserve> reserve;
  REQUIRE(ScratchReserve::create(*engine.memory, &reserve).ok());
  REQUIRE(reserve->grow(1024).ok());
  REQUIRE(reserve->grow(512).ok());
  CHECK(reserve->free_bytes() == 1536);
  const auto lease = [&](uint64_t bytes) {
    void* address = nullptr;
    return reserve->lease(bytes, &address).ok() ? address : nullptr;
  };
  void* const small = lease(500);
  void* const large = lease(1000);
  CHECK(small != nullptr);
  CHECK(large != nullptr);
  CHECK(reserve->free_bytes() == 0);
  CHECK(lease(1) == nullptr);
  reserve->give_back(small);
  reserve->give_back(large);
  CHECK(reserve->free_bytes() == 1536);
  CHECK(lease(1025) == nullptr);  // two pieces are not one
  void* const quarters[] = {lease(256), lease(256), lease(256), lease(256), lease(256), lease(256)};
  for (void* quarter : quarters) CHECK(quarter != nullptr);
  for (const int i : {1, 3, 0, 2, 5, 4}) reserve->give_back(quarters[i]);
  CHECK(lease(1024) == large);
  CHECK(lease(512) == small);
  int elsewhere = 0;
  reserve->give_back(&elsewhere);  // nothing of its own: nothing happens
  CHECK(reserve->free_bytes() == 0);
  CHECK(reserve->grow(UINT64_MAX).code == MR_INVALID_ARGUMENT);
  CHECK(reserve->grow(0).ok());
}

TEST_CASE("leases from several threads do not overlap") {
  Engine engine;
  Ref<ScratchReserve> reserve;
  REQUIRE(ScratchReserve::create(*engine.memory, &reserve).ok());
  REQUIRE(reserve->grow(16 * kKiB).ok());
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        const uint64_t bytes = 256 + static_cast<uint64_t>((t * 7 + i) % 5) * 512;
        void* address = nullptr;
        if (!reserve->lease(bytes, &address).ok()) continue;
        std::memset(address, t + 1, bytes);
        std::this_thread::yield();
        const auto* seen = static_cast<unsigned char*>(address);
        for (uint64_t b = 0; b < bytes; ++b) wrong += seen[b] != t + 1 ? 1 : 0;
        reserve->give_back(address);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(reserve->free_bytes() == 16 * kKiB);
}
