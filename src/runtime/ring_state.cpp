#include "runtime/ring_state.h"

#include "core/checked.h"

using mr::Ref;
using mr::Status;

Status mr_ring::create(mr_context& context, uint32_t slots, uint64_t slot_bytes,
                       Ref<mr_ring>* out) {
  constexpr uint32_t kMaxSlots = 1024;
  MR_TRY(context.check_alive());
  if (slots < 1 || slots > kMaxSlots)
    return mr::invalid("slots", "is out of range", slots, kMaxSlots);
  if (slot_bytes == 0) return mr::invalid("slot_bytes", "is zero");
  auto ring = Ref<mr_ring>::take(new mr_ring);
  ring->context_ = Ref<mr_context>::share(&context);
  uint64_t total = 0;
  if (!mr::checked_round_up(slot_bytes, uint64_t{256}, &ring->pitch_) ||
      !mr::checked_mul(ring->pitch_, uint64_t{slots}, &total)) {
    return mr::invalid("slot_bytes", "is too large");
  }
  ring->slots_ = std::make_unique<Slot[]>(slots);
  ring->count_ = slots;
  ring->slot_bytes_ = slot_bytes;
  for (uint32_t i = 0; i < slots; ++i) {
    MR_TRY(mr_event::create(context, false, &ring->slots_[i].event));
  }
  void* data = nullptr;
  MR_TRY(context.memory().allocate_pinned(total, &data));
  ring->data_ = static_cast<char*>(data);
  *out = std::move(ring);
  return {};
}

// Copies into the slots may still be queued.
mr_ring::~mr_ring() {
  if (forked() || data_ == nullptr) return;
  for (uint32_t i = 0; i < count_; ++i) (void)slots_[i].event->synchronize();
  context_->memory().free_pinned(data_);
}

Status mr_ring::check_slot(uint32_t slot) const {
  MR_TRY(context_->check_alive());
  if (slot >= count_) return mr::invalid("slot", "is out of range", slot, int64_t{count_} - 1);
  return {};
}

Status mr_ring::push(uint32_t slot, mr_stream& stream, const void* from, uint64_t bytes) {
  MR_TRY(check_slot(slot));
  if (&stream.context() != context_.get()) {
    return mr::invalid("stream", "belongs to another context than the ring");
  }
  if (bytes > slot_bytes_) {
    return mr::invalid("bytes", "is more than a slot holds", static_cast<int64_t>(bytes),
                       static_cast<int64_t>(slot_bytes_));
  }
  MR_TRY(stream.copy(data_ + slot * pitch_, from, bytes, MR_COPY_TO_HOST));
  MR_TRY(slots_[slot].event->record_behind(stream, true));
  slots_[slot].pushed = true;
  return {};
}

Status mr_ring::query(uint32_t slot, bool* out_done) {
  MR_TRY(check_slot(slot));
  if (!slots_[slot].pushed) return mr::invalid("slot", "was never pushed", slot);
  return slots_[slot].event->query(out_done);
}

Status mr_ring::wait(uint32_t slot, const void** out_data) {
  MR_TRY(check_slot(slot));
  if (!slots_[slot].pushed) return mr::invalid("slot", "was never pushed", slot);
  MR_TRY(slots_[slot].event->synchronize());
  *out_data = data_ + slot * pitch_;
  return {};
}
