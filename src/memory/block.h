// The pieces that the caching pool is made of.
//
//   Segment   one range of memory that the device gave, tiled by blocks without gaps
//   Block     a part of a segment: free, allocated or pending; two free neighbours of the same
//   owner
//             are always merged
//   owner     the stream whose order protects a free block: its own later work may reuse it at
//   once.
//             No owner: no work uses the block any more, so any stream may have it ("idle")
//   pending   freed, but other streams than its owner, or a captured graph, may still use it
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "memory/chain.h"
#include "memory/figures.h"

namespace mr {

struct Block;
struct Fence;
struct PoolStream;

// All sizes and addresses of blocks are multiples of this.
inline constexpr uint64_t kGranule = 256;

struct Segment {
  char* address = nullptr;
  uint64_t bytes = 0;
  bool small = false;  // made for small requests
  Block* first = nullptr;
  Segment* earlier = nullptr;
  Segment* later = nullptr;
};

// Who may still work with a piece of memory.
struct Uses {
  PoolStream* owner = nullptr;     // see above
  std::vector<PoolStream*> users;  // other streams that work, or worked, with it: not fenced yet
  std::vector<Fence*> fences;      // points of other streams that it waits for; each is held
};

inline bool contains(const std::vector<PoolStream*>& streams, const PoolStream* stream) {
  return std::find(streams.begin(), streams.end(), stream) != streams.end();
}

// Best fit: the smallest block first, the lowest address among equals.
struct BySizeThenAddress {
  using is_transparent = void;
  bool operator()(const Block* a, const Block* b) const;
  bool operator()(const Block* a, uint64_t bytes) const;
};
using BlockSet = std::set<Block*, BySizeThenAddress>;

enum class BlockState : uint8_t { kFree, kAllocated, kPending };

struct Block {
  char* address = nullptr;
  uint64_t bytes = 0;
  Segment* segment = nullptr;
  Block* before = nullptr;  // neighbours in the segment
  Block* after = nullptr;
  BlockState state = BlockState::kFree;
  bool active = false;  // counts as active
  uint32_t ties = 0;    // graphs that hold it after its free
  Grant grant;          // while allocated
  Uses uses;

  Block* next_in_bucket = nullptr;  // AddressIndex
  Block* earlier = nullptr;         // Chain of pending or spare blocks
  Block* later = nullptr;
  // The block's node of a BlockSet lives here while the block is in none, so that moving between
  // sets never allocates.
  BlockSet::node_type node;
  BlockSet::iterator place;
};

inline bool BySizeThenAddress::operator()(const Block* a, const Block* b) const {
  return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
}
inline bool BySizeThenAddress::operator()(const Block* a, uint64_t bytes) const {
  return a->bytes < bytes;
}

// How far the next multiple of `alignment` is.
inline uint64_t gap_to(const char* address, uint64_t alignment) {
  return (0 - reinterpret_cast<uintptr_t>(address)) & (alignment - 1);
}

// Free blocks of one owner, those of small segments apart: large blocks are not nibbled at while a
// small one would do.
class FreeBlocks {
 public:
  bool empty() const { return sets_[0].empty() && sets_[1].empty(); }
  Block* any() const;
  // The best fit, or null. Logarithmic for alignments up to 256.
  Block* best(bool small, uint64_t bytes, uint64_t alignment) const;
  void insert(Block& block) noexcept;
  void remove(Block& block) noexcept;
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const BlockSet& set : sets_) {
      for (Block* block : set) visit(*block);
    }
  }

 private:
  BlockSet sets_[2];
};

// Owns the blocks and keeps unused ones for reuse; as many are kept as were ever in use at once.
class BlockStore {
 public:
  // Makes sure that `count` calls of get() will succeed. Throws std::bad_alloc.
  void prepare(size_t count);
  Block* get() noexcept;
  void put(Block& block) noexcept;
  size_t used() const { return blocks_.size() - spare_count_; }

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
