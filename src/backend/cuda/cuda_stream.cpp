// Streams, events and work in stream order.
#include "backend/cuda/cuda_backend_state.h"

namespace mr {

Status cuda_is_capturing(void* stream, bool* out) {
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  MR_TRY(cuda_check(cuda_driver().stream_is_capturing(cuda_stream(stream), &capture),
                    "the stream's capture state cannot be read"));
  *out = capture != CU_STREAM_CAPTURE_STATUS_NONE;
  return {};
}

Status cuda_refuse_capture(void* stream, const char* sentence) {
  bool capturing = false;
  MR_TRY(cuda_is_capturing(stream, &capturing));
  if (capturing) return error(MR_CAPTURE_VIOLATION, sentence);
  return {};
}

// ---- Streams -----------------------------------------------------------------------------------

// Non-blocking: no implicit order with the legacy default stream. The driver clamps the priority.
Status CudaBackend::make_stream(int device, const BackendOptions&, int priority,
                                void** out_native) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  const CudaRelaxedCapture relaxed;
  CUstream stream = nullptr;
  MR_TRY(cuda_check(cuda_driver().stream_create(&stream, CU_STREAM_NON_BLOCKING, priority),
                    "the driver makes no stream"));
  *out_native = stream;
  return {};
}

// Legal while the stream is capturing: all that is asked is where it belongs.
Status CudaBackend::adopt_stream(int device, void* native, bool allow_default) {
  if (native == CU_STREAM_PER_THREAD) {
    return invalid("native",
                   "is CUDA's per-thread default stream, whose meaning changes with the thread");
  }
  if (native == nullptr || native == CU_STREAM_LEGACY) {
    if (allow_default) return {};
    return invalid("native",
                   "is CUDA's legacy default stream, which needs MR_STREAM_ALLOW_DEFAULT");
  }
  const CudaScope scope(device);
  MR_TRY(scope.status());
  CUcontext wanted = nullptr;
  MR_TRY(cuda_check(cuda_primary_context(device, &wanted), "the device has no context"));
  CUcontext context = nullptr;
  CUgreenCtx green = nullptr;
  MR_TRY(cuda_check(cuda_driver().stream_get_ctx(cuda_stream(native), &context, &green),
                    "the stream's context cannot be read"));
  if (green != nullptr) {
    return unsupported("a stream of a green context cannot be wrapped").about("native");
  }
  if (context == wanted) return {};
  CUdevice there = 0;
  MR_TRY(cuda_check(cuda_driver().stream_get_device(cuda_stream(native), &there),
                    "the stream's device cannot be read"));
  if (there != device) {
    return invalid("native", "is a stream of another device", there, device);
  }
  return invalid("native", "is a stream of another context than the device's primary one");
}

void CudaBackend::drop_stream(int device, void* native) noexcept {
  const CudaScope scope(device);
  if (!scope.ok()) return;
  const CudaRelaxedCapture relaxed;
  // A wait that fails repeats a fault that the context has latched or will; the stream goes anyway.
  static_cast<void>(cuda_driver().stream_synchronize(cuda_stream(native)));
  static_cast<void>(cuda_driver().stream_destroy(cuda_stream(native)));
}

// 0, which no stream has, if the driver does not say.
uint64_t CudaBackend::stream_id(int device, void* native) {
  const CudaScope scope(device);
  unsigned long long id = 0;
  if (!scope.ok() || cuda_driver().stream_get_id(cuda_stream(native), &id) != CUDA_SUCCESS) {
    return 0;
  }
  return id;
}

Status CudaBackend::query_stream(int device, void* native, bool* out_done) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  MR_TRY(cuda_refuse_capture(native, "a capturing stream has no work that could be done"));
  const CudaRelaxedCapture relaxed;
  const CUresult result = cuda_driver().stream_query(cuda_stream(native));
  if (result != CUDA_ERROR_NOT_READY) {
    MR_TRY(cuda_check(result, "work on the stream failed"));
  }
  *out_done = result == CUDA_SUCCESS;
  return {};
}

Status CudaBackend::synchronize_stream(int device, void* native) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  MR_TRY(cuda_refuse_capture(native, "a capturing stream cannot be waited for"));
  const CudaRelaxedCapture relaxed;
  return cuda_check(cuda_driver().stream_synchronize(cuda_stream(native)),
                    "work on the stream failed");
}

