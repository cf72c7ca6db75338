#include "backend/cuda/cuda_backend.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <new>

#include "backend/cuda/cuda_backend_state.h"
#include "backend/cuda/cuda_libraries.h"
#include "kernels/cuda/cuda_table.h"

namespace mr {

Backend& cuda_backend() {
  static CudaBackend* const backend = new CudaBackend;
  return *backend;
}

Status CudaBackend::status() const { return cuda_device_status(); }
std::span<const DeviceInfo> CudaBackend::devices() const { return cuda_devices(); }
const KernelTable& CudaBackend::kernels() const { return cuda_kernels(); }

BuildInfo CudaBackend::build_info() const {
  return {.runtime_version = CUDART_VERSION,
          .driver_version = static_cast<uint32_t>(cuda_driver_version()),
          .driver_minimum = kMinimumDriverVersion,
          .architectures = cuda_architectures()};
}

Status CudaBackend::dependency(const char* name, std::string* out) const {
  if (std::strcmp(name, "cublaslt") == 0) return describe_cublaslt(out);
  if (std::strcmp(name, "cudnn") == 0) {
    return error(MR_DEPENDENCY_MISSING, "cuDNN is not loaded: no kernel here uses it");
  }
  return invalid("name", "is not a library of CUDA");
}

namespace {

// Loads every kernel of the library onto the device, so that the first use of one may be inside a
// capture, or beside a kernel that never ends.
Status load_kernels() {
  for (const void* kernel : cuda_kernel_functions()) {
    cudaFunction_t function = nullptr;
    MR_TRY(cuda_check(cudaGetFuncBySymbol(&function, kernel),
                      "a kernel of the library cannot be found for this device"));
    MR_TRY(cuda_check(cuda_driver().func_load(function),
                      "a kernel of the library cannot be loaded on this device"));
  }
  return {};
}

}  // namespace

Status CudaBackend::open(int device) try {
  MR_TRY(cuda_device_status());
  const DeviceInfo& info = cuda_devices()[static_cast<size_t>(device)];
  if (info.usable != MR_OK) {
    return error(info.usable, "the library holds no code for this device")
        .about("the device's architecture")
        .got(info.architecture)
        .say(cuda_architectures());
  }
  std::lock_guard lock(open_mutex_);
  if (opened_ == nullptr) opened_ = std::make_unique<bool[]>(cuda_devices().size());
  if (opened_[static_cast<size_t>(device)]) return {};
  const CudaScope scope(device);
  MR_TRY(scope.status());
  const CudaRelaxedCapture relaxed;
  MR_TRY(load_kernels());
  opened_[static_cast<size_t>(device)] = true;
  return {};
} catch (const std::bad_alloc&) {
  return error(MR_OUT_OF_HOST_MEMORY, "no memory to open the device");
}

Status CudaBackend::make_libraries(int device, const BackendOptions& options,
                                   std::unique_ptr<Libraries>* out) try {
  *out = std::make_unique<CudaLibraries>(device, options.cublaslt_path);
  return {};
} catch (const std::bad_alloc&) {
  return error(MR_OUT_OF_HOST_MEMORY, "no memory for the list of libraries");
}

// ---- Memory ------------------------------------------------------------------------------------

Status CudaBackend::reserve(int device, MemoryKind kind, size_t bytes, void** out) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  const CudaRelaxedCapture relaxed;
  if (kind == MemoryKind::kPinned) {
    void* address = nullptr;
    const CUresult result = cuda_driver().mem_host_alloc(&address, bytes, CU_MEMHOSTALLOC_PORTABLE);
    Status status = cuda_check(result, "the driver gives no pinned host memory");
    if (status.code == MR_OUT_OF_DEVICE_MEMORY) status.code = MR_OUT_OF_HOST_MEMORY;
    if (status.ok()) *out = address;
    return status;
  }
  CUdeviceptr address = 0;
  MR_TRY(cuda_check(cuda_driver().mem_alloc(&address, bytes), "the driver gives no device memory"));
  *out = reinterpret_cast<void*>(address);
  return {};
}

void CudaBackend::release(int device, MemoryKind kind, void* address, size_t) noexcept {
  const CudaScope scope(device);
  if (!scope.ok()) return;  // the context is gone, and its memory with it
  const CudaRelaxedCapture relaxed;
  // A failure here repeats an earlier fault, which the next call that can report will report.
  if (kind == MemoryKind::kPinned) {
    static_cast<void>(cuda_driver().mem_free_host(address));
  } else {
    static_cast<void>(cuda_driver().mem_free(cuda_address(address)));
  }
}

Status CudaBackend::memory_info(int device, uint64_t* out_free, uint64_t* out_total) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  const CudaRelaxedCapture relaxed;
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  MR_TRY(cuda_check(cuda_driver().mem_get_info(&free_bytes, &total_bytes),
                    "the driver does not say how much memory is free"));
  *out_free = free_bytes;
  *out_total = total_bytes;
  return {};
}

bool CudaBackend::is_pinned(int device, const void* address) {
  const CudaScope scope(device);
  if (!scope.ok()) return false;
  // The form for several attributes answers zeros, not an error, for memory it does not know.
  uint64_t type = 0;
  uint64_t managed = 0;
  CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
  void* values[] = {&type, &managed};
  const CUresult result =
      cuda_driver().pointer_get_attributes(2, which, values, cuda_address(address));
  return result == CUDA_SUCCESS && (type & 0xffffffffu) == CU_MEMORYTYPE_HOST &&
         (managed & 0xffu) == 0;
}

}  // namespace mr
