#include "runtime/scratch_reserve.h"

#include "core/checked.h"

namespace mr {

Status ScratchReserve::create(mr_memory& memory, Ref<ScratchReserve>* out) {
  auto reserve = Ref<ScratchReserve>::take(new ScratchReserve);
  reserve->memory_ = Ref<mr_memory>::share(&memory);
  *out = std::move(reserve);
  return {};
}

// The destructor may run from a graph's drop callback, where the device must not be called; the
// pool only notes the blocks as idle, which makes no driver call.
ScratchReserve::~ScratchReserve() {
  if (forked()) return;
  for (const Range& range : ranges_) {
    if (range.first) (void)memory_->free({}, range.address);
  }
}

Status ScratchReserve::grow(uint64_t bytes) {
  uint64_t rounded = 0;
  if (!checked_round_up(bytes, uint64_t{256}, &rounded)) {
    return invalid("bytes", "is too large", INT64_MAX);
  }
  if (rounded == 0) return {};
  std::lock_guard lock(mutex_);
  ranges_.reserve(ranges_.size() + 1);
  void* address = nullptr;
  MR_TRY(memory_->allocate({}, rounded, 256, MR_TAG_WORKSPACE, &address));
  ranges_.push_back({static_cast<char*>(address), rounded, false, true});
  return {};
}

Status ScratchReserve::lease(uint64_t bytes, void** out) {
  const uint64_t need = (bytes + 255) & ~uint64_t{255};
  std::lock_guard lock(mutex_);
  size_t best = ranges_.size();
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (ranges_[i].leased || ranges_[i].bytes < need) continue;
    if (best == ranges_.size() || ranges_[i].bytes < ranges_[best].bytes) best = i;
  }
  if (best == ranges_.size()) {
    return error(MR_WORKSPACE_TOO_SMALL,
                 "the capture reserve is too small; see mr_stream_reserve_capture(); bytes needed")
        .got(static_cast<int64_t>(need));
  }
  if (ranges_[best].bytes > need) {
    const Range rest{ranges_[best].address + need, ranges_[best].bytes - need, false, false};
    ranges_.insert(ranges_.begin() + static_cast<std::ptrdiff_t>(best) + 1, rest);
    ranges_[best].bytes = need;
  }
  ranges_[best].leased = true;
  *out = ranges_[best].address;
  return {};
}

void ScratchReserve::give_back(void* address) {
  std::lock_guard lock(mutex_);
  size_t i = 0;
  while (i < ranges_.size() && ranges_[i].address != address) ++i;
  if (i == ranges_.size()) return;
  ranges_[i].leased = false;
  const auto merge_with_next = [this](size_t at) {
    if (at + 1 >= ranges_.size() || ranges_[at].leased || ranges_[at + 1].leased) return;
    if (ranges_[at + 1].first) return;
    ranges_[at].bytes += ranges_[at + 1].bytes;
    ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  };
  merge_with_next(i);
  if (i > 0) merge_with_next(i - 1);
}

uint64_t ScratchReserve::free_bytes() const {
  std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const Range& range : ranges_) sum += range.leased ? 0 : range.bytes;
  return sum;
}

}  // namespace mr
