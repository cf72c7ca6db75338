#include "memory/stream_fences.h"

#include <algorithm>
#include <new>

namespace mr {

StreamFences::~StreamFences() {
  if (abandoned_) return;
  for (const auto& fence : all_) {
    if (fence->event != nullptr) backend_.drop_event(device_, fence->event);
  }
}

PoolStream* StreamFences::meet(StreamRef ref, bool* out_fresh) {
  if (out_fresh != nullptr) *out_fresh = false;
  if (ref.id == 0) return nullptr;
  PoolStream* stream = find(ref.id);
  if (stream == nullptr) {
    // Room first, so that drop() needs none.
    const size_t all = leaving_.size() + streams_.size() + spare_streams_.size() + 1;
    leaving_.reserve(all);
    spare_streams_.reserve(all);
    if (spare_streams_.empty()) spare_streams_.push_back(std::make_unique<PoolStream>());
    const auto place = streams_.emplace(ref.id, nullptr).first;
    place->second = std::move(spare_streams_.back());
    spare_streams_.pop_back();
    stream = place->second.get();
    stream->id = ref.id;
    stream->native = ref.native;
    if (out_fresh != nullptr) *out_fresh = true;
  }
  stream->gone = false;
  return stream;
}

PoolStream* StreamFences::find(uint64_t id) const {
  const auto at = streams_.find(id);
  return at != streams_.end() ? at->second.get() : nullptr;
}

Status StreamFences::capture(const PoolStream& stream, CaptureInfo* out) const {
  return backend_.capture_info(device_, stream.native, out);
}

// Asked twice, because the stream's own caller may begin a capture on another thread meanwhile: an
// event that may have gone into it is thrown away.
Status StreamFences::mark(PoolStream& stream, Fence** out) {
  *out = nullptr;
  if (stream.gone) return {};
  CaptureInfo info;
  MR_TRY(capture(stream, &info));
  if (info.state != CaptureState::kNone) return {};
  Fence* fence = spare();
  if (fence->event == nullptr) MR_TRY(backend_.make_event(device_, false, &fence->event));
  MR_TRY(backend_.record_event(device_, fence->event, stream.native, false));
  MR_TRY(capture(stream, &info));
  if (info.state != CaptureState::kNone) {
    backend_.drop_event(device_, fence->event);
    fence->event = nullptr;
    return {};
  }
  spare_.remove(*fence);
  fence->stream = &stream;
  fence->holders = 1;
  fence->reached = false;
  stream.fences.push_back(*fence);
  ++outstanding_;
  *out = fence;
  return {};
}

Fence* StreamFences::spare() {
  if (spare_.empty()) spare_.push_back(*all_.emplace_back(std::make_unique<Fence>()));
  return spare_.last();
}

Status StreamFences::wait(const PoolStream& stream, const Fence& fence) {
  return backend_.wait_event(device_, stream.native, fence.event, false);
}

void StreamFences::release(Fence& fence) noexcept {
  if (--fence.holders > 0) return;
  if (!fence.reached) unlink(fence);
  fence.stream = nullptr;
  spare_.push_back(fence);
}

void StreamFences::unlink(Fence& fence) noexcept {
  fence.stream->fences.remove(fence);
  --outstanding_;
}

Status StreamFences::poll(bool* out_any) {
  *out_any = false;
  if (outstanding_ == 0) return {};
  const auto ask = [this, out_any](PoolStream& stream) -> Status {
    while (Fence* oldest = stream.fences.first()) {
      bool done = false;
      MR_TRY(backend_.query_event(device_, oldest->event, &done));
      if (!done) break;
      unlink(*oldest);
      oldest->reached = true;
      *out_any = true;
    }
    return {};
  };
  for (auto& [id, stream] : streams_) MR_TRY(ask(*stream));
  for (auto& stream : leaving_) MR_TRY(ask(*stream));
  forget_left();
  return {};
}

void StreamFences::last_fences(std::vector<Fence*>* out) {
  out->reserve(streams_.size() + leaving_.size());
  const auto take = [this, out](PoolStream& stream) {
    if (stream.fences.empty()) return;
    hold(*stream.fences.last());
    out->push_back(stream.fences.last());
  };
  for (auto& [id, stream] : streams_) take(*stream);
  for (auto& stream : leaving_) take(*stream);
}

Status StreamFences::finish(const Fence& fence) const {
  return backend_.synchronize_event(device_, fence.event);
}

bool StreamFences::last_point(PoolStream& stream, Fence** out) noexcept {
  *out = nullptr;
  CaptureInfo info;
  if (capture(stream, &info).ok() && info.state != CaptureState::kNone) return false;
  bool done = false;
  if (backend_.query_stream(device_, stream.native, &done).ok() && done) return true;
  try {
    if (mark(stream, out).ok()) return *out != nullptr;
  } catch (const std::bad_alloc&) {
    *out = nullptr;
  }
  // No fence to be had, so the work is waited for. If that fails too the device is lost, and with
  // it everything that could still use the memory.
  (void)backend_.synchronize_stream(device_, stream.native);
  return true;
}

void StreamFences::replace(Uses* uses, PoolStream& stream, Fence* point) noexcept {
  const bool owned = uses->owner == &stream;
  const size_t used = std::erase(uses->users, &stream);
  if (owned) uses->owner = nullptr;
  if (point == nullptr || (!owned && used == 0)) return;
  uses->fences.push_back(point);
  hold(*point);
}

void StreamFences::forget_left() noexcept {
  for (auto& stream : leaving_) {
    if (stream->fences.empty()) spare_streams_.push_back(std::move(stream));
  }
  std::erase(leaving_, nullptr);
}

void StreamFences::drop(PoolStream& stream) noexcept {
  forget_left();
  const auto at = streams_.find(stream.id);
  stream.id = 0;
  (stream.fences.empty() ? spare_streams_ : leaving_).push_back(std::move(at->second));
  streams_.erase(at);
}

void StreamFences::quiesce() noexcept {
  const auto finish_last = [this](PoolStream& stream) {
    if (stream.fences.empty()) return;
    (void)backend_.synchronize_event(device_, stream.fences.last()->event);
  };
  for (auto& [id, stream] : streams_) {
    CaptureInfo info;
    if (!stream->gone && capture(*stream, &info).ok() && info.state == CaptureState::kNone) {
      (void)backend_.synchronize_stream(device_, stream->native);
    }
    finish_last(*stream);
  }
  for (auto& stream : leaving_) finish_last(*stream);
}

}  // namespace mr
