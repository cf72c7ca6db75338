// Copies of a stream: what may be asynchronous is, what cannot be is refused or said to block.
#include <algorithm>

#include "runtime/stream_state.h"

using mr::CopyDirection;
using mr::Status;

namespace {

Status check_range(const char* name, const void* address, uint64_t bytes) {
  if (address == nullptr) return mr::invalid(name, "is NULL");
  if (bytes > static_cast<uint64_t>(INT64_MAX)) return mr::invalid("bytes", "is 2^63 or more");
  return {};
}

}  // namespace

Status mr_stream::synchronize() {
  bool capturing = false;
  MR_TRY(is_capturing(&capturing));
  if (capturing) {
    return noted(
        mr::error(MR_CAPTURE_VIOLATION, "a capturing stream cannot be waited for").about("stream"));
  }
  return context_->watch(context_->backend().synchronize_stream(context_->device(), native_));
}

Status mr_stream::copy(void* to, const void* from, uint64_t bytes, uint32_t direction) {
  MR_TRY(context_->check_alive());
  if (direction > MR_COPY_TO_HOST) return mr::invalid("direction", "is unknown", direction);
  if (bytes == 0) return {};
  MR_TRY(check_range("to", to, bytes));
  MR_TRY(check_range("from", from, bytes));
  mr::Backend& backend = context_->backend();
  const int device = context_->device();
  MR_TRY(before_enqueue("copy"));
  bool staged = false;
  if (direction == MR_COPY_TO_HOST && !backend.is_pinned(device, to)) {
    return mr::invalid("to", "is pageable host memory; use pinned memory or mr_download()");
  }
  if (direction == MR_COPY_TO_DEVICE && !backend.is_pinned(device, from)) {
    bool capturing = false;
    MR_TRY(is_capturing(&capturing));
    if (capturing) {
      return noted(mr::error(MR_CAPTURE_VIOLATION, "pageable memory cannot be read by a replay")
                       .about("from"));
    }
    MR_TRY(staging_->fill(from, bytes, &from));
    staged = true;
  }
  const CopyDirection way = direction == MR_COPY_ON_DEVICE   ? CopyDirection::kOnDevice
                            : direction == MR_COPY_TO_DEVICE ? CopyDirection::kToDevice
                                                             : CopyDirection::kToHost;
  const Status copied =
      context_->watch(backend.copy(device, native_, to, from, static_cast<size_t>(bytes), way));
  if (!copied.ok() && staged) staging_->cancel();
  MR_TRY(copied);
  if (staged) MR_TRY(context_->watch(staging_->mark()));
  return after_enqueue();
}

Status mr_stream::fill(void* to, uint32_t value, uint64_t bytes) {
  MR_TRY(context_->check_alive());
  if (value > 255) return mr::invalid("value", "is no byte", value, 255);
  if (bytes == 0) return {};
  MR_TRY(check_range("to", to, bytes));
  MR_TRY(before_enqueue("fill"));
  MR_TRY(context_->watch(context_->backend().fill(
      context_->device(), native_, to, static_cast<uint8_t>(value), static_cast<size_t>(bytes))));
  return after_enqueue();
}

// Pinned memory goes straight; pageable memory passes through the staging pool a half at a time, so
// that the copy of one half overlaps with the filling of the other.
Status mr_stream::upload(void* to_device, const void* from_host, uint64_t bytes) {
  bool capturing = false;
  MR_TRY(is_capturing(&capturing));
  if (capturing) {
    return noted(mr::error(MR_CAPTURE_VIOLATION, "an upload waits, which a capture forbids")
                     .about("stream"));
  }
  if (bytes == 0) return {};
  MR_TRY(check_range("to_device", to_device, bytes));
  MR_TRY(check_range("from_host", from_host, bytes));
  if (context_->backend().is_pinned(context_->device(), from_host)) {
    MR_TRY(copy(to_device, from_host, bytes, MR_COPY_TO_DEVICE));
    return synchronize();
  }
  constexpr uint64_t kPiece = mr::StagingPool::kBytes / 2;
  for (uint64_t done = 0; done < bytes; done += kPiece) {
    const uint64_t piece = std::min(kPiece, bytes - done);
    char* const to = static_cast<char*>(to_device) + done;
    const char* const from = static_cast<const char*>(from_host) + done;
    Status status = copy(to, from, piece, MR_COPY_TO_DEVICE);
    if (status.code == MR_UNSUPPORTED) {  // the pool is full of copies in flight
      MR_TRY(synchronize());
      status = copy(to, from, piece, MR_COPY_TO_DEVICE);
    }
    MR_TRY(status);
  }
  return synchronize();
}

Status mr_stream::download(void* to_host, const void* from_device, uint64_t bytes) {
  bool capturing = false;
  MR_TRY(is_capturing(&capturing));
  if (capturing) {
    return noted(mr::error(MR_CAPTURE_VIOLATION, "a download waits, which a capture forbids")
                     .about("stream"));
  }
  if (bytes == 0) return {};
  MR_TRY(check_range("to_host", to_host, bytes));
  MR_TRY(check_range("from_device", from_device, bytes));
  // The driver stages a copy to pageable memory itself and waits, which is what was asked for here.
  MR_TRY(before_enqueue("download"));
  MR_TRY(context_->watch(context_->backend().copy(context_->device(), native_, to_host, from_device,
                                                  static_cast<size_t>(bytes),
                                                  CopyDirection::kToHost)));
  return synchronize();
}
