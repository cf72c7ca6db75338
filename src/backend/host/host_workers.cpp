#include "backend/host/host_workers.h"

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "core/object.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mr {
namespace {

// About 100 us on current machines: longer than the gaps within a decode step, short against a
// pause.
constexpr int kSpins = 2000;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

HostPool* HostPool::shared(int threads) {
  static std::mutex mutex;
  static auto* const pools = new std::map<std::pair<uint32_t, int>, HostPool*>;
  const int machine = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int wanted = threads > 0 ? threads : machine;
  std::lock_guard lock(mutex);
  HostPool*& pool = (*pools)[{fork_generation(), wanted}];
  if (pool == nullptr) pool = new HostPool(wanted);
  return pool;
}

// A thread that cannot be started, for want of threads or of memory, is done without: the callers'
// own threads always work. No exception may leave once one has started: it uses the pool for ever.
HostPool::HostPool(int threads) : threads_(threads) {
  for (int i = 1; i < threads; ++i) {
    try {
      std::thread([this] { help(); }).detach();
    } catch (const std::exception&) {
      return;
    }
  }
}

void HostPool::take_ranges() {
  for (;;) {
    const int64_t begin = next_.fetch_add(step_, std::memory_order_relaxed);
    if (begin >= count_) return;
    (*body_)(begin, std::min(begin + step_, count_));
  }
}

void HostPool::parallel(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (count <= 0) return;
  if (count <= grain || threads_ == 1 || busy_.exchange(true, std::memory_order_acquire)) {
    return body(0, count);
  }
  count_ = count;
  // Four ranges a thread even out what threads lose to the system; a range is whole grains.
  const int64_t even = (count + 4 * threads_ - 1) / (4 * threads_);
  step_ = (std::max(even, grain) + grain - 1) / grain * grain;
  body_ = &body;
  next_.store(0, std::memory_order_relaxed);
  gate_.store(kOpen, std::memory_order_release);
  round_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) {
    std::lock_guard wake(sleep_mutex_);
    sleep_.notify_all();
  }
  take_ranges();
  // No helper enters from here on; those inside finish the range that they hold.
  uint32_t gate = gate_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  for (int spins = 0; gate != 0; gate = gate_.load(std::memory_order_acquire)) {
    if (++spins < kSpins) {
      relax();
    } else {
      std::this_thread::yield();
    }
  }
  busy_.store(false, std::memory_order_release);
}

void HostPool::help() {
  uint32_t seen = 0;
  for (;;) {
    uint32_t round = round_.load(std::memory_order_acquire);
    for (int spins = 0; round == seen && spins < kSpins; ++spins) {
      relax();
      round = round_.load(std::memory_order_acquire);
    }
    if (round == seen) {
      std::unique_lock lock(sleep_mutex_);
      sleepers_.fetch_add(1, std::memory_order_seq_cst);
      sleep_.wait(lock, [&] { return round_.load(std::memory_order_seq_cst) != seen; });
      sleepers_.fetch_sub(1, std::memory_order_relaxed);
      continue;
    }
    seen = round;
    uint32_t gate = gate_.load(std::memory_order_relaxed);
    while ((gate & kOpen) != 0 &&
           !gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel,
                                        std::memory_order_relaxed)) {
    }
    if ((gate & kOpen) == 0) continue;
    take_ranges();
    gate_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace mr
