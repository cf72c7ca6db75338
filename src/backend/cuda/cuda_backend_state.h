// The class behind cuda_backend(). Its functions stand in cuda_backend.cpp (device, memory), in
// cuda_stream.cpp (streams, events, work) and in cuda_graph.cpp (capture, graphs).
//
// Every function enters the device's primary context for its duration and takes its result from
// what the driver returns. The driver's interface has no error state, so there is nothing to read,
// clear or put back: a host application's pending runtime error is as it was, and ours never
// becomes one.
#pragma once

#include <memory>
#include <mutex>

#include "backend/backend.h"
#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_status.h"

namespace mr {

class CudaBackend final : public Backend {
 public:
  uint32_t kind() const override { return MR_BACKEND_CUDA; }
  const char* name() const override { return "cuda"; }

  Status status() const override;
  std::span<const DeviceInfo> devices() const override;
  const KernelTable& kernels() const override;
  BuildInfo build_info() const override;
  Status dependency(const char* name, std::string* out) const override;
  Status open(int device) override;
  Status make_libraries(int device, const BackendOptions& options,
                        std::unique_ptr<Libraries>* out) override;

  Status reserve(int device, MemoryKind kind, size_t bytes, void** out) override;
  void release(int device, MemoryKind kind, void* address, size_t bytes) noexcept override;
  uint64_t page_bytes(int device) const override;
  Status reserve_range(int device, uint64_t bytes, void** out) override;
  void release_range(int device, void* address, uint64_t bytes) noexcept override;
  Status map(int device, void* address, uint64_t bytes, uint64_t* out_handle) override;
  void unmap(int device, void* address, uint64_t bytes, uint64_t handle) noexcept override;
  Status memory_info(int device, uint64_t* out_free, uint64_t* out_total) override;
  bool is_pinned(int device, const void* address) override;

  Status make_stream(int device, const BackendOptions& options, int priority,
                     void** out_native) override;
  Status adopt_stream(int device, void* native, bool allow_default) override;
  void drop_stream(int device, void* native) noexcept override;
  uint64_t stream_id(int device, void* native) override;
  Status query_stream(int device, void* native, bool* out_done) override;
  Status synchronize_stream(int device, void* native) override;

  Status copy(int device, void* native, void* to, const void* from, size_t bytes,
              CopyDirection direction) override;
  Status fill(int device, void* native, void* to, uint8_t value, size_t bytes) override;

  Status make_event(int device, bool timing, void** out_native) override;
  void drop_event(int device, void* native) noexcept override;
  Status record_event(int device, void* event, void* stream, bool external) override;
  Status wait_event(int device, void* stream, void* event, bool external) override;
  Status query_event(int device, void* event, bool* out_done) override;
  Status synchronize_event(int device, void* event) override;
  Status elapsed(int device, void* start, void* stop, float* out_milliseconds) override;

  Status capture_info(int device, void* stream, CaptureInfo* out) override;
  Status begin_capture(int device, void* stream) override;
  Status end_capture(int device, void* stream, void** out_graph) override;
  Status retain_in_capture(int device, void* stream, void* object,
                           void (*drop)(void* object)) override;
  Status launch_graph(int device, void* graph, void* stream) override;
  void drop_graph(int device, void* graph) noexcept override;

 private:
  std::mutex open_mutex_;
  std::unique_ptr<bool[]> opened_;  // per device, guarded by open_mutex_
};

// How the native handles of this backend are spelled.
inline CUstream cuda_stream(void* native) { return static_cast<CUstream>(native); }
inline CUevent cuda_event(void* native) { return static_cast<CUevent>(native); }
inline CUdeviceptr cuda_address(const void* address) {
  return reinterpret_cast<CUdeviceptr>(address);
}

// Whether the stream is in a capture, be it a broken one. CAPTURE_VIOLATION for the legacy default
// stream while a blocking stream of the context is capturing.
Status cuda_is_capturing(void* stream, bool* out);
// CAPTURE_VIOLATION with `sentence` if it is: a call that the driver would answer by breaking the
// capture is refused before it reaches the driver.
Status cuda_refuse_capture(void* stream, const char* sentence);

}  // namespace mr
