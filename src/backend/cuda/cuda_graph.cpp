// Capture and graphs.
//
// Our own captures are begun in CUDA's relaxed mode. The stricter modes tie a capture to the thread
// that began it (only that thread may end it), while a stream of ours may be driven from any
// thread; and they would make the host application's harmless calls on this thread fail. What is
// illegal on a capturing stream is refused by this library itself.
#include <new>

#include "backend/cuda/cuda_backend_state.h"

namespace mr {
namespace {

struct Graph {
  CUgraph recorded = nullptr;
  CUgraphExec instance = nullptr;
};

// What a graph retains: the object and how to drop it, unless the graph never took it.
struct Retained {
  void* object;
  void (*drop)(void* object);
  bool taken;
};

void CUDA_CB drop_retained(void* data) {
  const auto* it = static_cast<Retained*>(data);
  if (it->taken) it->drop(it->object);
  delete it;
}

}  // namespace

Status CudaBackend::capture_info(int device, void* stream, CaptureInfo* out) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  MR_TRY(cuda_check(cuda_driver().stream_get_capture_info(cuda_stream(stream), &capture, &id,
                                                          nullptr, nullptr, nullptr, nullptr),
                    "the stream's capture state cannot be read"));
  const bool active = capture == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  out->state = active                                            ? CaptureState::kActive
               : capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED ? CaptureState::kInvalidated
                                                                 : CaptureState::kNone;
  out->id = active ? id : 0;
  return {};
}

Status CudaBackend::begin_capture(int device, void* stream) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  MR_TRY(cuda_refuse_capture(stream, "the stream is capturing already"));
  return cuda_check(
      cuda_driver().stream_begin_capture(cuda_stream(stream), CU_STREAM_CAPTURE_MODE_RELAXED),
      "the stream cannot be captured");
}

Status CudaBackend::end_capture(int device, void* stream, void** out_graph) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  const CudaDriver& driver = cuda_driver();
  const CudaRelaxedCapture relaxed;
  CUgraph recorded = nullptr;
  const CUresult ended = driver.stream_end_capture(cuda_stream(stream), &recorded);
  const auto discard = [&](Status status) {
    // The graph was ours alone; that it cannot be destroyed would repeat the same fault.
    if (recorded != nullptr) static_cast<void>(driver.graph_destroy(recorded));
    return status;
  };
  if (ended != CUDA_SUCCESS) {
    return discard(cuda_status(ended, "the capture was broken by an illegal call"));
  }
  if (recorded == nullptr) {
    return error(MR_CAPTURE_VIOLATION, "the capture was broken by an illegal call");
  }
  auto* graph = new (std::nothrow) Graph;
  if (graph == nullptr) return discard(error(MR_OUT_OF_HOST_MEMORY, "no memory for a graph"));
  graph->recorded = recorded;
  CUresult result = driver.graph_instantiate(&graph->instance, recorded, 0);
  // Uploading now keeps the first launch as short as the others. It is enqueued on the stream.
  if (result == CUDA_SUCCESS) result = driver.graph_upload(graph->instance, cuda_stream(stream));
  if (result != CUDA_SUCCESS) {
    if (graph->instance != nullptr) {
      static_cast<void>(driver.graph_exec_destroy(graph->instance));  // ours alone, as above
    }
    delete graph;
    return discard(cuda_status(result, "the graph cannot be made ready for launch"));
  }
  *out_graph = graph;
  return {};
}

Status CudaBackend::retain_in_capture(int device, void* stream, void* object,
                                      void (*drop)(void* object)) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  const CudaDriver& driver = cuda_driver();
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph graph = nullptr;
  MR_TRY(cuda_check(driver.stream_get_capture_info(cuda_stream(stream), &capture, nullptr, &graph,
                                                   nullptr, nullptr, nullptr),
                    "the stream's capture state cannot be read"));
  if (capture != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    return error(MR_CAPTURE_VIOLATION, "the stream is not capturing");
  }
  auto* retained = new (std::nothrow) Retained{object, drop, true};
  if (retained == nullptr) return error(MR_OUT_OF_HOST_MEMORY, "no memory for a lease");
  CUuserObject handle = nullptr;
  CUresult result = driver.user_object_create(&handle, retained, drop_retained, 1,
                                              CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  if (result != CUDA_SUCCESS) {
    delete retained;
    return cuda_status(result, "the driver makes no object that a graph could retain");
  }
  result = driver.graph_retain_user_object(graph, handle, 1, CU_GRAPH_USER_OBJECT_MOVE);
  if (result != CUDA_SUCCESS) {
    // The object stays the caller's: giving the handle back frees only our own record of it.
    retained->taken = false;
    static_cast<void>(driver.user_object_release(handle, 1));
    return cuda_status(result, "the graph does not retain the lease");
  }
  return {};
}

Status CudaBackend::launch_graph(int device, void* graph, void* stream) {
  const CudaScope scope(device);
  MR_TRY(scope.status());
  return cuda_check(
      cuda_driver().graph_launch(static_cast<Graph*>(graph)->instance, cuda_stream(stream)),
      "the graph cannot be launched");
}

// A running instance is not stopped: the driver frees it once it has finished.
void CudaBackend::drop_graph(int device, void* graph) noexcept {
  auto* it = static_cast<Graph*>(graph);
  const CudaScope scope(device);
  if (scope.ok()) {
    const CudaRelaxedCapture relaxed;
    // Failures repeat a fault that is reported elsewhere, or mean that the driver is gone.
    static_cast<void>(cuda_driver().graph_exec_destroy(it->instance));
    static_cast<void>(cuda_driver().graph_destroy(it->recorded));
  }
  delete it;
}

}  // namespace mr
