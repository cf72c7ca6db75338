// The staging bytes that pageable uploads pass through on devices that are not the host: a ring of
// pieces, each free again once its copy is done.
#include "runtime/staging_pool.h"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>

#include "backend/host/host_backend.h"
#include "backend/host_fixture.h"

namespace {

using mr::StagingPool;
using mr::Status;
using test::Gate;

constexpr uint64_t kHalf = StagingPool::kBytes / 2;

// A pool on a deferred stream that a gate can hold up.
struct Stage {
  Stage() {
    const mr_memory_config config = MR_MEMORY_CONFIG_INIT;
    REQUIRE(mr_memory::create(mr::host_backend(), 0, config, &memory).ok());
    native = static_cast<mr::HostQueue*>(&stream);
    pool = std::make_unique<StagingPool>(*memory, native);
    REQUIRE(pool->open().ok());
    bytes.resize(StagingPool::kBytes + 1, 1);
  }
  Status fill(uint64_t count, const void** out = nullptr) {
    const void* where = nullptr;
    const Status status = pool->fill(bytes.data(), count, &where);
    if (out != nullptr) *out = where;
    if (status.ok()) CHECK(std::memcmp(where, bytes.data(), count) == 0);
    return status;
  }
  Status send(uint64_t count, const void** out = nullptr) {
    MR_TRY(fill(count, out));
    return pool->mark();
  }

  mr::HostStream stream{test::one_worker(), true};
  mr::Ref<mr_memory> memory;
  void* native = nullptr;
  std::unique_ptr<StagingPool> pool;
  std::vector<unsigned char> bytes;
};

}  // namespace

TEST_CASE("pieces in flight keep their bytes; what does not fit is refused, with what is free") {
  Gate gate;
  Stage stage;
  CHECK(test::pass(stage.stream, gate).ok());
  const void *first = nullptr, *second = nullptr;
  CHECK(stage.send(kHalf, &first).ok());
  CHECK(stage.send(kHalf - 100, &second).ok());
  CHECK(static_cast<const char*>(second) == static_cast<const char*>(first) + kHalf);
  const Status status = stage.fill(101);
  CHECK(status.code == MR_UNSUPPORTED);
  CHECK(status.value == 101);
  CHECK(status.limit == 100);
  CHECK(stage.send(100).ok());
  CHECK(stage.fill(1).code == MR_UNSUPPORTED);
  gate.open();
  stage.stream.drain();
  CHECK(stage.send(StagingPool::kBytes).ok());  // all of it again
  stage.stream.drain();
  CHECK(stage.fill(StagingPool::kBytes + 1).code == MR_UNSUPPORTED);
}

TEST_CASE("a piece that would cross the end starts over, and its gap is free again with it") {
  Gate first, second;
  Stage stage;
  const void *start = nullptr, *again = nullptr;
  CHECK(test::pass(stage.stream, first).ok());
  CHECK(stage.send(kHalf + 1000, &start).ok());
  CHECK(test::pass(stage.stream, second).ok());
  CHECK(stage.send(1000).ok());
  first.open();
  second.wait_for_arrival();  // the large piece is free again, the small one behind it is not
  CHECK(stage.send(kHalf, &again).ok());
  CHECK(again == start);
  CHECK(stage.fill(kHalf).code == MR_UNSUPPORTED);
  second.open();
  stage.stream.drain();
  for (int i = 0; i < 100; ++i) {
    CHECK(stage.send(kHalf - 7).ok());
    stage.stream.drain();
  }
}

TEST_CASE("no more than kPieces copies are in flight, however small") {
  Gate gate;
  Stage stage;
  CHECK(test::pass(stage.stream, gate).ok());
  for (size_t i = 0; i < StagingPool::kPieces; ++i) CHECK(stage.send(1).ok());
  CHECK(stage.fill(1).code == MR_UNSUPPORTED);
  gate.open();
  stage.stream.drain();
  for (size_t i = 0; i < StagingPool::kPieces; ++i) CHECK(stage.send(1).ok());
}

TEST_CASE("a piece whose copy was not enqueued is taken back") {
  Gate gate;
  Stage stage;
  CHECK(test::pass(stage.stream, gate).ok());
  const void *first = nullptr, *second = nullptr;
  CHECK(stage.send(1000).ok());
  for (int i = 0; i < 200; ++i) {
    CHECK(stage.fill(kHalf + 1, &first).ok());
    stage.pool->cancel();
  }
  CHECK(stage.fill(kHalf + 1, &second).ok());
  CHECK(second == first);
  stage.pool->cancel();
  gate.open();
  stage.stream.drain();
}

TEST_CASE("its destruction waits for copies in flight, and gives the pinned bytes back") {
  Gate gate;
  Stage stage;
  CHECK(test::pass(stage.stream, gate).ok());
  CHECK(stage.send(1000).ok());
  std::thread opener([&] {
    gate.wait_for_arrival();
    gate.open();
  });
  stage.pool.reset();
  CHECK(stage.stream.done());
  mr_memory_stats stats = MR_MEMORY_STATS_INIT;
  stage.memory->stats(&stats);
  CHECK(stats.pinned.current == 0);
  opener.join();
}
