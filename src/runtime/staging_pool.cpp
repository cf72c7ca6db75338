#include "runtime/staging_pool.h"

#include <cstring>

namespace mr {

StagingPool::StagingPool(mr_memory& memory, void* native_stream)
    : memory_(memory), stream_(native_stream) {}

StagingPool::~StagingPool() {
  if (abandoned_) return;
  Backend& backend = memory_.backend();
  for (const Piece& piece : pieces_) {
    if (piece.marked) (void)backend.synchronize_event(memory_.device(), piece.event);
    backend.drop_event(memory_.device(), piece.event);
  }
  for (void* event : spare_events_) backend.drop_event(memory_.device(), event);
  if (data_ != nullptr) memory_.free_pinned(data_);
}

Status StagingPool::open() {
  pieces_.reserve(kPieces);
  spare_events_.reserve(kPieces);
  while (spare_events_.size() < kPieces) {
    void* event = nullptr;
    MR_TRY(memory_.backend().make_event(memory_.device(), false, &event));
    spare_events_.push_back(event);
  }
  void* data = nullptr;
  MR_TRY(memory_.allocate_pinned(kBytes, &data));
  data_ = static_cast<char*>(data);
  return {};
}

void StagingPool::collect() {
  size_t done = 0;
  while (done < pieces_.size()) {
    bool reached = false;
    Piece& piece = pieces_[done];
    if (!memory_.backend().query_event(memory_.device(), piece.event, &reached).ok() || !reached) {
      break;
    }
    used_ -= piece.bytes;
    spare_events_.push_back(piece.event);
    ++done;
  }
  pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(done));
  if (pieces_.empty()) head_ = used_ = 0;
}

Status StagingPool::fill(const void* from, uint64_t bytes, const void** out) {
  collect();
  // A piece is contiguous: where it would cross the ring's end, the rest of the ring is its gap.
  const uint64_t gap = head_ + bytes > kBytes ? kBytes - head_ : 0;
  if (bytes > kBytes || gap + bytes > kBytes - used_ || spare_events_.empty()) {
    return unsupported(
               "a pageable copy does not fit the free staging bytes; mr_upload() copies any "
               "amount")
        .about("bytes")
        .got(static_cast<int64_t>(bytes))
        .wanted(static_cast<int64_t>(kBytes - used_));
  }
  pieces_.push_back({gap + bytes, head_, spare_events_.back(), false});
  spare_events_.pop_back();
  const uint64_t start = gap > 0 ? 0 : head_;
  std::memcpy(data_ + start, from, bytes);
  head_ = start + bytes;
  used_ += gap + bytes;
  *out = data_ + start;
  return {};
}

Status StagingPool::mark() {
  Piece& piece = pieces_.back();
  MR_TRY(memory_.backend().record_event(memory_.device(), piece.event, stream_, false));
  piece.marked = true;
  return {};
}

void StagingPool::cancel() {
  const Piece piece = pieces_.back();
  pieces_.pop_back();
  spare_events_.push_back(piece.event);
  head_ = piece.head;
  used_ -= piece.bytes;
}

}  // namespace mr
