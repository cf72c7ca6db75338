// The pieces that memory is cut into.
//
//   Piece     what one call of the device gave, and takes back as a whole
//   Segment   a run of pieces at adjacent addresses, tiled by blocks without gaps; or a chunk: a
//   block
//             that small blocks are cut from
//   Block     a part of a segment: free, allocated, pending, cached, or itself a chunk; two free
//             neighbours of the same owner are always merged
//   owner     the stream whose order protects a free block: its own later work may reuse it at
//   once.
//             No owner: no work uses the block any more, so any stream may have it ("idle")
//   pending   freed, but other streams than its owner, or a captured graph, may still use it
//   cached    freed by its owner's own stream and set aside there, unmerged, for the same size
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "memory/chain.h"
#include "memory/figures.h"
#include "memory/free_bins.h"

namespace mr {

struct Block;
struct Fence;
struct PoolStream;

struct Piece {
  char* address = nullptr;
  uint64_t bytes = 0;
  uint64_t handle = 0;  // of the device; see Backend::map()
};

struct Segment {
  char* address = nullptr;
  uint64_t bytes = 0;
  Block* first = nullptr;
  Block* last = nullptr;
  Block* chunk = nullptr;      // the block that this is cut from; else pieces
  std::vector<Piece> pieces;   // in the order of their addresses
  Segment* earlier = nullptr;  // Chain
  Segment* later = nullptr;
};

// Who may still work with a piece of memory.
struct Uses {
  PoolStream* owner = nullptr;     // see above
  std::vector<PoolStream*> users;  // other streams that work, or worked, with it: not fenced yet
  std::vector<Fence*> fences;      // points of other streams that it waits for; each is held
  bool none_but_owner() const { return users.empty() && fences.empty(); }
};

inline bool contains(const std::vector<PoolStream*>& streams, const PoolStream* stream) {
  return std::find(streams.begin(), streams.end(), stream) != streams.end();
}

enum class BlockState : uint8_t { kFree, kAllocated, kPending, kCached, kChunk };

// On cache lines of its own: blocks that lie side by side in the store belong to several threads.
struct alignas(128) Block {
  char* address = nullptr;
  uint64_t bytes = 0;
  Block* earlier = nullptr;  // Chain or FreeBins: spare, free, cached or pending blocks
  Block* later = nullptr;
  Segment* segment = nullptr;
  Block* before = nullptr;  // neighbours in the segment
  Block* after = nullptr;
  BlockState state = BlockState::kFree;
  bool active = false;      // counts as active
  uint32_t ties = 0;        // graphs that hold it after its free
  uint32_t index = 0;       // in the store
  uint32_t generation = 0;  // how often it was handed out
  Grant grant;              // while allocated
  Uses uses;
  Segment* inside = nullptr;  // while a chunk: what is cut from it
};

// How far the next multiple of `alignment` is.
inline uint64_t gap_to(const char* address, uint64_t alignment) {
  return (0 - reinterpret_cast<uintptr_t>(address)) & (alignment - 1);
}

// Owns the blocks and keeps unused ones for reuse; as many are kept as were ever in use at once.
class BlockStore {
 public:
  // Makes sure that `count` calls of get() will succeed. Throws std::bad_alloc.
  void prepare(size_t count);
  Block* get() noexcept;
  void put(Block& block) noexcept;
  size_t used() const { return blocks_.size() - spare_count_; }
  // Null above the largest index that was ever used.
  Block* at(uint32_t index) noexcept { return index < blocks_.size() ? &blocks_[index] : nullptr; }

 private:
  std::deque<Block> blocks_;
  Chain<Block> spare_;
  size_t spare_count_ = 0;
};

// Blocks set aside for a commit that comes after the lock was let go in between. Made, given back
// and destroyed under the lock.
class SetAside {
 public:
  SetAside(BlockStore& store, size_t count) : store_(store) {
    store_.prepare(count);
    for (size_t i = 0; i < count; ++i) blocks_.push_back(*store_.get());
  }
  SetAside(const SetAside&) = delete;
  SetAside& operator=(const SetAside&) = delete;
  ~SetAside() { give_back(); }
  void give_back() noexcept {
    while (Block* block = blocks_.first()) {
      blocks_.remove(*block);
      store_.put(*block);
    }
  }

 private:
  BlockStore& store_;
  Chain<Block> blocks_;
};

}  // namespace mr
