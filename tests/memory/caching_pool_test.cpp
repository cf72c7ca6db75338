// The caching pool, rule by rule.
#include <future>
#include <thread>

#include "memory/pool_fixture.h"

using namespace test;

namespace {

char* at(const Piece& piece) { return static_cast<char*>(piece.address); }

}  // namespace

TEST_CASE("sizes round to 256 bytes or 1/64, and figures say both") {
  PoolFixture f;
  const StreamRef a = f.device.stream();
  const struct {
    uint64_t bytes, rounded;
  } rows[] = {{1, 256},
              {255, 256},
              {256, 256},
              {257, 512},
              {kMiB - 1, kMiB},
              {kMiB, kMiB},
              {16 * kKiB + 1, 16 * kKiB + 256},
              {32 * kKiB + 1, 32 * kKiB + 512},
              {kMiB + 1, kMiB + 16 * kKiB}};
  uint64_t requested = 0, allocated = 0;
  for (const auto& row : rows) {
    f.take(a, row.bytes);
    requested += row.bytes;
    allocated += row.rounded;
    CHECK(f.stats().requested.current == requested);
    CHECK(f.stats().allocated.current == allocated);
  }
  CHECK(f.stats().allocations == 9);
}

TEST_CASE("the device is asked for multiples of 2 MiB, no more than needed") {
  const struct {
    uint64_t bytes, alignment, mapped, whole;  // by pages, or in one piece
  } rows[] = {{1, 256, 2 * kMiB, 2 * kMiB},
              {kMiB, 256, 2 * kMiB, 2 * kMiB},
              {kMiB + 1, 256, 2 * kMiB, 2 * kMiB},
              {2 * kMiB, 256, 2 * kMiB, 2 * kMiB},
              {2 * kMiB + 1, 256, 4 * kMiB, 4 * kMiB},
              {100 * kMiB, 256, 100 * kMiB, 100 * kMiB},
              {512, 2 * kMiB, 2 * kMiB, 4 * kMiB},  // what may have to be skipped counts
              {2 * kMiB, 2 * kMiB, 2 * kMiB, 4 * kMiB}};
  for (const auto& row : rows) {
    CAPTURE(row.bytes);
    CAPTURE(row.alignment);
    for (const bool paged : {true, false}) {
      PoolFixture f(0, 1024 * kMiB, paged);
      f.take(f.device.stream(), row.bytes, row.alignment);
      CHECK(f.device.held == (paged ? row.mapped : row.whole));
    }
  }
}

TEST_CASE("a large request comes in few pieces, a small one in small pieces") {
  PoolFixture f(0, 4096 * kMiB);
  const StreamRef a = f.device.stream();
  f.take(a, 8 * kMiB);
  CHECK(f.device.counts.reserves == 4);
  f.take(a, 1024 * kMiB);
  CHECK(f.device.counts.reserves == 4 + 16);
}

TEST_CASE("R7: a request a little larger than what is free extends it") {
  PoolFixture f;
  const StreamRef a = f.device.stream();
  void* address = nullptr;
  for (uint64_t i = 1; i <= 400; ++i) {
    const Piece piece = f.take(a, i * 256 * kKiB);
    f.work(a, piece);
    f.give(a, piece);
    if (address == nullptr) address = piece.address;
    CHECK(piece.address == address);
  }
  CHECK(f.stats().reserved.current == 100 * kMiB);
  CHECK(f.stats().reserved.total == 100 * kMiB);
}

TEST_CASE("R5: small requests borrow from the same pages as large ones, and give them back") {
  PoolFixture f;
  const StreamRef a = f.device.stream();
  f.give(a, f.take(a, 2 * kMiB));
  const Piece half = f.take(a, 512 * kKiB);
  CHECK(f.stats().reserved.current == 2 * kMiB);
  std::vector<Piece> small;
  for (uint64_t bytes = 1; bytes <= 32 * kKiB; bytes *= 2) small.push_back(f.take(a, bytes));
  CHECK(f.stats().reserved.current == 2 * kMiB);
  f.verify();
  for (const Piece& piece : small) f.give(a, piece);
  f.give(a, half);
  f.take(a, 2 * kMiB);
  CHECK(f.stats().reserved.current == 2 * kMiB);
}

