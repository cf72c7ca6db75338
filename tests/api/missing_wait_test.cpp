// Deferred host streams make a missing wait visible without a GPU: every pair of tests here does
// the same work with the wait, which must be right, and without it, which must be seen to be wrong,
// each time.
#include "api/api_fixture.h"
#include "api/slow_page.h"

namespace {

using test::Bytes;
using test::Engine;
using test::SlowPage;

// What stream b reads of a buffer that stream a fills behind something slow.
int read_behind_slow_writer(bool wait) {
  SlowPage page;
  Engine engine("deferred");
  Bytes written(engine.a, 256), seen(engine.b, 256);
  written.fill(1);
  MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
  mr_event* event = test::make_event(engine.context);
  page.hold_up(engine.a);
  written.fill(2);
  MR_OK_OR_FAIL(mr_event_record(event, engine.a, 0, nullptr));
  if (wait) MR_OK_OR_FAIL(mr_stream_wait_event(engine.b, event, nullptr));
  MR_OK_OR_FAIL(mr_copy(engine.b, seen.data, written.data, 256, MR_COPY_ON_DEVICE, nullptr));
  if (!wait) MR_OK_OR_FAIL(mr_stream_synchronize(engine.b, nullptr));
  CHECK(mr_event_query(event, nullptr) == MR_NOT_READY);
  page.appear();
  const int value = seen.value();
  mr_event_release(event);
  MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
  return value;
}

// What the host reads of a pinned result that a stream copies to it.
int read_result(bool wait) {
  SlowPage page;
  Engine engine("deferred");
  Bytes result(engine.a, 256, MR_MEMORY_PINNED), source(engine.a, 256);
  source.fill(5);
  result.fill(4);
  MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
  page.hold_up(engine.a);
  MR_OK_OR_FAIL(mr_copy(engine.a, result.data, source.data, 256, MR_COPY_TO_HOST, nullptr));
  const int early = result.data[0];
  page.appear();
  MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
  return wait ? result.data[0] : early;
}

// An operator on stream b whose input stream a makes.
float twice_behind_slow_writer(bool wait) {
  SlowPage page;
  Engine engine("deferred");
  Bytes input(engine.a, 64), output(engine.b, 64);
  const std::vector<float> old(16, 1.0f), fresh(16, 3.0f);
  MR_OK_OR_FAIL(mr_upload(engine.a, input.data, old.data(), 64, nullptr));
  mr_event* event = test::make_event(engine.context);
  page.hold_up(engine.a);
  MR_OK_OR_FAIL(mr_copy(engine.a, input.data, fresh.data(), 64, MR_COPY_TO_DEVICE, nullptr));
  MR_OK_OR_FAIL(mr_event_record(event, engine.a, 0, nullptr));
  if (wait) MR_OK_OR_FAIL(mr_stream_wait_event(engine.b, event, nullptr));
  MR_OK_OR_FAIL(test::twice(engine.b, input.data, output.data, 16));
  if (!wait) MR_OK_OR_FAIL(mr_stream_synchronize(engine.b, nullptr));
  page.appear();
  std::vector<float> got(16);
  MR_OK_OR_FAIL(mr_download(engine.b, got.data(), output.data, 64, nullptr));
  MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
  mr_event_release(event);
  return got[15];
}

}  // namespace

TEST_CASE("a copy on another stream sees the old contents unless it waits") {
  for (int round = 0; round < 5; ++round) {
    CHECK(read_behind_slow_writer(true) == 2);
    CHECK(read_behind_slow_writer(false) == 1);
  }
}

TEST_CASE("the host sees the old result unless it waits") {
  for (int round = 0; round < 5; ++round) {
    CHECK(read_result(true) == 5);
    CHECK(read_result(false) == 4);
  }
}

TEST_CASE("an operator on another stream works on the old input unless it waits") {
  for (int round = 0; round < 5; ++round) {
    CHECK(twice_behind_slow_writer(true) == 6.0f);
    CHECK(twice_behind_slow_writer(false) == 2.0f);
  }
}

TEST_CASE("the latest record counts: waiting for an earlier one is a missing wait") {
  SlowPage page;
  Engine engine("deferred");
  Bytes written(engine.a, 64), seen(engine.b, 64);
  mr_event* event = test::make_event(engine.context);
  written.fill(1);
  MR_OK_OR_FAIL(mr_event_record(event, engine.a, 0, nullptr));
  MR_OK_OR_FAIL(mr_stream_wait_event(engine.b, event, nullptr));  // for the fill with 1
  page.hold_up(engine.a);
  written.fill(2);
  MR_OK_OR_FAIL(mr_event_record(event, engine.a, 0, nullptr));
  MR_OK_OR_FAIL(mr_copy(engine.b, seen.data, written.data, 64, MR_COPY_ON_DEVICE, nullptr));
  CHECK(seen.value_on(engine.b) == 1);
  MR_OK_OR_FAIL(mr_stream_wait_event(engine.b, event, nullptr));  // for the fill with 2
  MR_OK_OR_FAIL(mr_copy(engine.b, seen.data, written.data, 64, MR_COPY_ON_DEVICE, nullptr));
  page.appear();
  CHECK(seen.value_on(engine.b) == 2);
  MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
  mr_event_release(event);
}

TEST_CASE("a record on another stream does not let a waiter go early") {
  SlowPage page;
  Engine engine("deferred");
  mr_stream* third = nullptr;
  MR_OK_OR_FAIL(mr_stream_create(engine.context, nullptr, &third, nullptr));
  {
    Bytes written(engine.a, 64), seen(engine.b, 64);
    written.fill(1);
    MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
    mr_event* event = test::make_event(engine.context);
    page.hold_up(engine.a);
    written.fill(2);
    MR_OK_OR_FAIL(mr_event_record(event, engine.a, 0, nullptr));
    MR_OK_OR_FAIL(mr_stream_wait_event(engine.b, event, nullptr));
    MR_OK_OR_FAIL(mr_copy(engine.b, seen.data, written.data, 64, MR_COPY_ON_DEVICE, nullptr));
    MR_OK_OR_FAIL(mr_event_record(event, third, 0, nullptr));
    MR_OK_OR_FAIL(mr_event_synchronize(event, nullptr));
    page.wait_for_arrival();
    CHECK(mr_stream_query(engine.b, nullptr) == MR_NOT_READY);
    page.appear();
    CHECK(seen.value_on(engine.b) == 2);
    MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
    mr_event_release(event);
  }
  mr_stream_release(third);
}
