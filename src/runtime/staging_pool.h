// Pinned bytes that pageable uploads pass through, so that they are never silently synchronous.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "memory/memory_state.h"

namespace mr {

// A ring of bytes on one stream. A piece is free again once the event behind its copy is reached,
// which is only asked, never waited for. One caller at a time, like its stream.
class StagingPool {
 public:
  static constexpr uint64_t kBytes = uint64_t{8} << 20;
  static constexpr size_t kPieces = 64;  // copies in flight, each with an event made in advance

  StagingPool(mr_memory& memory, void* native_stream);
  ~StagingPool();
  StagingPool(const StagingPool&) = delete;
  StagingPool& operator=(const StagingPool&) = delete;

  Status open();  // takes the pinned memory and the events; blocking
  // Copies `from` into free staging bytes; *out is where. UNSUPPORTED if too few are free now.
  Status fill(const void* from, uint64_t bytes, const void** out);
  // Behind the copy that reads the piece last given by fill(); or, where no copy was enqueued,
  // cancel().
  Status mark();
  void cancel();
  // After a fork nothing of the device may be touched.
  void abandon() { abandoned_ = true; }

 private:
  struct Piece {
    uint64_t bytes;  // with the gap at the ring's end, if it lies before the piece
    uint64_t head;   // where the ring stood before it
    void* event;
    bool marked;
  };
  void collect();

  mr_memory& memory_;
  void* stream_;
  char* data_ = nullptr;
  uint64_t head_ = 0;  // where the next piece starts
  uint64_t used_ = 0;
  std::vector<Piece> pieces_;  // oldest first
  std::vector<void*> spare_events_;
  bool abandoned_ = false;
};

}  // namespace mr
