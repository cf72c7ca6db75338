// Graphs through the interface: what capture and replay promise, and what a capture must survive.
#include <atomic>
#include <thread>

#include "api/api_fixture.h"
#include "api/slow_page.h"

namespace {

using test::both_modes;
using test::Bytes;
using test::Engine;
using test::kMiB;
using test::make_event;
using test::SlowPage;

mr_graph* end(mr_stream* stream) {
  mr_graph* graph = nullptr;
  mr_error error = {};
  REQUIRE_MESSAGE(mr_graph_end(stream, &graph, &error) == MR_OK, error.text);
  REQUIRE(graph != nullptr);
  return graph;
}

bool capturing(mr_stream* stream) {
  int32_t out = -1;
  MR_OK_OR_FAIL(mr_stream_is_capturing(stream, &out, nullptr));
  return out == 1;
}

}  // namespace

TEST_CASE("what is captured runs at each launch, on what the tensors hold then") {
  both_modes([](Engine& engine) {
    Bytes input(engine.a, 64), output(engine.a, 64);
    output.fill(0);
    CHECK(!capturing(engine.a));
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    CHECK(capturing(engine.a));
    CHECK(!capturing(engine.b));
    MR_OK_OR_FAIL(test::twice(engine.a, input.data, output.data, 16));
    MR_OK_OR_FAIL(test::twice(engine.a, output.data, output.data, 16));
    mr_graph* graph = end(engine.a);
    CHECK(!capturing(engine.a));
    CHECK(output.value() == 0);
    for (const float value : {1.0f, -2.5f, 100.0f}) {
      const std::vector<float> values(16, value);
      std::vector<float> got(16);
      MR_OK_OR_FAIL(mr_upload(engine.b, input.data, values.data(), 64, nullptr));
      MR_OK_OR_FAIL(mr_graph_launch(graph, engine.b, nullptr));
      MR_OK_OR_FAIL(mr_download(engine.b, got.data(), output.data, 64, nullptr));
      for (const float element : got) CHECK(element == 4 * value);
    }
    mr_graph_release(graph);
  });
}

TEST_CASE("a second stream joins through an event, and must be waited for again") {
  both_modes([](Engine& engine) {
    Bytes x(engine.a, 64), y(engine.b, 64);
    mr_event* fork = make_event(engine.context);
    mr_event* join = make_event(engine.context);
    x.fill(0), y.fill(0);
    MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
    MR_OK_OR_FAIL(mr_stream_synchronize(engine.b, nullptr));
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    x.fill(6);
    MR_OK_OR_FAIL(mr_event_record(fork, engine.a, 0, nullptr));
    MR_OK_OR_FAIL(mr_stream_wait_event(engine.b, fork, nullptr));
    CHECK(capturing(engine.b));
    MR_OK_OR_FAIL(mr_copy(engine.b, y.data, x.data, 64, MR_COPY_ON_DEVICE, nullptr));
    // A point of the graph is nothing that the host could ask about.
    CHECK(mr_event_query(fork, nullptr) == MR_CAPTURE_VIOLATION);
    CHECK(mr_event_synchronize(fork, nullptr) == MR_CAPTURE_VIOLATION);
    MR_OK_OR_FAIL(mr_event_record(join, engine.b, 0, nullptr));
    MR_OK_OR_FAIL(mr_stream_wait_event(engine.a, join, nullptr));
    mr_graph* graph = end(engine.a);
    CHECK(!capturing(engine.b));
    CHECK(y.value() == 0);
    MR_OK_OR_FAIL(mr_graph_launch(graph, engine.a, nullptr));
    CHECK(y.value_on(engine.a) == 6);
    mr_graph_release(graph);

    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    MR_OK_OR_FAIL(mr_event_record(fork, engine.a, 0, nullptr));
    MR_OK_OR_FAIL(mr_stream_wait_event(engine.b, fork, nullptr));
    graph = nullptr;
    CHECK(mr_graph_end(engine.a, &graph, nullptr) == MR_CAPTURE_VIOLATION);
    CHECK(graph == nullptr);
    CHECK(!capturing(engine.b));
    // The fork event was last recorded in a capture that is no more.
    CHECK(mr_stream_wait_event(engine.b, fork, nullptr) == MR_CAPTURE_VIOLATION);
    MR_OK_OR_FAIL(mr_event_record(fork, engine.a, 0, nullptr));
    CHECK(mr_stream_wait_event(engine.b, fork, nullptr) == MR_OK);
    mr_event_release(fork);
    mr_event_release(join);
  });
}