TEST_CASE(
    "the same size is taken back, the latest freed first; else the lowest of what fits best") {
  PoolFixture f;
  const StreamRef a = f.device.stream();
  const uint64_t sizes[] = {4096, 1024, 2048, 1024, 8192};
  Piece pieces[5], fences[5];
  for (int i = 0; i < 5; ++i) {
    pieces[i] = f.take(a, sizes[i]);
    fences[i] = f.take(a, 256);  // keeps neighbours from merging
  }
  for (const Piece& piece : pieces) f.give(a, piece);
  CHECK(f.take(a, 1024).address == pieces[3].address);
  CHECK(f.take(a, 1000).address == pieces[1].address);
  CHECK(f.take(a, 1024).address == pieces[0].address);  // of 2048, 4096, 8192 and the rest
  CHECK(f.take(a, 1024).address == at(pieces[0]) + 1024);
  CHECK(f.take(a, 4097).address == pieces[4].address);
}

TEST_CASE("neighbours merge in every order") {
  const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const auto& order : orders) {
    PoolFixture f(2 * kMiB);
    const StreamRef a = f.device.stream();
    for (const uint64_t unit : {uint64_t{256}, 512 * kKiB}) {
      const Piece pieces[3] = {f.take(a, unit), f.take(a, 2 * unit), f.take(a, unit)};
      for (const int i : order) f.give(a, pieces[i]);
      const Piece all = f.take(a, 2 * kMiB);
      CHECK(all.address == pieces[0].address);
      f.give(a, all);
    }
  }
}

TEST_CASE("alignment: every power of two up to 2 MiB, and the gap stays usable") {
  for (uint64_t alignment = 256; alignment <= 2 * kMiB; alignment *= 2) {
    CAPTURE(alignment);
    PoolFixture f;
    const StreamRef a = f.device.stream();
    const Piece x = f.take(a, 1000, alignment);
    CHECK(reinterpret_cast<uintptr_t>(x.address) % alignment == 0);
    const Piece y = f.take(a, 1000, alignment);
    CHECK(reinterpret_cast<uintptr_t>(y.address) % alignment == 0);
    f.give(a, x);
    CHECK(f.take(a, 1000, alignment).address == x.address);  // refitted exactly
    f.verify();
  }
  PoolFixture f(0, 1024 * kMiB, false);
  const StreamRef a = f.device.stream();
  const Piece x = f.take(a, 64 * kKiB, kMiB);
  const Piece y = f.take(a, 900 * kKiB), z = f.take(a, 900 * kKiB);
  CHECK((at(y) < at(x)) != (at(z) < at(x)));  // one is in the gap before it
  CHECK(f.device.counts.reserves == 1);
}

TEST_CASE("reuse on the same stream costs no call of the driver") {
  PoolFixture f;
  const StreamRef a = f.device.stream();
  const Piece x = f.take(a, kMiB);
  f.work(a, x);
  f.give(a, x);
  const uint64_t before = f.device.counts.driver();
  for (int i = 0; i < 10; ++i) {
    const Piece y = f.take(a, kMiB);
    CHECK(y.address == x.address);
    f.work(a, y);
    f.give(a, y);
  }
  CHECK(f.device.counts.driver() == before);
}

