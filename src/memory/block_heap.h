// Where blocks lie: cutting, merging, growing and giving back. Deterministic: no lock, no device,
// no clock and no thread. What the device must do comes out as a plan (a Growth, or pieces to give
// back), which the caller carries out and then commits or drops.
//
// What throws std::bad_alloc has then changed nothing that can be seen from outside; what is
// noexcept relies on what prepare() or a plan made room for.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "memory/address_map.h"
#include "memory/block.h"

namespace mr {

// Small blocks are cut from chunks of this size.
inline constexpr uint32_t kChunkBits = 18;

// The free blocks of one owner, those inside chunks apart.
struct OwnedBins {
  FreeBins<Block> large;
  FreeBins<Block, rows_up_to(kChunkBits)> small;
  bool empty() const { return large.empty() && small.empty(); }
  Block* any() const { return !large.empty() ? large.any() : small.any(); }
  const Block* largest() const { return !large.empty() ? large.largest() : small.largest(); }
  template <class Visit>
  void for_each(Visit&& visit) const {
    large.for_each(visit);
    small.for_each(visit);
  }
};

// A request after rounding.
struct Shape {
  uint64_t bytes = 0;  // a size of a class
  uint64_t alignment = kGranule;
  bool small = false;  // cut from a chunk
  // What a block without regard to alignment must have, so that the request surely fits.
  uint64_t need() const { return bytes + (alignment - kGranule); }
};

class BlockHeap {
 public:
  BlockHeap() = default;
  BlockHeap(const BlockHeap&) = delete;
  BlockHeap& operator=(const BlockHeap&) = delete;
  ~BlockHeap();

  static constexpr uint64_t kSmallLimit = AddressMap::kCoarse;  // the largest small block
  static constexpr uint64_t kChunkBytes = uint64_t{1} << kChunkBits;
  static constexpr uint64_t kUnit = uint64_t{2} << 20;  // what the device is asked for multiples of
  static uint64_t in_units(uint64_t bytes) { return (bytes + kUnit - 1) & ~(kUnit - 1); }

  // What the device should be asked for.
  struct Growth {
    char* address = nullptr;  // null: wherever the device likes
    uint64_t bytes = 0;
    std::vector<Piece> pieces;  // with address and bytes; the caller notes the handles
    Segment* extends = nullptr;
    PoolStream* owner = nullptr;  // of the new memory
    std::unique_ptr<Segment> fresh;
  };

  // False where no device has that much.
  static bool shape(uint64_t bytes, uint64_t alignment, Shape* out);

  OwnedBins& bins_of(PoolStream* owner) noexcept;
  const OwnedBins& idle() const { return idle_; }

  // A free block of the owner (null: an idle one) that the shape can be cut from, or null.
  Block* find(PoolStream* owner, const Shape& shape) noexcept;
  // Room for take() of this block; or of the free block that this one, which is not free, becomes a
  // part of by make_free().
  void prepare(const Block& block, const Shape& shape);
  void prepare_freed(const Block& block, PoolStream* owner, const Shape& shape);
  // Makes an idle block the owner's where no more than a unit would be left of it: what an owner
  // frees merges with what is its own, so it should not live beside crumbs of idle memory.
  Block& claim(Block& block, PoolStream* owner, const Shape& shape) noexcept;
  // Cuts the shape out of a free block that find() gave. What is left before and behind keeps the
  // block's owner.
  Block& take(Block& block, const Shape& shape) noexcept;
  // Puts a block that is in no list among the free ones, merged with its free neighbours, and
  // dissolves a chunk that nothing is left of. Returns the block that holds the memory now.
  Block& make_free(Block& block, PoolStream* owner) noexcept;
  void remove_free(Block& block) noexcept;

  // The allocated or cached block that starts there.
  Block* find_address(const void* address) const noexcept { return map_.find(address); }
  Block* at_index(uint32_t index) noexcept { return store_.at(index); }
  void forget_address(const Block& block) noexcept { map_.set(block.address, nullptr); }

