// Memory that was freed while its stream was being captured belongs to the graph until that is
// gone.
//
// The backend calls a tie's drop() then, on any thread, perhaps inside a driver call: all it may do
// is leave word. The pool collects it when it next looks for memory.
#pragma once

#include <atomic>
#include <memory>

namespace mr {

struct Block;
class TieInbox;

struct CaptureTie {
  std::shared_ptr<TieInbox> inbox;
  Block* block = nullptr;  // null: the free did not happen after all
  CaptureTie* next = nullptr;

  // For Backend::retain_in_capture(); takes the CaptureTie.
  static void drop(void* tie);
};

// Outlives the pool for as long as ties do. Lock-free: one push or one exchange of the whole list.
class TieInbox {
 public:
  // The ties that were dropped since the last call, linked by `next`, for the caller to delete.
  CaptureTie* collect() noexcept {
    if (head_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    return head_.exchange(nullptr, std::memory_order_acquire);
  }
  // The pool goes away: later drops only delete.
  void close() noexcept;

 private:
  friend struct CaptureTie;
  std::atomic<CaptureTie*> head_{nullptr};
};

}  // namespace mr
