// Where an mr_memory gets device memory: its own cache, or the host application's allocator.
// Streams, statuses and statistics as in memory_state.h. Thread-safe. What is not void may throw
// std::bad_alloc and has then changed nothing.
#pragma once

#include "memory/memory_state.h"

namespace mr {

class Pool {
 public:
  virtual ~Pool() = default;

  // bytes > 0; alignment is a power of two from 256 to 2 MiB; tag is known. *out_block (may be
  // null) is another name of the allocation, never 0; it may be the address.
  virtual Status allocate(StreamRef stream, uint64_t bytes, uint64_t alignment, uint32_t tag,
                          void** out, uint64_t* out_block = nullptr) = 0;
  virtual Status free(StreamRef stream, void* address) = 0;
  virtual Status free_block(StreamRef stream, uint64_t block) = 0;
  virtual Status use(StreamRef stream, void* address) = 0;
  virtual Status trim(uint64_t target_bytes, uint64_t* out_reserved) = 0;
  virtual Status set_limit(uint64_t limit_bytes) = 0;
  virtual void retire(StreamRef stream) noexcept = 0;

  // All but pinned, external and the device's figures.
  virtual void stats(mr_memory_stats* out) = 0;
  virtual void reset_peaks() = 0;
  virtual void visit(mr_memory_visit_fn visit, void* user) = 0;

  // In a forked child, before the destructor, which then gives nothing back.
  virtual void abandon() noexcept = 0;
};

// What an out-of-memory error says.
struct Shortage {
  uint64_t requested = 0;
  uint64_t reserved = 0;
  uint64_t limit = 0;   // 0: none
  uint32_t domain = 0;  // of the refusal, if the device or the host application refused
  int32_t native = 0;
};
Status out_of_memory(Backend& backend, int device, const Shortage& shortage);

// Freed already, or never given out.
Status not_allocated();

}  // namespace mr
