// Element types: sizes, 16-bit storage with its conversions, and the one switch over dtypes.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "millrace/tensor.h"

namespace mr {

// Bytes per element, 0 for types that no operator here takes.
constexpr int64_t dtype_bytes(mr_dtype dtype) {
  switch (dtype) {
    case MR_I8:
    case MR_U8:
      return 1;
    case MR_F16:
    case MR_BF16:
      return 2;
    case MR_I32:
    case MR_U32:
    case MR_F32:
      return 4;
    case MR_I64:
    case MR_U64:
    case MR_F64:
      return 8;
    default:
      return 0;
  }
}

constexpr bool is_float(mr_dtype dtype) {
  return dtype == MR_F32 || dtype == MR_F16 || dtype == MR_BF16;
}

// ---- 16-bit storage. Both conversions round to nearest even, keep infinities, and keep a NaN a
// NaN whatever its payload. They are branch-free where it matters, so that loops over them
// vectorise.

struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

inline float to_float(float x) { return x; }

inline float to_float(Bf16 x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }

inline float to_float(F16 x) {
  // Exponent and mantissa move to float's place; the difference in bias is a multiplication, which
  // also makes subnormals right. Infinity and NaN get float's top exponent.
  const uint32_t sign = (uint32_t{x.bits} & 0x8000u) << 16;
  const uint32_t rest = (uint32_t{x.bits} & 0x7fffu) << 13;
  const float scaled = std::bit_cast<float>(rest) * 0x1p112f;
  const uint32_t special = (uint32_t{x.bits} & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | sign);
}

template <class T>
T from_float(float x);

template <>
inline float from_float<float>(float x) {
  return x;
}

template <>
inline Bf16 from_float<Bf16>(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40u;  // a NaN stays one even if its payload was low
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return {static_cast<uint16_t>(nan ? quiet : rounded)};
}

template <>
inline F16 from_float<F16>(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Subnormal or zero result (below 2^-14): adding 0.5 lines the rounding position of float up with
  // half's last subnormal bit (2^-24), and the hardware rounds to nearest even.
  const uint32_t small =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  // Normal result: rebias by 112 exponents, round to nearest even on bit 13. A carry may reach
  // infinity, which is right from 65520 up.
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  uint32_t half = magnitude < 0x38800000u ? small : normal;
  half = magnitude >= 0x47800000u ? 0x7c00u : half;
  half = magnitude > 0x7f800000u ? 0x7e00u : half;
  return {static_cast<uint16_t>(half | sign)};
}

template <class T>
inline constexpr mr_dtype kDType = MR_ABSENT;
template <>
inline constexpr mr_dtype kDType<float> = MR_F32;
template <>
inline constexpr mr_dtype kDType<F16> = MR_F16;
template <>
inline constexpr mr_dtype kDType<Bf16> = MR_BF16;

template <class T>
struct type_tag {
  using type = T;
};

// Calls f(type_tag<T>{}) with the storage type of `dtype`, which must be F32, F16 or BF16.
template <class F>
decltype(auto) visit_float(mr_dtype dtype, F&& f) {
  switch (dtype) {
    case MR_F16:
      return f(type_tag<F16>{});
    case MR_BF16:
      return f(type_tag<Bf16>{});
    default:
      return f(type_tag<float>{});
  }
}

// A set of the float types that a kernel has code for.
class DTypeSet {
 public:
  constexpr DTypeSet(std::initializer_list<mr_dtype> dtypes) {
    for (mr_dtype dtype : dtypes) bits_ |= bit(dtype);
  }
  constexpr bool has(mr_dtype dtype) const { return (bits_ & bit(dtype)) != 0; }

 private:
  static constexpr uint32_t bit(mr_dtype dtype) {
    return dtype == MR_F32 ? 1u : dtype == MR_F16 ? 2u : dtype == MR_BF16 ? 4u : 0u;
  }
  uint32_t bits_ = 0;
};

inline constexpr DTypeSet kAllFloats = {MR_F32, MR_F16, MR_BF16};

}  // namespace mr
