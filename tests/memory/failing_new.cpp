#include "memory/failing_new.h"

#include <cstdlib>
#include <new>

#include "memory/fake_backend.h"

namespace test {

thread_local int64_t allocations_left = -1;

}  // namespace test

namespace {

void* allocate(size_t bytes) {
  if (test::allocations_left >= 0 && test::inside_fake == 0 && test::allocations_left-- == 0) {
    return nullptr;
  }
  return std::malloc(bytes != 0 ? bytes : 1);
}

}  // namespace

void* operator new(size_t bytes) {
  void* memory = allocate(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
