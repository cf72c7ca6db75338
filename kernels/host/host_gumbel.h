// The sampler's random numbers, for files that are compiled per processor level (see
// host_vector.h).
//
// They are a function of (seed, offset, token) and the same bits on every level: a file that
// includes this is compiled without fused multiply-add.
#pragma once

#include <cstdint>

#include "kernels/host/host_vector.h"

namespace mr::host::MR_HOST_NAMESPACE {

// Tokens that are drawn for at once: 16 counters of four words.
inline constexpr int64_t kGumbelBlock = 64;

// Above what gumbel_block() can give: -ln(2^-33) = 22.87.
inline constexpr float kGumbelMost = 22.9f;

typedef uint64_t VecU64 __attribute__((vector_size(MR_HOST_VECTOR_BYTES)));

// The 64-bit products of each lane's low half with a constant: one instruction where there are
// vectors.
MR_HOST_INLINE VecU64 multiply_low(VecU64 x, uint32_t by) {
#if MR_HOST_LEVEL == 4
  // In halves, for the reason given in host_vector.h.
  typedef uint64_t Half __attribute__((vector_size(32)));
  const __m256i factor = _mm256_set1_epi64x(static_cast<int64_t>(by));
  const Half low = __builtin_shufflevector(x, x, 0, 1, 2, 3);
  const Half high = __builtin_shufflevector(x, x, 4, 5, 6, 7);
  return __builtin_shufflevector(
      reinterpret_cast<Half>(_mm256_mul_epu32(reinterpret_cast<__m256i>(low), factor)),
      reinterpret_cast<Half>(_mm256_mul_epu32(reinterpret_cast<__m256i>(high), factor)), 0, 1, 2, 3,
      4, 5, 6, 7);
#elif MR_HOST_LEVEL == 3
  return reinterpret_cast<VecU64>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(x), _mm256_set1_epi64x(static_cast<int64_t>(by))));
#elif defined(__SSE2__)
  return reinterpret_cast<VecU64>(
      _mm_mul_epu32(reinterpret_cast<__m128i>(x), _mm_set1_epi64x(static_cast<int64_t>(by))));
#else
  return (x & 0xffffffffu) * by;
#endif
}

// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011) for the counters {first + i, 0 in the high half, offset}: words[4 i + j] is word j of the
// i-th. Each 64-bit lane holds one counter's word in its low half; what is in the high half does
// not matter.
inline void philox_block(uint64_t seed, uint64_t offset, uint64_t first, uint32_t* words) {
  constexpr int kCounters = kGumbelBlock / 4;
  constexpr int kWide = kLanes / 2;
  for (int at = 0; at < kCounters; at += kWide) {
    VecU64 c0, c2 = VecU64{} + offset;
    for (int i = 0; i < kWide; ++i) c0[i] = first + static_cast<uint64_t>(at + i);
    VecU64 c1 = c0 >> 32, c3 = c2 >> 32;
    uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const VecU64 a = multiply_low(c0, 0xd2511f53u);
      const VecU64 b = multiply_low(c2, 0xcd9e8d57u);
      c0 = (b >> 32) ^ c1 ^ uint64_t { k0 };
      c2 = (a >> 32) ^ c3 ^ uint64_t { k1 };
      c1 = b;
      c3 = a;
      k0 += 0x9e3779b9u;
      k1 += 0xbb67ae85u;
    }
    for (int i = 0; i < kWide; ++i) {
      uint32_t* to = words + 4 * (at + i);
      to[0] = static_cast<uint32_t>(c0[i]);
      to[1] = static_cast<uint32_t>(c1[i]);
      to[2] = static_cast<uint32_t>(c2[i]);
      to[3] = static_cast<uint32_t>(c3[i]);
    }
  }
}

// exponent * ln 2 + ln(1 + f) for f in [sqrt(1/2) - 1, sqrt(2) - 1], by the series of
// 2 artanh(f / (2 + f)); what it leaves out is below 2^-25 of the result.
MR_HOST_INLINE Vec log_parts(Vec exponent, Vec f) {
  const Vec s = f / (f + 2.0f);
  const Vec z = s * s;
  Vec p = z * (1.0f / 9.0f) + 1.0f / 7.0f;
  p = p * z + 1.0f / 5.0f;
  p = p * z + 1.0f / 3.0f;
  const Vec twice = s + s;
  return exponent * 0.693147181f + (twice + twice * z * p);
}

// x = 2^exponent * (1 + f); x is positive and normal.
MR_HOST_INLINE Vec split(Vec x, Vec* exponent) {
  constexpr int32_t kRootHalf = 0x3f3504f3;
  const VecI32 bits = reinterpret_cast<VecI32>(x);
  const VecI32 e = (bits - kRootHalf) >> 23;
  *exponent = __builtin_convertvector(e, Vec);
  return reinterpret_cast<Vec>(bits - (e << 23)) - 1.0f;
}

// -ln(-ln(1 - w)) with w = (word + 1/2) / 2^32 held below 1: small w, which make the largest
// values, keep all their bits.
MR_HOST_INLINE Vec gumbel(VecU32 word) {
  const Vec high = __builtin_convertvector(reinterpret_cast<VecI32>(word >> 16), Vec);
  const Vec low = __builtin_convertvector(reinterpret_cast<VecI32>(word & 0xffffu), Vec);
  Vec w = (high * 65536.0f + low + 0.5f) * 0x1p-32f;
  w = select(w < 1.0f, w, splat(1.0f - 0x1p-24f));
  Vec exponent;
  const Vec f = split(1.0f - w, &exponent);
  const VecI32 small = w < 0.2928f;  // 1 - w is not exact, but 1 - w = 1 + (-w) is
  const Vec e = -log_parts(select(small, Vec{}, exponent), select(small, -w, f));
  Vec outer;
  const Vec g = split(e, &outer);
  return -log_parts(outer, g);
}

// noise[i] for the tokens first_token + i; first_token is a multiple of kGumbelBlock.
inline void gumbel_block(uint64_t seed, uint64_t offset, int64_t first_token, float* noise) {
  uint32_t words[kGumbelBlock];
  philox_block(seed, offset, static_cast<uint64_t>(first_token) / 4, words);
  for (int64_t i = 0; i < kGumbelBlock; i += kLanes) {
    VecU32 word;
    __builtin_memcpy(&word, words + i, sizeof word);
    store(gumbel(word), noise + i);
  }
}

}  // namespace mr::host::MR_HOST_NAMESPACE
