// HostPool::parallel(): every index once, ranges of whole grains, from many threads and within
// itself.
#include "backend/host/host_workers.h"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace {

using mr::HostPool;

// Counts how often each index was covered; ranges that break the contract are counted apart.
struct Cover {
  explicit Cover(int64_t count, int64_t grain)
      : count_(count), grain_(grain), hits(static_cast<size_t>(count)) {}

  void operator()(int64_t begin, int64_t end) {
    ++ranges;
    if (begin < 0 || begin >= end || end > count_) ++wrong;
    if ((end - begin) % grain_ != 0 && end != count_) ++wrong;
    for (int64_t i = begin; i < end; ++i) hits[static_cast<size_t>(i)].fetch_add(1);
  }
  bool once() const {
    for (const auto& hit : hits) {
      if (hit != 1) return false;
    }
    return wrong == 0;
  }

  int64_t count_, grain_;
  std::atomic<int> wrong{0}, ranges{0};
  std::vector<std::atomic<int>> hits;
};

void run(HostPool& pool, int64_t count, int64_t grain) {
  CAPTURE(count);
  CAPTURE(grain);
  Cover cover(count, grain);
  pool.parallel(count, grain, [&](int64_t begin, int64_t end) { cover(begin, end); });
  CHECK(cover.once());
  if (count <= grain) CHECK(cover.ranges == (count > 0 ? 1 : 0));
}

}  // namespace

TEST_CASE("each index is covered once, by ranges of whole grains, with 1 to 8 threads") {
  for (int threads = 1; threads <= 8; ++threads) {
    CAPTURE(threads);
    HostPool& pool = *HostPool::shared(threads);
    CHECK(pool.threads() == threads);
    for (const int64_t count : {0, 1, 2, 7, 63, 64, 65, 1000, 4099}) {
      for (const int64_t grain : {1, 2, 3, 64, 1000, 5000}) run(pool, count, grain);
    }
  }
}

TEST_CASE("a negative count is no work") {
  HostPool::shared(2)->parallel(-1, 1, [](int64_t, int64_t) { FAIL("called"); });
}

TEST_CASE("pools are shared by number of threads; 0 is the machine's") {
  CHECK(HostPool::shared(3) == HostPool::shared(3));
  CHECK(HostPool::shared(3) != HostPool::shared(4));
  const int machine = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  CHECK(HostPool::shared(0) == HostPool::shared(machine));
}

TEST_CASE("many tiny loops in a row, with pauses in which helpers fall asleep") {
  HostPool& pool = *HostPool::shared(4);
  std::atomic<int64_t> sum{0};
  for (int round = 0; round < 3000; ++round) {
    pool.parallel(8, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) sum.fetch_add(i, std::memory_order_relaxed);
    });
    if (round % 1000 == 999) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  CHECK(sum == 3000 * 28);
}

TEST_CASE("what the ranges wrote is seen by the caller without further ado") {
  HostPool& pool = *HostPool::shared(4);
  std::vector<int> values(4096, 0);
  for (int round = 1; round <= 200; ++round) {
    pool.parallel(4096, 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++values[static_cast<size_t>(i)];
    });
    if (values[0] != round || values[4095] != round || values[2048] != round)
      FAIL("round " << round);
  }
  for (const int value : values) REQUIRE(value == 200);
}

TEST_CASE("a loop within a loop runs on the thread that asks, and covers everything") {
  HostPool& pool = *HostPool::shared(4);
  constexpr int64_t kOuter = 32, kInner = 100;
  std::vector<std::unique_ptr<Cover>> covers;
  for (int64_t i = 0; i < kOuter; ++i) covers.push_back(std::make_unique<Cover>(kInner, 3));
  pool.parallel(kOuter, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      pool.parallel(kInner, 3,
                    [&](int64_t b, int64_t e) { (*covers[static_cast<size_t>(i)])(b, e); });
    }
  });
  for (const auto& cover : covers) CHECK(cover->once());
}

TEST_CASE("loops of several callers at once do not touch each other") {
  HostPool& pool = *HostPool::shared(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&pool, &wrong, c] {
      for (int round = 0; round < 150; ++round) {
        Cover cover(200 + c, 7);
        pool.parallel(200 + c, 7, [&](int64_t begin, int64_t end) { cover(begin, end); });
        if (!cover.once()) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}
