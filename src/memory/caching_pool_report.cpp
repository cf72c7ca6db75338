// What a pool says of itself.
#include <algorithm>

#include "memory/caching_pool.h"

namespace mr {

void CachingPool::stats(mr_memory_stats* out) {
  Turn turn(*this);
  // Freed memory whose work has finished is not active any more. A device that cannot say so is
  // lost, which the next call that can fail reports.
  (void)poll();
  figures_.settle();
  Figures sum = figures_;
  if (books_ == Books::kPerStream) {
    streams_.for_each([&sum](const PoolStream& stream) { sum.add(stream.front.own_figures); });
    sum.settle();
  }
  const uint32_t struct_size = out->struct_size;
  *out = sum.read();
  out->struct_size = struct_size;
  if (books_ == Books::kPerStream) out->flags |= MR_MEMORY_PEAKS_ARE_BOUNDS;
  out->limit_bytes = limit_;
  out->waits = waits_;
  out->taken_over = taken_over_;
  describe_blocks(out);
}

void CachingPool::describe_blocks(mr_memory_stats* out) const {
  for (const auto& [address, bytes] : heap_.ranges()) out->address_bytes += bytes;
  for (const Block* block = pending_.first(); block != nullptr; block = block->later) {
    if (block->ties != 0) out->graph_bytes += block->bytes;
  }
  const auto measure = [out](const Block* block) {
    if (block != nullptr) out->largest_free = std::max(out->largest_free, block->bytes);
  };
  measure(heap_.idle().largest());
  streams_.for_each([&measure](const PoolStream& stream) {
    measure(stream.free.largest());
    measure(stream.front.cached.largest());
  });
}

void CachingPool::visit(mr_memory_visit_fn see, void* user) {
  Turn turn(*this);
  const auto show = [see, user](const Segment& segment, const Block& block) {
    mr_memory_block out = MR_MEMORY_BLOCK_INIT;
    out.segment_address = segment.address;
    out.segment_bytes = segment.bytes;
    out.address = block.address;
    out.bytes = block.bytes;
    out.requested = block.state == BlockState::kAllocated ? block.grant.requested : 0;
    out.stream = block.uses.owner != nullptr ? block.uses.owner->id : 0;
    out.state = block.state == BlockState::kAllocated ? MR_BLOCK_ALLOCATED
                : block.state == BlockState::kPending ? MR_BLOCK_PENDING
                                                      : MR_BLOCK_FREE;
    out.tag = block.grant.tag;
    out.graphs = block.ties;
    see(user, &out);
  };
  for (const Segment* at = heap_.segments().first(); at != nullptr; at = at->later) {
    for (const Block* block = at->first; block != nullptr; block = block->after) {
      if (block->state != BlockState::kChunk) {
        show(*at, *block);
        continue;
      }
      for (const Block* inner = block->inside->first; inner != nullptr; inner = inner->after) {
        show(*at, *inner);
      }
    }
  }
}

void CachingPool::reset_peaks() {
  Turn turn(*this);
  figures_.settle();
  figures_.reset_peaks();
  streams_.for_each([](PoolStream& stream) {
    stream.front.figures->settle();
    stream.front.figures->reset_peaks();
  });
}

}  // namespace mr
