// From an address to the block that starts there, without ever reading memory at the address.
#pragma once

#include <cstdint>
#include <memory>

namespace mr {

struct Block;

// A radix tree over a 48-bit address space, 512 to a node and 2 MiB to a leaf. A leaf has one entry
// for every 32 KiB while all blocks that start there are at least that large, since no two can
// start in the same 32 KiB then, and one for every 256 bytes from the first smaller one on. That is
// 0.02 % of the memory it maps, or 3 % where small blocks are. Leaves are kept for reuse of their
// addresses.
//
// find() reads what the other functions write: the caller keeps them apart.
class AddressMap {
 public:
  static constexpr uint64_t kCoarse = uint64_t{32} << 10;

  // False for addresses that the map cannot hold. Throws std::bad_alloc; then, too, some of the
  // leaves may be there, which does no harm.
  bool prepare(const void* address, uint64_t bytes, bool small);

  Block* find(const void* address) const noexcept {
    Block* const* slot = slot_of(reinterpret_cast<uintptr_t>(address));
    return slot != nullptr ? *slot : nullptr;
  }
  // Where prepare() has been.
  void set(const void* address, Block* block) noexcept {
    *slot_of(reinterpret_cast<uintptr_t>(address)) = block;
  }

 private:
  static constexpr uint32_t kAddressBits = 48, kLeafBits = 21, kNodeBits = 9;
  static constexpr uintptr_t kNodeMask = (uintptr_t{1} << kNodeBits) - 1;
  static_assert(kAddressBits == kLeafBits + 3 * kNodeBits);
  static constexpr uint32_t kFineShift = 8, kCoarseShift = 15;

  struct Leaf {
    uint32_t shift = kCoarseShift;
    std::unique_ptr<Block*[]> slots;
  };
  struct Gibibyte {
    Leaf leaves[1u << kNodeBits];
  };
  struct HalfTebibyte {
    std::unique_ptr<Gibibyte> parts[1u << kNodeBits];
  };

  Block** slot_of(uintptr_t address) const noexcept {
    if (address >> kAddressBits != 0) return nullptr;
    const HalfTebibyte* outer = parts_[address >> (kLeafBits + 2 * kNodeBits)].get();
    if (outer == nullptr) return nullptr;
    const Gibibyte* inner = outer->parts[(address >> (kLeafBits + kNodeBits)) & kNodeMask].get();
    if (inner == nullptr) return nullptr;
    const Leaf& leaf = inner->leaves[(address >> kLeafBits) & kNodeMask];
    if (leaf.slots == nullptr) return nullptr;
    return &leaf.slots[(address & ((uintptr_t{1} << kLeafBits) - 1)) >> leaf.shift];
  }

  std::unique_ptr<HalfTebibyte> parts_[1u << kNodeBits];
};

}  // namespace mr
