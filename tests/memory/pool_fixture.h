// A caching pool on a fake device, and what tests do with it. Every fixture ends with a look for
// hazards and at the pool's structure.
#pragma once

#include <doctest/doctest.h>

#include <cstring>

#include "memory/fake_backend.h"
#include "memory/pool_probe.h"

namespace test {

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;

struct Piece {
  void* address = nullptr;
  uint64_t bytes = 0;
  uint64_t life = 0;  // of the allocation; see FakeBackend::touch()
};

inline mr_memory_stats stats_of(mr::Pool& pool) {
  mr_memory_stats stats = MR_MEMORY_STATS_INIT;
  pool.stats(&stats);
  return stats;
}

// Equal but for the failure counters, addresses that were set aside, waits that were enqueued
// before the call failed, and how free memory lies: it may have merged what was cached.
inline bool same_figures(mr_memory_stats a, mr_memory_stats b) {
  for (mr_memory_stats* stats : {&a, &b}) {
    stats->out_of_memory = stats->address_bytes = stats->largest_free = 0;
    stats->waits = stats->taken_over = 0;
  }
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// The short way where it can be taken, as mr_memory_allocate() goes.
inline Status allocate(mr::CachingPool& pool, StreamRef stream, uint64_t bytes, uint64_t alignment,
                       uint32_t tag, void** out) {
  void* hit = alignment == 256 ? pool.allocate_cached(stream, bytes, tag, nullptr) : nullptr;
  if (hit != nullptr) return *out = hit, Status();
  return pool.allocate(stream, bytes, alignment, tag, out);
}

// How memory comes, and how it is accounted for.
using Books = mr::CachingPool::Books;
struct Kind {
  bool paged;
  Books books;
};
inline constexpr Kind kKinds[] = {{true, Books::kShared},
                                  {true, Books::kPerStream},
                                  {false, Books::kShared},
                                  {false, Books::kPerStream}};

struct PoolFixture {
  // The device of a fixture maps memory by pages, unless it is told not to.
  explicit PoolFixture(uint64_t limit = 0, uint64_t capacity = 1024 * kMiB, bool paged = true,
                       Books books = Books::kShared)
      : device(capacity, paged), pool(device, 0, limit, books) {}
  ~PoolFixture() { verify(); }

  Status try_take(StreamRef stream, uint64_t bytes, Piece* out, uint64_t alignment = 256) {
    void* address = nullptr;
    MR_TRY(allocate(pool, stream, bytes, alignment, MR_TAG_OTHER, &address));
    *out = {address, bytes, ++lives};
    return {};
  }
  Piece take(StreamRef stream, uint64_t bytes, uint64_t alignment = 256) {
    Piece piece;
    const Status status = try_take(stream, bytes, &piece, alignment);
    REQUIRE_MESSAGE(status.ok(), status.sentence << ": " << status.detail);
    return piece;
  }
  mr_status refusal(StreamRef stream, uint64_t bytes) {
    Piece piece;
    return try_take(stream, bytes, &piece).code;
  }
  void give(StreamRef stream, const Piece& piece) {
    const Status status = pool.free(stream, piece.address);
    REQUIRE_MESSAGE(status.ok(), status.sentence);
  }
  void use(StreamRef stream, const Piece& piece) { REQUIRE(pool.use(stream, piece.address).ok()); }
  void work(StreamRef stream, const Piece& piece) {
    device.touch(stream, piece.address, piece.bytes, piece.life);
  }
  // The host application orders `later` behind all that is on `first`.
  void order(StreamRef first, StreamRef later) {
    void* event = nullptr;
    REQUIRE(device.make_event(0, false, &event).ok());
    REQUIRE(device.record_event(0, event, first.native, false).ok());
    REQUIRE(device.wait_event(0, later.native, event, false).ok());
    device.drop_event(0, event);
  }
  void finish(StreamRef stream) { REQUIRE(device.synchronize_stream(0, stream.native).ok()); }
  uint64_t trim(uint64_t target = 0) {
    uint64_t reserved = 0;
    REQUIRE(pool.trim(target, &reserved).ok());
    return reserved;
  }
  mr_memory_stats stats() { return stats_of(pool); }
  void verify() {
    for (const std::string& hazard : device.hazards()) FAIL_CHECK(hazard);
    const std::string wrong = mr::PoolProbe::check(pool);
    CHECK_MESSAGE(wrong.empty(), wrong);
    CHECK(stats().reserved.current == device.held);
  }

  FakeBackend device;
  mr::CachingPool pool;
  uint64_t lives = 0;
};

}  // namespace test
