// RMSNorm on CUDA: which kernel of rmsnorm_kernels.cuh serves a call.
//
//   row                      takes
//   cuda_rmsnorm_registers   width, strides and addresses that are multiples of 16 bytes; rows of
//   at
//                            most 64 KiB
//   cuda_rmsnorm_packed      the same without the limit
//   cuda_rmsnorm_strided     everything
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/rmsnorm_kernels.cuh"

namespace mr::cuda {
namespace {

const RmsNormKernels& kernels_for(mr_dtype dtype) {
  if (dtype == MR_F16) return rmsnorm_kernels_f16();
  if (dtype == MR_BF16) return rmsnorm_kernels_bf16();
  return rmsnorm_kernels_f32();
}

int64_t pack_elements(mr_dtype dtype) { return kPackBytes / dtype_bytes(dtype); }

// The shape of a row, a function of width and dtype alone; kRmsNormShapeCount if none is wide
// enough.
int shape_of(const RmsNormArgs& args) {
  const int64_t elements = pack_elements(args.dtype);
  const int64_t packs = args.space.width / elements + (args.space.width % elements != 0 ? 1 : 0);
  int shape = 0;
  while (shape < kRmsNormShapeCount &&
         packs > int64_t{kRmsNormShapes[shape].lanes} * kRmsNormShapes[shape].packs) {
    ++shape;
  }
  return shape;
}

// The threads that share a row in the looping kernels: those that the row would have in registers.
int lanes_of(const RmsNormArgs& args) {
  const int shape = shape_of(args);
  return shape < kRmsNormShapeCount ? kRmsNormShapes[shape].lanes : kRmsNormMaxLanes;
}

// ---- What a row takes ---------------------------------------------------------------------------

bool is_packable(const RmsNormArgs& args, const RowView& view) {
  if (!view.present) return true;
  const int64_t pack = pack_elements(args.dtype);
  return view.stride == 1 && is_aligned(view.data, kPackBytes) &&
         (args.space.outer <= 1 || view.outer_stride % pack == 0) &&
         (args.space.inner <= 1 || view.inner_stride % pack == 0);
}

const char* reject_packed(const DeviceInfo&, const RmsNormArgs& args) {
  if (args.space.width % pack_elements(args.dtype) != 0) {
    return "the width is no multiple of 16 bytes";
  }
  if (!is_packable(args, args.input)) return "input has no rows of aligned 16-byte packs";
  if (!is_packable(args, args.residual)) return "residual has no rows of aligned 16-byte packs";
  if (!is_packable(args, args.output)) return "output has no rows of aligned 16-byte packs";
  if (!is_packable(args, args.residual_output)) {
    return "residual_output has no rows of aligned 16-byte packs";
  }
  if (args.weight_dtype != MR_ABSENT &&
      (args.weight_stride != 1 || !is_aligned(args.weight, kPackBytes))) {
    return "weight does not consist of aligned 16-byte packs";
  }
  return nullptr;
}

const char* reject_registers(const DeviceInfo& device, const RmsNormArgs& args) {
  const int shapes = args.residual.present ? kRmsNormResidualShapeCount : kRmsNormShapeCount;
  if (shape_of(args) >= shapes) return "a row is longer than 64 KiB, or 32 KiB with a residual";
  if (args.weight_dtype != MR_ABSENT && args.weight_dtype != args.dtype) {
    return "the weight is float32 and the rows are not";
  }
  return reject_packed(device, args);
}

// ---- Launchers ----------------------------------------------------------------------------------

int register_threads(int shape) {
  const int lanes = kRmsNormShapes[shape].lanes;
  return lanes <= 32 ? kRmsNormWarpThreads : lanes;
}

auto register_kernel(const RmsNormArgs& args) {
  const RmsNormKernels& kernels = kernels_for(args.dtype);
  const int shape = shape_of(args);
  return args.residual.present ? kernels.registers_residual[shape] : kernels.registers[shape];
}

Status launch_registers(const Launch& at, const RmsNormArgs& args) {
  const int shape = shape_of(args);
  const int threads = register_threads(shape);
  return launch(at, register_kernel(args),
                grid_for(args.space.rows(), threads / kRmsNormShapes[shape].lanes, threads), args);
}

Grid loop_grid(const RmsNormArgs& args) {
  const int lanes = lanes_of(args);
  if (lanes > 32) return grid_for(args.space.rows(), 1, lanes);
  return grid_for(args.space.rows(), kRmsNormWarpThreads / 32, kRmsNormWarpThreads);
}

Status launch_packed(const Launch& at, const RmsNormArgs& args) {
  return launch(at, kernels_for(args.dtype).packed, loop_grid(args), args, lanes_of(args));
}

Status launch_strided(const Launch& at, const RmsNormArgs& args) {
  return launch(at, kernels_for(args.dtype).strided, loop_grid(args), args, lanes_of(args));
}

// ---- Occupancy ----------------------------------------------------------------------------------

Occupancy occupy_registers(const DeviceInfo& device, const RmsNormArgs& args) {
  return occupancy_of(device, register_kernel(args), register_threads(shape_of(args)));
}

int loop_threads(const RmsNormArgs& args) {
  const int lanes = lanes_of(args);
  return lanes > 32 ? lanes : kRmsNormWarpThreads;
}

Occupancy occupy_packed(const DeviceInfo& device, const RmsNormArgs& args) {
  return occupancy_of(device, kernels_for(args.dtype).packed, loop_threads(args));
}

Occupancy occupy_strided(const DeviceInfo& device, const RmsNormArgs& args) {
  return occupancy_of(device, kernels_for(args.dtype).strided, loop_threads(args));
}

constexpr Kernel<RmsNormArgs> kRows[] = {
    {.name = "cuda_rmsnorm_registers",
     .reject = reject_registers,
     .launch = launch_registers,
     .occupancy = occupy_registers},
    {.name = "cuda_rmsnorm_packed",
     .reject = reject_packed,
     .launch = launch_packed,
     .occupancy = occupy_packed},
    {.name = "cuda_rmsnorm_strided", .launch = launch_strided, .occupancy = occupy_strided},
};

}  // namespace

KernelList<RmsNormArgs> rmsnorm() { return kRows; }

void add_rmsnorm_functions(KernelFunctions* out) {
  for (const mr_dtype dtype : {MR_F32, MR_F16, MR_BF16}) {
    const RmsNormKernels& kernels = kernels_for(dtype);
    for (const auto kernel : kernels.registers) out->add(kernel);
    for (const auto kernel : kernels.registers_residual) out->add(kernel);
    out->add(kernels.packed);
    out->add(kernels.strided);
  }
}

}  // namespace mr::cuda
