// Where memory lies and how much of it is kept: what users of other allocators reported, each as
// the calls that led there. The names give the report.
#include "memory/pool_fixture.h"

using namespace test;

namespace {

constexpr uint64_t kGiB = 1024 * kMiB;

bool overlap(const Piece& a, const Piece& b) {
  const auto begin = reinterpret_cast<uintptr_t>(a.address);
  const auto other = reinterpret_cast<uintptr_t>(b.address);
  return begin < other + b.bytes && other < begin + a.bytes;
}

// The temporaries of two layers, for so many tokens.
void prompt(PoolFixture& f, StreamRef s, uint64_t tokens) {
  Piece x = f.take(s, tokens * 8 * kKiB);
  for (int layer = 0; layer < 2; ++layer) {
    const Piece norm = f.take(s, tokens * 8 * kKiB);
    const Piece gate = f.take(s, tokens * 28 * kKiB), up = f.take(s, tokens * 28 * kKiB);
    f.give(s, norm);
    const Piece down = f.take(s, tokens * 8 * kKiB);
    f.give(s, gate);
    f.give(s, up);
    f.give(s, x);
    x = down;
  }
  f.give(s, x);
}

}  // namespace

TEST_CASE("R1: what is kept inside of a large block does not hold the rest of it back") {
  uint64_t gap = 0;  // a few of the device's pieces, or barely more than one
  SUBCASE("wide gaps") { gap = 608 * kMiB; }
  SUBCASE("narrow gaps") { gap = 304 * kMiB; }
  const uint64_t count = 9360 * kMiB / (gap + 16 * kMiB);
  PoolFixture f(0, 16 * kGiB);
  const StreamRef s = f.device.stream();
  f.give(s, f.take(s, 11 * kGiB));
  std::vector<Piece> kept, between;
  for (uint64_t i = 0; i < count; ++i) {
    kept.push_back(f.take(s, 16 * kMiB));
    between.push_back(f.take(s, gap));
  }
  REQUIRE(f.stats().reserved.current == 11 * kGiB);  // all within
  for (const Piece& piece : between) f.give(s, piece);
  f.trim(16 * kGiB);  // merges what lies side by side, and has no need to give back
  const uint64_t largest = f.stats().largest_free;
  CHECK(largest >= 11 * kGiB - count * (gap + 16 * kMiB));
  CHECK(largest < 11 * kGiB);
  const Piece large = f.take(s, 11 * kGiB);
  f.work(s, large);
  for (const Piece& piece : kept) {
    CHECK_FALSE(overlap(piece, large));
    f.work(s, piece);  // still mapped
  }
  CHECK(f.stats().out_of_memory == 0);
  CHECK(f.device.most_held <= 16 * kGiB);
}

// By pages only: pieces that come whole cannot grow.
TEST_CASE("R3: prompts that grow by a little do not leave a trail of outgrown memory") {
  PoolFixture f(0, 1024 * kGiB);
  const StreamRef s = f.device.stream();
  for (uint64_t tokens = 256; tokens <= 8192; tokens += 61) prompt(f, s, tokens);
  const mr_memory_stats stats = f.stats();
  REQUIRE(stats.requested.peak == uint64_t{8186} * 72 * kKiB);
  CHECK(stats.reserved.peak <= stats.requested.peak + stats.requested.peak / 10);
}

TEST_CASE("R4: small requests and then large ones need no more than the other way round") {
  for (const bool paged : {true, false}) {
    for (const bool small_first : {true, false}) {
      CAPTURE(paged);
      CAPTURE(small_first);
      PoolFixture f(paged ? 0 : 128 * kMiB, 1024 * kMiB, paged);
      const StreamRef s = f.device.stream();
      for (const bool small : {small_first, !small_first}) {
        std::vector<Piece> pieces;
        for (uint64_t sum = 0; sum < 128 * kMiB; sum += pieces.back().bytes) {
          pieces.push_back(f.take(s, (small ? 16 : 32) * kMiB));
          f.work(s, pieces.back());
        }
        for (const Piece& piece : pieces) f.give(s, piece);
      }
      CHECK(f.stats().reserved.peak == 128 * kMiB);
      CHECK(f.stats().active.current == 0);
    }
  }
}

TEST_CASE("R6: temporaries around something that is kept need the same memory each time") {
  for (const bool paged : {true, false}) {
    CAPTURE(paged);
    PoolFixture f(0, 4 * kGiB, paged);
    const StreamRef s = f.device.stream();
    for (uint64_t kept = 1; kept <= 100; ++kept) {
      const Piece a = f.take(s, 91 * kMiB), b = f.take(s, 91 * kMiB / 2);
      f.work(s, f.take(s, 2 * kMiB));
      f.give(s, a);
      f.give(s, b);
      // Each request may be rounded up to 2 MiB.
      CHECK(f.stats().reserved.current <= (92 + 46 + 2 * kept + 2) * kMiB);
    }
  }
}

