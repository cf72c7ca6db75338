// Events through the interface: M13's states, records and waits, native handles, other contexts.
#include <chrono>

#include "api/api_fixture.h"
#include "api/slow_page.h"

namespace {

using test::both_modes;
using test::Bytes;
using test::Engine;
using test::make_event;
using test::SlowPage;

}  // namespace

TEST_CASE("M13: an event that was never recorded is complete, and has no time") {
  both_modes([](Engine& engine) {
    mr_event* event = make_event(engine.context, MR_EVENT_TIMING);
    mr_event* other = make_event(engine.context, MR_EVENT_TIMING);
    CHECK(mr_event_query(event, nullptr) == MR_OK);
    CHECK(mr_event_synchronize(event, nullptr) == MR_OK);
    CHECK(mr_stream_wait_event(engine.a, event, nullptr) == MR_OK);
    float milliseconds = 7.0f;
    mr_error error = {};
    CHECK(mr_event_elapsed(event, other, &milliseconds, &error) == MR_INVALID_ARGUMENT);
    CHECK(std::string(error.text).find("never recorded") != std::string::npos);
    CHECK(mr_event_elapsed(event, event, &milliseconds, &error) == MR_INVALID_ARGUMENT);
    CHECK(milliseconds == 7.0f);
    // No error is left behind.
    CHECK(mr_stream_synchronize(engine.a, nullptr) == MR_OK);
    CHECK(mr_context_health(engine.context, nullptr) == MR_OK);
    mr_event_release(event);
    mr_event_release(other);
  });
}

TEST_CASE("M13: not ready while the work runs, elapsed time afterwards") {
  SlowPage page;
  Engine engine("deferred");
  mr_event* start = make_event(engine.context, MR_EVENT_TIMING);
  mr_event* stop = make_event(engine.context, MR_EVENT_TIMING);
  float milliseconds = 7.0f;
  MR_OK_OR_FAIL(mr_event_record(start, engine.a, 0, nullptr));
  page.hold_up(engine.a);
  MR_OK_OR_FAIL(mr_event_record(stop, engine.a, 0, nullptr));
  mr_error error = {};
  CHECK(mr_event_query(stop, &error) == MR_NOT_READY);
  CHECK(error.code == MR_NOT_READY);
  CHECK(mr_event_elapsed(start, stop, &milliseconds, &error) == MR_NOT_READY);
  CHECK(mr_stream_query(engine.a, &error) == MR_NOT_READY);
  CHECK(milliseconds == 7.0f);
  page.wait_for_arrival();
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  page.appear();
  CHECK(mr_event_synchronize(stop, nullptr) == MR_OK);
  CHECK(mr_event_query(stop, nullptr) == MR_OK);
  CHECK(mr_event_elapsed(start, stop, &milliseconds, nullptr) == MR_OK);
  CHECK(milliseconds >= 3.0f);
  CHECK(mr_event_elapsed(stop, start, &milliseconds, nullptr) == MR_OK);
  CHECK(milliseconds <= -3.0f);
  CHECK(mr_context_health(engine.context, nullptr) == MR_OK);
  mr_event_release(start);
  mr_event_release(stop);
}

TEST_CASE("M13: without MR_EVENT_TIMING there is no elapsed time, and the text names the event") {
  both_modes([](Engine& engine) {
    mr_event* timed = make_event(engine.context, MR_EVENT_TIMING);
    mr_event* plain = make_event(engine.context);
    for (mr_event* event : {timed, plain}) {
      MR_OK_OR_FAIL(mr_event_record(event, engine.a, 0, nullptr));
      MR_OK_OR_FAIL(mr_event_synchronize(event, nullptr));
    }
    float milliseconds = 7.0f;
    mr_error error = {};
    CHECK(mr_event_elapsed(plain, timed, &milliseconds, &error) == MR_INVALID_ARGUMENT);
    CHECK(std::string(error.text).find("start:") == 0);
    CHECK(mr_event_elapsed(timed, plain, &milliseconds, &error) == MR_INVALID_ARGUMENT);
    CHECK(std::string(error.text).find("stop:") == 0);
    CHECK(mr_event_elapsed(timed, timed, nullptr, &error) == MR_INVALID_ARGUMENT);
    CHECK(milliseconds == 7.0f);
    mr_event_release(timed);
    mr_event_release(plain);
  });
}

TEST_CASE("unknown flags are refused") {
  Engine engine;
  mr_event* event = nullptr;
  CHECK(mr_event_create(engine.context, 2, &event, nullptr) == MR_INVALID_ARGUMENT);
  CHECK(mr_event_create(engine.context, 0x80000001u, &event, nullptr) == MR_INVALID_ARGUMENT);
  CHECK(event == nullptr);
  event = make_event(engine.context);
  CHECK(mr_event_record(event, engine.a, 2, nullptr) == MR_INVALID_ARGUMENT);
  mr_event_release(event);
}

