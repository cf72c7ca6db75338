#include "memory/block.h"

#include <utility>

namespace mr {

Block* FreeBlocks::any() const {
  for (const BlockSet& set : sets_) {
    if (!set.empty()) return *set.begin();
  }
  return nullptr;
}

Block* FreeBlocks::best(bool small, uint64_t bytes, uint64_t alignment) const {
  const BlockSet& set = sets_[small];
  for (auto at = set.lower_bound(bytes); at != set.end(); ++at) {
    if ((*at)->bytes - bytes >= gap_to((*at)->address, alignment)) return *at;
  }
  return nullptr;
}

void FreeBlocks::insert(Block& block) noexcept {
  block.place = sets_[block.segment->small].insert(std::move(block.node)).position;
}

void FreeBlocks::remove(Block& block) noexcept {
  block.node = sets_[block.segment->small].extract(block.place);
}

void BlockStore::prepare(size_t count) {
  while (spare_count_ < count) {
    Block& block = blocks_.emplace_back();
    try {
      BlockSet set;
      block.node = set.extract(set.insert(&block).first);
    } catch (...) {
      blocks_.pop_back();
      throw;
    }
    put(block);
  }
}

Block* BlockStore::get() noexcept {
  Block* block = spare_.last();
  spare_.remove(*block);
  --spare_count_;
  return block;
}

void BlockStore::put(Block& block) noexcept {
  block.segment = nullptr;
  block.before = block.after = nullptr;
  spare_.push_back(block);
  ++spare_count_;
}

}  // namespace mr