TEST_CASE("a free on another stream waits for the allocating one") {
  PoolFixture f(2 * kMiB);
  const StreamRef a = f.device.stream(), b = f.device.stream();
  const Piece x = f.take(a, 2 * kMiB);
  f.work(a, x);
  f.give(b, x);
  CHECK(f.stats().active.current == 2 * kMiB);
  CHECK(f.stats().allocated.current == 0);
  SUBCASE("it goes to the freeing stream once that has happened") {
    f.device.run(a);
    const Piece y = f.take(b, 2 * kMiB);
    f.work(b, y);
    CHECK(f.device.counts.waits == 0);
  }
  SUBCASE("or with a wait") {
    f.work(b, f.take(b, 2 * kMiB));
    CHECK(f.device.counts.waits == 1);
    CHECK_FALSE(f.device.idle(a));
  }
  SUBCASE("or to whom the host has waited for") {
    f.work(f.device.stream(), f.take({}, 2 * kMiB));
    CHECK(f.device.counts.synchronisations > 0);
    CHECK(f.device.idle(a));
  }
}

TEST_CASE("work of the freeing stream is waited for too") {
  PoolFixture f(2 * kMiB);
  const StreamRef a = f.device.stream(), b = f.device.stream();
  const Piece x = f.take(a, 2 * kMiB);
  f.order(a, b);
  f.work(b, x);
  f.give(b, x);
  SUBCASE("by the allocating stream") { f.work(a, f.take(a, 2 * kMiB)); }
  SUBCASE("by the host") { f.work(a, f.take({}, 2 * kMiB)); }
  SUBCASE("by a third") {
    const StreamRef c = f.device.stream();
    f.work(c, f.take(c, 2 * kMiB));
  }
  SUBCASE("by a trim") { CHECK(f.trim() == 0); }
}

TEST_CASE("use is noted once, and not for the stream that owns the memory") {
  PoolFixture f;
  const StreamRef a = f.device.stream(), b = f.device.stream();
  const Piece x = f.take(a, 256);
  f.use(a, x);
  f.use({}, x);
  f.give(a, x);
  CHECK(f.device.counts.records == 0);
  const Piece y = f.take(a, 256);
  for (int i = 0; i < 3; ++i) f.use(b, y);
  f.give(a, y);
  CHECK(f.device.counts.records == 1);
  CHECK(f.pool.use(a, y.address).code == MR_INVALID_ARGUMENT);
}

TEST_CASE("no stream: only idle memory is handed out, and what comes back is idle") {
  PoolFixture f;
  const StreamRef a = f.device.stream(), b = f.device.stream();
  const Piece x = f.take(a, kMiB);
  f.work(a, x);
  f.give(a, x);
  const Piece y = f.take({}, kMiB);
  CHECK(y.address != x.address);
  f.work(b, y);
  f.finish(b);
  f.give({}, y);
  CHECK(f.device.counts.records == 0);
  f.work(a, f.take(a, kMiB + 1));
  const Piece z = f.take(b, kMiB);
  f.work(b, z);
  CHECK(f.device.counts.waits == 0);
}

TEST_CASE("M14: no stream, at the limit: what is busy is waited for") {
  PoolFixture f(2 * kMiB);
  const StreamRef a = f.device.stream(), b = f.device.stream();
  const Piece x = f.take(a, 2 * kMiB);
  f.work(a, x);
  f.give(a, x);
  const Piece y = f.take({}, 2 * kMiB);
  CHECK(y.address == x.address);
  CHECK(f.device.idle(a));
  f.work(b, y);
  CHECK(f.stats().retries == 0);  // nothing was given back to the device
  f.finish(b);
  f.give({}, y);
}

TEST_CASE("pieces of several streams merge when they are waited for") {
  PoolFixture f(4 * kMiB);
  const StreamRef a = f.device.stream(), b = f.device.stream(), c = f.device.stream();
  f.give({}, f.take({}, 4 * kMiB));
  const uint64_t reserves = f.device.counts.reserves;
  const Piece x = f.take(a, 3 * kMiB / 2), y = f.take(b, 3 * kMiB / 2);
  f.take(c, kMiB);  // keeps the segment from going back
  f.work(a, x);
  f.work(b, y);
  f.give(a, x);
  f.give(b, y);
  const Piece z = f.take(c, 3 * kMiB);
  CHECK(z.address == x.address);
  f.work(c, z);
  CHECK(f.device.counts.reserves == reserves);
}

