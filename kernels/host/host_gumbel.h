// The sampler's random numbers, for files that are compiled per processor level (see host_vector.h).
//
// They are a function of (seed, offset, token) and the same bits on every level: a file that includes
// this is compiled without fused multiply-add.
#pragma once

#include <cstdint>

#include "kernels/host/host_vector.h"

namespace mr::host::MR_HOST_NAMESPACE {

// Tokens that are drawn for at once: 16 counters of four words.
inline constexpr int64_t kGumbelBlock = 64;

// Above what gumbel_block() can give: -ln(2^-33) = 22.87.
inline constexpr float kGumbelMost = 22.9f;

// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011)
// for the counters {first + i, 0 in the high half, offset}: words[4 i + j] is word j of the i-th.
inline void philox_block(uint64_t seed, uint64_t offset, uint64_t first, uint32_t* words) {
  constexpr int kCounters = kGumbelBlock / 4;
  uint32_t c0[kCounters], c1[kCounters], c2[kCounters], c3[kCounters];
  for (int i = 0; i < kCounters; ++i) {
    const uint64_t counter = first + static_cast<uint64_t>(i);
    c0[i] = static_cast<uint32_t>(counter);
    c1[i] = static_cast<uint32_t>(counter >> 32);
    c2[i] = static_cast<uint32_t>(offset);
    c3[i] = static_cast<uint32_t>(offset >> 32);
  }
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kCounters; ++i) {
      const uint64_t a = uint64_t{0xd2511f53u} * c0[i];
      const uint64_t b = uint64_t{0xcd9e8d57u} * c2[i];
      const uint32_t n0 = static_cast<uint32_t>(b >> 32) ^ c1[i] ^ k0;
      const uint32_t n2 = static_cast<uint32_t>(a >> 32) ^ c3[i] ^ k1;
      c1[i] = static_cast<uint32_t>(b);
      c3[i] = static_cast<uint32_t>(a);
      c0[i] = n0;
      c2[i] = n2;
    }
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  for (int i = 0; i < kCounters; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
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

// -ln(-ln(1 - w)) with w = (word + 1/2) / 2^32 held below 1: small w, which make the largest values, keep
// all their bits.
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
