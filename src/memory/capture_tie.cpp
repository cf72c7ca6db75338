#include "memory/capture_tie.h"

namespace mr {
namespace {

// What the list's head becomes when the pool is gone. Never dereferenced.
CaptureTie closed_mark;

}  // namespace

void CaptureTie::drop(void* object) {
  auto* tie = static_cast<CaptureTie*>(object);
  // The tie may be deleted by the pool as soon as it is listed, and the inbox with it.
  const std::shared_ptr<TieInbox> inbox = tie->inbox;
  CaptureTie* head = inbox->head_.load(std::memory_order_relaxed);
  do {
    if (head == &closed_mark) {
      delete tie;
      return;
    }
    tie->next = head;
  } while (!inbox->head_.compare_exchange_weak(head, tie, std::memory_order_release,
                                               std::memory_order_relaxed));
}

void TieInbox::close() noexcept {
  CaptureTie* tie = head_.exchange(&closed_mark, std::memory_order_acquire);
  while (tie != nullptr) {
    CaptureTie* next = tie->next;
    delete tie;
    tie = next;
  }
}

}  // namespace mr
