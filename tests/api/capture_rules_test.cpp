// C03 and C05: what a failed capture must not leave behind, and what a graph keeps alive.
#include <functional>

#include "api/api_fixture.h"

namespace {

using test::both_modes;
using test::Bytes;
using test::Engine;
using test::kMiB;

void* allocate(Engine& engine, mr_stream* stream, uint64_t bytes) {
  void* address = nullptr;
  MR_OK_OR_FAIL(mr_memory_allocate(engine.memory, stream, bytes, 0, 0, &address, nullptr));
  return address;
}

uint64_t reserved_after_trim(Engine& engine) {
  uint64_t reserved = 0;
  MR_OK_OR_FAIL(mr_memory_trim(engine.memory, 0, &reserved, nullptr));
  return reserved;
}

}  // namespace

TEST_CASE(
    "C03: each illegal call is refused, gives no graph at the end, and leaves nothing stuck") {
  both_modes([](Engine& engine) {
    Bytes x(engine.a, 64);
    unsigned char host[64] = {};
    void* address = nullptr;
    mr_buffer* buffer = nullptr;
    const std::function<mr_status()> illegal[] = {
        [&] { return mr_stream_synchronize(engine.a, nullptr); },
        [&] { return mr_stream_query(engine.a, nullptr); },
        [&] { return mr_upload(engine.a, x.data, host, 64, nullptr); },
        [&] { return mr_download(engine.a, host, x.data, 64, nullptr); },
        [&] { return mr_graph_begin(engine.a, nullptr, nullptr); },
        [&] {
          return mr_memory_allocate(engine.memory, engine.a, 32 * kMiB, 0, 0, &address, nullptr);
        },
        [&] {
          return mr_buffer_create(engine.a, 32 * kMiB, MR_MEMORY_DEVICE, 0, &buffer, nullptr);
        },
    };
    const uint64_t before = reserved_after_trim(engine);
    int number = 0;
    for (const auto& call : illegal) {
      CAPTURE(number);
      MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
      x.fill(1);
      CHECK(call() == MR_CAPTURE_VIOLATION);
      mr_graph* graph = nullptr;
      mr_error error = {};
      CHECK(mr_graph_end(engine.a, &graph, &error) == MR_CAPTURE_VIOLATION);
      CHECK(error.code == MR_CAPTURE_VIOLATION);
      CHECK(graph == nullptr);
      // The same stream captures again at once, and the graph is right.
      x.fill(0);
      MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
      MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
      x.fill(static_cast<unsigned char>(10 + number));
      MR_OK_OR_FAIL(mr_graph_end(engine.a, &graph, nullptr));
      MR_OK_OR_FAIL(mr_graph_launch(graph, engine.a, nullptr));
      CHECK(x.value() == 10 + number);
      mr_graph_release(graph);
      ++number;
    }
    CHECK(address == nullptr);
    CHECK(buffer == nullptr);
    CHECK(reserved_after_trim(engine) == before);
  });
}

TEST_CASE("C03: an illegal call on a stream that joined spoils the capture too") {
  both_modes([](Engine& engine) {
    mr_event* fork = test::make_event(engine.context);
    mr_event* join = test::make_event(engine.context);
    for (const bool illegal : {true, false}) {
      MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
      MR_OK_OR_FAIL(mr_event_record(fork, engine.a, 0, nullptr));
      MR_OK_OR_FAIL(mr_stream_wait_event(engine.b, fork, nullptr));
      if (illegal) CHECK(mr_stream_synchronize(engine.b, nullptr) == MR_CAPTURE_VIOLATION);
      MR_OK_OR_FAIL(mr_event_record(join, engine.b, 0, nullptr));
      MR_OK_OR_FAIL(mr_stream_wait_event(engine.a, join, nullptr));
      mr_graph* graph = nullptr;
      CHECK(mr_graph_end(engine.a, &graph, nullptr) == (illegal ? MR_CAPTURE_VIOLATION : MR_OK));
      mr_graph_release(graph);
    }
    mr_event_release(fork);
    mr_event_release(join);
  });
}

