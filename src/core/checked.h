// Integer arithmetic on numbers that come from a caller. Each returns false on overflow and then
// leaves *out unspecified.
#pragma once

#include <cstdint>

namespace mr {

template <class T>
[[nodiscard]] inline bool checked_add(T a, T b, T* out) {
  return !__builtin_add_overflow(a, b, out);
}

template <class T>
[[nodiscard]] inline bool checked_mul(T a, T b, T* out) {
  return !__builtin_mul_overflow(a, b, out);
}

// The next multiple of a power of two.
[[nodiscard]] inline bool checked_round_up(uint64_t bytes, uint64_t alignment, uint64_t* out) {
  uint64_t sum = 0;
  if (!checked_add(bytes, alignment - 1, &sum)) return false;
  *out = sum & ~(alignment - 1);
  return true;
}

}  // namespace mr
