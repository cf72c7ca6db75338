// Cutting and merging. How the heap grows and shrinks: block_heap_growth.cpp.
#include "memory/block_heap.h"

#include "core/checked.h"
#include "memory/stream_fences.h"

namespace mr {
namespace {

bool merges(const Block* other, const PoolStream* owner) {
  return other != nullptr && other->state == BlockState::kFree && other->uses.owner == owner;
}

// The first block at least as large as the shape that leaves it so much after alignment.
template <class Bins>
Block* first_fit(const Bins& bins, const Shape& shape) {
  Block* block = bins.lowest_from(class_of(shape.bytes));
  if (block == nullptr || shape.alignment == kGranule) return block;
  if (block->bytes - shape.bytes >= gap_to(block->address, shape.alignment)) return block;
  return bins.first_from(class_of(round_to_class(shape.need())));
}

}  // namespace

BlockHeap::~BlockHeap() {
  for (Chain<Segment>* chain : {&segments_, &chunks_, &spare_}) {
    while (Segment* segment = chain->first()) {
      chain->remove(*segment);
      delete segment;
    }
  }
}

bool BlockHeap::shape(uint64_t bytes, uint64_t alignment, Shape* out) {
  uint64_t need = 0;
  if (bytes > kMaxBlockBytes || !checked_add(round_to_class(bytes), alignment, &need)) return false;
  if (need > kMaxBlockBytes) return false;
  out->alignment = alignment;
  out->bytes = round_to_class(bytes);
  out->small = out->need() <= kSmallLimit;
  if (!out->small) out->bytes = std::max(out->bytes, kSmallLimit);
  return true;
}

OwnedBins& BlockHeap::bins_of(PoolStream* owner) noexcept {
  return owner != nullptr ? owner->free : idle_;
}

void BlockHeap::insert_free(Block& block) noexcept {
  OwnedBins& bins = bins_of(block.uses.owner);
  block.segment->chunk != nullptr ? bins.small.insert(block) : bins.large.insert(block);
}

void BlockHeap::remove_free(Block& block) noexcept {
  OwnedBins& bins = bins_of(block.uses.owner);
  block.segment->chunk != nullptr ? bins.small.remove(block) : bins.large.remove(block);
}

Block* BlockHeap::find(PoolStream* owner, const Shape& shape) noexcept {
  const OwnedBins& bins = bins_of(owner);
  if (!shape.small) return first_fit(bins.large, shape);
  Block* block = first_fit(bins.small, shape);
  return block != nullptr ? block : bins.large.first_from(class_of(kChunkBytes));
}

// Where the shape goes into a free block that starts at `start`, in a chunk or not.
void BlockHeap::prepare_at(const char* start, bool chunked, const Shape& shape) {
  store_.prepare(6);
  if (!shape.small) return;
  if (spare_.empty()) spare_.push_back(*new Segment);
  (void)map_.prepare(start, chunked ? shape.need() : kChunkBytes, true);
}

void BlockHeap::prepare(const Block& block, const Shape& shape) {
  prepare_at(block.address, block.segment->chunk != nullptr, shape);
}

void BlockHeap::prepare_freed(const Block& block, PoolStream* owner, const Shape& shape) {
  const Block* at = &block;
  for (;;) {
    const char* start = merges(at->before, owner) ? at->before->address : at->address;
    const char* end = at->address + at->bytes;
    if (merges(at->after, owner)) end += at->after->bytes;
    const Segment& segment = *at->segment;
    const bool dissolves = segment.chunk != nullptr && start == segment.address &&
                           static_cast<uint64_t>(end - start) == segment.bytes;
    if (!dissolves) return prepare_at(start, segment.chunk != nullptr, shape);
    at = segment.chunk;
  }
}

Block& BlockHeap::claim(Block& block, PoolStream* owner, const Shape& shape) noexcept {
  if (owner == nullptr || block.uses.owner != nullptr) return block;
  if (block.bytes >= shape.bytes + kUnit) return block;
  remove_free(block);
  return make_free(block, owner);
}

Block& BlockHeap::take(Block& block, const Shape& shape) noexcept {
  const bool needs_chunk = shape.small && block.segment->chunk == nullptr;
  return cut(needs_chunk ? make_chunk(block) : block, shape);
}

Block& BlockHeap::cut(Block& block, const Shape& shape) noexcept {
  remove_free(block);
  Block* taken = &block;
  if (const uint64_t gap = gap_to(block.address, shape.alignment); gap > 0) {
    taken = &split(block, gap);
    insert_free(block);
  }
  if (taken->bytes > shape.bytes) insert_free(split(*taken, shape.bytes));
  taken->state = BlockState::kAllocated;
  ++taken->generation;
  map_.set(taken->address, taken);
  return *taken;
}

// Shortens the block to `bytes` and returns the rest, which is in no list.
Block& BlockHeap::split(Block& block, uint64_t bytes) noexcept {
  Block& rest = *store_.get();
  rest.address = block.address + bytes;
  rest.bytes = block.bytes - bytes;
  rest.segment = block.segment;
  rest.before = &block;
  rest.after = block.after;
  rest.state = block.state;
  rest.active = false;
  rest.uses.owner = block.uses.owner;
  (rest.after != nullptr ? rest.after->before : rest.segment->last) = &rest;
  block.bytes = bytes;
  block.after = &rest;
  return rest;
}

// Makes the beginning of a large free block a chunk and returns the free block inside.
Block& BlockHeap::make_chunk(Block& block) noexcept {
  remove_free(block);
  if (block.bytes > kChunkBytes) insert_free(split(block, kChunkBytes));
  Segment& segment = *spare_.first();
  spare_.remove(segment);
  Block& inner = *store_.get();
  inner.address = segment.address = block.address;
  inner.bytes = segment.bytes = block.bytes;
  inner.segment = &segment;
  inner.state = BlockState::kFree;
  inner.active = false;
  inner.uses.owner = block.uses.owner;
  segment.first = segment.last = &inner;
  segment.chunk = &block;
  chunks_.push_back(segment);
  block.state = BlockState::kChunk;
  block.uses.owner = nullptr;  // those inside have owners
  block.inside = &segment;
  insert_free(inner);
  return inner;
}

Block& BlockHeap::make_free(Block& block, PoolStream* owner) noexcept {
  block.state = BlockState::kFree;
  block.active = false;
  block.uses.owner = owner;
  if (merges(block.after, owner)) {
    remove_free(*block.after);
    absorb(block, *block.after);
  }
  Block* whole = &block;
  if (merges(block.before, owner)) {
    whole = block.before;
    remove_free(*whole);
    absorb(*whole, block);
  }
  Segment& segment = *whole->segment;
  if (segment.chunk == nullptr || whole->bytes < segment.bytes) {
    insert_free(*whole);
    return *whole;
  }
  Block& chunk = *segment.chunk;
  store_.put(*whole);
  chunks_.remove(segment);
  segment.chunk = nullptr;
  spare_.push_back(segment);
  chunk.inside = nullptr;
  return make_free(chunk, owner);
}

void BlockHeap::absorb(Block& block, Block& after) noexcept {
  block.bytes += after.bytes;
  block.after = after.after;
  (block.after != nullptr ? block.after->before : block.segment->last) = &block;
  store_.put(after);
}

}  // namespace mr
