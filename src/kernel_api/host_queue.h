// The host's native stream as kernels see it: a queue that runs work in order, and the threads that
// one piece of work may spread over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "core/result.h"

namespace mr {

// A reference to a callable, for the duration of a call; it owns nothing.
template <class Signature>
class FunctionRef;
template <class R, class... A>
class FunctionRef<R(A...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
      FunctionRef(F&& f)  // NOLINT(google-explicit-constructor): passing a lambda is the point
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, A... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(args...);
        }) {}
  R operator()(A... args) const { return call_(object_, args...); }

 private:
  void* object_;
  R (*call_)(void*, A...);
};

// Spreads a loop over the context's threads.
class HostWorkers {
 public:
  virtual ~HostWorkers() = default;
  virtual int threads() const = 0;
  // Calls body(begin, end) on disjoint ranges that cover [0, count), each a multiple of `grain`
  // long but for the last, on this thread and others, and returns when all are done. Which thread
  // gets which range is not fixed, so a result must not depend on it. Runs on this thread alone
  // when count <= grain. Never allocates. `body` must not throw.
  virtual void parallel(int64_t count, int64_t grain,
                        FunctionRef<void(int64_t begin, int64_t end)> body) = 0;
};

// Work for a queue: `run(workers, args, scratch, scratch_bytes)`, with a copy of the argument bytes
// where the queue defers or records it.
struct HostTask {
  void (*run)(HostWorkers&, const void* args, void* scratch, size_t scratch_bytes);
  const void* args;
  size_t args_bytes;
  void* scratch;
  size_t scratch_bytes;
};

inline constexpr size_t kMaxHostArgs = 1024;

class HostQueue {
 public:
  virtual ~HostQueue() = default;
  // Runs, defers or records the task, as the stream does. Fails with OUT_OF_HOST_MEMORY only.
  virtual Status submit(const HostTask& task) = 0;
};

// A host row's launch: kRun is the kernel body. Args are plain data, copied bytewise.
template <class Args, void (*kRun)(HostWorkers&, const Args&, void* scratch, size_t scratch_bytes)>
Status host_launch(void* stream, const Args& args, void* scratch, size_t scratch_bytes) {
  static_assert(std::is_trivially_copyable_v<Args> && sizeof(Args) <= kMaxHostArgs);
  const HostTask task{[](HostWorkers& workers, const void* bytes, void* s, size_t n) {
                        kRun(workers, *static_cast<const Args*>(bytes), s, n);
                      },
                      &args, sizeof(Args), scratch, scratch_bytes};
  return static_cast<HostQueue*>(stream)->submit(task);
}

}  // namespace mr
