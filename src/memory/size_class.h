// The sizes that memory is handed out in: multiples of 256 bytes up to 16 KiB, above that 64 steps
// to each power of two, so that rounding costs at most 1/64. A request is rounded up to such a size
// before anything is looked for. That, rather than rounding the search alone, is what makes a block
// fit again where the same request left it; so a search by class is as good as best fit, in
// constant time (TLSF: Masmano, Ripoll, Crespo and Real, A New Dynamic Memory Allocator for
// Real-Time Systems, 2004).
#pragma once

#include <bit>
#include <cstdint>

namespace mr {

// All sizes and addresses of blocks are multiples of this.
inline constexpr uint64_t kGranule = 256;

inline constexpr uint32_t kStepBits = 6;
inline constexpr uint32_t kStepsPerRow = 1u << kStepBits;
inline constexpr uint32_t kLinearBits = 14;  // below 16 KiB all steps are 256 bytes
inline constexpr uint32_t kMaxSizeBits = 48;
inline constexpr uint64_t kMaxBlockBytes = uint64_t{1} << kMaxSizeBits;  // more is never asked for
inline constexpr uint32_t rows_up_to(uint32_t size_bits) { return 2 + size_bits - kLinearBits; }
inline constexpr uint32_t kRows = rows_up_to(kMaxSizeBits);

// The class of the largest size of a class that is not above `bytes`, a multiple of 256.
inline uint32_t class_of(uint64_t bytes) {
  if (bytes < (uint64_t{1} << kLinearBits)) return static_cast<uint32_t>(bytes / kGranule);
  const uint32_t bits = static_cast<uint32_t>(std::bit_width(bytes)) - 1;
  const uint32_t step = static_cast<uint32_t>(bytes >> (bits - kStepBits)) & (kStepsPerRow - 1);
  return (bits - kLinearBits + 1) * kStepsPerRow + step;
}

// The smallest size of a class that is not below `bytes`, which is at most kMaxBlockBytes and not
// 0.
inline uint64_t round_to_class(uint64_t bytes) {
  uint64_t step = kGranule;
  if (bytes > (uint64_t{1} << kLinearBits)) {
    step = uint64_t{1} << (static_cast<uint32_t>(std::bit_width(bytes - 1)) - 1 - kStepBits);
  }
  return (bytes + step - 1) & ~(step - 1);
}

}  // namespace mr
