#include "backend/cuda/cuda_status.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdio>

namespace mr {
namespace {

// The faults of which cuda.h says that any further work returns the same error, and those that end
// the context some other way.
bool is_fault(int code) {
  switch (code) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
      return true;
    default:
      return false;
  }
}

mr_status family(int code) {
  if (is_fault(code)) return MR_DEVICE_LOST;
  if (code >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
      code <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) {
    return MR_CAPTURE_VIOLATION;
  }
  switch (code) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return MR_OUT_OF_DEVICE_MEMORY;
    case CUDA_ERROR_NOT_INITIALIZED:
      // We initialised the driver before we made any other call, and it forgets that only in a
      // child that was forked afterwards.
      return MR_FORKED;
    case CUDA_ERROR_STUB_LIBRARY:
    case cudaErrorInsufficientDriver:
      return MR_NO_DRIVER;
    case CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      return MR_DRIVER_TOO_OLD;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE:
      return MR_NO_DEVICE;
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_JIT_COMPILATION_DISABLED:
    case cudaErrorInvalidDeviceFunction:
      return MR_NO_KERNEL_IMAGE;
    case CUDA_ERROR_NOT_READY:
      return MR_NOT_READY;
    default:
      return MR_DEVICE_ERROR;
  }
}

}  // namespace

Status cuda_status(int code, const char* sentence) {
  // The runtime's tables of names are plain constants: reading them sets no error and makes no
  // context, and they are there without a driver.
  const auto known = static_cast<cudaError_t>(code);
  char text[sizeof Status::detail];
  std::snprintf(text, sizeof text, "%s, %s", cudaGetErrorName(known), cudaGetErrorString(known));
  Status status = error(family(code), sentence).from(MR_DOMAIN_CUDA, code).say(text);
  if (status.code == MR_DEVICE_LOST) status.flag(MR_ERROR_CONTEXT_LOST);
  return status;
}

bool cuda_done(int code) {
  return code == CUDA_SUCCESS || code == CUDA_ERROR_DEINITIALIZED ||
         code == CUDA_ERROR_NOT_INITIALIZED;
}

}  // namespace mr
