// Pinned host memory: straight from the backend or the host application, not cached, only counted.
#pragma once

#include <mutex>

#include "backend/backend.h"
#include "memory/address_index.h"
#include "memory/memory_state.h"

namespace mr {

class PinnedMemory {
 public:
  PinnedMemory(Backend& backend, int device, const mr_memory_config& config)
      : backend_(backend),
        device_(device),
        allocate_(config.allocate),
        deallocate_(config.deallocate),
        user_(config.user) {}
  ~PinnedMemory();  // gives everything back

  // bytes > 0. Throws std::bad_alloc.
  Status allocate(uint64_t bytes, void** out);
  // Ignores an address that is not held.
  void free(void* address) noexcept;
  mr_counter counter();
  void reset_peak();
  void abandon() noexcept { abandoned_ = true; }

 private:
  struct Holding {
    void* address = nullptr;
    uint64_t bytes = 0;
    Holding* next_in_bucket = nullptr;
  };
  Status take(Holding* holding);
  void give_back(const Holding& holding) noexcept;

  Backend& backend_;
  const int device_;
  const mr_allocate_fn allocate_;
  const mr_deallocate_fn deallocate_;
  void* const user_;
  bool abandoned_ = false;

  std::mutex mutex_;  // guards what follows; let go around the calls that take and give back
  AddressIndex<Holding> holdings_;
  mr_counter counter_ = {};
};

}  // namespace mr
