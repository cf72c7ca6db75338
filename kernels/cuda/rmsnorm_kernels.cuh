// RMSNorm on CUDA: the kernels, for every architecture. cuda_rmsnorm.cu chooses among them.
//
// Bound by memory: no kernel can do with less than one read of input, residual and weight and one
// write of each output. The first kind does no more than that: a row lives in the registers of the
// threads that share it. The second reads the row again, from cache if it fits there.
//
//   kernel       row lives in   access     threads per row       takes
//   registers    registers      16 bytes   8 to 1024             packs that fit, see kRmsNormShapes
//   packed       (read again)   16 bytes   1024                  any number of packs
//   strided      (read again)   1 element  as the others would   everything
//
// One sum for all: a row is cut into packs of 16 bytes, thread t of n adds the squares of packs t,
// t + n, t + 2n ... in order, and a fixed tree adds the threads. The order depends on width and
// dtype alone, so the bits of a row depend neither on how many rows there are, nor on the alignment
// of its address, nor on whether there was a residual.
#pragma once

#include <utility>

#include "kernel_api/rmsnorm_args.h"
#include "kernels/cuda/common/reduce.cuh"
#include "kernels/cuda/common/row_space.cuh"
#include "kernels/cuda/norm_math.cuh"

namespace mr::cuda {

// How a row is spread: threads, and the packs that each of them holds.
struct RmsNormShape {
  int lanes;
  int packs;
};

// The first whose lanes * packs are enough is taken. More threads with fewer packs would be quicker
// for a few rows, fewer threads with more packs for many; up to 4 loads of 16 bytes in flight per
// thread are enough to fill an H200 (about 22 KB per SM by Little's law).
inline constexpr RmsNormShape kRmsNormShapes[] = {
    {8, 1}, {16, 1}, {32, 1}, {32, 2}, {32, 4}, {128, 2}, {256, 2}, {256, 4}, {512, 4}, {1024, 4}};
inline constexpr int kRmsNormShapeCount = sizeof(kRmsNormShapes) / sizeof(kRmsNormShapes[0]);
inline constexpr int kRmsNormMaxLanes = 1024;
// With a residual beside them, 1,024 threads have no registers for 4 packs: the last shape goes
// without.
inline constexpr int kRmsNormResidualShapeCount = kRmsNormShapeCount - 1;

// Rows of up to 32 lanes share a block of this size; wider ones have a block each.
inline constexpr int kRmsNormWarpThreads = 256;

// ---- registers ----------------------------------------------------------------------------------

// Hides from the compiler that the words are those it has seen. Without it, it keeps the floats
// that it unpacked for the sum until they are scaled, and unpacks the weight ahead of the loop over
// rows: twice the registers of the packs themselves, and half the rows in flight.
__device__ inline void forget_unpacked(uint4& raw) {
  asm("" : "+r"(raw.x), "+r"(raw.y), "+r"(raw.z), "+r"(raw.w));
}

// The most threads that an SM holds: 2,048 on 8.0, 9.x and 10.x, 1,536 on the others.
#if defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ == 800 || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1100))
inline constexpr int kMostResident = 2048;
#else
inline constexpr int kMostResident = 1536;
#endif

template <class T_, int kLanes_, int kPacks_, bool kResidual_>
struct RegisterTraits {
  using T = T_;
  static constexpr int kLanes = kLanes_;
  static constexpr int kPacks = kPacks_;
  static constexpr bool kResidual = kResidual_;
  static constexpr bool kWarp = kLanes <= 32;
  static constexpr int kThreads = kWarp ? kRmsNormWarpThreads : kLanes;
  static constexpr int kRows = kThreads / kLanes;  // at a time
  // The threads that an SM should hold, which bounds the registers of each: fewer where each has
  // more on its way. It must stay low enough for all loads of a thread to be made before the first
  // is used.
  static constexpr int kAlone = kPacks == 1 ? kMostResident : kPacks == 2 ? 1536 : 1024;
  static constexpr int kBesideResidual = kPacks == 1 ? 1536 : kPacks == 2 ? 1024 : 768;
  static constexpr int kResident = kResidual ? kBesideResidual : kAlone;
  static constexpr int kBlocks = kResident < kThreads ? 1 : kResident / kThreads;
};

// The packs of a row that are a thread's: the first `count` of lane, lane + kLanes ... of which
// `from` is the first. Past them are zeros, which change no sum of squares.
template <class T, int kLanes, int kPacks>
__device__ inline void load_packs(const T* from, int count, uint4 (&to)[kPacks]) {
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    to[j] = make_uint4(0, 0, 0, 0);
    if (j < count) to[j] = load_pack(from + j * kLanes * kPack<T>);
  }
}