// ---- Work in stream order ----------------------------------------------------------------------

Status CudaBackend::copy(int device, void* native, void* to, const void* from, size_t bytes,
                         CopyDirection direction) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  const CudaDriver& driver = cuda_driver();
  const CUstream stream = cuda_stream(native);
  CUresult result = CUDA_SUCCESS;
  switch (direction) {
    case CopyDirection::kOnDevice:
      result = driver.copy_on_device(cuda_address(to), cuda_address(from), bytes, stream);
      break;
    case CopyDirection::kToDevice:
      result = driver.copy_to_device(cuda_address(to), from, bytes, stream);
      break;
    case CopyDirection::kToHost:
      result = driver.copy_to_host(to, cuda_address(from), bytes, stream);
      break;
  }
  return cuda_check(result, "the driver refuses the copy");
}

Status CudaBackend::fill(int device, void* native, void* to, uint8_t value, size_t bytes) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  return cuda_check(cuda_driver().fill(cuda_address(to), value, bytes, cuda_stream(native)),
                    "the driver refuses the fill");
}

// ---- Events ------------------------------------------------------------------------------------

Status CudaBackend::make_event(int device, bool timing, void** out_native) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  const CudaRelaxedCapture relaxed;
  CUevent event = nullptr;
  const unsigned flags = timing ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING;
  MR_TRY(cuda_check(cuda_driver().event_create(&event, flags), "the driver makes no event"));
  *out_native = event;
  return {};
}

void CudaBackend::drop_event(int device, void* native) noexcept {
  const CudaScope scope(device);
  if (!scope.ok()) return;
  // Fails only after a fault, which is reported elsewhere.
  static_cast<void>(cuda_driver().event_destroy(cuda_event(native)));
}

// The flag is an error outside of a capture, so it is given only inside of one.
Status CudaBackend::record_event(int device, void* event, void* stream, bool external) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  bool capturing = false;
  if (external) MR_TRY(cuda_is_capturing(stream, &capturing));
  const unsigned flags = capturing ? CU_EVENT_RECORD_EXTERNAL : CU_EVENT_RECORD_DEFAULT;
  return cuda_check(cuda_driver().event_record(cuda_event(event), cuda_stream(stream), flags),
                    "the event cannot be recorded");
}

// An event that was recorded outside of the stream's capture must be awaited as an external one:
// the plain wait would be a dependency on work that is not captured, which breaks the capture. The
// caller knows where the event was recorded; the driver cannot be asked without breaking the
// capture.
Status CudaBackend::wait_event(int device, void* stream, void* event, bool external) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  bool capturing = false;
  if (external) MR_TRY(cuda_is_capturing(stream, &capturing));
  const unsigned flags = capturing ? CU_EVENT_WAIT_EXTERNAL : CU_EVENT_WAIT_DEFAULT;
  return cuda_check(cuda_driver().stream_wait_event(cuda_stream(stream), cuda_event(event), flags),
                    "the stream cannot wait for the event");
}

Status CudaBackend::query_event(int device, void* event, bool* out_done) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  const CudaRelaxedCapture relaxed;
  const CUresult result = cuda_driver().event_query(cuda_event(event));
  if (result != CUDA_ERROR_NOT_READY) {
    MR_TRY(cuda_check(result, "the event cannot be asked, or work before it failed"));
  }
  *out_done = result == CUDA_SUCCESS;
  return {};
}

Status CudaBackend::synchronize_event(int device, void* event) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  const CudaRelaxedCapture relaxed;
  return cuda_check(cuda_driver().event_synchronize(cuda_event(event)),
                    "the event cannot be waited for, or work before it failed");
}

Status CudaBackend::elapsed(int device, void* start, void* stop, float* out_milliseconds) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  const CudaRelaxedCapture relaxed;
  float milliseconds = 0.0f;
  const CUresult result =
      cuda_driver().event_elapsed_time(&milliseconds, cuda_event(start), cuda_event(stop));
  if (result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_INVALID_VALUE) {
    Status status = cuda_status(result, "was never recorded, or has no timing");
    status.code = MR_INVALID_ARGUMENT;
    return status.about("start or stop");
  }
  MR_TRY(cuda_check(result, "an event is not reached yet, or work before it failed"));
  *out_milliseconds = milliseconds;
  return {};
}

}  // namespace mr
