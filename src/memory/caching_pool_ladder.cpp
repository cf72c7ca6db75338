// What happens when no cached memory fits, and how memory goes back to the device.
#include <limits>

#include "memory/caching_pool.h"

namespace mr {

Status CachingPool::allocate_slowly(Request* request, void** out) {
  std::lock_guard slow(slow_mutex_);
  Turn turn(*this);
  // The new segment's block, and two to cut with.
  SetAside aside(store_, 3);
  Block* block = nullptr;
  MR_TRY(climb(turn, request, &aside, &block));
  if (block == nullptr) return out_of_memory(turn, *request);
  aside.give_back();
  *out = hand_out(*block, *request);
  return {};
}

// *out stays null where there is no memory to be had. Between the step that sets it and the caller
// the lock is not let go.
Status CachingPool::climb(Turn& turn, Request* request, SetAside* aside, Block** out) {
  request->stream = streams_.find(request->stream_id);
  MR_TRY(poll());
  if ((*out = find(*request)) != nullptr) return {};
  MR_TRY(grow(turn, request, aside, out));
  if (*out != nullptr) return {};
  // Others may have freed memory meanwhile, and a block of the other kind of segment will do now.
  request->any_segment = true;
  if ((*out = find(*request)) != nullptr) return {};
  MR_TRY(borrow(*request, out));
  if (*out != nullptr) return {};
  MR_TRY(trim_and_grow(turn, request, aside, out));
  if (*out != nullptr) return {};
  const Prospect hope = prospect(true);
  const uint64_t run = request->grant.bytes + (request->alignment - kGranule);
  if (hope.longest_run < run && !makes_room(*request, hope.releasable)) return {};
  MR_TRY(wait_for_work(turn));
  request->stream = streams_.find(request->stream_id);
  if ((*out = find(*request)) != nullptr) return {};
  return trim_and_grow(turn, request, aside, out);
}

// A new segment, as one idle block. *out stays null if the limit or the device has no room.
Status CachingPool::grow(Turn& turn, Request* request, SetAside* aside, Block** out) {
  const uint64_t bytes = request->segment_bytes;
  if (limit_ != 0 && (bytes > limit_ || figures_.reserved() > limit_ - bytes)) return {};
  auto segment = std::make_unique<Segment>();
  void* address = nullptr;
  const Status status =
      turn.pause([&] { return backend_.reserve(device_, MemoryKind::kDevice, bytes, &address); });
  request->stream = streams_.find(request->stream_id);
  if (status.code == MR_OUT_OF_DEVICE_MEMORY || status.code == MR_OUT_OF_HOST_MEMORY) {
    request->refused = true;
    request->domain = status.domain;
    request->native = status.native;
    return {};
  }
  MR_TRY(status);
  aside->give_back();
  Block& block = *store_.get();
  block.address = static_cast<char*>(address);
  block.bytes = bytes;
  block.segment = segment.get();
  segment->address = block.address;
  segment->bytes = bytes;
  segment->small = request->small;
  segment->first = &block;
  segments_.push_back(*segment.release());
  figures_.taken(bytes);
  *out = &make_free(block, nullptr);
  return {};
}

// Memory that queued work of other streams still uses: the request's stream waits for that work, so
// its own work from now on may use the memory. The streams that gave it do not wait.
Status CachingPool::borrow(const Request& request, Block** out) {
  if (request.stream == nullptr) return {};
  Block* block = pending_for(request, false);
  if (block == nullptr) MR_TRY(donated_to(request, &block));
  if (block == nullptr) block = pending_for(request, true);
  if (block == nullptr) return {};
  PoolStream* const owner = block->uses.owner;
  Fence* mark = nullptr;
  if (owner != nullptr && owner != request.stream) {
    MR_TRY(streams_.mark(*owner, &mark));
    if (mark == nullptr) return {};  // it is capturing
  }
  // Waits that were enqueued before one failed do no harm.
  Status status;
  if (mark != nullptr) {
    status = streams_.wait(*request.stream, *mark);
    streams_.release(*mark);
  }
  for (const Fence* fence : block->uses.fences) {
    if (status.ok()) status = streams_.wait(*request.stream, *fence);
  }
  MR_TRY(status);
  if (block->state == BlockState::kPending) {
    drop_fences(*block);
    leave_pending(*block);
    block = &make_free(*block, request.stream);
  }
  *out = block;
  return {};
}

// The best fit among pending blocks that the request's stream owns, or nobody; or of others.
Block* CachingPool::pending_for(const Request& request, bool of_others) const {
  const uint64_t bytes = request.grant.bytes;
  Block* best = nullptr;
  for (Block* block = pending_.first(); block != nullptr; block = block->later) {
    const PoolStream* owner = block->uses.owner;
    const bool others = owner != nullptr && owner != request.stream;
    if (others != of_others || (owner != nullptr && owner->gone)) continue;
    if (block->ties != 0 || !block->uses.users.empty() || block->bytes < bytes) continue;
    if (block->bytes - bytes < gap_to(block->address, request.alignment)) continue;
    if (best == nullptr || BySizeThenAddress()(block, best)) best = block;
  }
  return best;
}

// The best fit among the free blocks of other streams that are not capturing.
Status CachingPool::donated_to(const Request& request, Block** out) {
  Status status;
  streams_.for_each([&](PoolStream& stream) {
    if (&stream == request.stream || stream.gone || !status.ok()) return;
    for (const bool small : {false, true}) {
      Block* block = stream.cached.best(small, request.grant.bytes, request.alignment);
      if (block == nullptr || (*out != nullptr && !BySizeThenAddress()(block, *out))) continue;
      CaptureInfo capture;
      status = streams_.capture(stream, &capture);
      if (!status.ok() || capture.state != CaptureState::kNone) return;
      *out = block;
    }
  });
  return status;
}

// Gives idle segments back where that makes room for a new one, and takes it.
Status CachingPool::trim_and_grow(Turn& turn, Request* request, SetAside* aside, Block** out) {
  // Twice, because the limit may have hidden that the device has no room either.
  for (int attempt = 0; attempt < 2 && *out == nullptr; ++attempt) {
    const uint64_t idle = prospect(false).releasable;
    if (idle == 0 || !makes_room(*request, idle)) return {};
    give_back(turn, request->refused ? 0 : limit_ - request->segment_bytes);
    MR_TRY(grow(turn, request, aside, out));
    if (*out != nullptr) figures_.retried();
  }
  return {};
}

// Would giving `releasable` bytes back leave room for the request's segment? Where it would not,
// the cache is left alone.
bool CachingPool::makes_room(const Request& request, uint64_t releasable) {
  const uint64_t bytes = request.segment_bytes;
  if (limit_ != 0 && (bytes > limit_ || figures_.reserved() - releasable > limit_ - bytes)) {
    return false;
  }
  uint64_t free = 0, total = 0;
  if (!request.refused || !backend_.memory_info(device_, &free, &total).ok()) return true;
  return bytes <= releasable || free >= bytes - releasable;
}

// What could go back to the device, or be merged, now or once queued work is done. Streams that are
// capturing are not asked about, so the latter may promise too much.
CachingPool::Prospect CachingPool::prospect(bool after_waiting) const {
  const auto is_unused = [&](const Block& block) {
    if (block.state == BlockState::kFree) {
      return block.uses.owner == nullptr || (after_waiting && !block.uses.owner->gone);
    }
    return after_waiting && block.state == BlockState::kPending && block.ties == 0;
  };
  Prospect out;
  for (const Segment* segment = segments_.first(); segment != nullptr; segment = segment->later) {
    uint64_t run = 0;
    for (const Block* block = segment->first; block != nullptr; block = block->after) {
      run = is_unused(*block) ? run + block->bytes : 0;
      if (run > out.longest_run) out.longest_run = run;
    }
    if (run == segment->bytes) out.releasable += run;
  }
  return out;
}

// Waits until all work that cached memory waits for is done, but for streams that are capturing.
// The lock is let go meanwhile; what is freed by then is not waited for.
Status CachingPool::wait_for_work(Turn& turn) {
  MR_TRY(fence_late());
  Status status;
  streams_.for_each([&](PoolStream& stream) {
    if (status.ok()) status = fence_owned(stream);
  });
  MR_TRY(status);
  std::vector<Fence*> fences;
  streams_.last_fences(&fences);
  status = turn.pause([&] {
    Status first;
    for (const Fence* fence : fences) {
      const Status finished = streams_.finish(*fence);
      if (first.ok()) first = finished;
    }
    return first;
  });
  for (Fence* fence : fences) streams_.release(*fence);
  MR_TRY(status);
  return poll();
}

// Gives idle segments back, oldest first, until at most `target_bytes` are reserved.
void CachingPool::give_back(Turn& turn, uint64_t target_bytes) noexcept {
  Chain<Segment> victims;
  uint64_t left = figures_.reserved();
  for (Segment* segment = segments_.first(); segment != nullptr && left > target_bytes;) {
    Segment* next = segment->later;
    Block& block = *segment->first;
    if (block.bytes == segment->bytes && block.state == BlockState::kFree &&
        block.uses.owner == nullptr) {
      idle_.remove(block);
      store_.put(block);
      segments_.remove(*segment);
      victims.push_back(*segment);
      left -= segment->bytes;
    }
    segment = next;
  }
  if (victims.empty()) return;
  turn.pause([&] {
    for (Segment* segment = victims.first(); segment != nullptr; segment = segment->later) {
      backend_.release(device_, MemoryKind::kDevice, segment->address, segment->bytes);
    }
    return 0;
  });
  // Counted as reserved until now: the limit holds for what the device has not got back.
  while (Segment* segment = victims.first()) {
    victims.remove(*segment);
    figures_.returned(segment->bytes);
    delete segment;
  }
}

Status CachingPool::trim(uint64_t target_bytes, uint64_t* out_reserved) {
  std::lock_guard slow(slow_mutex_);
  Turn turn(*this);
  MR_TRY(shrink(turn, target_bytes));
  *out_reserved = figures_.reserved();
  return {};
}

Status CachingPool::set_limit(uint64_t limit_bytes) {
  std::lock_guard slow(slow_mutex_);
  Turn turn(*this);
  MR_TRY(shrink(turn, limit_bytes != 0 ? limit_bytes : std::numeric_limits<uint64_t>::max()));
  limit_ = limit_bytes;
  return {};
}

// Waits first if that is needed, so that a failure comes before anything was given back.
Status CachingPool::shrink(Turn& turn, uint64_t target_bytes) {
  MR_TRY(poll());
  const uint64_t reserved = figures_.reserved();
  const uint64_t idle = prospect(false).releasable;
  if (reserved > target_bytes && reserved - idle > target_bytes &&
      prospect(true).releasable > idle) {
    MR_TRY(wait_for_work(turn));
  }
  give_back(turn, target_bytes);
  return {};
}

Status CachingPool::out_of_memory(Turn& turn, const Request& request) {
  figures_.out_of_memory();
  const Shortage shortage{request.grant.requested, figures_.reserved(), limit_, request.domain,
                          request.native};
  return turn.pause([&] { return mr::out_of_memory(backend_, device_, shortage); });
}

}  // namespace mr