TEST_CASE("an external record counts at each launch, and the host waits for that one") {
  SlowPage page;
  Engine engine("deferred");
  Bytes x(engine.a, 64);
  x.fill(0);
  MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));  // the graph runs on the other stream
  mr_event* event = make_event(engine.context);
  MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
  page.hold_up(engine.a);
  x.fill(8);
  MR_OK_OR_FAIL(mr_event_record(event, engine.a, MR_EVENT_EXTERNAL, nullptr));
  mr_graph* graph = end(engine.a);
  CHECK(mr_event_query(event, nullptr) == MR_OK);  // no replay yet
  MR_OK_OR_FAIL(mr_graph_launch(graph, engine.b, nullptr));
  CHECK(mr_event_query(event, nullptr) == MR_NOT_READY);
  MR_OK_OR_FAIL(mr_stream_wait_event(engine.a, event, nullptr));
  page.appear();
  CHECK(x.value_on(engine.a) == 8);
  CHECK(mr_event_query(event, nullptr) == MR_OK);
  mr_graph_release(graph);
  mr_event_release(event);
}

TEST_CASE("one graph runs once at a time, on whichever streams it is launched") {
  SlowPage page;
  Engine engine("deferred");
  Bytes x(engine.a, 64);
  x.fill(1);
  MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
  MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
  page.hold_up(engine.a);
  x.fill(2);
  mr_graph* graph = end(engine.a);
  MR_OK_OR_FAIL(mr_graph_launch(graph, engine.a, nullptr));
  MR_OK_OR_FAIL(mr_graph_launch(graph, engine.b, nullptr));
  page.wait_for_arrival();
  CHECK(mr_stream_query(engine.b, nullptr) == MR_NOT_READY);
  page.appear();
  CHECK(x.value_on(engine.b) == 2);
  mr_graph_release(graph);
}

TEST_CASE("a graph released while it runs finishes first") {
  SlowPage page;
  Engine engine("deferred");
  Bytes x(engine.a, 64);
  x.fill(1);
  MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
  page.hold_up(engine.a);
  x.fill(2);
  mr_graph* graph = end(engine.a);
  MR_OK_OR_FAIL(mr_graph_launch(graph, engine.a, nullptr));
  std::thread opener([&] {
    page.wait_for_arrival();
    page.appear();
  });
  mr_graph_release(graph);
  opener.join();
  CHECK(x.value() == 2);
}

TEST_CASE("a graph is not launched into a capture, nor on a stream of another context") {
  both_modes([](Engine& engine) {
    Engine other;
    Bytes x(engine.a, 64);
    x.fill(1);
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    x.fill(2);
    mr_graph* graph = end(engine.a);
    CHECK(mr_graph_launch(graph, other.a, nullptr) == MR_INVALID_ARGUMENT);
    MR_OK_OR_FAIL(mr_graph_begin(engine.b, nullptr, nullptr));
    CHECK(mr_graph_launch(graph, engine.b, nullptr) == MR_CAPTURE_VIOLATION);
    mr_graph* broken = nullptr;
    CHECK(mr_graph_end(engine.b, &broken, nullptr) == MR_CAPTURE_VIOLATION);
    CHECK(x.value() == 1);
    mr_graph_release(graph);
  });
}

TEST_CASE("begin twice and end without begin are violations; begin twice spoils the capture") {
  both_modes([](Engine& engine) {
    mr_graph* graph = nullptr;
    mr_error error = {};
    CHECK(mr_graph_end(engine.a, &graph, &error) == MR_CAPTURE_VIOLATION);
    CHECK(std::string(error.text).find("stream") == 0);
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    CHECK(mr_graph_begin(engine.a, nullptr, nullptr) == MR_CAPTURE_VIOLATION);
    CHECK(mr_graph_end(engine.a, &graph, nullptr) == MR_CAPTURE_VIOLATION);
    CHECK(graph == nullptr);
    CHECK(!capturing(engine.a));
    // The end's own arguments are looked at before it ends anything.
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    CHECK(mr_graph_end(engine.a, nullptr, nullptr) == MR_INVALID_ARGUMENT);
    CHECK(capturing(engine.a));
    mr_graph_release(end(engine.a));
  });
}

TEST_CASE("the option synchronous meets a capture: refused, and the capture is spoilt") {
  both_modes([](Engine& engine) {
    Bytes x(engine.a, 64);
    MR_OK_OR_FAIL(mr_context_set_option(engine.context, "synchronous", "on", nullptr));
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    CHECK(mr_fill(engine.a, x.data, 1, 64, nullptr) == MR_CAPTURE_VIOLATION);
    CHECK(test::twice(engine.a, x.data, x.data, 16) == MR_CAPTURE_VIOLATION);
    mr_graph* graph = nullptr;
    CHECK(mr_graph_end(engine.a, &graph, nullptr) == MR_CAPTURE_VIOLATION);
    MR_OK_OR_FAIL(mr_context_set_option(engine.context, "synchronous", "off", nullptr));
  });
}

