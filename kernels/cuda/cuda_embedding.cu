// Embedding on CUDA: rows copied by id.
//
// Bound by memory: one read of each row that is wanted, one write. Neighbouring threads share a
// row, a block holds as many rows as fit, so that narrow rows waste no threads.
//
//   row                       access     takes
//   cuda_embedding_packed     16 bytes   width, strides and addresses that are multiples of 16
//   bytes cuda_embedding_strided    1 element  everything
#include <algorithm>
#include <bit>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/pack.cuh"
#include "kernels/cuda/cuda_kernels.h"
#include "millrace/op.h"

namespace mr::cuda {
namespace {

constexpr int kThreads = 256;

// ---- Kernels ------------------------------------------------------------------------------------

struct Id {
  int64_t value;
  bool valid;  // names a row of the table
};

__device__ Id id_of(const EmbeddingArgs& args, int64_t row) {
  const int64_t at = row * args.ids_stride;
  const int64_t value = args.ids_dtype == MR_I32 ? static_cast<const int32_t*>(args.ids)[at]
                                                 : static_cast<const int64_t*>(args.ids)[at];
  return {value, value >= 0 && value < args.vocab};
}

__device__ void store_status(const EmbeddingArgs& args, int64_t row, const Id& id) {
  if (args.row_status == nullptr) return;
  args.row_status[row * args.row_status_stride] =
      id.valid || id.value == -1 ? 0 : MR_ROW_ID_OUT_OF_RANGE;
}

template <class T>
__device__ uint4 scaled_pack(uint4 raw, float scale) {
  Floats<T> values = unpack<T>(raw);
#pragma unroll
  for (int i = 0; i < kPack<T>; ++i) values.at[i] *= scale;
  return pack<T>(values);
}

// `lanes`, a power of two up to kThreads, threads share a row. Four packs of a thread are on their
// way at once.
template <class T>
__global__ void __launch_bounds__(kThreads)
    embedding_packed(const EmbeddingArgs args, const int lanes) {
  constexpr int kUnroll = 4;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int rows_per_block = kThreads / lanes;
  const int64_t packs = args.width / kPack<T>;
  for (int64_t row = int64_t{blockIdx.x} * rows_per_block + threadIdx.x / lanes; row < args.rows;
       row += int64_t{gridDim.x} * rows_per_block) {
    const Id id = id_of(args, row);
    const T* from =
        static_cast<const T*>(args.table) + (id.valid ? id.value : 0) * args.table_row_stride;
    T* to = static_cast<T*>(args.output) + row * args.output_row_stride;
    if (lane == 0) store_status(args, row, id);
    for (int64_t first = lane; first < packs; first += int64_t{lanes} * kUnroll) {
      uint4 raw[kUnroll];
#pragma unroll
      for (int j = 0; j < kUnroll; ++j) {
        const int64_t p = first + int64_t{j} * lanes;
        raw[j] = make_uint4(0, 0, 0, 0);
        if (id.valid && p < packs) raw[j] = load_pack(from + p * kPack<T>);
      }
#pragma unroll
      for (int j = 0; j < kUnroll; ++j) {
        const int64_t p = first + int64_t{j} * lanes;
        if (p >= packs) continue;
        // Zeros stay as they are: a padding row is zero whatever the scale.
        const bool scale = args.scaled && id.valid;
        store_pack(to + p * kPack<T>, scale ? scaled_pack<T>(raw[j], args.scale) : raw[j]);
      }
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    embedding_strided(const EmbeddingArgs args, const int lanes) {
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int rows_per_block = kThreads / lanes;
  for (int64_t row = int64_t{blockIdx.x} * rows_per_block + threadIdx.x / lanes; row < args.rows;
       row += int64_t{gridDim.x} * rows_per_block) {
    const Id id = id_of(args, row);
    const T* from =
        static_cast<const T*>(args.table) + (id.valid ? id.value : 0) * args.table_row_stride;
    T* to = static_cast<T*>(args.output) + row * args.output_row_stride;
    if (lane == 0) store_status(args, row, id);
    for (int64_t i = lane; i < args.width; i += lanes) {
      T value = from_float32<T>(0.0f);
      if (id.valid) value = from[i * args.table_stride];
      // Without a scale the bits are copied, those of a NaN too.
      if (args.scaled && id.valid) value = from_float32<T>(as_float(value) * args.scale);
      to[i * args.output_stride] = value;
    }
  }
}

// ---- Launchers ----------------------------------------------------------------------------------

int64_t pack_elements(const EmbeddingArgs& args) { return kPackBytes / dtype_bytes(args.dtype); }

// Threads per row: enough for `items` at one each, or at four each where that would be many.
int lanes_for(int64_t items) {
  const int64_t wanted = std::clamp<int64_t>(items <= 32 ? items : (items + 3) / 4, 1, kThreads);
  return static_cast<int>(std::max<uint64_t>(std::bit_ceil(static_cast<uint64_t>(wanted)), 8));
}

bool is_packable(const EmbeddingArgs& args, const void* data, int64_t rows, int64_t row_stride,
                 int64_t stride) {
  return stride == 1 && is_aligned(data, kPackBytes) &&
         (rows <= 1 || row_stride % pack_elements(args) == 0);
}

const char* reject_packed(const DeviceInfo&, const EmbeddingArgs& args) {
  if (args.width % pack_elements(args) != 0) return "the width is no multiple of 16 bytes";
  if (!is_packable(args, args.table, args.vocab, args.table_row_stride, args.table_stride)) {
    return "table has no rows of aligned 16-byte packs";
  }
  if (!is_packable(args, args.output, args.rows, args.output_row_stride, args.output_stride)) {
    return "output has no rows of aligned 16-byte packs";
  }
  return nullptr;
}

Status launch_packed(const Launch& at, const EmbeddingArgs& args) {
  const int lanes = lanes_for(args.width / pack_elements(args));
  const Grid grid = grid_for(args.rows, kThreads / lanes, kThreads);
  return visit_device_float(args.dtype, [&]<class T>(type_tag<T>) {
    return launch(at, embedding_packed<T>, grid, args, lanes);
  });
}

Status launch_strided(const Launch& at, const EmbeddingArgs& args) {
  const int lanes = lanes_for(args.width);
  const Grid grid = grid_for(args.rows, kThreads / lanes, kThreads);
  return visit_device_float(args.dtype, [&]<class T>(type_tag<T>) {
    return launch(at, embedding_strided<T>, grid, args, lanes);
  });
}

Occupancy occupy_packed(const DeviceInfo& device, const EmbeddingArgs& args) {
  return visit_device_float(args.dtype, [&]<class T>(type_tag<T>) {
    return occupancy_of(device, embedding_packed<T>, kThreads);
  });
}

Occupancy occupy_strided(const DeviceInfo& device, const EmbeddingArgs& args) {
  return visit_device_float(args.dtype, [&]<class T>(type_tag<T>) {
    return occupancy_of(device, embedding_strided<T>, kThreads);
  });
}

constexpr Kernel<EmbeddingArgs> kRows[] = {
    {.name = "cuda_embedding_packed",
     .reject = reject_packed,
     .launch = launch_packed,
     .occupancy = occupy_packed},
    {.name = "cuda_embedding_strided", .launch = launch_strided, .occupancy = occupy_strided},
};

}  // namespace

KernelList<EmbeddingArgs> embedding() { return kRows; }

void add_embedding_functions(KernelFunctions* out) {
  for (const mr_dtype dtype : {MR_F32, MR_F16, MR_BF16}) {
    visit_device_float(dtype, [&]<class T>(type_tag<T>) {
      out->add(embedding_packed<T>);
      out->add(embedding_strided<T>);
    });
  }
}

}  // namespace mr::cuda
