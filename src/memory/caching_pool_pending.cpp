// Freed memory that is not free yet: it waits for fences of other streams, or for a graph to go
// away.
#include <new>

#include "memory/caching_pool.h"

namespace mr {

void CachingPool::make_pending(Block& block, PoolStream* owner, bool active) noexcept {
  block.state = BlockState::kPending;
  block.active = active;
  block.uses.owner = owner;
  if (active) figures_.lingers(block.bytes);
  pending_.push_back(block);
}

void CachingPool::leave_pending(Block& block) noexcept {
  pending_.remove(block);
  if (block.active) figures_.finished(block.bytes);
}

void CachingPool::drop_fences(Block& block) noexcept {
  for (Fence* fence : block.uses.fences) streams_.release(*fence);
  block.uses.fences.clear();
}

void CachingPool::drop_reached(Block& block) noexcept {
  std::erase_if(block.uses.fences, [this](Fence* fence) {
    if (!fence->reached) return false;
    streams_.release(*fence);
    return true;
  });
}

bool CachingPool::settled(const Block& block) const {
  return block.ties == 0 && block.uses.users.empty() && block.uses.fences.empty();
}

void CachingPool::free_if_settled(Block& block) noexcept {
  if (!settled(block)) return;
  leave_pending(block);
  heap_.make_free(block, block.uses.owner);
}

// Graphs that went away since the last call let go of their blocks. Makes no driver call.
void CachingPool::collect_ties() noexcept {
  CaptureTie* tie = inbox_->collect();
  while (tie != nullptr) {
    if (Block* block = tie->block; block != nullptr) {
      --block->ties;
      free_if_settled(*block);
    }
    CaptureTie* next = tie->next;
    delete tie;
    tie = next;
  }
}

// Frees what has become free. Asks the device about fences, one question a stream, if there are
// any.
Status CachingPool::poll() {
  collect_ties();
  bool any = false;
  const Status status = streams_.poll(&any);
  if (!any) return status;
  for (Block* block = pending_.first(); block != nullptr;) {
    Block* next = block->later;
    drop_reached(*block);
    free_if_settled(*block);
    block = next;
  }
  return status;
}

// Fences the work of streams that were capturing when the block was freed and are not any more.
Status CachingPool::fence_late() {
  for (Block* block = pending_.first(); block != nullptr; block = block->later) {
    std::vector<PoolStream*>& late = block->uses.users;
    while (!late.empty()) {
      block->uses.fences.reserve(block->uses.fences.size() + 1);
      Fence* fence = nullptr;
      MR_TRY(streams_.mark(*late.back(), &fence));
      if (fence == nullptr) break;
      block->uses.fences.push_back(fence);
      late.pop_back();
    }
  }
  return {};
}

// Takes what a stream owns but does not use away from it, behind one fence: once that is reached,
// and what else the blocks wait for, they are idle. Free blocks stay inactive throughout. Does
// nothing while the stream is capturing.
Status CachingPool::fence_owned(PoolStream& stream) {
  bool any = !stream.free.empty();
  stream.free.for_each([](Block& block) { block.uses.fences.reserve(1); });
  for (Block* block = pending_.first(); block != nullptr; block = block->later) {
    if (block->ties != 0 || block->uses.owner != &stream) continue;
    block->uses.fences.reserve(block->uses.fences.size() + 1);
    any = true;
  }
  if (!any) return {};
  Fence* fence = nullptr;
  MR_TRY(streams_.mark(stream, &fence));
  if (fence == nullptr) return {};
  for (Block* block = pending_.first(); block != nullptr; block = block->later) {
    if (block->ties == 0) streams_.replace(&block->uses, stream, fence);
  }
  take_over(stream, fence);
  streams_.release(*fence);
  return {};
}

// The free blocks of the stream wait for `point` only (null: for nothing) and have no owner any
// more. Each has room for a fence.
void CachingPool::take_over(PoolStream& stream, Fence* point) noexcept {
  while (Block* block = stream.free.any()) {
    heap_.remove_free(*block);
    if (point == nullptr) {
      heap_.make_free(*block, nullptr);
      continue;
    }
    block->uses.fences.push_back(point);
    streams_.hold(*point);
    make_pending(*block, nullptr, false);
  }
}

void CachingPool::retire(StreamRef ref) noexcept {
  Turn turn(*this);
  PoolStream* stream = streams_.find(ref.id);
  if (stream == nullptr) return;
  if (ref.seat != nullptr) ref.seat->pool.store(nullptr, std::memory_order_relaxed);
  drain(*stream);
  stream->gone = false;
  Fence* point = nullptr;
  if (!streams_.last_point(*stream, &point)) {
    stream->gone = true;
    return;
  }
  if (point != nullptr) {
    try {
      heap_.for_each_block(
          [](Block& block) { block.uses.fences.reserve(block.uses.fences.size() + 1); });
    } catch (const std::bad_alloc&) {
      // No room to note the fence everywhere, so it is waited for instead.
      (void)streams_.finish(*point);
      streams_.release(*point);
      point = nullptr;
    }
  }
  take_over(*stream, point);
  heap_.for_each_block([&](Block& block) { streams_.replace(&block.uses, *stream, point); });
  if (point != nullptr) streams_.release(*point);
  for (Block* block = pending_.first(); block != nullptr;) {
    Block* next = block->later;
    free_if_settled(*block);
    block = next;
  }
  streams_.drop(*stream);
  if (books_ == Books::kPerStream) {
    figures_.add(stream->front.own_figures);
    stream->front.own_figures = {};
    stream->front.lock->unlock();  // the turn knows it no more
  }
}

}  // namespace mr
