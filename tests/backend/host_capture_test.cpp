// Captures and graphs on the host: what is recorded, which streams belong, what breaks a capture,
// and how replays number the events outside.
#include "backend/host_fixture.h"

namespace {

using mr::HostGraph;
using mr::HostStream;
using mr::Status;
using test::Diary;
using test::Event;
using test::Gate;
using test::make_event;
using test::note;
using test::one_worker;
using test::pass;

using Graph = std::shared_ptr<HostGraph>;

// Runs the body with streams of both kinds.
template <class Body>
void both_kinds(Body&& body) {
  for (const bool deferred : {false, true}) {
    CAPTURE(deferred);
    HostStream a(one_worker(), deferred), b(one_worker(), deferred);
    body(a, b);
  }
}

// Lets `b` join what `a` records, and `a` wait for what `b` recorded.
void fork_to(HostStream& a, HostStream& b) {
  const Event event = make_event();
  CHECK(a.record(event, false).ok());
  CHECK(b.wait(event, false).ok());
}

void count_drop(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

}  // namespace

TEST_CASE("what is captured does not run; each launch runs it, in order, from its own copy") {
  both_kinds([](HostStream& stream, HostStream& other) {
    Diary diary;
    CHECK(note(stream, diary, 'x').ok());
    CHECK(stream.begin_capture().ok());
    CHECK(stream.capture() != nullptr);
    for (const char name : {'a', 'b', 'c'}) CHECK(note(stream, diary, name).ok());
    stream.drain();
    CHECK(diary.text() == "x");
    Graph graph;
    CHECK(stream.end_capture(&graph).ok());
    CHECK(stream.capture() == nullptr);
    CHECK(graph->nodes.size() == 3);
    for (HostStream* where : {&stream, &other, &stream}) {
      CHECK(where->launch(graph).ok());
      where->drain();
    }
    CHECK(note(stream, diary, 'y').ok());
    stream.drain();
    CHECK(diary.text() == "xabcabcabcy");
  });
}

TEST_CASE("a stream that waits for an event of the capture joins it, and is set free by the end") {
  both_kinds([](HostStream& a, HostStream& b) {
    Diary diary;
    CHECK(a.begin_capture().ok());
    CHECK(note(a, diary, '1').ok());
    fork_to(a, b);
    CHECK(b.capture() == a.capture());
    CHECK(note(b, diary, '2').ok());
    CHECK(note(a, diary, '3').ok());
    fork_to(b, a);
    CHECK(note(a, diary, '4').ok());
    Graph graph;
    REQUIRE(a.end_capture(&graph).ok());
    CHECK(a.capture() == nullptr);
    CHECK(b.capture() == nullptr);
    CHECK(diary.text().empty());
    CHECK(b.launch(graph).ok());
    b.drain();
    CHECK(diary.text() == "1234");
  });
}

TEST_CASE("a stream that joined and was not waited for again makes the end fail, and is set free") {
  both_kinds([](HostStream& a, HostStream& b) {
    Diary diary;
    Graph graph;
    CHECK(a.begin_capture().ok());
    fork_to(a, b);
    CHECK(note(b, diary, 'x').ok());
    CHECK(a.end_capture(&graph).code == MR_CAPTURE_VIOLATION);
    CHECK(graph == nullptr);
    CHECK(a.capture() == nullptr);
    CHECK(b.capture() == nullptr);
    // Waited for, but not for all of it.
    CHECK(a.begin_capture().ok());
    fork_to(a, b);
    fork_to(b, a);
    CHECK(note(b, diary, 'x').ok());
    CHECK(a.end_capture(&graph).code == MR_CAPTURE_VIOLATION);
    // A stream that joined and did nothing must be waited for as well.
    CHECK(a.begin_capture().ok());
    fork_to(a, b);
    CHECK(a.end_capture(&graph).code == MR_CAPTURE_VIOLATION);
    // Both work as before.
    for (HostStream* stream : {&a, &b}) {
      CHECK(note(*stream, diary, 'y').ok());
      stream->drain();
    }
    CHECK(diary.text() == "yy");
  });
}

TEST_CASE("the order through a third stream counts as a wait") {
  both_kinds([](HostStream& a, HostStream& b) {
    HostStream c(one_worker(), false);
    Diary diary;
    Graph graph;
    CHECK(a.begin_capture().ok());
    fork_to(a, b);
    CHECK(note(b, diary, '1').ok());
    fork_to(b, c);
    CHECK(note(c, diary, '2').ok());
    fork_to(c, a);
    REQUIRE(a.end_capture(&graph).ok());
    CHECK(a.launch(graph).ok());
    a.drain();
    CHECK(diary.text() == "12");
  });
}

TEST_CASE("only the stream that began a capture ends it; a try on another breaks it") {
  both_kinds([](HostStream& a, HostStream& b) {
    Graph graph;
    CHECK(a.begin_capture().ok());
    fork_to(a, b);
    CHECK(b.end_capture(&graph).code == MR_CAPTURE_VIOLATION);
    fork_to(b, a);
    CHECK(a.end_capture(&graph).code == MR_CAPTURE_VIOLATION);
    CHECK(graph == nullptr);
    CHECK(a.capture() == nullptr);
    CHECK(b.capture() == nullptr);
    CHECK(a.end_capture(&graph).code == MR_CAPTURE_VIOLATION);  // there is none any more
  });
}

TEST_CASE("an event of one capture awaited in another breaks the latter alone") {
  both_kinds([](HostStream& a, HostStream& b) {
    Graph graph;
    const Event event = make_event();
    CHECK(a.begin_capture().ok());
    CHECK(b.begin_capture().ok());
    CHECK(a.capture()->id != b.capture()->id);
    CHECK(a.record(event, false).ok());
    CHECK(b.wait(event, false).code == MR_CAPTURE_VIOLATION);
    CHECK(b.end_capture(&graph).code == MR_CAPTURE_VIOLATION);
    CHECK(a.end_capture(&graph).ok());
  });
}

TEST_CASE("an event recorded outside must be awaited as an external one") {
  both_kinds([](HostStream& a, HostStream& b) {
    Graph graph;
    const Event event = make_event(), never = make_event();
    CHECK(b.record(event, false).ok());
    CHECK(a.begin_capture().ok());
    CHECK(a.wait(never, false).ok());
    CHECK(a.wait(event, true).ok());
    CHECK(a.end_capture(&graph).ok());
    CHECK(graph->nodes.size() == 1);
    CHECK(a.begin_capture().ok());
    CHECK(a.wait(event, false).code == MR_CAPTURE_VIOLATION);
    CHECK(a.end_capture(&graph).code == MR_CAPTURE_VIOLATION);
  });
}

TEST_CASE("a record inside a capture means nothing once that has ended") {
  both_kinds([](HostStream& a, HostStream& b) {
    Graph graph;
    const Event event = make_event();
    CHECK(a.begin_capture().ok());
    CHECK(a.record(event, false).ok());
    CHECK(a.end_capture(&graph).ok());
    CHECK(b.wait(event, false).code == MR_CAPTURE_VIOLATION);
    CHECK(b.capture() == nullptr);
    CHECK(a.record(event, false).ok());  // outside: the event is as good as new
    CHECK(b.wait(event, false).ok());
    b.drain();
  });
}

TEST_CASE("a stream destroyed during its capture lets the streams go that joined") {
  for (const bool deferred : {false, true}) {
    Diary diary;
    HostStream b(one_worker(), deferred);
    {
      HostStream a(one_worker(), deferred);
      CHECK(a.begin_capture().ok());
      fork_to(a, b);
      CHECK(note(b, diary, 'x').ok());
    }
    CHECK(b.capture() == nullptr);
    CHECK(note(b, diary, 'y').ok());
    b.drain();
    CHECK(diary.text() == "y");
  }
}

TEST_CASE("a stream destroyed after it joined breaks the capture") {
  for (const bool deferred : {false, true}) {
    HostStream a(one_worker(), deferred);
    Graph graph;
    CHECK(a.begin_capture().ok());
    {
      HostStream b(one_worker(), deferred);
      fork_to(a, b);
      fork_to(b, a);
    }
    CHECK(a.end_capture(&graph).code == MR_CAPTURE_VIOLATION);
    CHECK(a.begin_capture().ok());
    CHECK(a.end_capture(&graph).ok());
  }
}

// ---- Events outside of the graph ----------------------------------------------------------------

TEST_CASE("a wait behind a launch waits for that replay of an external record") {
  Gate gate;
  Diary diary;
  HostStream a(one_worker(), true), b(one_worker(), true);
  const Event event = make_event();
  Graph graph;
  CHECK(a.begin_capture().ok());
  CHECK(pass(a, gate).ok());
  CHECK(note(a, diary, 'g').ok());
  CHECK(a.record(event, true).ok());
  CHECK(a.end_capture(&graph).ok());
  CHECK(event->latest() == 0);
  CHECK(a.launch(graph).ok());
  const uint64_t first = event->latest();
  CHECK(first == 1);
  CHECK(b.wait(event, false).ok());
  CHECK(note(b, diary, '1').ok());
  CHECK(a.launch(graph).ok());
  CHECK(event->latest() == first + 1);
  gate.wait_for_arrival();
  CHECK(!event->reached(first));
  CHECK(diary.text().empty());
  gate.open();
  b.drain();
  a.drain();
  const std::string text = diary.text();
  CHECK((text == "g1g" || text == "gg1"));
  CHECK(event->reached(event->latest()));
}

TEST_CASE("each replay waits for the record that is the latest at its launch") {
  Gate gate;
  Diary diary;
  HostStream a(one_worker(), true), b(one_worker(), true);
  const Event event = make_event();
  Graph graph;
  CHECK(b.record(event, false).ok());
  CHECK(a.begin_capture().ok());
  CHECK(a.wait(event, true).ok());
  CHECK(note(a, diary, 'g').ok());
  CHECK(a.end_capture(&graph).ok());
  CHECK(a.launch(graph).ok());
  a.drain();
  CHECK(diary.text() == "g");
  CHECK(pass(b, gate).ok());
  CHECK(note(b, diary, 'b').ok());
  CHECK(b.record(event, false).ok());
  CHECK(a.launch(graph).ok());
  gate.wait_for_arrival();
  CHECK(diary.text() == "g");
  gate.open();
  a.drain();
  CHECK(diary.text() == "gbg");
}

TEST_CASE("a graph that records an event and then waits for it waits for its own record") {
  both_kinds([](HostStream& a, HostStream&) {
    Diary diary;
    const Event event = make_event();
    Graph graph;
    CHECK(a.begin_capture().ok());
    CHECK(a.record(event, true).ok());
    CHECK(a.wait(event, true).ok());
    CHECK(note(a, diary, 'x').ok());
    CHECK(a.end_capture(&graph).ok());
    for (int i = 0; i < 3; ++i) CHECK(a.launch(graph).ok());
    a.drain();
    CHECK(diary.text() == "xxx");
    CHECK(event->latest() == 3);
  });
}

// ---- What a graph keeps -------------------------------------------------------------------------

TEST_CASE("what a capture retains goes with the graph, once, after its last replay") {
  std::atomic<int> drops{0};
  Gate gate;
  HostStream stream(one_worker(), true);
  Graph graph;
  CHECK(stream.begin_capture().ok());
  CHECK(stream.retain_in_capture(&drops, count_drop).ok());
  CHECK(stream.retain_in_capture(&drops, count_drop).ok());
  CHECK(pass(stream, gate).ok());
  CHECK(stream.end_capture(&graph).ok());
  CHECK(stream.launch(graph).ok());
  graph.reset();
  gate.wait_for_arrival();
  CHECK(drops == 0);
  gate.open();
  stream.drain();
  CHECK(drops == 2);
}

TEST_CASE("what a broken or abandoned capture retains goes with it") {
  std::atomic<int> drops{0};
  Graph graph;
  {
    HostStream a(one_worker(), false), b(one_worker(), false);
    CHECK(a.begin_capture().ok());
    CHECK(a.retain_in_capture(&drops, count_drop).ok());
    fork_to(a, b);
    CHECK(a.end_capture(&graph).code == MR_CAPTURE_VIOLATION);
    CHECK(drops == 1);
    CHECK(a.begin_capture().ok());
    CHECK(a.retain_in_capture(&drops, count_drop).ok());
  }
  CHECK(drops == 2);
  HostStream idle(one_worker(), false);
  CHECK(idle.retain_in_capture(&drops, count_drop).code == MR_CAPTURE_VIOLATION);
  CHECK(drops == 2);
}

TEST_CASE("a capture that ends while other threads ask about it and retain in it") {
  std::atomic<int> drops{0}, kept{0};
  HostStream stream(one_worker(), false);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      if (stream.capture() != nullptr && stream.retain_in_capture(&drops, count_drop).ok()) ++kept;
    }
  });
  for (int i = 0; i < 300; ++i) {
    Graph graph;
    CHECK(stream.begin_capture().ok());
    if (i % 10 == 0) std::this_thread::yield();
    CHECK(stream.end_capture(&graph).ok());
  }
  stop = true;
  other.join();
  CHECK(drops == kept);
}
