// What happens when no cached memory fits, and how memory goes back to the device.
#include <limits>

#include "memory/caching_pool.h"

namespace mr {
namespace {

bool is_smaller(const Block& a, const Block& b) {
  return a.bytes != b.bytes ? a.bytes < b.bytes : a.address < b.address;
}

}  // namespace

Status CachingPool::allocate_slowly(Request* request, Block** out) {
  std::lock_guard slow(slow_mutex_);
  Turn turn(*this);
  // The new memory's block, and those that it is cut with.
  SetAside aside(heap_.store(), 8);
  Block* block = nullptr;
  MR_TRY(climb(turn, request, &aside, &block));
  if (block == nullptr) return out_of_memory(turn, *request);
  aside.give_back();
  block = &heap_.claim(*block, request->stream, request->shape);
  heap_.prepare(*block, request->shape);
  *out = &hand_out(*block, *request);
  return {};
}

// *out stays null where there is no memory to be had. Between the step that sets it and the caller
// the lock is not let go.
Status CachingPool::climb(Turn& turn, Request* request, SetAside* aside, Block** out) {
  request->stream = streams_.find(request->stream_id);
  drain_all();
  MR_TRY(poll());
  if ((*out = find(*request)) != nullptr) return {};
  MR_TRY(grow(turn, request, aside, out));
  if (*out != nullptr) return {};
  // Others may have freed memory meanwhile.
  drain_all();
  if ((*out = find(*request)) != nullptr) return {};
  MR_TRY(borrow(*request, out));
  if (*out != nullptr) return {};
  MR_TRY(trim_and_grow(turn, request, aside, out));
  if (*out != nullptr) return {};
  const BlockHeap::Prospect hope = prospect(true);
  if (hope.longest_run < request->shape.need() && !makes_room(*request, hope.releasable)) return {};
  MR_TRY(wait_for_work(turn));
  request->stream = streams_.find(request->stream_id);
  drain_all();
  if ((*out = find(*request)) != nullptr) return {};
  return trim_and_grow(turn, request, aside, out);
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
  const bool pending = block->state == BlockState::kPending;
  if (pending) heap_.prepare_freed(*block, request.stream, request.shape);
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
  ++waits_;
  taken_over_ += request.shape.bytes;
  if (pending) {
    drop_fences(*block);
    leave_pending(*block);
    block = &heap_.make_free(*block, request.stream);
  }
  *out = block;
  return {};
}

// The best fit among pending blocks that the request's stream owns, or nobody; or of others.
Block* CachingPool::pending_for(const Request& request, bool of_others) const {
  Block* best = nullptr;
  for (Block* block = pending_.first(); block != nullptr; block = block->later) {
    const PoolStream* owner = block->uses.owner;
    const bool others = owner != nullptr && owner != request.stream;
    if (others != of_others || (owner != nullptr && owner->gone)) continue;
    if (!fits(*block, request.shape)) continue;
    if (best == nullptr || is_smaller(*block, *best)) best = block;
  }
  return best;
}

// Once its fences are reached. A small request takes a small block, or a large one that it can make
// a chunk of.
bool CachingPool::fits(const Block& pending, const Shape& shape) const {
  const bool chunked = pending.segment->chunk != nullptr;
  const uint64_t bytes = shape.small && !chunked ? BlockHeap::kChunkBytes : shape.bytes;
  if (chunked && !shape.small) return false;
  if (pending.ties != 0 || !pending.uses.users.empty() || pending.bytes < bytes) return false;
  return pending.bytes - bytes >= gap_to(pending.address, shape.alignment);
}

// What waits for the request's own stream alone, as while another thread waits for all work, may be
// used there at once.
Block* CachingPool::take_back(const Request& request) {
  if (request.stream == nullptr) return nullptr;
  Block* best = nullptr;
  for (Block* block = pending_.first(); block != nullptr; block = block->later) {
    const std::vector<Fence*>& fences = block->uses.fences;
    const PoolStream* owner = block->uses.owner;
    if ((owner != nullptr && owner != request.stream) || !fits(*block, request.shape)) continue;
    const bool own = std::all_of(fences.begin(), fences.end(), [&request](const Fence* fence) {
      return fence->stream == request.stream;
    });
    if (own && (best == nullptr || is_smaller(*block, *best))) best = block;
  }
  if (best == nullptr) return nullptr;
  heap_.prepare_freed(*best, request.stream, request.shape);
  drop_fences(*best);
  leave_pending(*best);
  return &heap_.make_free(*best, request.stream);
}

// The best fit among the free blocks of other streams that are not capturing.
Status CachingPool::donated_to(const Request& request, Block** out) {
  Status status;
  streams_.for_each([&](PoolStream& stream) {
    if (&stream == request.stream || stream.gone || !status.ok()) return;
    Block* block = heap_.find(&stream, request.shape);
    if (block == nullptr || (*out != nullptr && !is_smaller(*block, **out))) return;
    CaptureInfo capture;
    status = streams_.capture(stream, &capture);
    if (!status.ok() || capture.state != CaptureState::kNone) return;
    *out = block;
  });
  return status;
}

// Gives idle memory back where that makes room for a new one, and takes it.
Status CachingPool::trim_and_grow(Turn& turn, Request* request, SetAside* aside, Block** out) {
  // Twice, because the limit may have hidden that the device has no room either.
  for (int attempt = 0; attempt < 2 && *out == nullptr; ++attempt) {
    const uint64_t idle = prospect(false).releasable;
    if (idle == 0 || !makes_room(*request, idle)) return {};
    give_back(turn, request->refused ? 0 : limit_ - BlockHeap::in_units(request->shape.bytes));
    MR_TRY(grow(turn, request, aside, out));
    if (*out != nullptr) figures_.retried();
  }
  return {};
}

// Would giving `releasable` bytes back leave room for what the request needs? Where it would not,
// the cache is left alone.
bool CachingPool::makes_room(const Request& request, uint64_t releasable) {
  const uint64_t bytes = BlockHeap::in_units(paged_ ? request.shape.bytes : request.shape.need());
  if (limit_ != 0 && (bytes > limit_ || figures_.reserved() - releasable > limit_ - bytes)) {
    return false;
  }
  uint64_t free = 0, total = 0;
  if (!request.refused || !backend_.memory_info(device_, &free, &total).ok()) return true;
  return bytes <= releasable || free >= bytes - releasable;
}

// What could go back to the device, or be merged, now or once queued work is done. Streams that are
// capturing are not asked about, so the latter may promise too much.
BlockHeap::Prospect CachingPool::prospect(bool after_waiting) const {
  const auto is_unused = [after_waiting](const Block& block) {
    if (block.state == BlockState::kFree) {
      return block.uses.owner == nullptr || (after_waiting && !block.uses.owner->gone);
    }
    return after_waiting && block.state == BlockState::kPending && block.ties == 0;
  };
  return heap_.prospect([&is_unused](const Block& block) {
    if (block.state != BlockState::kChunk) return is_unused(block);
    for (const Block* at = block.inside->first; at != nullptr; at = at->after) {
      if (!is_unused(*at)) return false;
    }
    return true;
  });
}

// Waits until all work that cached memory waits for is done, but for streams that are capturing.
// All locks are let go meanwhile, so no plan may be open; what is freed by then is not waited for.
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
    // Others may grow meanwhile: what is waited for may need what they are about to enqueue.
    slow_mutex_.unlock();
    Status first;
    for (const Fence* fence : fences) {
      const Status finished = streams_.finish(*fence);
      if (first.ok()) first = finished;
    }
    slow_mutex_.lock();
    return first;
  });
  for (Fence* fence : fences) streams_.release(*fence);
  MR_TRY(status);
  return poll();
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
  drain_all();
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