template <class T, int kLanes, int kPacks>
__device__ inline void store_packs(T* to, int count, const uint4 (&from)[kPacks]) {
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    if (j < count) store_pack(to + j * kLanes * kPack<T>, from[j]);
  }
}

template <class Tr>
__global__ void __launch_bounds__(Tr::kThreads, Tr::kBlocks)
    rmsnorm_registers(const RmsNormArgs args) {
  using T = typename Tr::T;
  constexpr int kPacks = Tr::kPacks;
  __shared__ BlockSumRoom room;
  constexpr int kLanes = Tr::kLanes;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int group = static_cast<int>(threadIdx.x) / kLanes;
  const int packs = static_cast<int>(args.space.width / kPack<T>);
  const int count = (packs - lane + kLanes - 1) / kLanes;  // packs of this thread
  const int offset = lane * kPack<T>;
  const int64_t rows = args.space.outer * args.space.inner;
  const bool plus_one = args.weight_plus_one && args.weight_dtype != MR_ABSENT;

  // The weight, of dtype T or absent, does not depend on the row: it is on its way while the row
  // is.
  uint4 w[kPacks];
  if (args.weight_dtype != MR_ABSENT) {
    load_packs<T, kLanes>(static_cast<const T*>(args.weight) + offset, count, w);
  } else {
#pragma unroll
    for (int j = 0; j < kPacks; ++j) w[j] = ones<T>();
  }

  int turn = 0;
  for (int64_t first = int64_t{blockIdx.x} * Tr::kRows; first < rows;
       first += int64_t{gridDim.x} * Tr::kRows, ++turn) {
    // A group past the last row goes along on another row, for a sum needs every thread of the
    // warp; it stores nothing.
    const bool mine = first + group < rows;
    const RowIndex at = row_index(args.space, mine ? first + group : first);
    const int stored = mine ? count : 0;

    uint4 s[kPacks];
    load_packs<T, kLanes>(row_of<const T>(args.input, at) + offset, count, s);
    if constexpr (Tr::kResidual) {
      uint4 r[kPacks];
      load_packs<T, kLanes>(row_of<const T>(args.residual, at) + offset, count, r);
#pragma unroll
      for (int j = 0; j < kPacks; ++j) s[j] = added_pack<T>(s[j], r[j]);
    }
    // In place is safe: what is overwritten here was read above by this very thread.
    if (Tr::kResidual && args.residual_output.present) {
      store_packs<T, kLanes>(row_of<T>(args.residual_output, at) + offset, stored, s);
    }

    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < kPacks; ++j) sum = add_squares<T>(unpack<T>(s[j]), sum);
    if constexpr (Tr::kWarp) {
      sum = warp_sum<kLanes>(sum);
    } else {
      sum = block_sum(sum, Tr::kThreads / 32, turn, room);
    }
    const float scale = norm_scale(sum, args.space.width, args.epsilon);

#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      if (j >= stored) continue;
      forget_unpacked(s[j]);
      forget_unpacked(w[j]);
      const Floats<T> factors = norm_factors<T>(w[j], plus_one);
      s[j] = normalised_pack<T>(s[j], scale, factors, args.round_before_weight);
    }
    store_packs<T, kLanes>(row_of<T>(args.output, at) + offset, stored, s);
  }
}

// ---- packed and strided -------------------------------------------------------------------------

// A row's s in packs, read again at each pass.
template <class T, bool kPacked>
struct SumReader {
  const T* input;
  const T* residual;  // null: none
  int64_t input_stride;
  int64_t residual_stride;

  // Elements i to i + n of the row; the rest of the pack is zeros.
  __device__ Floats<T> at(int64_t i, int n) const {
    if constexpr (kPacked) {
      uint4 s = load_pack(input + i);
      if (residual != nullptr) s = added_pack<T>(s, load_pack(residual + i));
      return unpack<T>(s);
    } else {
      Floats<T> out;
#pragma unroll
      for (int k = 0; k < kPack<T>; ++k) {
        out.at[k] = 0.0f;
        if (k >= n) continue;
        out.at[k] = as_float(input[(i + k) * input_stride]);
        if (residual != nullptr) {
          out.at[k] = rounded<T>(out.at[k] + as_float(residual[(i + k) * residual_stride]));
        }
      }
      return out;
    }
  }
};

