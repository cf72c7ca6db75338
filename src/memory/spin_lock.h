// A lock for a few dozen instructions: half the price of a mutex where nobody else wants it. Who
// waits looks ever more seldom, so that the holder need not share the lock's cache line while it
// works, and in the end lets others run, so that a holder that lost its processor is not starved.
#pragma once

#include <atomic>
#include <thread>

namespace mr {

class SpinLock {
 public:
  void lock() noexcept {
    for (int wait = 1; locked_.exchange(true, std::memory_order_acquire);) {
      do {
        for (int i = 0; i < wait; ++i) pause();
        if (wait < kLongest) {
          wait *= 2;
        } else {
          std::this_thread::yield();
        }
      } while (locked_.load(std::memory_order_relaxed));
    }
  }
  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

 private:
  static constexpr int kLongest = 64;  // a few microseconds
  static void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  std::atomic<bool> locked_{false};
};

}  // namespace mr
