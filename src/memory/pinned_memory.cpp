#include "memory/pinned_memory.h"

#include <limits>
#include <memory>

#include "memory/block.h"
#include "memory/figures.h"

namespace mr {

PinnedMemory::~PinnedMemory() {
  holdings_.for_each([this](Holding& holding) {
    if (!abandoned_) give_back(holding);
    delete &holding;
  });
}

Status PinnedMemory::allocate(uint64_t bytes, void** out) {
  auto holding = std::make_unique<Holding>();
  holding->bytes = bytes;
  MR_TRY(take(holding.get()));
  *out = holding->address;
  std::lock_guard lock(mutex_);
  set_counter(&counter_, counter_.current + bytes);
  holdings_.insert(*holding.release());
  return {};
}

Status PinnedMemory::take(Holding* holding) {
  const Status none =
      error(MR_OUT_OF_HOST_MEMORY, "no pinned host memory of this size").about("bytes");
  if (holding->bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return none;
  if (allocate_ == nullptr) {
    Status status =
        backend_.reserve(device_, MemoryKind::kPinned, holding->bytes, &holding->address);
    if (status.code == MR_OUT_OF_DEVICE_MEMORY) status.code = MR_OUT_OF_HOST_MEMORY;
    return status;
  }
  holding->address = allocate_(user_, holding->bytes, kGranule, MR_MEMORY_PINNED, device_, nullptr);
  if (holding->address == nullptr) return none;
  if (gap_to(static_cast<const char*>(holding->address), kGranule) == 0) return {};
  give_back(*holding);
  return invalid("config.allocate", "returned an address that is not aligned as asked");
}

void PinnedMemory::give_back(const Holding& holding) noexcept {
  if (deallocate_ == nullptr) {
    backend_.release(device_, MemoryKind::kPinned, holding.address, holding.bytes);
  } else {
    deallocate_(user_, holding.address, holding.bytes, MR_MEMORY_PINNED, device_, nullptr);
  }
}

void PinnedMemory::free(void* address) noexcept {
  std::unique_ptr<Holding> holding;
  {
    std::lock_guard lock(mutex_);
    holding.reset(holdings_.find(address));
    if (holding == nullptr) return;
    holdings_.remove(*holding);
  }
  give_back(*holding);
  std::lock_guard lock(mutex_);
  set_counter(&counter_, counter_.current - holding->bytes);
}

mr_counter PinnedMemory::counter() {
  std::lock_guard lock(mutex_);
  return counter_;
}

void PinnedMemory::reset_peak() {
  std::lock_guard lock(mutex_);
  mr::reset_peak(&counter_);
}

}  // namespace mr
