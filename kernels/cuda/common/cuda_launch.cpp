#include <cuda_runtime_api.h>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_status.h"
#include "kernels/cuda/common/launch.cuh"

namespace mr::cuda {

// The runtime is used for its kernels' sake alone: it found them in this library when that was
// loaded. Its result comes from the launch itself; its "last error" belongs to the copy of the
// runtime that is linked into this library (cuda_runtime_api.h: "in the same instance of the CUDA
// Runtime library in the host thread"), which nobody reads, so that the host application's is
// neither seen nor touched.
Status detail::launch_function(const Launch& at, const void* function, const Grid& grid,
                               void** arguments) {
  const CudaScope scope(at.device->ordinal);
  MR_TRY(scope.status());
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(grid.blocks);
  config.blockDim = dim3(grid.threads);
  config.stream = static_cast<cudaStream_t>(at.stream);
  return cuda_check(cudaLaunchKernelExC(&config, function, arguments),
                    "the kernel cannot be launched");
}

namespace {

// A limit of the device, or 0 if the driver does not say.
int limit_of(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  const CUresult result = cuda_driver().device_get_attribute(&value, which, device);
  return result == CUDA_SUCCESS ? value : 0;
}

// What stops one more block from fitting: the resource whose own bound is the number that fits.
const char* bound_by(CUdevice device, const Occupancy& at) {
  const int blocks = at.blocks_per_multiprocessor + 1;
  const int warps = (at.threads_per_block + 31) / 32;
  // Registers are given to a warp in units of 256.
  const int warp_registers = (at.registers_per_thread * 32 + 255) / 256 * 256;
  if (blocks * warps * 32 > limit_of(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)) {
    return "threads";
  }
  if (blocks * warps * warp_registers >
      limit_of(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)) {
    return "registers";
  }
  if (blocks > limit_of(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)) {
    return "blocks";
  }
  return "shared memory";
}

}  // namespace

Occupancy occupancy_of(const DeviceInfo& info, const void* function, int threads) {
  const CudaScope scope(info.ordinal);
  if (!scope.ok()) return {};
  const CudaRelaxedCapture relaxed;
  const CudaDriver& driver = cuda_driver();
  cudaFunction_t handle = nullptr;
  CUdevice device = 0;
  int registers = 0;
  int shared = 0;
  int blocks = 0;
  if (cudaGetFuncBySymbol(&handle, function) != cudaSuccess ||
      driver.device_get(&device, info.ordinal) != CUDA_SUCCESS ||
      driver.func_get_attribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, handle) != CUDA_SUCCESS ||
      driver.func_get_attribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, handle) !=
          CUDA_SUCCESS ||
      driver.max_active_blocks(&blocks, handle, threads, 0) != CUDA_SUCCESS) {
    return {};
  }
  Occupancy out;
  out.threads_per_block = threads;
  out.registers_per_thread = registers;
  out.blocks_per_multiprocessor = blocks;
  out.shared_bytes_per_block = static_cast<size_t>(shared);
  out.limit = bound_by(device, out);
  return out;
}

}  // namespace mr::cuda
