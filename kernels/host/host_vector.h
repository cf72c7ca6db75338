// Vectors of one x86-64 level, for the files that are compiled once per level (host_*_kernel.cpp).
//
// MR_HOST_LEVEL, set by the build, is 1 (baseline, and every other processor), 3 or 4. Such a file
// defines its functions in MR_HOST_NAMESPACE, and everything that it takes from here is always
// inline or internal: the linker must never replace a function of baseline code by one with newer
// instructions. For the same reason those files include no standard header with inline functions.
#pragma once

#include <cstdint>

#include "core/dtype.h"

#ifndef MR_HOST_LEVEL
#define MR_HOST_LEVEL 1
#endif

#if MR_HOST_LEVEL == 4
#define MR_HOST_NAMESPACE    level4
#define MR_HOST_VECTOR_BYTES 64
#elif MR_HOST_LEVEL == 3
#define MR_HOST_NAMESPACE    level3
#define MR_HOST_VECTOR_BYTES 32
#else
#define MR_HOST_NAMESPACE    level1
#define MR_HOST_VECTOR_BYTES 16
#endif

#if MR_HOST_LEVEL >= 3
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#define MR_HOST_INLINE [[gnu::always_inline]] inline

namespace mr::host::MR_HOST_NAMESPACE {

inline constexpr int kLanes = MR_HOST_VECTOR_BYTES / 4;

typedef float Vec __attribute__((vector_size(MR_HOST_VECTOR_BYTES)));
typedef int32_t VecI32 __attribute__((vector_size(MR_HOST_VECTOR_BYTES)));
typedef uint32_t VecU32 __attribute__((vector_size(MR_HOST_VECTOR_BYTES)));
typedef uint16_t VecU16 __attribute__((vector_size(MR_HOST_VECTOR_BYTES / 2)));

// The same in memory, at any address.
typedef Vec LooseVec __attribute__((aligned(4), may_alias));
typedef VecU16 LooseVecU16 __attribute__((aligned(2), may_alias));

MR_HOST_INLINE Vec load(const float* from) { return *reinterpret_cast<const LooseVec*>(from); }

MR_HOST_INLINE void store(Vec v, float* to) { *reinterpret_cast<LooseVec*>(to) = v; }

// a * b + c, fused where the level can: said outright, because compilers differ in what they fuse,
// and a sum must not depend on the code around it.
MR_HOST_INLINE Vec multiply_add(Vec a, Vec b, Vec c) {
#if MR_HOST_LEVEL == 4
  return _mm512_fmadd_ps(a, b, c);
#elif MR_HOST_LEVEL == 3
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

// 16-bit elements. GCC 12 makes poor code of a widening conversion of vectors, hence the
// intrinsics; at level 4 they work on halves, because GCC 12's own header warns about the 512-bit
// forms.
#if MR_HOST_LEVEL >= 3
typedef float Vec8 __attribute__((vector_size(32)));

MR_HOST_INLINE Vec8 load8(const Bf16* from) {
  const __m256i wide =
      _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return reinterpret_cast<Vec8>(_mm256_slli_epi32(wide, 16));
}
MR_HOST_INLINE Vec8 load8(const F16* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
MR_HOST_INLINE float load_one(F16 x) { return _cvtsh_ss(x.bits); }
#if MR_HOST_LEVEL == 4
MR_HOST_INLINE Vec join(Vec8 low, Vec8 high) {
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
MR_HOST_INLINE Vec load(const Bf16* from) { return join(load8(from), load8(from + 8)); }
MR_HOST_INLINE Vec load(const F16* from) { return join(load8(from), load8(from + 8)); }
#else
MR_HOST_INLINE Vec load(const Bf16* from) { return load8(from); }
MR_HOST_INLINE Vec load(const F16* from) { return load8(from); }
#endif
#else
MR_HOST_INLINE Vec load(const Bf16* from) {
  const VecU16 half = *reinterpret_cast<const LooseVecU16*>(from);
  return reinterpret_cast<Vec>(__builtin_convertvector(half, VecU32) << 16);
}
// As to_float(F16) in core/dtype.h.
MR_HOST_INLINE Vec load(const F16* from) {
  const VecU32 bits = __builtin_convertvector(*reinterpret_cast<const LooseVecU16*>(from), VecU32);
  const Vec scaled = reinterpret_cast<Vec>((bits & 0x7fffu) << 13) * 0x1p112f;
  const VecU32 special = reinterpret_cast<VecU32>((bits & 0x7c00u) == 0x7c00u) & 0x7f800000u;
  return reinterpret_cast<Vec>(reinterpret_cast<VecU32>(scaled) | special | (bits & 0x8000u) << 16);
}
MR_HOST_INLINE float load_one(F16 x) {
  const uint32_t bits = x.bits;
  const float scaled = __builtin_bit_cast(float, (bits & 0x7fffu) << 13) * 0x1p112f;
  const uint32_t special = (bits & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
  return __builtin_bit_cast(
      float, __builtin_bit_cast(uint32_t, scaled) | special | (bits & 0x8000u) << 16);
}
#endif
MR_HOST_INLINE float load_one(float x) { return x; }
MR_HOST_INLINE float load_one(Bf16 x) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(x.bits) << 16);
}

// The first n < kLanes elements, zeros behind them; reads nothing else.
template <class T>
MR_HOST_INLINE Vec load_part(const T* from, int64_t n) {
  T part[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) part[i] = from[i];
  return load(part);
}

MR_HOST_INLINE Vec splat(float x) { return x - Vec{}; }

MR_HOST_INLINE Vec select(VecI32 mask, Vec yes, Vec no) {
  const VecI32 bits =
      (mask & reinterpret_cast<VecI32>(yes)) | (~mask & reinterpret_cast<VecI32>(no));
  return reinterpret_cast<Vec>(bits);
}

// Calls f(0) to f(N - 1) with constants, so that arrays indexed by them become registers.
template <int I>
struct Constant {
  static constexpr int kValue = I;
  MR_HOST_INLINE constexpr operator int() const {
    return I;
  }  // NOLINT(google-explicit-constructor)
};
template <int N, class F>
MR_HOST_INLINE void repeat(F&& f) {
  if constexpr (N > 0) {
    repeat<N - 1>(f);
    f(Constant<N - 1>{});
  }
}

// The sums of the lanes of eight vectors, in to[0, 8). Lanes 0, 1, 2, 3 of each group of four are
// added as (0 + 2) + (1 + 3), after the groups of a longer vector's upper half were added to those
// of its lower half; then group 0 to group 1. total() adds one vector's lanes in the same order.
typedef float Vec4 __attribute__((vector_size(16)));
#if MR_HOST_LEVEL >= 3
#if MR_HOST_LEVEL == 4
MR_HOST_INLINE Vec8 fold(Vec v) {
  return __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
         __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
}
#else
MR_HOST_INLINE Vec8 fold(Vec v) { return v; }
#endif
MR_HOST_INLINE Vec8 add_pairs(Vec8 a, Vec8 b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13) +
         __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
}
MR_HOST_INLINE Vec8 add_quads(Vec8 ab, Vec8 cd) {
  return __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) +
         __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
}
MR_HOST_INLINE void totals8(const Vec (&v)[8], float* to) {
  const Vec8 low = add_quads(add_pairs(fold(v[0]), fold(v[1])), add_pairs(fold(v[2]), fold(v[3])));
  const Vec8 high = add_quads(add_pairs(fold(v[4]), fold(v[5])), add_pairs(fold(v[6]), fold(v[7])));
  const Vec8 sum = __builtin_shufflevector(low, high, 0, 1, 2, 3, 8, 9, 10, 11) +
                   __builtin_shufflevector(low, high, 4, 5, 6, 7, 12, 13, 14, 15);
  __builtin_memcpy(to, &sum, sizeof sum);
}
MR_HOST_INLINE float total(Vec v) {
  const Vec8 w = fold(v);
  const Vec4 low = __builtin_shufflevector(w, w, 0, 1, 2, 3);
  const Vec4 high = __builtin_shufflevector(w, w, 4, 5, 6, 7);
  const Vec4 low2 = low + __builtin_shufflevector(low, low, 2, 3, 0, 1);
  const Vec4 high2 = high + __builtin_shufflevector(high, high, 2, 3, 0, 1);
  return (low2[0] + low2[1]) + (high2[0] + high2[1]);
}
#else
MR_HOST_INLINE Vec4 totals4(Vec4 a, Vec4 b, Vec4 c, Vec4 d) {
  const Vec4 ab =
      __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Vec4 cd =
      __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
  return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}
MR_HOST_INLINE void totals8(const Vec (&v)[8], float* to) {
  store(totals4(v[0], v[1], v[2], v[3]), to);
  store(totals4(v[4], v[5], v[6], v[7]), to + 4);
}
MR_HOST_INLINE float total(Vec v) {
  const Vec4 half = v + __builtin_shufflevector(v, v, 2, 3, 0, 1);
  return half[0] + half[1];
}
#endif

// e^x for x <= 0 (and a little above), NaN for NaN, 0 below -104: x = n ln 2 + r with |r| <= ln 2 /
// 2, then the power series of e^r to its seventh term; error below 2 units in the last place.
MR_HOST_INLINE Vec exp_vec(Vec x) {
  const VecI32 low = x < -104.0f;
  const Vec clamped = select(low, splat(-104.0f), x);
  const Vec shifted = clamped * 1.44269504f + 0x1.8p23f;  // the nearest integer in the low bits
  const Vec n = shifted - 0x1.8p23f;
  Vec r = clamped - n * 0.693359375f;  // ln 2 in two parts, the first short enough to be exact
  r = r + n * 2.12194440e-4f;
  Vec p = r * (1.0f / 5040.0f) + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // 2^n in two factors, so that subnormal results are right. NaN has no integer: its n is masked
  // off.
  const VecI32 whole = reinterpret_cast<VecI32>(shifted) - 0x4b400000;
  const VecI32 known = whole & (x == x);
  const VecI32 half = known >> 1;
  const Vec a = reinterpret_cast<Vec>((half + 127) << 23);
  const Vec b = reinterpret_cast<Vec>((known - half + 127) << 23);
  return select(low, Vec{}, p * a * b);
}

}  // namespace mr::host::MR_HOST_NAMESPACE
