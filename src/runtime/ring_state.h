// The ring behind mr_ring: pinned slots with an event each.
#pragma once

#include <memory>

#include "runtime/event_state.h"

struct mr_ring final : mr::Object {
 public:
  static mr::Status create(mr_context& context, uint32_t slots, uint64_t slot_bytes,
                           mr::Ref<mr_ring>* out);

  mr::Status push(uint32_t slot, mr_stream& stream, const void* from, uint64_t bytes);
  mr::Status query(uint32_t slot, bool* out_done);
  mr::Status wait(uint32_t slot, const void** out_data);

 private:
  mr_ring() : Object(mr::ObjectKind::kRing) {}
  ~mr_ring() override;
  mr::Status check_slot(uint32_t slot) const;

  struct Slot {
    mr::Ref<mr_event> event;
    std::atomic<bool> pushed{false};
  };
  mr::Ref<mr_context> context_;
  std::unique_ptr<Slot[]> slots_;
  uint32_t count_ = 0;
  uint64_t slot_bytes_ = 0;
  uint64_t pitch_ = 0;  // slot_bytes rounded up to 256
  char* data_ = nullptr;
};
