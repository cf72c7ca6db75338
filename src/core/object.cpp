#include "core/object.h"

#include <pthread.h>

namespace mr {
namespace {

// Objects with a reference to drop, the latest first.
std::atomic<Object*> due{nullptr};

// Registered when the library is loaded; an atomic increment is all that a fork handler may do.
[[maybe_unused]] const int registered =
    pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

std::atomic<uint32_t> fork_count{0};

// An object may be set aside more than once before it is due (each lease of a reserve holds a
// reference), and it has one link: a second time while it waits only counts, by keeping the
// reference in owed_.
void Object::release_later() {
  if (owed_.fetch_add(1, std::memory_order_acq_rel) != 0) return;
  Object* head = due.load(std::memory_order_relaxed);
  do {
    next_due_ = head;
  } while (
      !due.compare_exchange_weak(head, this, std::memory_order_release, std::memory_order_relaxed));
}

void Object::release_due() {
  Object* object = due.exchange(nullptr, std::memory_order_acquire);
  while (object != nullptr) {
    Object* next = object->next_due_;
    // From here on a new release_later() links the object anew.
    for (uint32_t owed = object->owed_.exchange(0, std::memory_order_acq_rel); owed > 0; --owed) {
      object->release();
    }
    object = next;
  }
}

}  // namespace mr
