// The host's streams, inline and deferred: order, events between streams, and their end.
#include <chrono>

#include "backend/host_fixture.h"

namespace {

using mr::HostStream;
using test::Diary;
using test::Event;
using test::Gate;
using test::make_event;
using test::note;
using test::one_worker;
using test::pass;

constexpr bool kInline = false, kDeferred = true;

}  // namespace

TEST_CASE("an inline stream has run its work when submit() returns, on the caller's thread") {
  Diary diary;
  HostStream stream(one_worker(), kInline);
  CHECK(note(stream, diary, 'a').ok());
  CHECK(diary.text() == "a");
  CHECK(note(stream, diary, 'b').ok());
  CHECK(diary.text() == "ab");
  for (const auto& thread : diary.threads()) CHECK(thread == std::this_thread::get_id());
  CHECK(stream.done());
  stream.drain();
}

TEST_CASE(
    "a deferred stream runs in order on one thread of its own, from a copy of the arguments") {
  Diary diary;
  Gate gate;
  HostStream stream(one_worker(), kDeferred);
  CHECK(pass(stream, gate).ok());
  std::string wanted;
  for (int i = 0; i < 200; ++i) {
    const char name = static_cast<char>('a' + i % 26);
    CHECK(note(stream, diary, name).ok());
    wanted += name;
  }
  gate.wait_for_arrival();
  CHECK(diary.text().empty());
  CHECK(!stream.done());
  gate.open();
  stream.drain();
  CHECK(stream.done());
  CHECK(diary.text() == wanted);
  for (const auto& thread : diary.threads()) {
    CHECK(thread == diary.threads().front());
    CHECK(thread != std::this_thread::get_id());
  }
}

TEST_CASE("streams have ids of their own, which are never reused") {
  std::vector<uint64_t> ids;
  for (int i = 0; i < 8; ++i) {
    HostStream stream(one_worker(), kInline);
    for (const uint64_t id : ids) CHECK(stream.id() != id);
    ids.push_back(stream.id());
    CHECK(stream.id() != 0);
  }
}

TEST_CASE("a deferred stream that is destroyed runs what is queued first") {
  Diary diary;
  Gate gate;
  std::thread opener;
  {
    HostStream stream(one_worker(), kDeferred);
    CHECK(pass(stream, gate).ok());
    for (int i = 0; i < 50; ++i) CHECK(note(stream, diary, 'x').ok());
    opener = std::thread([&] {
      gate.wait_for_arrival();
      gate.open();
    });
  }
  opener.join();
  CHECK(diary.text() == std::string(50, 'x'));
}

TEST_CASE("work behind a wait starts after the event, work before it does not wait") {
  Diary diary;
  Gate gate;
  HostStream first(one_worker(), kDeferred), second(one_worker(), kDeferred);
  const Event event = make_event();
  CHECK(pass(first, gate).ok());
  CHECK(note(first, diary, '1').ok());
  CHECK(first.record(event, false).ok());
  CHECK(note(second, diary, 'a').ok());
  CHECK(second.wait(event, false).ok());
  CHECK(note(second, diary, '2').ok());
  gate.wait_for_arrival();
  while (diary.text() != "a") std::this_thread::yield();
  CHECK(!event->reached(event->latest()));
  gate.open();
  second.drain();
  CHECK(diary.text() == "a12");
  CHECK(event->reached(event->latest()));
}

TEST_CASE("without the wait the second stream overtakes") {
  Diary diary;
  Gate gate;
  HostStream first(one_worker(), kDeferred), second(one_worker(), kDeferred);
  CHECK(pass(first, gate).ok());
  CHECK(note(first, diary, '1').ok());
  CHECK(note(second, diary, '2').ok());
  second.drain();
  CHECK(diary.text() == "2");
  gate.open();
  first.drain();
  CHECK(diary.text() == "21");
}

TEST_CASE("a wait stands for the record that was the latest when it was enqueued") {
  Diary diary;
  Gate gate;
  HostStream slow(one_worker(), kDeferred), quick(one_worker(), kDeferred),
      waiter(one_worker(), kDeferred);
  const Event event = make_event();
  CHECK(pass(slow, gate).ok());
  CHECK(note(slow, diary, '1').ok());
  CHECK(slow.record(event, false).ok());
  CHECK(waiter.wait(event, false).ok());
  CHECK(note(waiter, diary, '2').ok());
  // A later record elsewhere is reached first. It must not let the waiter go.
  CHECK(quick.record(event, false).ok());
  quick.drain();
  CHECK(event->reached(event->latest()));
  gate.wait_for_arrival();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(diary.text().empty());
  gate.open();
  waiter.drain();
  CHECK(diary.text() == "12");
}

