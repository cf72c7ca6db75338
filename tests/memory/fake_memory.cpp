// The fake device's memory: whole, or mapped by pages under the rules of CUDA 13.
#include <algorithm>
#include <iterator>

#include "memory/fake_backend.h"

namespace test {
Status FakeBackend::take(uint64_t bytes, uint64_t* sum) {
  ++counts.reserves;
  MR_TRY(count());
  if (bytes > capacity || *sum + others > capacity - bytes) {
    return mr::error(MR_OUT_OF_DEVICE_MEMORY, "the fake is full").from(MR_DOMAIN_CUDA, 2);
  }
  *sum += bytes;
  most_held = std::max(most_held, held);
  return {};
}

// Memory goes back: nothing that the host has not seen finish may be using it.
void FakeBackend::check_unused(void* address, uint64_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  for (uint64_t page = begin / kPage; page * kPage < begin + bytes; ++page) {
    std::erase_if(pages_[page], [&](const Access& old) {
      if (old.end <= begin || begin + bytes <= old.begin) return false;
      if (!covers(host_, old.point)) hazard("memory given back while a stream uses it");
      return true;
    });
  }
}

Status FakeBackend::reserve(int, MemoryKind kind, size_t bytes, void** out) {
  if (on_slow_call) on_slow_call();
  const Entry entry(*this);
  MR_TRY(take(bytes, kind == MemoryKind::kDevice ? &held : &pinned_held));
  *out = reinterpret_cast<void*>(next_address_);
  next_address_ += bytes + 0x300;  // neighbours never touch, and alignment is 256 only
  return {};
}

void FakeBackend::release(int, MemoryKind kind, void* address, size_t bytes) noexcept {
  if (on_slow_call) on_slow_call();
  const Entry entry(*this);
  ++counts.releases;
  (kind == MemoryKind::kDevice ? held : pinned_held) -= bytes;
  check_unused(address, bytes);
}

Status FakeBackend::reserve_range(int, uint64_t bytes, void** out) {
  if (on_slow_call) on_slow_call();
  const Entry entry(*this);
  ++counts.ranges;
  MR_TRY(count());
  if (addresses < bytes) {
    return mr::error(MR_OUT_OF_DEVICE_MEMORY, "the fake has no such range").from(MR_DOMAIN_CUDA, 2);
  }
  addresses -= bytes;
  const uint64_t begin = (next_address_ + kPage - 1) / kPage * kPage;
  next_address_ = begin + bytes + kPage;
  ranges_[begin] = bytes;
  *out = reinterpret_cast<void*>(begin);
  return {};
}

void FakeBackend::release_range(int, void* address, uint64_t bytes) noexcept {
  const Entry entry(*this);
  const auto begin = reinterpret_cast<uintptr_t>(address);
  const auto at = ranges_.find(begin);
  if (at == ranges_.end() || at->second != bytes) return hazard("no such range is given back");
  const auto mapped = mapped_.lower_bound(begin);
  if (mapped != mapped_.end() && mapped->first < begin + bytes) {
    hazard("a range is given back with memory in it");
  }
  addresses += bytes;
  ranges_.erase(at);
}

// The rules of CUDA 13: within a range, whole pages, nothing there yet.
Status FakeBackend::map(int, void* address, uint64_t bytes, uint64_t* out_handle) {
  if (on_slow_call) on_slow_call();
  const Entry entry(*this);
  const auto begin = reinterpret_cast<uintptr_t>(address);
  const auto range = ranges_.upper_bound(begin);
  if (begin % kPage != 0 || bytes % kPage != 0 || bytes == 0) hazard("a part of a page is mapped");
  if (range == ranges_.begin() ||
      begin + bytes > std::prev(range)->first + std::prev(range)->second) {
    hazard("memory is mapped outside of a range");
  }
  const auto after = mapped_.lower_bound(begin);
  const bool overlaps = (after != mapped_.end() && after->first < begin + bytes) ||
                        (after != mapped_.begin() &&
                         std::prev(after)->first + std::prev(after)->second.bytes > begin);
  if (overlaps) hazard("memory is mapped where some is already");
  MR_TRY(take(bytes, &held));
  mapped_[begin] = {bytes, next_handle_};
  *out_handle = next_handle_++;
  return {};
}

// Only what was mapped by one call, as a whole.
void FakeBackend::unmap(int, void* address, uint64_t bytes, uint64_t handle) noexcept {
  if (on_slow_call) on_slow_call();
  const Entry entry(*this);
  ++counts.releases;
  const auto at = mapped_.find(reinterpret_cast<uintptr_t>(address));
  if (at == mapped_.end() || at->second.bytes != bytes || at->second.handle != handle) {
    return hazard("other memory is unmapped than was mapped");
  }
  mapped_.erase(at);
  held -= bytes;
  check_unused(address, bytes);
}

Status FakeBackend::memory_info(int, uint64_t* out_free, uint64_t* out_total) {
  const Entry entry(*this);
  MR_TRY(count());
  *out_free = capacity - held - others;
  *out_total = capacity;
  return {};
}

}  // namespace test
