// The check that the other tests rely on must itself be able to fail.
#include "memory/fake_backend.h"

#include <doctest/doctest.h>

using namespace test;

namespace {

struct Device {
  FakeBackend fake;
  StreamRef a = fake.stream(), b = fake.stream();
  void* memory = nullptr;
  void* event = nullptr;
  Device() {
    REQUIRE(fake.reserve(0, MemoryKind::kDevice, 4 << 20, &memory).ok());
    REQUIRE(fake.make_event(0, false, &event).ok());
  }
  void touch(StreamRef stream, uint64_t life, uint64_t offset = 0, uint64_t bytes = 4 << 20) {
    fake.touch(stream, static_cast<char*>(memory) + offset, bytes, life);
  }
};

}  // namespace

TEST_CASE("unordered reuse is flagged, ordered reuse is not") {
  Device d;
  d.touch(d.a, 1);
  d.touch(d.a, 2);  // stream order
  CHECK(d.fake.hazards().empty());
  d.touch(d.b, 3);
  CHECK_FALSE(d.fake.hazards().empty());
}

TEST_CASE("an event and a wait order two streams, up to the record only") {
  Device d;
  d.touch(d.a, 1, 0, 256);
  REQUIRE(d.fake.record_event(0, d.event, d.a.native, false).ok());
  d.touch(d.a, 1, 512, 256);
  REQUIRE(d.fake.wait_event(0, d.b.native, d.event, false).ok());
  d.touch(d.b, 2, 0, 256);
  CHECK(d.fake.hazards().empty());
  d.touch(d.b, 2, 256, 256);  // beside both
  CHECK(d.fake.hazards().empty());
  d.touch(d.b, 2, 512, 1);
  CHECK_FALSE(d.fake.hazards().empty());
}

TEST_CASE("what the host saw finish is ordered before what it enqueues next") {
  Device d;
  d.touch(d.a, 1);
  SUBCASE("by waiting") { REQUIRE(d.fake.synchronize_stream(0, d.a.native).ok()); }
  SUBCASE("by asking") {
    REQUIRE(d.fake.record_event(0, d.event, d.a.native, false).ok());
    bool done = true;
    REQUIRE(d.fake.query_event(0, d.event, &done).ok());
    CHECK_FALSE(done);
    d.fake.step(d.a, 2);
    REQUIRE(d.fake.query_event(0, d.event, &done).ok());
    CHECK(done);
  }
  d.touch(d.b, 2);
  CHECK(d.fake.hazards().empty());
}

TEST_CASE("a wait holds its stream until the other has got there") {
  Device d;
  d.touch(d.a, 1);
  REQUIRE(d.fake.record_event(0, d.event, d.a.native, false).ok());
  REQUIRE(d.fake.wait_event(0, d.b.native, d.event, false).ok());
  d.fake.step(d.b);
  CHECK_FALSE(d.fake.idle(d.b));
  d.fake.step(d.a, 2);
  d.fake.step(d.b);
  CHECK(d.fake.idle(d.b));
}

TEST_CASE("giving memory back under work is flagged, and so is an old owner's return") {
  Device d;
  d.touch(d.a, 1);
  SUBCASE("given back") { d.fake.release(0, MemoryKind::kDevice, d.memory, 4 << 20); }
  SUBCASE("an old owner") {
    d.touch(d.a, 2);
    d.touch(d.a, 1);
  }
  CHECK_FALSE(d.fake.hazards().empty());
}

TEST_CASE("a capture must be left alone") {
  Device d;
  REQUIRE(d.fake.begin_capture(0, d.a.native).ok());
  CHECK_FALSE(d.fake.record_event(0, d.event, d.a.native, false).ok());
  CHECK_FALSE(d.fake.hazards().empty());
  void* graph = nullptr;
  CHECK(d.fake.end_capture(0, d.a.native, &graph).code == MR_CAPTURE_VIOLATION);
}

TEST_CASE("a dead stream must be left alone") {
  Device d;
  d.fake.destroy(d.a);
  REQUIRE(d.fake.record_event(0, d.event, d.a.native, false).ok());
  CHECK_FALSE(d.fake.hazards().empty());
}