TEST_CASE("C02: what another thread does meanwhile does not touch the capture") {
  both_modes([](Engine& engine) {
    Bytes x(engine.a, 64), y(engine.a, 64);
    x.fill(0);
    MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
    std::atomic<bool> begun{false}, stop{false};
    std::atomic<int> rounds{0};
    std::thread other([&] {
      mr_event* event = make_event(engine.context);
      while (!begun) std::this_thread::yield();
      while (!stop || rounds < 3) {
        void* address = nullptr;
        mr_memory_stats stats = MR_MEMORY_STATS_INIT;
        MR_OK_OR_FAIL(
            mr_memory_allocate(engine.memory, engine.b, 3 * kMiB, 0, 0, &address, nullptr));
        MR_OK_OR_FAIL(mr_event_record(event, engine.b, 0, nullptr));
        MR_OK_OR_FAIL(mr_memory_free(engine.memory, engine.b, address, nullptr));
        MR_OK_OR_FAIL(
            mr_memory_allocate(engine.memory, nullptr, 5 * kMiB, 0, 0, &address, nullptr));
        MR_OK_OR_FAIL(mr_memory_free(engine.memory, nullptr, address, nullptr));
        MR_OK_OR_FAIL(mr_event_synchronize(event, nullptr));
        MR_OK_OR_FAIL(mr_event_query(event, nullptr));
        MR_OK_OR_FAIL(mr_stream_synchronize(engine.b, nullptr));
        MR_OK_OR_FAIL(mr_memory_get_stats(engine.memory, &stats, nullptr));
        MR_OK_OR_FAIL(mr_context_health(engine.context, nullptr));
        uint64_t reserved = 0;
        MR_OK_OR_FAIL(mr_memory_trim(engine.memory, 0, &reserved, nullptr));
        ++rounds;
      }
      mr_event_release(event);
    });
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    begun = true;
    while (rounds < 3) std::this_thread::yield();
    MR_OK_OR_FAIL(test::twice(engine.a, x.data, y.data, 16));
    mr_graph* graph = end(engine.a);
    stop = true;
    other.join();
    const std::vector<float> ones(16, 1.5f);
    std::vector<float> got(16);
    MR_OK_OR_FAIL(mr_upload(engine.a, x.data, ones.data(), 64, nullptr));
    MR_OK_OR_FAIL(mr_graph_launch(graph, engine.a, nullptr));
    MR_OK_OR_FAIL(mr_download(engine.a, got.data(), y.data, 64, nullptr));
    CHECK(got[0] == 3.0f);
    CHECK(got[15] == 3.0f);
    mr_graph_release(graph);
  });
}

TEST_CASE(
    "C09: a buffer dropped after its graph, and events of the capture, leave no error behind") {
  both_modes([](Engine& engine) {
    auto* x = new Bytes(engine.a, 64);
    mr_event* event = make_event(engine.context);
    MR_OK_OR_FAIL(mr_graph_begin(engine.a, nullptr, nullptr));
    x->fill(1);
    MR_OK_OR_FAIL(mr_event_record(event, engine.a, 0, nullptr));
    MR_OK_OR_FAIL(mr_buffer_use(x->handle, engine.b, nullptr));
    mr_graph* graph = end(engine.a);
    mr_graph_release(graph);
    delete x;
    Bytes y(engine.a, 64);
    y.fill(2);
    CHECK(y.value() == 2);
    mr_event_release(event);
    CHECK(mr_stream_synchronize(engine.b, nullptr) == MR_OK);
    CHECK(mr_context_health(engine.context, nullptr) == MR_OK);
  });
}

TEST_CASE("streams released while they are captured, alone or joined") {
  both_modes([](Engine& engine) {
    mr_stream* own = nullptr;
    MR_OK_OR_FAIL(mr_stream_create(engine.context, nullptr, &own, nullptr));
    mr_event* event = make_event(engine.context);
    MR_OK_OR_FAIL(mr_graph_begin(own, nullptr, nullptr));
    MR_OK_OR_FAIL(mr_event_record(event, own, 0, nullptr));
    MR_OK_OR_FAIL(mr_stream_wait_event(engine.a, event, nullptr));
    CHECK(capturing(engine.a));
    mr_stream_release(own);
    CHECK(!capturing(engine.a));
    Bytes x(engine.a, 64);
    x.fill(3);
    CHECK(x.value() == 3);
    mr_event_release(event);
  });
}
