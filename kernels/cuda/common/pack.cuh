// Elements and packs of 16 bytes: loads, stores, and the way to float32 and back.
//
// Arithmetic is in float32; a store rounds to nearest even, as dtype.h does on the host: a NaN
// stays a NaN, and what is too large for half becomes an infinity.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "core/dtype.h"

namespace mr::cuda {

// The device's type for a dtype.h storage type.
template <class Storage>
struct DeviceType {
  using type = Storage;
};
template <>
struct DeviceType<F16> {
  using type = __half;
};
template <>
struct DeviceType<Bf16> {
  using type = __nv_bfloat16;
};

// Calls f(type_tag<float | __half | __nv_bfloat16>{}) for F32, F16 or BF16. Host code.
template <class F>
decltype(auto) visit_device_float(mr_dtype dtype, F&& f) {
  return visit_float(dtype, [&]<class Storage>(type_tag<Storage>) {
    return f(type_tag<typename DeviceType<Storage>::type>{});
  });
}

__device__ inline float as_float(float x) { return x; }
__device__ inline float as_float(__half x) { return __half2float(x); }
__device__ inline float as_float(__nv_bfloat16 x) { return __bfloat162float(x); }

template <class T>
__device__ inline T from_float32(float x);
template <>
__device__ inline float from_float32<float>(float x) {
  return x;
}
template <>
__device__ inline __half from_float32<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline __nv_bfloat16 from_float32<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

// x rounded to T and back.
template <class T>
__device__ inline float rounded(float x) {
  return as_float(from_float32<T>(x));
}

// ---- Packs: 16 bytes, the most that one thread moves at a time --------------------------------

inline constexpr int kPackBytes = 16;
template <class T>
inline constexpr int kPack = kPackBytes / static_cast<int>(sizeof(T));

template <class T>
struct Floats {
  float at[kPack<T>];
};

// Two 16-bit values in a register word, the first in its low half.
template <class T>
__device__ inline float2 halves(uint32_t word);
template <>
__device__ inline float2 halves<__nv_bfloat16>(uint32_t word) {
  return make_float2(__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u));
}
template <>
__device__ inline float2 halves<__half>(uint32_t word) {
  const __half low = __ushort_as_half(static_cast<unsigned short>(word & 0xffffu));
  const __half high = __ushort_as_half(static_cast<unsigned short>(word >> 16));
  return make_float2(__half2float(low), __half2float(high));
}

template <class T>
__device__ inline uint32_t word_of(float low, float high);
template <>
__device__ inline uint32_t word_of<__nv_bfloat16>(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return static_cast<uint32_t>(__bfloat16_as_ushort(pair.x)) |
         static_cast<uint32_t>(__bfloat16_as_ushort(pair.y)) << 16;
}
template <>
__device__ inline uint32_t word_of<__half>(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return static_cast<uint32_t>(__half_as_ushort(pair.x)) |
         static_cast<uint32_t>(__half_as_ushort(pair.y)) << 16;
}

template <class T>
__device__ inline Floats<T> unpack(uint4 raw) {
  Floats<T> out;
  const uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (sizeof(T) == 4) {
      out.at[i] = __uint_as_float(words[i]);
    } else {
      const float2 pair = halves<T>(words[i]);
      out.at[2 * i] = pair.x;
      out.at[2 * i + 1] = pair.y;
    }
  }
  return out;
}

template <class T>
__device__ inline uint4 pack(const Floats<T>& in) {
  uint32_t words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (sizeof(T) == 4) {
      words[i] = __float_as_uint(in.at[i]);
    } else {
      words[i] = word_of<T>(in.at[2 * i], in.at[2 * i + 1]);
    }
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// `from` and `to` are aligned to 16 bytes.
template <class T>
__device__ inline uint4 load_pack(const T* from) {
  return *reinterpret_cast<const uint4*>(from);
}
template <class T>
__device__ inline void store_pack(T* to, uint4 raw) {
  *reinterpret_cast<uint4*>(to) = raw;
}

}  // namespace mr::cuda