TEST_CASE("memory of others comes after growth, and with a wait") {
  PoolFixture f(4 * kMiB);
  const StreamRef a = f.device.stream(), b = f.device.stream();
  const Piece x = f.take(a, 2 * kMiB);
  f.work(a, x);
  f.give(a, x);
  const Piece y = f.take(b, 2 * kMiB);
  CHECK(y.address != x.address);
  CHECK(f.device.counts.waits == 0);
  const Piece z = f.take(b, 256);
  CHECK(z.address == x.address);
  CHECK(f.device.counts.waits == 1);
  f.work(b, z);
  f.work(b, y);
  // What was not taken is still the donor's: all but a chunk for small blocks.
  const Piece rest = f.take(a, 2 * kMiB - 256 * kKiB);
  f.work(a, rest);
  CHECK(f.device.counts.waits == 1);
}

TEST_CASE("addresses that are not allocated are refused") {
  PoolFixture f;
  const StreamRef a = f.device.stream();
  const Piece x = f.take(a, 1024);
  int local = 0;
  const mr_memory_stats before = f.stats();
  CHECK(f.pool.free(a, &local).code == MR_INVALID_ARGUMENT);
  CHECK(f.pool.free(a, at(x) + 256).code == MR_INVALID_ARGUMENT);
  CHECK(f.pool.free({}, at(x) + 1).code == MR_INVALID_ARGUMENT);
  CHECK(f.pool.use(a, &local).code == MR_INVALID_ARGUMENT);
  CHECK(same_figures(f.stats(), before));
  f.give(a, x);
  CHECK(f.pool.free(a, x.address).code == MR_INVALID_ARGUMENT);
  CHECK(f.pool.free({}, x.address).code == MR_INVALID_ARGUMENT);
  const Piece y = f.take(a, 1024);
  f.use(f.device.stream(), y);
  f.give(a, y);  // pending
  CHECK(f.pool.free(a, y.address).code == MR_INVALID_ARGUMENT);
  CHECK(f.stats().frees == 2);
}

TEST_CASE("retire: live memory remembers what the stream had queued") {
  PoolFixture f(2 * kMiB);
  const StreamRef a = f.device.stream(), b = f.device.stream(), c = f.device.stream();
  const Piece x = f.take(a, kMiB), y = f.take(b, kMiB);
  f.work(a, x);
  f.use(a, y);
  f.order(b, a);
  f.work(a, y);
  bool done = false;
  SUBCASE("busy") {}
  SUBCASE("done before") {
    f.device.run_all();
    done = true;
  }
  f.pool.retire(a);
  f.device.destroy(a);
  f.pool.retire(a);  // nothing left to do
  SUBCASE("done between") {
    f.device.run_all();
    CHECK(f.stats().active.current == 2 * kMiB);
    done = true;
  }
  f.give(b, x);
  f.give(b, y);
  CHECK(f.stats().active.current == (done ? 0 : 2 * kMiB));
  const Piece z = f.take(c, 2 * kMiB);
  f.work(c, z);
}

TEST_CASE("hits of other threads go on while one takes memory, gives it back or waits") {
  PoolFixture f(4 * kMiB);
  const StreamRef a = f.device.stream(), b = f.device.stream();
  const Piece spare = f.take(b, 256);
  f.give(b, spare);
  int calls = 0;
  f.device.on_slow_call = [&] {
    ++calls;
    auto hit = std::async(std::launch::async, [&] {
      f.give(b, f.take(b, 256));
      return f.stats().reserved.current;
    });
    REQUIRE(hit.wait_for(std::chrono::seconds(20)) == std::future_status::ready);
    CHECK(hit.get() <= 4 * kMiB);
  };
  const Piece x = f.take(a, 2 * kMiB);
  CHECK(calls == 1);
  f.work(a, x);
  f.give(a, x);
  CHECK(f.trim(2 * kMiB) == 2 * kMiB);
  CHECK(calls >= 3);
  f.device.on_slow_call = nullptr;
  CHECK(f.device.most_held == 4 * kMiB);
}
