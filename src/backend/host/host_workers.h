// Threads that one host operator may spread over.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "kernel_api/host_queue.h"

namespace mr {

// One calling thread and threads - 1 helpers. Decode of a small model issues an operator every few
// microseconds, so helpers look for work for a while before they sleep: waking one costs more than
// such an operator. One loop at a time: a caller that finds the pool busy runs its loop alone.
// Pools are shared by all contexts that ask for the same number of threads, and live for ever, so
// that exit never waits for a thread.
class HostPool final : public HostWorkers {
 public:
  // The pool with this many threads; 0: as many as the machine has. A forked child gets pools of
  // its own: no thread of the parent is there. Throws std::bad_alloc.
  static HostPool* shared(int threads);

  int threads() const override { return threads_; }
  void parallel(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) override;

 private:
  explicit HostPool(int threads);
  void help();
  void take_ranges();

  const int threads_;
  // Set for the length of a parallel loop. No mutex, because a loop within a loop asks for it too.
  std::atomic<bool> busy_{false};

  // The loop being run. gate_ holds a count of helpers inside, and kOpen while more may enter; a
  // helper touches the fields below only between entering and leaving.
  static constexpr uint32_t kOpen = 0x80000000u;
  alignas(64) std::atomic<uint32_t> gate_{0};
  alignas(64) std::atomic<uint32_t> round_{0};  // grows with each loop
  alignas(64) std::atomic<int64_t> next_{0};
  int64_t count_ = 0;
  int64_t step_ = 1;
  FunctionRef<void(int64_t, int64_t)>* body_ = nullptr;

  std::mutex sleep_mutex_;
  std::condition_variable sleep_;
  std::atomic<int> sleepers_{0};
};

}  // namespace mr
