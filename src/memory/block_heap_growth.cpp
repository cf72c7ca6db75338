// How the heap grows by what the device gives, and what it gives back.
#include "core/checked.h"
#include "memory/block_heap.h"

namespace mr {
namespace {

constexpr uint64_t kMaxPiece = uint64_t{64} << 20;

}  // namespace

void BlockHeap::add_range(char* address, uint64_t bytes) { ranges_.emplace(address, bytes); }

// A call of the device costs the same for any size, so large growth comes in a few large pieces;
// but a piece goes back as a whole, so small growth comes in small ones.
void BlockHeap::divide(Growth* growth) {
  const uint64_t piece = std::clamp(std::bit_floor(growth->bytes / 4), kUnit, kMaxPiece);
  growth->pieces.clear();
  for (uint64_t at = 0; at < growth->bytes; at += piece) {
    growth->pieces.push_back({growth->address + at, std::min(piece, growth->bytes - at), 0});
  }
}

void BlockHeap::plan_anywhere(PoolStream* owner, const Shape& shape, Growth* out) {
  *out = {};
  out->owner = owner;
  // The device aligns to the granule only, so a stricter request may have to skip some of it.
  out->bytes = in_units(shape.need());
  out->pieces.resize(1);
  out->fresh = std::make_unique<Segment>();
}

bool BlockHeap::plan_growth(PoolStream* owner, const Shape& shape, Growth* out) const {
  *out = {};
  out->owner = owner;
  // The cheapest gap between segments, the lowest among equals.
  const auto consider = [&](char* begin, char* end, Segment* before) {
    uint64_t bytes = in_units(shape.bytes);
    if (before != nullptr && before->last->state == BlockState::kFree) {
      const Block& last = *before->last;
      const uint64_t gap = gap_to(last.address, shape.alignment);
      if ((last.uses.owner == owner || last.uses.owner == nullptr) && gap < last.bytes &&
          last.bytes - gap < shape.bytes) {
        bytes = in_units(shape.bytes - (last.bytes - gap));
      }
    }
    if (static_cast<uint64_t>(end - begin) < bytes) return;
    if (out->bytes != 0 && out->bytes <= bytes) return;
    out->address = begin;
    out->bytes = bytes;
    out->extends = before;
  };
  for (const auto& [start, size] : ranges_) {
    char* begin = start;
    Segment* before = nullptr;
    for (auto at = placed_.lower_bound(start); at != placed_.end() && at->first < start + size;
         ++at) {
      consider(begin, at->first, before);
      before = at->second;
      begin = before->address + before->bytes;
    }
    consider(begin, start + size, before);
  }
  if (out->bytes == 0) return false;
  divide(out);
  if (out->extends == nullptr) out->fresh = std::make_unique<Segment>();
  return true;
}

Block* BlockHeap::commit(Growth* growth, const Shape& shape) {
  Segment* segment = growth->extends;
  Block* const last = segment != nullptr ? segment->last : nullptr;
  PoolStream* const owner = growth->owner;
  // What lay before it may have been taken meanwhile.
  const bool merges = last != nullptr && last->state == BlockState::kFree &&
                      (last->uses.owner == owner || last->uses.owner == nullptr);
  if (!map_.prepare(growth->address, growth->bytes, false)) return nullptr;
  const Block* start = merges ? last : nullptr;
  if (merges && last->before != nullptr && last->before->state == BlockState::kFree &&
      last->before->uses.owner == owner) {
    start = last->before;
  }
  prepare_at(start != nullptr ? start->address : growth->address, false, shape);
  if (segment != nullptr) {
    segment->pieces.reserve(segment->pieces.size() + growth->pieces.size());
  } else if (has_ranges()) {
    placed_.emplace(growth->address, growth->fresh.get());
  }
  Block& block = *store_.get();
  block.address = growth->address;
  block.bytes = growth->bytes;
  block.before = last;
  block.after = nullptr;
  block.state = BlockState::kAllocated;  // in no bin yet
  if (segment != nullptr) {
    last->after = &block;
    segment->pieces.insert(segment->pieces.end(), growth->pieces.begin(), growth->pieces.end());
  } else {
    segment = growth->fresh.release();
    segment->address = growth->address;
    segment->first = &block;
    segment->pieces = std::move(growth->pieces);
    segments_.push_back(*segment);
  }
  segment->bytes += growth->bytes;
  segment->last = &block;
  block.segment = segment;
  if (merges && last->uses.owner != owner) {
    remove_free(*last);
    (void)make_free(*last, owner);
  }
  return &make_free(block, owner);
}

void BlockHeap::take_pieces(uint64_t bytes, std::vector<Piece>* out) noexcept {
  uint64_t taken = 0;
  try {
    for (Segment* segment = segments_.first(); segment != nullptr && taken < bytes;) {
      Segment* const next = segment->later;
      // A carve ends or shortens the block's segment, so the walk starts at the block behind.
      for (Block* block = segment->first; block != nullptr && taken < bytes;) {
        Block* const after = block->after;
        if (block->state == BlockState::kFree && block->uses.owner == nullptr) {
          const Segment& of_block = *block->segment;
          size_t first = 0, count = 0;
          for_pieces_within(of_block, block->address, block->address + block->bytes,
                            [&](size_t at) {
                              if (count == 0) first = at;
                              if (taken >= bytes) return;
                              taken += of_block.pieces[at].bytes;
                              ++count;
                            });
          if (count > 0) carve(*block, first, count, out);
        }
        block = after;
      }
      segment = next;
    }
  } catch (const std::bad_alloc&) {
    // What is out is out.
  }
}

// Takes pieces that lie within a free block of no owner out of its segment, which falls in two
// where something is left on both sides. Throws before any change.
void BlockHeap::carve(Block& block, size_t first, size_t count, std::vector<Piece>* out) {
  Segment& segment = *block.segment;
  const auto begin = segment.pieces.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  char* const hole = begin->address;
  char* const hole_end = (end - 1)->address + (end - 1)->bytes;
  const bool placed = placed_.count(segment.address) != 0;
  store_.prepare(1);
  out->reserve(out->size() + count);
  auto right = std::make_unique<Segment>();
  right->pieces.assign(end, segment.pieces.end());
  if (placed && !right->pieces.empty() && hole != segment.address) {
    placed_.emplace(hole_end, right.get());
  }

  idle_.large.remove(block);
  out->insert(out->end(), begin, end);
  segment.pieces.resize(first);
  Block* left = block.before;
  Block* rest = block.after;
  char* const block_end = block.address + block.bytes;
  if (block_end > hole_end) {
    rest = &split(block, static_cast<uint64_t>(hole_end - block.address));
    idle_.large.insert(*rest);
  }
  if (block.address < hole) {
    block.bytes = static_cast<uint64_t>(hole - block.address);
    idle_.large.insert(block);
    left = &block;
  } else {
    store_.put(block);
  }
  const uint64_t all = segment.bytes;
  segment.bytes = static_cast<uint64_t>(hole - segment.address);
  segment.last = left;
  if (left != nullptr) left->after = nullptr;
  if (rest != nullptr) {
    Segment* target = right.get();
    if (left == nullptr) {  // the segment begins behind the hole now
      target = &segment;
      segment.pieces = std::move(right->pieces);
      if (placed) {
        auto node = placed_.extract(segment.address);
        node.key() = hole_end;
        placed_.insert(std::move(node));
      }
    } else {
      segments_.push_back(*right.release());
    }
    target->bytes = static_cast<uint64_t>(segment.address + all - hole_end);
    target->address = hole_end;
    target->first = rest;
    rest->before = nullptr;
    for (Block* at = rest; at != nullptr; at = at->after) {
      at->segment = target;
      target->last = at;
    }
  } else if (left == nullptr) {
    placed_.erase(segment.address);
    segments_.remove(segment);
    delete &segment;
  }
}

}  // namespace mr
