#include "memory/block.h"

namespace mr {

void BlockStore::prepare(size_t count) {
  while (spare_count_ < count) {
    Block& block = blocks_.emplace_back();
    block.index = static_cast<uint32_t>(blocks_.size() - 1);
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