  // Address ranges that pieces may be mapped into, from now on.
  void add_range(char* address, uint64_t bytes);
  bool has_ranges() const { return !ranges_.empty(); }
  const std::map<char*, uint64_t>& ranges() const { return ranges_; }
  // A plan that makes a free block of the owner for the shape, and that takes no more than needed
  // where free memory at the end of a segment can be extended; if that is idle, it becomes the
  // owner's. False if no range has room.
  bool plan_growth(PoolStream* owner, const Shape& shape, Growth* out) const;
  // The same, wherever the device likes.
  static void plan_anywhere(PoolStream* owner, const Shape& shape, Growth* out);
  // The device did it. Returns the free block that holds the new memory, with room for take() of
  // the shape; null if its address is not one that the map can hold. Throws before any change.
  // While the plan is open, no other one is committed and no piece taken out.
  Block* commit(Growth* growth, const Shape& shape);

  // Takes idle pieces out, oldest segment first, until at least `bytes` are out, or none is left,
  // or the host has no memory for the bookkeeping.
  void take_pieces(uint64_t bytes, std::vector<Piece>* out) noexcept;

  // What waiting or giving back could yield; see is_unused in the caller.
  struct Prospect {
    uint64_t releasable = 0;   // bytes of pieces without a block in use
    uint64_t longest_run = 0;  // largest range without a block in use
  };
  template <class IsUnused>
  Prospect prospect(IsUnused&& is_unused) const {
    Prospect out;
    for (const Segment* segment = segments_.first(); segment != nullptr; segment = segment->later) {
      const char* begin = segment->address;  // of the run
      for (const Block* block = segment->first; block != nullptr; block = block->after) {
        const char* end = block->address + block->bytes;
        const bool unused = is_unused(*block);
        if (!unused) end = block->address;
        if (!unused || block->after == nullptr) {
          out.longest_run = std::max(out.longest_run, static_cast<uint64_t>(end - begin));
          for_pieces_within(*segment, begin, end,
                            [&](size_t at) { out.releasable += segment->pieces[at].bytes; });
        }
        if (!unused) begin = block->address + block->bytes;
      }
    }
    return out;
  }

  template <class Visit>
  void for_each_block(Visit&& visit) const {
    for (const Chain<Segment>* chain : {&segments_, &chunks_}) {
      for (const Segment* segment = chain->first(); segment != nullptr; segment = segment->later) {
        for (Block* block = segment->first; block != nullptr; block = block->after) visit(*block);
      }
    }
  }
  const Chain<Segment>& segments() const { return segments_; }
  const Chain<Segment>& chunks() const { return chunks_; }
  BlockStore& store() { return store_; }

 private:
  template <class Visit>
  static void for_pieces_within(const Segment& segment, const char* begin, const char* end,
                                Visit&& visit) {
    for (size_t i = 0; i < segment.pieces.size(); ++i) {
      const Piece& piece = segment.pieces[i];
      if (piece.address >= begin && piece.address + piece.bytes <= end) visit(i);
    }
  }
  void insert_free(Block& block) noexcept;
  void prepare_at(const char* start, bool chunked, const Shape& shape);
  Block& split(Block& block, uint64_t bytes) noexcept;
  void absorb(Block& block, Block& after) noexcept;
  Block& cut(Block& block, const Shape& shape) noexcept;
  Block& make_chunk(Block& block) noexcept;
  void dissolve(Segment& segment) noexcept;
  static void divide(Growth* growth);
  void carve(Block& block, size_t first, size_t count, std::vector<Piece>* out);

  AddressMap map_;
  BlockStore store_;
  OwnedBins idle_;
  Chain<Segment> segments_;  // that the device gave, oldest first
  Chain<Segment> chunks_;
  std::map<char*, uint64_t> ranges_;
  std::map<char*, Segment*> placed_;  // segments within ranges, by address
  Chain<Segment> spare_;
};

}  // namespace mr