TEST_CASE("calls that fail for another reason leave the capture as it is") {
  both_modes([](Engine& engine) {
    Bytes x(engine.a, 64);
    x.fill(0);
    MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    CHECK(mr_fill(engine.a, nullptr, 1, 64, nullptr) == MR_INVALID_ARGUMENT);
    CHECK(mr_fill(engine.a, x.data, 256, 64, nullptr) == MR_INVALID_ARGUMENT);
    CHECK(mr_copy(engine.a, x.data, x.data, 8, 99, nullptr) == MR_INVALID_ARGUMENT);
    CHECK(test::twice(engine.a, x.data + 1, x.data, 4) == MR_MISALIGNED);
    x.fill(5);
    mr_graph* graph = nullptr;
    MR_OK_OR_FAIL(mr_graph_end(engine.a, &graph, nullptr));
    MR_OK_OR_FAIL(mr_graph_launch(graph, engine.a, nullptr));
    CHECK(x.value() == 5);
    mr_graph_release(graph);
  });
}

TEST_CASE("C05: a temporary freed in the capture stays the graph's, whatever happens to the pool") {
  both_modes([](Engine& engine) {
    Bytes x(engine.a, 64), y(engine.a, 64);
    // Cached beforehand: a capture cannot grow the pool.
    MR_OK_OR_FAIL(
        mr_memory_free(engine.memory, engine.a, allocate(engine, engine.a, 4 * kMiB), nullptr));
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    void* const temporary = allocate(engine, engine.a, 4 * kMiB);
    MR_OK_OR_FAIL(test::twice(engine.a, x.data, temporary, 16));
    MR_OK_OR_FAIL(test::twice(engine.a, temporary, y.data, 16));
    MR_OK_OR_FAIL(mr_memory_free(engine.memory, engine.a, temporary, nullptr));
    mr_graph* graph = nullptr;
    MR_OK_OR_FAIL(mr_graph_end(engine.a, &graph, nullptr));

    const uint64_t with_graph = reserved_after_trim(engine);
    CHECK(test::stats_of(engine.memory).active.current >= 4 * kMiB);
    std::vector<void*> others;
    for (mr_stream* stream : {engine.a, engine.b, static_cast<mr_stream*>(nullptr)}) {
      for (int i = 0; i < 5; ++i) {
        others.push_back(allocate(engine, stream, 4 * kMiB));
        CHECK(others.back() != temporary);
        mr_stream* const writes = stream != nullptr ? stream : engine.a;
        MR_OK_OR_FAIL(mr_fill(writes, others.back(), 0xff, 4 * kMiB, nullptr));  // NaN
      }
    }
    MR_OK_OR_FAIL(mr_stream_synchronize(engine.b, nullptr));
    const std::vector<float> values(16, 3.0f);
    std::vector<float> got(16);
    MR_OK_OR_FAIL(mr_upload(engine.a, x.data, values.data(), 64, nullptr));
    MR_OK_OR_FAIL(mr_graph_launch(graph, engine.a, nullptr));
    MR_OK_OR_FAIL(mr_download(engine.a, got.data(), y.data, 64, nullptr));
    for (const float value : got) CHECK(value == 12.0f);

    for (void* address : others) {
      MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
      MR_OK_OR_FAIL(mr_memory_free(engine.memory, nullptr, address, nullptr));
    }
    CHECK(reserved_after_trim(engine) == with_graph);
    mr_graph_release(graph);
    CHECK(reserved_after_trim(engine) < with_graph);
  });
}

TEST_CASE("C05: memory cached before the capture is not taken back by a trim between replays") {
  both_modes([](Engine& engine) {
    Bytes y(engine.a, 64);
    void* const kept = allocate(engine, engine.a, 2 * kMiB);
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    MR_OK_OR_FAIL(mr_fill(engine.a, kept, 7, 64, nullptr));
    MR_OK_OR_FAIL(mr_copy(engine.a, y.data, kept, 64, MR_COPY_ON_DEVICE, nullptr));
    mr_graph* graph = nullptr;
    MR_OK_OR_FAIL(mr_graph_end(engine.a, &graph, nullptr));
    for (int i = 0; i < 3; ++i) {
      (void)reserved_after_trim(engine);
      y.fill(0);
      MR_OK_OR_FAIL(mr_graph_launch(graph, engine.a, nullptr));
      CHECK(y.value() == 7);
    }
    mr_graph_release(graph);
    MR_OK_OR_FAIL(mr_memory_free(engine.memory, engine.a, kept, nullptr));
  });
}
