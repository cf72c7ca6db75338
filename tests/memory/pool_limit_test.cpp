// Limits, trims, and what an out-of-memory error says.
#include <string>

#include "memory/pool_fixture.h"

using namespace test;

TEST_CASE("the limit is exact, one segment below, at and above") {
  PoolFixture f(4 * kMiB);
  const StreamRef a = f.device.stream();
  const Piece x = f.take(a, 2 * kMiB);
  Piece y;
  REQUIRE(f.try_take(a, 2 * kMiB + 1, &y).code == MR_OUT_OF_DEVICE_MEMORY);
  REQUIRE(f.try_take(a, 2 * kMiB, &y).ok());
  CHECK(f.refusal(a, 1) == MR_OUT_OF_DEVICE_MEMORY);
  CHECK(f.device.counts.reserves == 2);
  CHECK(f.stats().out_of_memory == 2);
  f.give(a, x);
  f.give(a, y);
}

TEST_CASE("an out-of-memory error tells what is needed to understand it") {
  PoolFixture f(4 * kMiB, 100 * kMiB);
  f.device.others = 30 * kMiB;
  const StreamRef a = f.device.stream();
  f.take(a, 2 * kMiB);
  void* out = &f;
  const Status status = f.pool.allocate(a, 5000000, 256, MR_TAG_KV, &out);
  CHECK(out == &f);
  CHECK(status.code == MR_OUT_OF_DEVICE_MEMORY);
  CHECK(std::string(status.detail) ==
        "requested 5000000 bytes, reserved 2097152, limit 4194304, free on the device 71303168 of "
        "104857600");
  REQUIRE(f.pool.set_limit(0).ok());
  const Status refused = f.pool.allocate(a, 90 * kMiB, 256, MR_TAG_KV, &out);
  CHECK(refused.domain == MR_DOMAIN_CUDA);
  CHECK(refused.native == 2);
  CHECK(std::string(refused.detail).find("limit none") != std::string::npos);
  bool blind = false;  // where the device does not say how much is free
  for (uint64_t k = 1; k < 10; ++k) {
    f.device.fail_call(k);
    const Status again = f.pool.allocate(a, 90 * kMiB, 256, MR_TAG_KV, &out);
    blind = blind || std::string(again.detail).find("unknown") != std::string::npos;
  }
  CHECK(blind);
}

TEST_CASE("lowering the limit trims what is idle and leaves what is in use") {
  PoolFixture f;
  const StreamRef a = f.device.stream();
  const Piece x = f.take(a, 8 * kMiB);
  f.give(a, f.take(a, 16 * kMiB));
  REQUIRE(f.pool.set_limit(4 * kMiB).ok());
  CHECK(f.stats().reserved.current == 8 * kMiB);
  CHECK(f.stats().limit_bytes == 4 * kMiB);
  CHECK(f.refusal(a, 1) == MR_OUT_OF_DEVICE_MEMORY);
  f.give(a, x);
  CHECK(f.refusal(a, 9 * kMiB) == MR_OUT_OF_DEVICE_MEMORY);
  REQUIRE(f.pool.set_limit(0).ok());
  f.give(a, f.take(a, 9 * kMiB));
}

TEST_CASE("trim stops at its target, and waits for queued work only if it must") {
  PoolFixture f;
  const StreamRef a = f.device.stream();
  const Piece idle = f.take({}, 4 * kMiB), busy = f.take(a, 8 * kMiB), live = f.take(a, kMiB);
  f.work(a, busy);
  f.give({}, idle);
  f.give(a, busy);
  CHECK(f.trim(14 * kMiB) == 14 * kMiB);
  CHECK(f.trim(10 * kMiB) == 10 * kMiB);
  CHECK_FALSE(f.device.idle(a));
  CHECK(f.trim(10 * kMiB) == 10 * kMiB);
  CHECK_FALSE(f.device.idle(a));
  CHECK(f.trim(5 * kMiB) == 4 * kMiB);
  CHECK(f.device.idle(a));
  CHECK(f.trim(2 * kMiB) == 2 * kMiB);
  f.work(a, live);
  const Piece part = f.take(a, kMiB);
  f.work(a, part);
  f.give(a, part);
  CHECK(f.trim(0) == 2 * kMiB);
  CHECK_FALSE(f.device.idle(a));  // nothing to gain by waiting
  CHECK(f.stats().driver_frees == 6);
}

TEST_CASE("no more is given back than the limit asks for, or all if the device is full") {
  PoolFixture f(14 * kMiB, 1024 * kMiB, false);
  const StreamRef a = f.device.stream();
  Piece pieces[3];
  for (Piece& piece : pieces) piece = f.take({}, 4 * kMiB);
  const Piece busy = f.take(a, 2 * kMiB);
  f.work(a, busy);
  f.give(a, busy);
  for (const Piece& piece : pieces) f.give({}, piece);
  SUBCASE("the limit") {
    f.take(a, 8 * kMiB);
    CHECK(f.stats().driver_frees == 2);
    CHECK(f.stats().reserved.current == 14 * kMiB);
  }
  SUBCASE("the device") {
    REQUIRE(f.pool.set_limit(0).ok());
    f.device.others = f.device.capacity - 14 * kMiB;
    f.take(a, 8 * kMiB);
    CHECK(f.stats().driver_frees == 3);
  }
  SUBCASE("the device, which the limit had hidden") {
    f.device.fail_call(2, MR_OUT_OF_DEVICE_MEMORY);  // the reserve after the first trim
    f.take(a, 8 * kMiB);
    CHECK(f.stats().driver_frees == 3);
  }
  CHECK(f.stats().retries == 1);
  CHECK_FALSE(f.device.idle(a));  // there was no need to wait
}
