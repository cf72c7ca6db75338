// Scratch set aside for graph captures, handed out in leases that a captured graph holds.
//
// A lease is keyed by the graph that records it: it comes back when the graph and all instances of
// it are gone, through a drop callback that may run on any thread and touches no device.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "core/object.h"
#include "memory/memory_state.h"

namespace mr {

class ScratchReserve final : public Object {
 public:
  static Status create(mr_memory& memory, Ref<ScratchReserve>* out);

  // Adds one piece of `bytes`; blocking.
  Status grow(uint64_t bytes);
  // The smallest free range of at least `bytes`, aligned to 256; WORKSPACE_TOO_SMALL with the need.
  Status lease(uint64_t bytes, void** out);
  void give_back(void* address);
  uint64_t free_bytes() const;

 private:
  ScratchReserve() : Object(ObjectKind::kGraphPool) {}
  ~ScratchReserve() override;

  struct Range {
    char* address;
    uint64_t bytes;
    bool leased;
    bool first;  // of its piece, so that ranges of different pieces never merge
  };
  mutable std::mutex mutex_;
  Ref<mr_memory> memory_;
  std::vector<Range> ranges_;  // by piece, then address
};

}  // namespace mr
