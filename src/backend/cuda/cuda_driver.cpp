#include "backend/cuda/cuda_driver.h"

#include <dlfcn.h>

#include "backend/cuda/cuda_status.h"

namespace mr {
namespace {

struct Loaded {
  Status status;
  int version = 0;
  CudaDriver calls;
};

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

// Fills a table of entry points and remembers the first that is missing.
class Finder {
 public:
  explicit Finder(PFN_cuGetProcAddress_v12000 get) : get_(get) {}

  // `version` is the one in the name of the function's type: it fixes the signature.
  template <class Function>
  void operator()(const char* name, int version, Function* out) {
    void* found = nullptr;
    CUdriverProcAddressQueryResult why = CU_GET_PROC_ADDRESS_SUCCESS;
    const CUresult result = get_(name, &found, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &why);
    if (result != CUDA_SUCCESS || found == nullptr) {
      if (missing_ == nullptr) {
        missing_ = name;
        result_ = result;
      }
      return;
    }
    *out = reinterpret_cast<Function>(found);
  }
  const char* missing() const { return missing_; }
  CUresult result() const { return result_; }

 private:
  PFN_cuGetProcAddress_v12000 get_;
  const char* missing_ = nullptr;
  CUresult result_ = CUDA_SUCCESS;
};

void find_device_calls(Finder& find, CudaDriver* out) {
  find("cuDeviceGetCount", 2000, &out->device_get_count);
  find("cuDeviceGet", 2000, &out->device_get);
  find("cuDeviceGetName", 2000, &out->device_get_name);
  find("cuDeviceTotalMem", 3020, &out->device_total_mem);
  find("cuDeviceGetAttribute", 2000, &out->device_get_attribute);
  find("cuDevicePrimaryCtxRetain", 7000, &out->primary_ctx_retain);
  find("cuCtxGetCurrent", 4000, &out->ctx_get_current);
  find("cuCtxPushCurrent", 4000, &out->ctx_push_current);
  find("cuCtxPopCurrent", 4000, &out->ctx_pop_current);
  find("cuFuncLoad", 12040, &out->func_load);
  find("cuFuncGetAttribute", 2020, &out->func_get_attribute);
  find("cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050, &out->max_active_blocks);
}

void find_memory_calls(Finder& find, CudaDriver* out) {
  find("cuMemAlloc", 3020, &out->mem_alloc);
  find("cuMemFree", 3020, &out->mem_free);
  find("cuMemHostAlloc", 2020, &out->mem_host_alloc);
  find("cuMemFreeHost", 2000, &out->mem_free_host);
  find("cuMemGetInfo", 3020, &out->mem_get_info);
  find("cuPointerGetAttributes", 7000, &out->pointer_get_attributes);
  find("cuMemGetAllocationGranularity", 10020, &out->mem_get_granularity);
  find("cuMemAddressReserve", 10020, &out->address_reserve);
  find("cuMemAddressFree", 10020, &out->address_free);
  find("cuMemCreate", 10020, &out->mem_create);
  find("cuMemRelease", 10020, &out->mem_release);
  find("cuMemMap", 10020, &out->mem_map);
  find("cuMemUnmap", 10020, &out->mem_unmap);
  find("cuMemSetAccess", 10020, &out->mem_set_access);
  find("cuMemcpyHtoDAsync", 3020, &out->copy_to_device);
  find("cuMemcpyDtoHAsync", 3020, &out->copy_to_host);
  find("cuMemcpyDtoDAsync", 3020, &out->copy_on_device);
  find("cuMemsetD8Async", 3020, &out->fill);
}

void find_stream_calls(Finder& find, CudaDriver* out) {
  find("cuStreamCreateWithPriority", 5050, &out->stream_create);
  find("cuStreamDestroy", 4000, &out->stream_destroy);
  find("cuStreamGetCtx", 12050, &out->stream_get_ctx);
  find("cuStreamGetDevice", 12080, &out->stream_get_device);
  find("cuStreamGetId", 12000, &out->stream_get_id);
  find("cuStreamQuery", 2000, &out->stream_query);
  find("cuStreamSynchronize", 2000, &out->stream_synchronize);
  find("cuStreamWaitEvent", 3020, &out->stream_wait_event);
  find("cuEventCreate", 2000, &out->event_create);
  find("cuEventDestroy", 4000, &out->event_destroy);
  find("cuEventRecordWithFlags", 11010, &out->event_record);
  find("cuEventQuery", 2000, &out->event_query);
  find("cuEventSynchronize", 2000, &out->event_synchronize);
  find("cuEventElapsedTime", 2000, &out->event_elapsed_time);
}

void find_graph_calls(Finder& find, CudaDriver* out) {
  find("cuThreadExchangeStreamCaptureMode", 10010, &out->exchange_capture_mode);
  find("cuStreamIsCapturing", 10000, &out->stream_is_capturing);
  find("cuStreamGetCaptureInfo", 12030, &out->stream_get_capture_info);
  find("cuStreamBeginCapture", 10010, &out->stream_begin_capture);
  find("cuStreamEndCapture", 10000, &out->stream_end_capture);
  find("cuGraphInstantiateWithFlags", 11040, &out->graph_instantiate);
  find("cuGraphUpload", 11010, &out->graph_upload);
  find("cuGraphLaunch", 10000, &out->graph_launch);
  find("cuGraphDestroy", 10000, &out->graph_destroy);
  find("cuGraphExecDestroy", 10000, &out->graph_exec_destroy);
  find("cuUserObjectCreate", 11030, &out->user_object_create);
  find("cuUserObjectRelease", 11030, &out->user_object_release);
  find("cuGraphRetainUserObject", 11030, &out->graph_retain_user_object);
}

// By the name that drivers install, never libcuda.so: that is what toolkits call their stub.
Status load(Loaded* out) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return error(MR_NO_DRIVER, "the CUDA driver's library cannot be loaded").say(dlerror());
  }
  const auto get_version = symbol<PFN_cuDriverGetVersion_v2020>(library, "cuDriverGetVersion");
  const auto init = symbol<PFN_cuInit_v2000>(library, "cuInit");
  int version = 0;
  if (get_version == nullptr || init == nullptr || get_version(&version) != CUDA_SUCCESS ||
      version <= 0) {
    return error(MR_NO_DRIVER, "the CUDA driver's library answers no version");
  }
  out->version = version;
  if (version < kMinimumDriverVersion) {
    return error(MR_DRIVER_TOO_OLD, "the CUDA driver is older than this library needs")
        .about("the driver's CUDA version")
        .got(version)
        .wanted(kMinimumDriverVersion);
  }
  const auto get_address = symbol<PFN_cuGetProcAddress_v12000>(library, "cuGetProcAddress_v2");
  if (get_address == nullptr) {
    return error(MR_NO_DRIVER, "the CUDA driver's library has no entry points");
  }
  Finder find(get_address);
  find_device_calls(find, &out->calls);
  find_memory_calls(find, &out->calls);
  find_stream_calls(find, &out->calls);
  find_graph_calls(find, &out->calls);
  if (find.missing() != nullptr) {
    // A toolkit's stub answers every question with "stub library".
    return error(MR_NO_DRIVER, "the CUDA driver's library lacks an entry point")
        .from(MR_DOMAIN_CUDA, find.result())
        .say(find.missing());
  }
  const CUresult result = init(0);
  if (result == CUDA_ERROR_NO_DEVICE) {
    return cuda_status(result, "the CUDA driver sees no device");
  }
  return cuda_check(result, "the CUDA driver cannot be initialised");
}

// Made once and never destroyed: nothing of the driver may be touched while the process ends.
const Loaded& loaded() {
  static const Loaded* const it = [] {
    static Loaded storage;
    storage.status = load(&storage);
    return &storage;
  }();
  return *it;
}

}  // namespace

const Status& cuda_driver_status() { return loaded().status; }
const CudaDriver& cuda_driver() { return loaded().calls; }
int cuda_driver_version() { return loaded().version; }

}  // namespace mr