TEST_CASE("R7: where pieces cannot grow, the outgrown ones make room") {
  PoolFixture f(128 * kMiB, 1024 * kMiB, false);
  const StreamRef s = f.device.stream();
  for (uint64_t i = 1; i <= 400; ++i) {
    const Piece piece = f.take(s, i * 256 * kKiB);
    f.work(s, piece);
    f.give(s, piece);
  }
  CHECK(f.stats().reserved.peak <= 128 * kMiB);
  CHECK(f.device.most_held <= 128 * kMiB);
  CHECK(f.stats().out_of_memory == 0);
}

TEST_CASE("R8: a model a little larger than a power of two needs a little more than that") {
  for (const bool paged : {true, false}) {
    CAPTURE(paged);
    PoolFixture f(0, 64 * kGiB, paged);
    const StreamRef s = f.device.stream();
    uint64_t model = 0;
    const auto load = [&](uint64_t bytes) { model += f.take(s, bytes).bytes; };
    for (int i = 0; i < 2; ++i) load(1002 * kMiB);  // embeddings
    for (int layer = 0; layer < 35; ++layer) {
      for (const uint64_t mebibytes : {32, 8, 8, 32, 112, 112, 112}) load(mebibytes * kMiB);
    }
    REQUIRE(model > 16 * kGiB);
    const uint64_t reserved = f.stats().reserved.current;
    CHECK(reserved <= model + model / 64);
    const uint64_t large = 20890 * kMiB;
    f.take(s, large);
    CHECK(f.stats().reserved.current <= reserved + large + large / 64 + 2 * kMiB);
  }
}

TEST_CASE("R8: pinned memory is exactly what was asked for") {
  FakeBackend device(64 * kGiB);
  mr::Ref<mr_memory> memory;
  REQUIRE(mr_memory::create(device, 0, MR_MEMORY_CONFIG_INIT, &memory).ok());
  const uint64_t bytes = 20890 * kMiB + 1;
  void* address = nullptr;
  REQUIRE(memory->allocate_pinned(bytes, &address).ok());
  CHECK(device.pinned_held == bytes);
  memory->free_pinned(address);
  CHECK(device.pinned_held == 0);
}

// By pages only: a piece that cannot be divided stays as long as anything in it does.
TEST_CASE("R9: after one large request memory shrinks again, and only its own work is waited for") {
  PoolFixture f(0, 64 * kGiB);
  const StreamRef s = f.device.stream(), bystander = f.device.stream();
  const Piece other = f.take(bystander, 2 * kMiB);
  f.work(bystander, other);
  const Piece large = f.take(s, 20 * kGiB);
  f.work(s, large);
  f.give(s, large);
  std::vector<Piece> small;
  for (int i = 0; i < 1000; ++i) {
    small.push_back(f.take(s, 4 * kKiB));
    f.work(s, small.back());
  }
  CHECK(f.stats().reserved.current < 20 * kGiB + 8 * kMiB);
  const uint64_t left = f.trim(8 * kGiB);
  CHECK(left <= 8 * kGiB);
  CHECK(left > 7 * kGiB);  // no more than was asked for
  CHECK(f.trim(kGiB) <= kGiB);
  CHECK(f.device.held <= kGiB);
  CHECK_FALSE(f.device.idle(bystander));
  for (const Piece& piece : small) f.work(s, piece);
  for (const Piece& piece : small) f.give(s, piece);
  CHECK(f.trim() == 2 * kMiB);  // the bystander's
}

TEST_CASE("R10: a wait for the device gives nothing back") {
  for (const bool paged : {true, false}) {
    CAPTURE(paged);
    PoolFixture f(0, 4 * kGiB, paged);
    const StreamRef s = f.device.stream();
    for (int i = 0; i < 100; ++i) {
      const Piece a = f.take(s, kGiB), b = f.take(s, 100 * kKiB);
      f.work(s, a);
      f.work(s, b);
      f.give(s, a);
      f.give(s, b);
      f.finish(s);
      (void)f.stats();  // which looks for what has finished
    }
    const mr_memory_stats stats = f.stats();
    CHECK(stats.driver_frees == 0);
    CHECK(stats.driver_allocations == f.device.counts.reserves);
    CHECK(stats.reserved.total == stats.reserved.current);  // taken once
  }
}

