#include "fake_cuda.h"

#include <cstdlib>
#include <cstring>

namespace {

char contexts[2];
char objects[16];
CUcontext context_of(int device) { return reinterpret_cast<CUcontext>(&contexts[device]); }

FakeCuda& state() {
  static FakeCuda it;
  return it;
}
FakeThread& thread() {
  static thread_local FakeThread it;
  return it;
}
bool configured(const char* as) {
  const char* value = std::getenv("FAKE_CUDA");
  return value != nullptr && std::strcmp(value, as) == 0;
}
template <class Handle>
Handle object(int which) {
  return reinterpret_cast<Handle>(&objects[which]);
}

// Counts the call and gives what the test wants it to return.
CUresult called(const char* name) {
  ++state().calls[name];
  const auto at = state().fail.find(name);
  if (at == state().fail.end()) return CUDA_SUCCESS;
  const CUresult result = at->second;
  state().fail.erase(at);
  return result;
}
// A call that needs a context of ours to be current.
CUresult in_context(const char* name) {
  const FakeThread& here = thread();
  if (here.depth == 0 || here.stack[here.depth - 1] != context_of(0)) {
    state().unsafe += std::string(name) + " without its context; ";
  }
  return called(name);
}
// A call that breaks another thread's capture unless this thread is relaxed.
CUresult unsafe(const char* name) {
  if (thread().mode != CU_STREAM_CAPTURE_MODE_RELAXED) state().unsafe += std::string(name) + "; ";
  return in_context(name);
}

// ---- Devices and contexts

CUresult device_get_count(int* out) {
  *out = configured("empty") ? 0 : 2;
  return called("cuDeviceGetCount");
}
CUresult device_get(CUdevice* out, int ordinal) { return *out = ordinal, called("cuDeviceGet"); }
CUresult device_get_name(char* out, int, CUdevice) {
  std::strcpy(out, "Fake GPU");
  return called("cuDeviceGetName");
}
CUresult device_total_mem(size_t* out, CUdevice) {
  return *out = size_t{80} << 30, called("cuDeviceTotalMem");
}
CUresult device_get_attribute(int* out, CUdevice_attribute which, CUdevice device) {
  *out = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? (device == 0 ? 9 : 7)
         : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? (device == 0 ? 0 : 5)
                                                                 : 100;
  return called("cuDeviceGetAttribute");
}
CUresult primary_ctx_retain(CUcontext* out, CUdevice device) {
  ++state().primary_contexts;
  return *out = context_of(device), called("cuDevicePrimaryCtxRetain");
}
CUresult ctx_get_current(CUcontext* out) {
  const FakeThread& here = thread();
  *out = here.depth > 0 ? here.stack[here.depth - 1] : nullptr;
  return called("cuCtxGetCurrent");
}
CUresult ctx_push_current(CUcontext context) {
  thread().stack[thread().depth++] = context;
  return called("cuCtxPushCurrent");
}
CUresult ctx_pop_current(CUcontext* out) {
  *out = thread().stack[--thread().depth];
  return called("cuCtxPopCurrent");
}

// ---- Memory

CUresult mem_alloc(CUdeviceptr* out, size_t) { return *out = 0x100000, unsafe("cuMemAlloc"); }
CUresult mem_free(CUdeviceptr) { return unsafe("cuMemFree"); }
CUresult mem_host_alloc(void** out, size_t, unsigned) {
  return *out = objects, unsafe("cuMemHostAlloc");
}
CUresult mem_free_host(void*) { return unsafe("cuMemFreeHost"); }
CUresult mem_get_info(size_t* free_bytes, size_t* total) {
  return *free_bytes = 3, *total = 4, unsafe("cuMemGetInfo");
}
CUresult mem_get_granularity(size_t* out, const CUmemAllocationProp*,
                             CUmemAllocationGranularity_flags) {
  return *out = size_t{2} << 20, called("cuMemGetAllocationGranularity");
}
CUresult address_reserve(CUdeviceptr* out, size_t, size_t, CUdeviceptr, unsigned long long) {
  return *out = 0x40000000, unsafe("cuMemAddressReserve");
}
CUresult address_free(CUdeviceptr, size_t) { return unsafe("cuMemAddressFree"); }
CUresult mem_create(CUmemGenericAllocationHandle* out, size_t, const CUmemAllocationProp*,
                    unsigned long long) {
  return *out = 7, unsafe("cuMemCreate");
}
CUresult mem_release(CUmemGenericAllocationHandle) { return unsafe("cuMemRelease"); }
CUresult mem_map(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long) {
  return unsafe("cuMemMap");
}
CUresult mem_unmap(CUdeviceptr, size_t) { return unsafe("cuMemUnmap"); }
CUresult mem_set_access(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) {
  return unsafe("cuMemSetAccess");
}
CUresult pointer_get_attributes(unsigned, CUpointer_attribute*, void** data, CUdeviceptr) {
  std::memcpy(data[0], &state().pointer_type, 4);
  std::memcpy(data[1], &state().pointer_managed, 1);
  return in_context("cuPointerGetAttributes");
}

// ---- Streams and events

CUresult stream_create(CUstream* out, unsigned flags, int) {
  state().stream_flags = flags;
  return *out = object<CUstream>(0), unsafe("cuStreamCreateWithPriority");
}
CUresult stream_destroy(CUstream) { return in_context("cuStreamDestroy"); }
CUresult stream_get_ctx(CUstream, CUcontext* context, CUgreenCtx* green) {
  *context = state().stream_context;
  *green = state().stream_green;
  return in_context("cuStreamGetCtx");
}
CUresult stream_get_device(CUstream, CUdevice* out) {
  *out = state().stream_context == context_of(1) ? 1 : 0;
  return in_context("cuStreamGetDevice");
}
CUresult stream_get_id(CUstream, unsigned long long* out) {
  return *out = 42, in_context("cuStreamGetId");
}
CUresult stream_query(CUstream) { return unsafe("cuStreamQuery"); }
CUresult stream_synchronize(CUstream) { return unsafe("cuStreamSynchronize"); }
CUresult stream_wait_event(CUstream, CUevent, unsigned flags) {
  return state().wait_flags = flags, in_context("cuStreamWaitEvent");
}
CUresult event_create(CUevent* out, unsigned flags) {
  state().event_flags = flags;
  return *out = object<CUevent>(1), unsafe("cuEventCreate");
}
CUresult event_destroy(CUevent) { return in_context("cuEventDestroy"); }
CUresult event_record(CUevent, CUstream, unsigned flags) {
  return state().record_flags = flags, in_context("cuEventRecordWithFlags");
}
CUresult event_query(CUevent) { return unsafe("cuEventQuery"); }
CUresult event_synchronize(CUevent) { return unsafe("cuEventSynchronize"); }
CUresult event_elapsed(float* out, CUevent, CUevent) {
  return *out = 1.5f, unsafe("cuEventElapsedTime");
}

// ---- Capture and graphs

CUresult exchange_mode(CUstreamCaptureMode* mode) {
  std::swap(*mode, thread().mode);
  return called("cuThreadExchangeStreamCaptureMode");
}
CUresult is_capturing(CUstream, CUstreamCaptureStatus* out) {
  return *out = state().capture, in_context("cuStreamIsCapturing");
}
CUresult get_capture_info(CUstream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                          const CUgraphNode**, const CUgraphEdgeData**, size_t*) {
  *status = state().capture;
  if (id != nullptr) *id = 7;
  if (graph != nullptr) *graph = object<CUgraph>(2);
  return in_context("cuStreamGetCaptureInfo");
}
CUresult begin_capture(CUstream, CUstreamCaptureMode mode) {
  state().begun_in = mode;
  state().capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return in_context("cuStreamBeginCapture");
}
CUresult end_capture(CUstream, CUgraph* out) {
  state().capture = CU_STREAM_CAPTURE_STATUS_NONE;
  *out = state().graph_is_null ? nullptr : object<CUgraph>(2);
  if (*out != nullptr) ++state().live_graphs;
  return in_context("cuStreamEndCapture");
}
CUresult graph_instantiate(CUgraphExec* out, CUgraph, unsigned long long) {
  const CUresult result = unsafe("cuGraphInstantiateWithFlags");
  if (result != CUDA_SUCCESS) return result;
  ++state().live_instances;
  return *out = object<CUgraphExec>(3), CUDA_SUCCESS;
}
CUresult graph_upload(CUgraphExec, CUstream) { return in_context("cuGraphUpload"); }
CUresult graph_launch(CUgraphExec, CUstream) { return in_context("cuGraphLaunch"); }
CUresult graph_destroy(CUgraph) { return --state().live_graphs, in_context("cuGraphDestroy"); }
CUresult graph_exec_destroy(CUgraphExec) {
  return --state().live_instances, in_context("cuGraphExecDestroy");
}
CUresult user_object_create(CUuserObject* out, void* data, CUhostFn destroy, unsigned, unsigned) {
  state().destroy = destroy;
  state().destroy_data = data;
  return *out = object<CUuserObject>(4), in_context("cuUserObjectCreate");
}
CUresult user_object_release(CUuserObject, unsigned) {
  state().destroy(state().destroy_data);
  return in_context("cuUserObjectRelease");
}
CUresult graph_retain(CUgraph, CUuserObject, unsigned, unsigned) {
  return in_context("cuGraphRetainUserObject");
}

// What no test here lets happen.
CUresult not_called() { return called("an entry point that no test expects"); }

template <class Function>
void* as_symbol(Function* function) {
  return reinterpret_cast<void*>(function);
}

const std::map<std::string, void*>& table() {
  static const std::map<std::string, void*> it = {
      {"cuDeviceGetCount", as_symbol(device_get_count)},
      {"cuDeviceGet", as_symbol(device_get)},
      {"cuDeviceGetName", as_symbol(device_get_name)},
      {"cuDeviceTotalMem", as_symbol(device_total_mem)},
      {"cuDeviceGetAttribute", as_symbol(device_get_attribute)},
      {"cuDevicePrimaryCtxRetain", as_symbol(primary_ctx_retain)},
      {"cuCtxGetCurrent", as_symbol(ctx_get_current)},
      {"cuCtxPushCurrent", as_symbol(ctx_push_current)},
      {"cuCtxPopCurrent", as_symbol(ctx_pop_current)},
      {"cuFuncLoad", as_symbol(not_called)},
      {"cuFuncGetAttribute", as_symbol(not_called)},
      {"cuOccupancyMaxActiveBlocksPerMultiprocessor", as_symbol(not_called)},
      {"cuMemAlloc", as_symbol(mem_alloc)},
      {"cuMemFree", as_symbol(mem_free)},
      {"cuMemHostAlloc", as_symbol(mem_host_alloc)},
      {"cuMemFreeHost", as_symbol(mem_free_host)},
      {"cuMemGetInfo", as_symbol(mem_get_info)},
      {"cuPointerGetAttributes", as_symbol(pointer_get_attributes)},
      {"cuMemGetAllocationGranularity", as_symbol(mem_get_granularity)},
      {"cuMemAddressReserve", as_symbol(address_reserve)},
      {"cuMemAddressFree", as_symbol(address_free)},
      {"cuMemCreate", as_symbol(mem_create)},
      {"cuMemRelease", as_symbol(mem_release)},
      {"cuMemMap", as_symbol(mem_map)},
      {"cuMemUnmap", as_symbol(mem_unmap)},
      {"cuMemSetAccess", as_symbol(mem_set_access)},
      {"cuMemcpyHtoDAsync", as_symbol(not_called)},
      {"cuMemcpyDtoHAsync", as_symbol(not_called)},
      {"cuMemcpyDtoDAsync", as_symbol(not_called)},
      {"cuMemsetD8Async", as_symbol(not_called)},
      {"cuStreamCreateWithPriority", as_symbol(stream_create)},
      {"cuStreamDestroy", as_symbol(stream_destroy)},
      {"cuStreamGetCtx", as_symbol(stream_get_ctx)},
      {"cuStreamGetDevice", as_symbol(stream_get_device)},
      {"cuStreamGetId", as_symbol(stream_get_id)},
      {"cuStreamQuery", as_symbol(stream_query)},
      {"cuStreamSynchronize", as_symbol(stream_synchronize)},
      {"cuStreamWaitEvent", as_symbol(stream_wait_event)},
      {"cuEventCreate", as_symbol(event_create)},
      {"cuEventDestroy", as_symbol(event_destroy)},
      {"cuEventRecordWithFlags", as_symbol(event_record)},
      {"cuEventQuery", as_symbol(event_query)},
      {"cuEventSynchronize", as_symbol(event_synchronize)},
      {"cuEventElapsedTime", as_symbol(event_elapsed)},
      {"cuThreadExchangeStreamCaptureMode", as_symbol(exchange_mode)},
      {"cuStreamIsCapturing", as_symbol(is_capturing)},
      {"cuStreamGetCaptureInfo", as_symbol(get_capture_info)},
      {"cuStreamBeginCapture", as_symbol(begin_capture)},
      {"cuStreamEndCapture", as_symbol(end_capture)},
      {"cuGraphInstantiateWithFlags", as_symbol(graph_instantiate)},
      {"cuGraphUpload", as_symbol(graph_upload)},
      {"cuGraphLaunch", as_symbol(graph_launch)},
      {"cuGraphDestroy", as_symbol(graph_destroy)},
      {"cuGraphExecDestroy", as_symbol(graph_exec_destroy)},
      {"cuUserObjectCreate", as_symbol(user_object_create)},
      {"cuUserObjectRelease", as_symbol(user_object_release)},
      {"cuGraphRetainUserObject", as_symbol(graph_retain)},
  };
  return it;
}

}  // namespace

#define FAKE_API extern "C" __attribute__((visibility("default")))

FAKE_API CUresult cuInit(unsigned) { return called("cuInit"); }
FAKE_API CUresult cuDriverGetVersion(int* out) {
  return *out = configured("old") ? 12080 : 13000, CUDA_SUCCESS;
}
FAKE_API CUresult cuGetProcAddress_v2(const char* name, void** out, int, cuuint64_t,
                                      CUdriverProcAddressQueryResult*) {
  const auto at = table().find(name);
  *out = at != table().end() ? at->second : nullptr;
  return CUDA_SUCCESS;
}
FAKE_API FakeCuda& fake_cuda_state() { return state(); }
FAKE_API FakeThread& fake_cuda_thread() { return thread(); }
FAKE_API CUcontext fake_cuda_context(int device) { return context_of(device); }
