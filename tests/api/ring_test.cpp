// Rings: a result is read while the next step runs.
#include "api/api_fixture.h"
#include "api/slow_page.h"

namespace {

using test::both_modes;
using test::Bytes;
using test::Engine;
using test::kMiB;
using test::SlowPage;

mr_ring* make_ring(Engine& engine, uint32_t slots, uint64_t slot_bytes) {
  mr_ring* ring = nullptr;
  mr_error error = {};
  REQUIRE_MESSAGE(mr_ring_create(engine.context, slots, slot_bytes, &ring, &error) == MR_OK,
                  error.text);
  return ring;
}

// The first and the last byte of what the slot holds, which must be equal.
int read(mr_ring* ring, uint32_t slot, uint64_t bytes) {
  const void* data = nullptr;
  MR_OK_OR_FAIL(mr_ring_wait(ring, slot, &data, nullptr));
  const auto* seen = static_cast<const unsigned char*>(data);
  return seen[0] == seen[bytes - 1] ? seen[0] : -1;
}

}  // namespace

TEST_CASE("each slot holds what was pushed into it last") {
  both_modes([](Engine& engine) {
    mr_ring* ring = make_ring(engine, 3, 100);
    Bytes result(engine.a, 100);
    for (int step = 0; step < 10; ++step) {
      const auto slot = static_cast<uint32_t>(step % 3);
      result.fill(static_cast<unsigned char>(step));
      MR_OK_OR_FAIL(mr_ring_push(ring, slot, engine.a, result.data, 100, nullptr));
      if (step >= 2) CHECK(read(ring, static_cast<uint32_t>((step - 2) % 3), 100) == step - 2);
    }
    CHECK(read(ring, 2, 100) == 8);
    CHECK(mr_ring_query(ring, 2, nullptr) == MR_OK);
    mr_ring_release(ring);
  });
}

TEST_CASE("two slots: step n is read while step n + 1 runs") {
  SlowPage page;
  Engine engine("deferred");
  mr_ring* ring = make_ring(engine, 2, 64);
  Bytes result(engine.a, 64);
  result.fill(1);
  MR_OK_OR_FAIL(mr_ring_push(ring, 0, engine.a, result.data, 64, nullptr));
  page.hold_up(engine.a);
  result.fill(2);
  MR_OK_OR_FAIL(mr_ring_push(ring, 1, engine.a, result.data, 64, nullptr));
  CHECK(read(ring, 0, 64) == 1);
  page.wait_for_arrival();
  CHECK(mr_ring_query(ring, 1, nullptr) == MR_NOT_READY);
  CHECK(mr_ring_query(ring, 0, nullptr) == MR_OK);
  CHECK(mr_stream_query(engine.a, nullptr) == MR_NOT_READY);
  page.appear();
  CHECK(read(ring, 1, 64) == 2);
  mr_ring_release(ring);
}

TEST_CASE("a slot is ready once its bytes are there, not before") {
  for (const bool captured : {false, true}) {
    CAPTURE(captured);
    SlowPage page;
    Engine engine("deferred");
    mr_ring* ring = make_ring(engine, 1, 64);
    mr_graph* graph = nullptr;
    if (captured) MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    MR_OK_OR_FAIL(mr_ring_push(ring, 0, engine.a, page.data(), 64, nullptr));
    if (captured) {
      MR_OK_OR_FAIL(mr_graph_end(engine.a, &graph, nullptr));
      MR_OK_OR_FAIL(mr_graph_launch(graph, engine.a, nullptr));
    }
    page.wait_for_arrival();  // the copy has begun
    CHECK(mr_ring_query(ring, 0, nullptr) == MR_NOT_READY);
    page.appear();
    CHECK(read(ring, 0, 64) == 0);
    mr_graph_release(graph);
    mr_ring_release(ring);
  }
}

TEST_CASE("captured pushes: each replay counts, and the host waits for its own step") {
  SlowPage page;
  Engine engine("deferred");
  mr_ring* ring = make_ring(engine, 2, 64);
  Bytes state(engine.a, 64);
  mr_graph* graphs[2] = {};
  for (uint32_t slot = 0; slot < 2; ++slot) {
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    MR_OK_OR_FAIL(test::twice(engine.a, state.data, state.data, 16));
    MR_OK_OR_FAIL(mr_ring_push(ring, slot, engine.a, state.data, 64, nullptr));
    MR_OK_OR_FAIL(mr_graph_end(engine.a, &graphs[slot], nullptr));
  }
  std::vector<float> ones(16, 1.0f);
  MR_OK_OR_FAIL(mr_upload(engine.a, state.data, ones.data(), 64, nullptr));
  MR_OK_OR_FAIL(mr_graph_launch(graphs[0], engine.a, nullptr));
  float expected = 2.0f;
  for (uint32_t step = 1; step < 12; ++step) {
    if (step == 6) page.hold_up(engine.a);
    MR_OK_OR_FAIL(mr_graph_launch(graphs[step % 2], engine.a, nullptr));
    if (step == 6) CHECK(mr_ring_query(ring, 0, nullptr) == MR_NOT_READY);
    const void* data = nullptr;
    MR_OK_OR_FAIL(mr_ring_wait(ring, (step - 1) % 2, &data, nullptr));
    CHECK(static_cast<const float*>(data)[15] == expected);
    expected *= 2;
    if (step == 6) page.appear();
  }
  MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
  for (mr_graph* graph : graphs) mr_graph_release(graph);
  mr_ring_release(ring);
}