// `lanes` threads share a row: 32 or fewer take a warp of the block each, more take the whole
// block. Lanes of a warp past `lanes` only go along; see warp_sum() for why the bits are the same.
template <class T, bool kPacked>
__global__ void __launch_bounds__(kRmsNormMaxLanes)
    rmsnorm_loop(const RmsNormArgs args, const int lanes) {
  __shared__ BlockSumRoom room;
  const bool by_warp = lanes <= 32;
  const int lane = static_cast<int>(by_warp ? threadIdx.x % 32 : threadIdx.x);
  const int group = static_cast<int>(by_warp ? threadIdx.x / 32 : 0);
  const int groups = static_cast<int>(by_warp ? blockDim.x / 32 : 1);
  const int64_t width = args.space.width;
  const int64_t rows = args.space.outer * args.space.inner;
  const int64_t step = int64_t{lanes} * kPack<T>;
  const NormWeight<T> weight(args);

  int turn = 0;
  for (int64_t first = int64_t{blockIdx.x} * groups; first < rows;
       first += int64_t{gridDim.x} * groups, ++turn) {
    const bool mine = first + group < rows && lane < lanes;
    const RowIndex at = row_index(args.space, first + group < rows ? first + group : first);
    SumReader<T, kPacked> s;
    s.input = row_of<const T>(args.input, at);
    s.input_stride = args.input.stride;
    s.residual = args.residual.present ? row_of<const T>(args.residual, at) : nullptr;
    s.residual_stride = args.residual.stride;
    const int64_t begin = mine ? int64_t{lane} * kPack<T> : width;

    float sum = 0.0f;
    for (int64_t i = begin; i < width; i += step) {
      const int n = static_cast<int>(width - i < kPack<T> ? width - i : kPack<T>);
      sum = add_squares<T>(s.at(i, n), sum);
    }
    sum =
        by_warp ? warp_sum<32>(sum) : block_sum(sum, static_cast<int>(blockDim.x) / 32, turn, room);
    const float scale = norm_scale(sum, width, args.epsilon);

    // Each thread writes only what it alone has read, and has read again just before.
    T* output = row_of<T>(args.output, at);
    T* residual_output =
        args.residual_output.present ? row_of<T>(args.residual_output, at) : nullptr;
    for (int64_t i = begin; i < width; i += step) {
      const int n = static_cast<int>(width - i < kPack<T> ? width - i : kPack<T>);
      const Floats<T> values = s.at(i, n);
      if constexpr (kPacked) {
        const uint4 raw = pack<T>(values);
        if (residual_output != nullptr) store_pack(residual_output + i, raw);
        store_pack(output + i, normalised_pack<T>(raw, scale, weight.factors_at(i / kPack<T>),
                                                  args.round_before_weight));
      } else {
#pragma unroll
        for (int k = 0; k < kPack<T>; ++k) {
          if (k >= n) continue;
          if (residual_output != nullptr) {
            residual_output[(i + k) * args.residual_output.stride] = from_float32<T>(values.at[k]);
          }
          output[(i + k) * args.output.stride] = from_float32<T>(
              normalised<T>(values.at[k], scale, weight.at(i + k), args.round_before_weight));
        }
      }
    }
  }
}

// ---- Table --------------------------------------------------------------------------------------

// The kernels of one dtype. Compiled in a file per dtype, so that they compile side by side.
struct RmsNormKernels {
  void (*registers[kRmsNormShapeCount])(RmsNormArgs);
  void (*registers_residual[kRmsNormResidualShapeCount])(RmsNormArgs);
  void (*packed)(RmsNormArgs, int lanes);
  void (*strided)(RmsNormArgs, int lanes);
};
const RmsNormKernels& rmsnorm_kernels_f32();
const RmsNormKernels& rmsnorm_kernels_f16();
const RmsNormKernels& rmsnorm_kernels_bf16();

template <class T, bool kResidual, int kIndex>
inline constexpr auto kRmsNormInRegisters = rmsnorm_registers<
    RegisterTraits<T, kRmsNormShapes[kIndex].lanes, kRmsNormShapes[kIndex].packs, kResidual>>;

template <class T, int... kIndex, int... kResidualIndex>
constexpr RmsNormKernels rmsnorm_table(std::integer_sequence<int, kIndex...>,
                                       std::integer_sequence<int, kResidualIndex...>) {
  return {{kRmsNormInRegisters<T, false, kIndex>...},
          {kRmsNormInRegisters<T, true, kResidualIndex>...},
          rmsnorm_loop<T, true>,
          rmsnorm_loop<T, false>};
}

template <class T>
inline constexpr RmsNormKernels kRmsNormTable =
    rmsnorm_table<T>(std::make_integer_sequence<int, kRmsNormShapeCount>(),
                     std::make_integer_sequence<int, kRmsNormResidualShapeCount>());

}  // namespace mr::cuda
