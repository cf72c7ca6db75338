#include "backend/host/host_pages.h"

#include <sys/mman.h>

#include <cerrno>

namespace mr {
namespace {

constexpr uint64_t kAlignment = uint64_t{2} << 20;
constexpr int kUncounted = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

Status no_memory(const char* sentence) {
  return error(MR_OUT_OF_DEVICE_MEMORY, sentence).from(MR_DOMAIN_SYSTEM, errno);
}

}  // namespace

Status host_reserve_range(uint64_t bytes, void** out) {
  // Larger by the alignment, then cut to it.
  if (bytes > UINT64_MAX - kAlignment) {
    errno = ENOMEM;
    return no_memory("the system has no such range of addresses");
  }
  const uint64_t all = bytes + kAlignment;
  void* address = mmap(nullptr, all, PROT_NONE, kUncounted, -1, 0);
  if (address == MAP_FAILED) return no_memory("the system has no such range of addresses");
  char* const begin = static_cast<char*>(address);
  const uint64_t front = (0 - reinterpret_cast<uintptr_t>(begin)) & (kAlignment - 1);
  if (front > 0) munmap(begin, front);
  if (front < kAlignment) munmap(begin + front + bytes, kAlignment - front);
  *out = begin + front;
  return {};
}

void host_release_range(void* address, uint64_t bytes) noexcept { munmap(address, bytes); }

Status host_map(void* address, uint64_t bytes) {
  if (mprotect(address, bytes, PROT_READ | PROT_WRITE) == 0) return {};
  return no_memory("the system has no memory left");
}

void host_unmap(void* address, uint64_t bytes) noexcept {
  // Mapped anew, so that the pages go back at once.
  if (mmap(address, bytes, PROT_NONE, kUncounted | MAP_FIXED, -1, 0) != MAP_FAILED) return;
  (void)madvise(address, bytes, MADV_DONTNEED);
  (void)mprotect(address, bytes, PROT_NONE);
}

}  // namespace mr
