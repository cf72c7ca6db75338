#include "memory/address_map.h"

#include "memory/block.h"

namespace mr {

bool AddressMap::prepare(const void* address, uint64_t bytes, bool small) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(address), end = begin + bytes;
  constexpr uintptr_t kLeaf = uintptr_t{1} << kLeafBits;
  if (end < begin || end > (uintptr_t{1} << kAddressBits)) return false;
  for (uintptr_t at = begin & ~(kLeaf - 1); at < end; at += kLeaf) {
    std::unique_ptr<HalfTebibyte>& outer = parts_[at >> (kLeafBits + 2 * kNodeBits)];
    if (outer == nullptr) outer = std::make_unique<HalfTebibyte>();
    auto& inner = outer->parts[(at >> (kLeafBits + kNodeBits)) & kNodeMask];
    if (inner == nullptr) inner = std::make_unique<Gibibyte>();
    Leaf& leaf = inner->leaves[(at >> kLeafBits) & kNodeMask];
    const uint32_t shift = small ? kFineShift : kCoarseShift;
    if (leaf.slots != nullptr && leaf.shift <= shift) continue;
    std::unique_ptr<Block*[]> slots(new Block* [kLeaf >> shift] {});
    if (leaf.slots != nullptr) {
      for (uintptr_t i = 0; i < kLeaf >> kCoarseShift; ++i) {
        Block* block = leaf.slots[i];
        if (block == nullptr) continue;
        slots[(reinterpret_cast<uintptr_t>(block->address) & (kLeaf - 1)) >> shift] = block;
      }
    }
    leaf.slots = std::move(slots);
    leaf.shift = shift;
  }
  return true;
}

}  // namespace mr
