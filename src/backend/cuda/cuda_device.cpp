#include "backend/cuda/cuda_device.h"

#include <atomic>
#include <charconv>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/cuda/cuda_status.h"

#if !defined(MR_CUDA_ARCHITECTURES)
#error "the build must define MR_CUDA_ARCHITECTURES, e.g. \"80 90a 120+ptx\""
#endif

namespace mr {
namespace {

struct Device {
  CUdevice handle = 0;
  std::atomic<CUcontext> context{nullptr};
  std::mutex mutex;  // while the context is made
};

struct Listed {
  Status status;
  std::vector<DeviceInfo> infos;
  std::unique_ptr<Device[]> devices;
};

// Reads one attribute; a failure is remembered in *result, unless an earlier one is there.
int attribute(CUdevice device, CUdevice_attribute which, CUresult* result) {
  int value = 0;
  const CUresult now = cuda_driver().device_get_attribute(&value, which, device);
  if (*result == CUDA_SUCCESS) *result = now;
  return now == CUDA_SUCCESS ? value : 0;
}

CUresult describe(int ordinal, CUdevice* handle, DeviceInfo* out) {
  const CudaDriver& driver = cuda_driver();
  CUresult result = driver.device_get(handle, ordinal);
  if (result != CUDA_SUCCESS) return result;
  const CUdevice device = *handle;
  char name[128] = {};
  size_t memory = 0;
  result = driver.device_get_name(name, sizeof name - 1, device);
  if (result == CUDA_SUCCESS) result = driver.device_total_mem(&memory, device);
  const int major = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &result);
  const int minor = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &result);
  const int l2 = attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &result);
  const int shared =
      attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &result);
  out->backend = MR_BACKEND_CUDA;
  out->ordinal = ordinal;
  out->architecture = 10 * major + minor;
  out->multiprocessors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &result);
  out->max_threads_per_multiprocessor =
      attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &result);
  out->memory_bytes = memory;
  out->l2_bytes = static_cast<uint64_t>(l2);
  out->shared_per_block = static_cast<uint64_t>(shared);
  out->usable = cuda_architectures_serve(MR_CUDA_ARCHITECTURES, out->architecture)
                    ? MR_OK
                    : MR_NO_KERNEL_IMAGE;
  out->name = name;
  return result;
}

Status list(Listed* out) {
  MR_TRY(cuda_driver_status());
  int count = 0;
  MR_TRY(cuda_check(cuda_driver().device_get_count(&count), "the devices cannot be counted"));
  if (count <= 0) return error(MR_NO_DEVICE, "the CUDA driver sees no device");
  std::vector<DeviceInfo> infos(static_cast<size_t>(count));
  auto devices = std::make_unique<Device[]>(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    MR_TRY(cuda_check(describe(i, &devices[at].handle, &infos[at]),
                      "a device's attributes cannot be read"));
  }
  out->infos = std::move(infos);
  out->devices = std::move(devices);
  return {};
}

// Made once and never destroyed. Should host memory run out here, the first caller sees that.
const Listed& listed() {
  static const Listed* const it = [] {
    auto made = std::make_unique<Listed>();
    made->status = list(made.get());
    return made.release();
  }();
  return *it;
}

// One entry of the list of architectures.
struct Compiled {
  int architecture = 0;
  bool exact = false;  // suffix `a`
  bool ptx = false;
};

bool serves(const Compiled& code, int architecture) {
  if (code.exact) return architecture == code.architecture;
  if (code.ptx && architecture >= code.architecture) return true;
  return architecture / 10 == code.architecture / 10 && architecture >= code.architecture;
}

}  // namespace

const char* cuda_architectures() { return MR_CUDA_ARCHITECTURES; }

bool cuda_architectures_serve(const char* list, int architecture) {
  const char* at = list;
  const char* const end = list + std::strlen(list);
  while (at < end) {
    while (at < end && (*at == ' ' || *at == ';')) ++at;
    const char* stop = at;
    while (stop < end && *stop != ' ' && *stop != ';') ++stop;
    Compiled code;
    const auto [rest, failed] = std::from_chars(at, stop, code.architecture);
    if (failed == std::errc()) {
      code.exact = rest < stop && *rest == 'a';
      code.ptx = stop - rest >= 4 && std::memcmp(stop - 4, "+ptx", 4) == 0;
      if (serves(code, architecture)) return true;
    }
    at = stop;
  }
  return false;
}

std::span<const DeviceInfo> cuda_devices() { return listed().infos; }
const Status& cuda_device_status() { return listed().status; }

CUresult cuda_primary_context(int device, CUcontext* out) {
  const Listed& all = listed();
  if (!all.status.ok()) return CUDA_ERROR_NO_DEVICE;
  Device& it = all.devices[static_cast<size_t>(device)];
  CUcontext context = it.context.load(std::memory_order_acquire);
  if (context == nullptr) {
    std::lock_guard lock(it.mutex);
    context = it.context.load(std::memory_order_relaxed);
    if (context == nullptr) {
      const CudaRelaxedCapture relaxed;
      const CUresult result = cuda_driver().primary_ctx_retain(&context, it.handle);
      if (result != CUDA_SUCCESS) return result;
      it.context.store(context, std::memory_order_release);
    }
  }
  *out = context;
  return CUDA_SUCCESS;
}

CudaScope::CudaScope(int device) {
  CUcontext wanted = nullptr;
  result_ = cuda_primary_context(device, &wanted);
  if (result_ != CUDA_SUCCESS) return;
  CUcontext current = nullptr;
  result_ = cuda_driver().ctx_get_current(&current);
  if (result_ != CUDA_SUCCESS || current == wanted) return;
  result_ = cuda_driver().ctx_push_current(wanted);
  pushed_ = result_ == CUDA_SUCCESS;
}

CudaScope::~CudaScope() {
  if (!pushed_) return;
  CUcontext popped = nullptr;
  // Fails only once the driver is gone, and then there is nothing to put back.
  static_cast<void>(cuda_driver().ctx_pop_current(&popped));
}

Status CudaScope::status() const {
  return cuda_check(result_, "the device's context cannot be made current");
}

CudaRelaxedCapture::CudaRelaxedCapture()
    : exchanged_(cuda_driver().exchange_capture_mode(&mode_) == CUDA_SUCCESS) {}

CudaRelaxedCapture::~CudaRelaxedCapture() {
  // Fails only once the driver is gone.
  if (exchanged_) static_cast<void>(cuda_driver().exchange_capture_mode(&mode_));
}

}  // namespace mr