TEST_CASE("R11: holes too small for a request are waited for and given back before it fails") {
  for (const bool paged : {true, false}) {
    CAPTURE(paged);
    PoolFixture f(0, 80 * kGiB, paged);
    const StreamRef s = f.device.stream();
    std::vector<Piece> pieces;
    for (int i = 0; i < 160; ++i) {
      pieces.push_back(f.take(s, kGiB / 2));
      f.work(s, pieces.back());
    }
    for (size_t i = 0; i < pieces.size(); i += 3) f.give(s, pieces[i]);
    REQUIRE(f.device.held == 80 * kGiB);
    const Piece large = f.take(s, 686 * kMiB);
    f.work(s, large);
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (i % 3 != 0) CHECK_FALSE(overlap(pieces[i], large));
    }
    const mr_memory_stats stats = f.stats();
    CHECK(stats.out_of_memory == 0);
    CHECK(stats.retries == 1);
    CHECK(stats.driver_frees > 0);
  }
}

TEST_CASE("R20: pools share what addresses there are, and give them back") {
  constexpr uint64_t kAll = 3 * kGiB + 512 * kMiB;
  FakeBackend device(kGiB);
  device.addresses = kAll;
  {
    // Twice the device, then halves of it, and in the end none.
    std::vector<std::unique_ptr<mr::CachingPool>> pools;
    const StreamRef s = device.stream();
    for (uint64_t life = 1; life <= 5; ++life) {
      pools.push_back(std::make_unique<mr::CachingPool>(device, 0, 0));
      void* address = nullptr;
      REQUIRE(pools.back()->allocate(s, 100 * kMiB, 256, 0, &address).ok());
      device.touch(s, address, 100 * kMiB, life);
    }
    CHECK(device.addresses == 0);
    CHECK(device.held == 500 * kMiB);
  }
  CHECK(device.addresses == kAll);
  CHECK(device.held == 0);
  CHECK(device.hazards().empty());
}

TEST_CASE("R20: a range that is full is followed by another one") {
  PoolFixture f;
  f.device.addresses = 100 * kMiB;
  const StreamRef s = f.device.stream();
  const Piece first = f.take(s, 40 * kMiB);
  CHECK(f.device.addresses == 36 * kMiB);  // a range of 64 MiB was to be had
  const uint64_t asked = f.device.counts.ranges;
  const Piece second = f.take(s, 20 * kMiB);
  CHECK(f.device.counts.ranges == asked);
  f.device.addresses = 1024 * kMiB;  // another program ended
  const Piece third = f.take(s, 100 * kMiB);
  CHECK(f.device.counts.ranges > asked);
  for (const Piece& piece : {first, second, third}) f.work(s, piece);
  CHECK(f.device.held == 160 * kMiB);
  for (const Piece& piece : {first, second, third}) f.give(s, piece);
  CHECK(f.trim() == 0);
  f.work(s, f.take(s, 60 * kMiB));  // addresses that were used before
}

TEST_CASE("R21: without a large range a smaller one does, and without any, whole pieces") {
  for (const uint64_t addresses : {2048, 2046, 1000, 100, 64, 62, 0}) {
    CAPTURE(addresses);
    PoolFixture f;
    f.device.addresses = addresses * kMiB;
    const StreamRef s = f.device.stream();
    const Piece x = f.take(s, 20 * kMiB), y = f.take(s, 12 * kMiB);
    f.work(s, x);
    f.work(s, y);
    CHECK(f.device.held == 32 * kMiB);
    CHECK((f.device.addresses < addresses * kMiB) == (addresses >= 64));
    f.give(s, x);
    f.give(s, y);
    CHECK(f.trim() == 0);
    // By pages the two merge; whole, they made room.
    f.work(s, f.take(s, 32 * kMiB));
    CHECK(f.device.held == 32 * kMiB);
  }
}

TEST_CASE("R22: a growth of which the k-th piece is refused takes none, and can be tried again") {
  uint64_t most_undone = 0;
  for (uint64_t k = 1;; ++k) {
    REQUIRE(k < 50);
    CAPTURE(k);
    PoolFixture f;
    const StreamRef s = f.device.stream();
    const Piece live = f.take(s, 2 * kMiB);
    f.work(s, live);
    const mr_memory_stats before = f.stats();
    f.device.fail_call(k, MR_OUT_OF_DEVICE_MEMORY);
    Piece large;
    const Status status = f.try_take(s, 10 * kMiB, &large);  // five pieces
    const bool met = f.device.calls() >= k;
    f.device.fail_call(0);
    if (!met) break;
    if (!status.ok()) {
      CHECK(status.code == MR_OUT_OF_DEVICE_MEMORY);
      CHECK(same_figures(f.stats(), before));
      CHECK(f.device.held == 2 * kMiB);
      most_undone = std::max(most_undone, f.device.counts.releases);
      large = f.take(s, 10 * kMiB);
    }
    f.work(s, large);
    f.work(s, live);
    f.verify();
    f.give(s, large);
    f.give(s, live);
    CHECK(f.trim() == 0);
  }
  CHECK(most_undone == 4);  // when the last of the five was refused
}