TEST_CASE("a wrapper and its original are one event, whichever records and whichever waits") {
  for (const bool wrapper_records : {false, true}) {
    CAPTURE(wrapper_records);
    SlowPage page;
    Engine engine("deferred");
    mr_event* original = make_event(engine.context);
    mr_event* wrapper = nullptr;
    MR_OK_OR_FAIL(mr_event_wrap(engine.context, mr_event_native(original), &wrapper, nullptr));
    CHECK(mr_event_native(wrapper) == mr_event_native(original));
    mr_event* const records = wrapper_records ? wrapper : original;
    mr_event* const waits = wrapper_records ? original : wrapper;
    Bytes written(engine.a, 64), seen(engine.b, 64);
    page.hold_up(engine.a);
    written.fill(9);
    MR_OK_OR_FAIL(mr_event_record(records, engine.a, 0, nullptr));
    CHECK(mr_event_query(waits, nullptr) == MR_NOT_READY);
    MR_OK_OR_FAIL(mr_stream_wait_event(engine.b, waits, nullptr));
    MR_OK_OR_FAIL(mr_copy(engine.b, seen.data, written.data, 64, MR_COPY_ON_DEVICE, nullptr));
    page.appear();
    CHECK(seen.value_on(engine.b) == 9);
    CHECK(mr_event_query(waits, nullptr) == MR_OK);
    mr_event_release(wrapper);
    CHECK(mr_event_query(original, nullptr) == MR_OK);
    mr_event_release(original);
  }
}

TEST_CASE("a wrapped event is asked for its timing, and NULL is refused") {
  Engine engine;
  mr_event* wrapper = nullptr;
  CHECK(mr_event_wrap(engine.context, nullptr, &wrapper, nullptr) == MR_INVALID_ARGUMENT);
  CHECK(wrapper == nullptr);
  mr_event* plain = make_event(engine.context);
  MR_OK_OR_FAIL(mr_event_wrap(engine.context, mr_event_native(plain), &wrapper, nullptr));
  MR_OK_OR_FAIL(mr_event_record(wrapper, engine.a, 0, nullptr));
  float milliseconds = 0.0f;
  CHECK(mr_event_elapsed(wrapper, wrapper, &milliseconds, nullptr) == MR_INVALID_ARGUMENT);
  mr_event_release(wrapper);
  mr_event_release(plain);
}

TEST_CASE("streams of another context wait; elapsed time is refused across contexts") {
  SlowPage page;
  Engine first("deferred"), second("deferred");
  mr_event* event = make_event(first.context, MR_EVENT_TIMING);
  mr_event* there = make_event(second.context, MR_EVENT_TIMING);
  Bytes written(first.a, 64), seen(second.a, 64);
  page.hold_up(first.a);
  written.fill(3);
  MR_OK_OR_FAIL(mr_event_record(event, first.a, 0, nullptr));
  MR_OK_OR_FAIL(mr_stream_wait_event(second.a, event, nullptr));
  MR_OK_OR_FAIL(mr_copy(second.a, seen.data, written.data, 64, MR_COPY_ON_DEVICE, nullptr));
  MR_OK_OR_FAIL(mr_event_record(there, second.a, 0, nullptr));
  CHECK(mr_event_query(there, nullptr) == MR_NOT_READY);
  page.appear();
  MR_OK_OR_FAIL(mr_event_synchronize(there, nullptr));
  CHECK(seen.value_on(second.a) == 3);
  float milliseconds = 7.0f;
  mr_error error = {};
  CHECK(mr_event_elapsed(event, there, &milliseconds, &error) == MR_INVALID_ARGUMENT);
  CHECK(std::string(error.text).find("another context") != std::string::npos);
  mr_event_release(event);
  mr_event_release(there);
}

TEST_CASE("an event released while it is queued does its work all the same") {
  SlowPage page;
  Engine engine("deferred");
  Bytes written(engine.a, 64), seen(engine.b, 64);
  page.hold_up(engine.a);
  written.fill(4);
  mr_event* event = make_event(engine.context);
  MR_OK_OR_FAIL(mr_event_record(event, engine.a, 0, nullptr));
  MR_OK_OR_FAIL(mr_stream_wait_event(engine.b, event, nullptr));
  mr_event_release(event);
  MR_OK_OR_FAIL(mr_copy(engine.b, seen.data, written.data, 64, MR_COPY_ON_DEVICE, nullptr));
  page.appear();
  CHECK(seen.value_on(engine.b) == 4);
}
