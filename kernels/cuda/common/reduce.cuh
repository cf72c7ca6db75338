// Sums over the threads that share a row. The tree is fixed by the number of threads alone, and
// every thread gets the same bits: a butterfly adds the same two numbers on both of its sides.
#pragma once

namespace mr::cuda {

inline constexpr unsigned kWholeWarp = 0xffffffffu;

// Over groups of kLanes neighbours, a power of two up to 32. All 32 threads of the warp must call.
// The widest step comes first, so that lanes which hold a zero do not change the sum of the others:
// a group of 32 of which 16 hold zeros gives the bits of a group of 16.
template <int kLanes>
__device__ inline float warp_sum(float value) {
  static_assert(kLanes >= 1 && kLanes <= 32 && (kLanes & (kLanes - 1)) == 0);
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) {
    value += __shfl_xor_sync(kWholeWarp, value, step);
  }
  return value;
}

// Room for block_sum(): two sets, used in turn, so that one barrier per sum is enough.
struct BlockSumRoom {
  float of_warp[2][32];
};

// Over the whole block of `warps` full warps. `turn` alternates from call to call: a thread that is
// ahead by one call then writes the other set, and it cannot be ahead by two, for the barrier.
__device__ inline float block_sum(float value, int warps, int turn, BlockSumRoom& room) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  value = warp_sum<32>(value);
  float* of_warp = room.of_warp[turn & 1];
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  return warp_sum<32>(lane < warps ? of_warp[lane] : 0.0f);
}

}  // namespace mr::cuda
