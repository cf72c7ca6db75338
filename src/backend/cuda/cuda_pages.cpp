// Device memory by pages: physical memory that is mapped into a range of addresses.
#include "backend/cuda/cuda_backend_state.h"
#include "backend/cuda/cuda_driver.h"

namespace mr {
namespace {

constexpr uint64_t kUnit = uint64_t{2} << 20;

CUmemAllocationProp on_device(int device) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

}  // namespace

uint64_t CudaBackend::page_bytes(int device) const {
  const CudaDriver& driver = cuda_driver();
  CUdevice native = 0;
  int supported = 0;
  size_t page = 0;
  const CUmemAllocationProp properties = on_device(device);
  const bool known = driver.device_get(&native, device) == CUDA_SUCCESS &&
                     driver.device_get_attribute(
                         &supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                         native) == CUDA_SUCCESS &&
                     supported != 0 &&
                     driver.mem_get_granularity(&page, &properties,
                                                CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS;
  return known && page != 0 && kUnit % page == 0 ? page : 0;
}

Status CudaBackend::reserve_range(int device, uint64_t bytes, void** out) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  const CudaRelaxedCapture relaxed;
  CUdeviceptr address = 0;
  MR_TRY(cuda_check(cuda_driver().address_reserve(&address, bytes, kUnit, 0, 0),
                    "the driver has no such range of addresses"));
  *out = reinterpret_cast<void*>(address);
  return {};
}

void CudaBackend::release_range(int device, void* address, uint64_t bytes) noexcept {
  const CudaScope scope(device);
  if (!scope.ok()) return;
  const CudaRelaxedCapture relaxed;
  static_cast<void>(cuda_driver().address_free(cuda_address(address), bytes));
}

// The memory's own handle is given up at once: the mapping keeps it.
Status CudaBackend::map(int device, void* address, uint64_t bytes, uint64_t* out_handle) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  const CudaRelaxedCapture relaxed;
  const CudaDriver& driver = cuda_driver();
  const CUmemAllocationProp properties = on_device(device);
  CUmemGenericAllocationHandle handle = 0;
  MR_TRY(cuda_check(driver.mem_create(&handle, bytes, &properties, 0),
                    "the driver gives no device memory"));
  CUresult result = driver.mem_map(cuda_address(address), bytes, 0, handle, 0);
  static_cast<void>(driver.mem_release(handle));
  MR_TRY(cuda_check(result, "device memory cannot be mapped"));
  CUmemAccessDesc access = {};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  result = driver.mem_set_access(cuda_address(address), bytes, &access, 1);
  if (result != CUDA_SUCCESS) {
    static_cast<void>(driver.mem_unmap(cuda_address(address), bytes));
    return cuda_status(result, "access to device memory cannot be had");
  }
  *out_handle = 0;
  return {};
}

void CudaBackend::unmap(int device, void* address, uint64_t bytes, uint64_t) noexcept {
  const CudaScope scope(device);
  if (!scope.ok()) return;
  const CudaRelaxedCapture relaxed;
  static_cast<void>(cuda_driver().mem_unmap(cuda_address(address), bytes));
}

}  // namespace mr