TEST_CASE(
    "a wait for an event that was never recorded passes; a later record does not hold it up") {
  Diary diary;
  Gate gate;
  HostStream first(one_worker(), kDeferred), second(one_worker(), kDeferred);
  const Event event = make_event();
  CHECK(second.wait(event, false).ok());
  CHECK(pass(first, gate).ok());
  CHECK(first.record(event, false).ok());
  CHECK(note(second, diary, 'x').ok());
  second.drain();
  CHECK(diary.text() == "x");
  gate.open();
}

TEST_CASE("an inline stream waits for a deferred one on the caller's thread") {
  Diary diary;
  Gate gate;
  HostStream first(one_worker(), kDeferred);
  HostStream second(one_worker(), kInline);
  const Event event = make_event();
  CHECK(pass(first, gate).ok());
  CHECK(note(first, diary, '1').ok());
  CHECK(first.record(event, false).ok());
  std::thread opener([&] {
    gate.wait_for_arrival();
    gate.open();
  });
  CHECK(second.wait(event, false).ok());
  CHECK(note(second, diary, '2').ok());
  CHECK(diary.text() == "12");
  opener.join();
}

TEST_CASE("two streams that wait for each other in turn") {
  Diary diary;
  HostStream a(one_worker(), kDeferred), b(one_worker(), kDeferred);
  const Event from_a = make_event(), from_b = make_event();
  std::string wanted;
  for (int i = 0; i < 50; ++i) {
    CHECK(note(a, diary, 'a').ok());
    CHECK(a.record(from_a, false).ok());
    CHECK(b.wait(from_a, false).ok());
    CHECK(note(b, diary, 'b').ok());
    CHECK(b.record(from_b, false).ok());
    CHECK(a.wait(from_b, false).ok());
    wanted += "ab";
  }
  a.drain();
  b.drain();
  CHECK(diary.text() == wanted);
}

TEST_CASE("an event outlives its owner while it is queued") {
  Diary diary;
  Gate gate;
  HostStream first(one_worker(), kDeferred), second(one_worker(), kDeferred);
  {
    const Event event = make_event();
    CHECK(pass(first, gate).ok());
    CHECK(first.record(event, false).ok());
    CHECK(second.wait(event, false).ok());
    CHECK(note(second, diary, 'x').ok());
  }
  gate.open();
  second.drain();
  CHECK(diary.text() == "x");
}

// ---- Events alone -------------------------------------------------------------------------------

TEST_CASE("a record that is withdrawn lets its waiters go") {
  const Event event = make_event();
  const uint64_t kept = event->issue();
  event->reach(kept);
  const uint64_t lost = event->issue();
  CHECK(!event->reached(lost));
  std::thread waiter([&] { event->wait(lost); });
  event->withdraw(lost);
  waiter.join();
  CHECK(event->latest() == kept);
  CHECK(event->reached(event->latest()));
  CHECK(event->issue() == lost);
}

TEST_CASE("records are reached one by one, in whatever order") {
  const Event event = make_event();
  CHECK(event->reached(0));
  const uint64_t first = event->issue(), second = event->issue(), third = event->issue();
  event->reach(third);
  CHECK(event->reached(third));
  CHECK(!event->reached(first));
  event->reach(first);
  CHECK(event->reached(first));
  CHECK(!event->reached(second));
  event->reach(second);
  for (const uint64_t number : {first, second, third}) CHECK(event->reached(number));
}

TEST_CASE("M13: elapsed time and what has none") {
  const Event start = make_event(true), stop = make_event(true), untimed = make_event();
  float milliseconds = -1.0f;
  const auto elapsed = [&](const Event& a, const Event& b) {
    return a->elapsed_to(*b, &milliseconds).code;
  };
  CHECK(elapsed(start, stop) == MR_INVALID_ARGUMENT);
  CHECK(elapsed(start, untimed) == MR_INVALID_ARGUMENT);
  CHECK(elapsed(untimed, start) == MR_INVALID_ARGUMENT);
  start->reach(start->issue());
  CHECK(elapsed(start, stop) == MR_INVALID_ARGUMENT);
  const uint64_t number = stop->issue();
  CHECK(elapsed(start, stop) == MR_NOT_READY);
  CHECK(milliseconds == -1.0f);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  stop->reach(number);
  CHECK(elapsed(start, stop) == MR_OK);
  CHECK(milliseconds >= 3.0f);
  CHECK(milliseconds < 3000.0f);
  CHECK(elapsed(stop, start) == MR_OK);
  CHECK(milliseconds <= -3.0f);
  CHECK(elapsed(start, start) == MR_OK);
  CHECK(milliseconds == 0.0f);
}