TEST_CASE("a push of no bytes, of a whole slot, and of one byte too many") {
  both_modes([](Engine& engine) {
    mr_ring* ring = make_ring(engine, 1, 300);
    Bytes result(engine.a, 301);
    result.fill(9);
    MR_OK_OR_FAIL(mr_ring_push(ring, 0, engine.a, result.data, 300, nullptr));
    CHECK(read(ring, 0, 300) == 9);
    mr_error error = {};
    CHECK(mr_ring_push(ring, 0, engine.a, result.data, 301, &error) == MR_INVALID_ARGUMENT);
    CHECK(std::string(error.text).find("bytes:") == 0);
    MR_OK_OR_FAIL(mr_ring_push(ring, 0, engine.a, nullptr, 0, nullptr));
    CHECK(read(ring, 0, 300) == 9);
    CHECK(mr_ring_push(ring, 0, engine.a, nullptr, 1, nullptr) == MR_INVALID_ARGUMENT);
    mr_ring_release(ring);
  });
}

TEST_CASE("what is refused, and that it leaves the out-parameter alone") {
  both_modes([](Engine& engine) {
    mr_ring* ring = nullptr;
    for (const uint32_t slots : {0u, 1025u, 0xffffffffu}) {
      CHECK(mr_ring_create(engine.context, slots, 64, &ring, nullptr) == MR_INVALID_ARGUMENT);
    }
    CHECK(mr_ring_create(engine.context, 2, 0, &ring, nullptr) == MR_INVALID_ARGUMENT);
    for (const uint64_t bytes : {UINT64_MAX, UINT64_MAX - 255, UINT64_MAX / 2, uint64_t{1} << 63}) {
      CHECK(mr_ring_create(engine.context, 1024, bytes, &ring, nullptr) == MR_INVALID_ARGUMENT);
    }
    CHECK(mr_ring_create(engine.context, 1, uint64_t{1} << 50, &ring, nullptr) ==
          MR_OUT_OF_HOST_MEMORY);
    CHECK(ring == nullptr);

    ring = make_ring(engine, 1024, 1);
    const void* data = &engine;
    CHECK(mr_ring_query(ring, 0, nullptr) == MR_INVALID_ARGUMENT);  // never pushed
    CHECK(mr_ring_wait(ring, 0, &data, nullptr) == MR_INVALID_ARGUMENT);
    CHECK(mr_ring_query(ring, 1024, nullptr) == MR_INVALID_ARGUMENT);
    CHECK(mr_ring_wait(ring, 1024, &data, nullptr) == MR_INVALID_ARGUMENT);
    Bytes byte(engine.a, 1);
    CHECK(mr_ring_push(ring, 1024, engine.a, byte.data, 1, nullptr) == MR_INVALID_ARGUMENT);
    MR_OK_OR_FAIL(mr_ring_push(ring, 1023, engine.a, byte.data, 1, nullptr));
    CHECK(mr_ring_wait(ring, 1023, nullptr, nullptr) == MR_INVALID_ARGUMENT);
    CHECK(data == &engine);
    Engine other;
    CHECK(mr_ring_push(ring, 0, other.a, byte.data, 1, nullptr) == MR_INVALID_ARGUMENT);
    mr_ring_release(ring);
  });
}

TEST_CASE("the pinned memory is counted in the context's memory, and given back") {
  both_modes([](Engine& engine) {
    const mr_memory_stats before = test::stats_of(engine.memory);
    mr_ring* ring = make_ring(engine, 4, kMiB);
    const mr_memory_stats during = test::stats_of(engine.memory);
    CHECK(during.pinned.current == before.pinned.current + 4 * kMiB);
    CHECK(during.allocated.current == before.allocated.current);
    mr_ring_release(ring);
    CHECK(test::stats_of(engine.memory).pinned.current == before.pinned.current);
  });
}

TEST_CASE("a ring released while a push is queued waits for it") {
  SlowPage page;
  Engine engine("deferred");
  mr_ring* ring = make_ring(engine, 1, 64);
  Bytes result(engine.a, 64);
  page.hold_up(engine.a);
  MR_OK_OR_FAIL(mr_ring_push(ring, 0, engine.a, result.data, 64, nullptr));
  std::thread opener([&] {
    page.wait_for_arrival();
    page.appear();
  });
  mr_ring_release(ring);
  CHECK(mr_stream_synchronize(engine.a, nullptr) == MR_OK);
  opener.join();
}
