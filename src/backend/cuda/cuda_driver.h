// The CUDA driver's entry points, found at run time: nothing here is linked against libcuda.
//
// Why the driver's interface and not the runtime's: its calls return all that there is to know and
// keep no "last error", so that nothing of ours can be left pending in the host application or be
// mistaken for its own; and a context is pushed and popped rather than a device set, so that a
// thread leaves a call as it entered, even one that had no context at all.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>

#include "core/result.h"

namespace mr {

// CUDA 13.0, what the linked runtime accepts: a driver of the 580 series or later.
inline constexpr int kMinimumDriverVersion = 13000;

struct CudaDriver {
  // Devices: none of these makes a context.
  PFN_cuDeviceGetCount_v2000 device_get_count = nullptr;
  PFN_cuDeviceGet_v2000 device_get = nullptr;
  PFN_cuDeviceGetName_v2000 device_get_name = nullptr;
  PFN_cuDeviceTotalMem_v3020 device_total_mem = nullptr;
  PFN_cuDeviceGetAttribute_v2000 device_get_attribute = nullptr;
  // Contexts.
  PFN_cuDevicePrimaryCtxRetain_v7000 primary_ctx_retain = nullptr;
  PFN_cuCtxGetCurrent_v4000 ctx_get_current = nullptr;
  PFN_cuCtxPushCurrent_v4000 ctx_push_current = nullptr;
  PFN_cuCtxPopCurrent_v4000 ctx_pop_current = nullptr;
  // Functions.
  PFN_cuFuncLoad_v12040 func_load = nullptr;
  PFN_cuFuncGetAttribute_v2020 func_get_attribute = nullptr;
  PFN_cuOccupancyMaxActiveBlocksPerMultiprocessor_v6050 max_active_blocks = nullptr;
  // Memory.
  PFN_cuMemAlloc_v3020 mem_alloc = nullptr;
  PFN_cuMemFree_v3020 mem_free = nullptr;
  PFN_cuMemHostAlloc_v2020 mem_host_alloc = nullptr;
  PFN_cuMemFreeHost_v2000 mem_free_host = nullptr;
  PFN_cuMemGetInfo_v3020 mem_get_info = nullptr;
  PFN_cuPointerGetAttributes_v7000 pointer_get_attributes = nullptr;
  PFN_cuMemGetAllocationGranularity_v10020 mem_get_granularity = nullptr;
  PFN_cuMemAddressReserve_v10020 address_reserve = nullptr;
  PFN_cuMemAddressFree_v10020 address_free = nullptr;
  PFN_cuMemCreate_v10020 mem_create = nullptr;
  PFN_cuMemRelease_v10020 mem_release = nullptr;
  PFN_cuMemMap_v10020 mem_map = nullptr;
  PFN_cuMemUnmap_v10020 mem_unmap = nullptr;
  PFN_cuMemSetAccess_v10020 mem_set_access = nullptr;
  PFN_cuMemcpyHtoDAsync_v3020 copy_to_device = nullptr;
  PFN_cuMemcpyDtoHAsync_v3020 copy_to_host = nullptr;
  PFN_cuMemcpyDtoDAsync_v3020 copy_on_device = nullptr;
  PFN_cuMemsetD8Async_v3020 fill = nullptr;
  // Streams.
  PFN_cuStreamCreateWithPriority_v5050 stream_create = nullptr;
  PFN_cuStreamDestroy_v4000 stream_destroy = nullptr;
  PFN_cuStreamGetCtx_v12050 stream_get_ctx = nullptr;
  PFN_cuStreamGetDevice_v12080 stream_get_device = nullptr;
  PFN_cuStreamGetId_v12000 stream_get_id = nullptr;
  PFN_cuStreamQuery_v2000 stream_query = nullptr;
  PFN_cuStreamSynchronize_v2000 stream_synchronize = nullptr;
  PFN_cuStreamWaitEvent_v3020 stream_wait_event = nullptr;
  // Events.
  PFN_cuEventCreate_v2000 event_create = nullptr;
  PFN_cuEventDestroy_v4000 event_destroy = nullptr;
  PFN_cuEventRecordWithFlags_v11010 event_record = nullptr;
  PFN_cuEventQuery_v2000 event_query = nullptr;
  PFN_cuEventSynchronize_v2000 event_synchronize = nullptr;
  PFN_cuEventElapsedTime_v2000 event_elapsed_time = nullptr;
  // Capture and graphs.
  PFN_cuThreadExchangeStreamCaptureMode_v10010 exchange_capture_mode = nullptr;
  PFN_cuStreamIsCapturing_v10000 stream_is_capturing = nullptr;
  PFN_cuStreamGetCaptureInfo_v12030 stream_get_capture_info = nullptr;
  PFN_cuStreamBeginCapture_v10010 stream_begin_capture = nullptr;
  PFN_cuStreamEndCapture_v10000 stream_end_capture = nullptr;
  PFN_cuGraphInstantiateWithFlags_v11040 graph_instantiate = nullptr;
  PFN_cuGraphUpload_v11010 graph_upload = nullptr;
  PFN_cuGraphLaunch_v10000 graph_launch = nullptr;
  PFN_cuGraphDestroy_v10000 graph_destroy = nullptr;
  PFN_cuGraphExecDestroy_v10000 graph_exec_destroy = nullptr;
  PFN_cuUserObjectCreate_v11030 user_object_create = nullptr;
  PFN_cuUserObjectRelease_v11030 user_object_release = nullptr;
  PFN_cuGraphRetainUserObject_v11030 graph_retain_user_object = nullptr;
};

// Loads and initialises the driver on the first call. OK, NO_DRIVER, DRIVER_TOO_OLD, NO_DEVICE, or
// what the driver said. It makes no context.
const Status& cuda_driver_status();

// Usable only where cuda_driver_status() is OK.
const CudaDriver& cuda_driver();

// The newest CUDA that the driver supports, 13000 = 13.0; 0: there is no driver.
int cuda_driver_version();

}  // namespace mr
