// Looks inside a caching pool: "" if its structure holds, else the first thing that does not.
#pragma once

#include <map>
#include <string>

#include "memory/caching_pool.h"

namespace mr {

struct PoolProbe {
  static std::string check(CachingPool& pool) {
    CachingPool::Turn turn(pool);
    Sums sums;
    std::map<const Fence*, uint32_t> holders;
    for (const Segment* s = pool.heap_.segments().first(); s != nullptr; s = s->later) {
      if (std::string wrong = check_segment(pool, *s, &sums, &holders); !wrong.empty()) {
        return wrong;
      }
      uint64_t offset = 0;
      for (const Piece& piece : s->pieces) {
        if (piece.address != s->address + offset) return "pieces do not tile";
        offset += piece.bytes;
      }
      if (offset != s->bytes) return "pieces do not fill their segment";
      sums.reserved += s->bytes;
    }
    for (const Segment* s = pool.heap_.chunks().first(); s != nullptr; s = s->later) {
      if (std::string wrong = check_segment(pool, *s, &sums, &holders); !wrong.empty()) {
        return wrong;
      }
      if (s->chunk->state != BlockState::kChunk || s->chunk->inside != s ||
          s->chunk->address != s->address || s->chunk->bytes != s->bytes) {
        return "a chunk and its block disagree";
      }
      if (s->first->after == nullptr && s->first->state == BlockState::kFree) {
        return "an empty chunk was not dissolved";
      }
    }
    for (const auto& [fence, count] : holders) {
      if (fence->holders != count) return "a fence is held by others than blocks";
    }
    bool stray = false;
    pool.streams_.for_each([&](PoolStream& stream) {
      for (Fence* f = stream.fences.first(); f != nullptr; f = f->later) {
        stray |= holders.count(f) == 0 || f->reached || f->stream != &stream;
      }
    });
    if (stray) return "a stream's fence is held by no block";
    size_t listed = 0;
    const auto look = [&](PoolStream* owner, const OwnedBins& bins) {
      bins.for_each([&](Block& b) {
        ++listed;
        stray |= b.state != BlockState::kFree || b.uses.owner != owner;
      });
      bins.small.for_each([&](Block& b) { stray |= b.segment->chunk == nullptr; });
      bins.large.for_each([&](Block& b) { stray |= b.segment->chunk != nullptr; });
    };
    look(nullptr, pool.heap_.idle());
    size_t cached = 0;
    pool.streams_.for_each([&](PoolStream& stream) {
      look(&stream, stream.free);
      stream.front.cached.for_each([&](Block& b) {
        ++cached;
        stray |= b.state != BlockState::kCached || b.uses.owner != &stream;
        stray |= pool.heap_.find_address(b.address) != &b;
      });
    });
    if (stray || listed != sums.free_blocks || cached != sums.cached_blocks) {
      return "the lists hold other blocks than the free ones";
    }
    if (pool.heap_.store().used() != sums.blocks) return "the store has lost blocks";
    size_t pending = 0;
    for (Block* b = pool.pending_.first(); b != nullptr; b = b->later) ++pending;
    if (pending != sums.pending_blocks) return "the pending chain holds other blocks";
    pool.figures_.settle();
    Figures all = pool.figures_;
    if (pool.books_ == CachingPool::Books::kPerStream) {
      pool.streams_.for_each([&](PoolStream& stream) { all.add(stream.front.own_figures); });
      all.settle();
    }
    const mr_memory_stats& stats = all.read();
    if (stats.requested.current != sums.requested) return "requested is wrong";
    if (stats.allocated.current != sums.allocated) return "allocated is wrong";
    if (stats.active.current != sums.active) return "active is wrong";
    if (stats.reserved.current != sums.reserved) return "reserved is wrong";
    return check_stats(stats);
  }

  // The invariants that memory.h promises.
  static std::string check_stats(const mr_memory_stats& s) {
    if (s.requested.current > s.allocated.current) return "requested > allocated";
    if (s.allocated.current > s.active.current) return "allocated > active";
    if (s.active.current > s.reserved.current) return "active > reserved";
    if (s.inactive.current != s.reserved.current - s.active.current) return "inactive is wrong";
    uint64_t tags = 0;
    for (const mr_counter& tag : s.tags) tags += tag.current;
    if (tags != s.allocated.current) return "the tags do not sum up to allocated";
    for (const mr_counter* c : {&s.requested, &s.allocated, &s.active, &s.reserved, &s.inactive}) {
      if (c->peak < c->current) return "a peak is below its current";
      if (c->total < c->current) return "a total is below its current";
    }
    return "";
  }

 private:
  struct Sums {
    uint64_t requested = 0, allocated = 0, active = 0, reserved = 0;
    size_t free_blocks = 0, pending_blocks = 0, cached_blocks = 0, blocks = 0;
  };

  static std::string check_segment(CachingPool& pool, const Segment& s, Sums* sums,
                                   std::map<const Fence*, uint32_t>* holders) {
    uint64_t offset = 0;
    if (s.first->before != nullptr) return "a segment's first block has one before it";
    for (Block* b = s.first; b != nullptr; b = b->after) {
      if (b->segment != &s || b->address != s.address + offset) return "blocks do not tile";
      if (b->bytes == 0 || b->bytes % kGranule != 0) return "a block has a wrong size";
      if (b->after != nullptr ? b->after->before != b : s.last != b) return "neighbours disagree";
      if (std::string wrong = check_block(pool, *b, sums); !wrong.empty()) return wrong;
      for (const Fence* fence : b->uses.fences) ++(*holders)[fence];
      offset += b->bytes;
    }
    return offset == s.bytes ? "" : "blocks do not fill their segment";
  }

  static std::string check_block(CachingPool& pool, Block& b, Sums* sums) {
    ++sums->blocks;
    if (b.active) sums->active += b.bytes;
    if (b.state == BlockState::kChunk) return b.active ? "a chunk is active" : "";
    if (b.state == BlockState::kCached) {
      ++sums->cached_blocks;
      return b.active || !pool.settled(b) ? "a cached block is in use" : "";
    }
    if (b.state == BlockState::kAllocated) {
      sums->allocated += b.bytes;
      sums->requested += b.grant.requested;
      if (pool.heap_.find_address(b.address) != &b) return "an allocated block is not in the map";
      return b.active && b.ties == 0 ? "" : "an allocated block is inactive or tied";
    }
    if (b.state == BlockState::kPending) {
      ++sums->pending_blocks;
      return pool.settled(b) ? "a pending block waits for nothing" : "";
    }
    ++sums->free_blocks;
    if (b.active || !pool.settled(b)) return "a free block is in use";
    if (b.after != nullptr && b.after->state == BlockState::kFree &&
        b.after->uses.owner == b.uses.owner) {
      return "free neighbours are not merged";
    }
    return "";
  }
};

}  // namespace mr
