// What the library needs of a kind of device, and nothing more. Host and CUDA implement it side by
// side.
//
// Every caller keeps these, so no implementation checks them again: device is below
// devices().size(); bytes > 0; out pointers are not null; native handles come from this backend or
// passed adopt_*(). Every implementation keeps these: on failure no out parameter was written; the
// calling thread's current device and pending error are as they were; no call throws; a fault of
// the device comes back as DEVICE_LOST, which the caller latches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/build_info.h"
#include "core/device_info.h"
#include "core/result.h"
#include "kernel_api/kernel_table.h"

namespace mr {

// The options that a backend reads when a context is made.
struct BackendOptions {
  bool deferred_streams = false;
  int host_threads = 0;            // 0: all
  std::string host_blas = "auto";  // auto, off, or a file
  std::string cublaslt_path;       // "": the system's search
};

enum class MemoryKind { kDevice, kPinned };

enum class CaptureState { kNone, kActive, kInvalidated };

struct CaptureInfo {
  CaptureState state = CaptureState::kNone;
  uint64_t id = 0;  // unique among captures of the process while kActive
};

enum class CopyDirection { kOnDevice, kToDevice, kToHost };

class Backend {
 public:
  virtual ~Backend() = default;

  virtual uint32_t kind() const = 0;     // MR_BACKEND_HOST or MR_BACKEND_CUDA
  virtual const char* name() const = 0;  // "host", "cuda"

  // OK, or why there is no device: NO_DRIVER, DRIVER_TOO_OLD, NO_DEVICE.
  virtual Status status() const = 0;
  virtual std::span<const DeviceInfo> devices() const = 0;  // fixed for the process
  virtual const KernelTable& kernels() const = 0;
  virtual BuildInfo build_info() const { return {}; }

  // Path and version of a library loaded on demand, as mr_dependency() gives them: INVALID_ARGUMENT
  // for a name that is not this backend's, DEPENDENCY_MISSING if it is not loaded.
  virtual Status dependency(const char* name, std::string* out) const = 0;

  // Opens the device: creates its context, loads the library's kernels. Idempotent.
  virtual Status open(int device) = 0;
  virtual Status make_libraries(int device, const BackendOptions& options,
                                std::unique_ptr<Libraries>* out) = 0;

  // ---- Memory: raw and slow; aligned to 256 bytes or more.
  virtual Status reserve(int device, MemoryKind kind, size_t bytes, void** out) = 0;
  virtual void release(int device, MemoryKind kind, void* address, size_t bytes) noexcept = 0;
  // The same piece by piece: device memory mapped into a range of addresses. page_bytes() divides
  // 2 MiB, and sizes and offsets are multiples of 2 MiB; it is 0 where the device cannot do it, and
  // then the rest is not called. What map() mapped, unmap() takes as a whole.
  virtual uint64_t page_bytes(int device) const = 0;
  virtual Status reserve_range(int device, uint64_t bytes, void** out) = 0;  // aligned to 2 MiB
  virtual void release_range(int device, void* address, uint64_t bytes) noexcept = 0;
  virtual Status map(int device, void* address, uint64_t bytes, uint64_t* out_handle) = 0;
  virtual void unmap(int device, void* address, uint64_t bytes, uint64_t handle) noexcept = 0;
  virtual Status memory_info(int device, uint64_t* out_free, uint64_t* out_total) = 0;
  // Can the device copy asynchronously from and to this host memory? The host answers true.
  virtual bool is_pinned(int device, const void* address) = 0;

  // ---- Streams.
  virtual Status make_stream(int device, const BackendOptions& options, int priority,
                             void** out_native) = 0;
  // Checks that a stream of the host application may be used on this device.
  virtual Status adopt_stream(int device, void* native, bool allow_default) = 0;
  virtual void drop_stream(int device, void* native) noexcept = 0;  // of make_stream(); waits
  virtual uint64_t stream_id(int device, void* native) = 0;  // unique for the process, never reused
  virtual Status query_stream(int device, void* native, bool* out_done) = 0;
  virtual Status synchronize_stream(int device, void* native) = 0;

  // ---- Work in stream order.
  virtual Status copy(int device, void* native, void* to, const void* from, size_t bytes,
                      CopyDirection direction) = 0;
  virtual Status fill(int device, void* native, void* to, uint8_t value, size_t bytes) = 0;

  // ---- Events.
  virtual Status make_event(int device, bool timing, void** out_native) = 0;
  virtual void drop_event(int device, void* native) noexcept = 0;
  // external: while capturing, record anew at each replay.
  virtual Status record_event(int device, void* event, void* stream, bool external) = 0;
  // external: the stream is capturing and the event was not recorded within that capture, so that
  // each replay waits for the event's then latest record.
  virtual Status wait_event(int device, void* stream, void* event, bool external) = 0;
  virtual Status query_event(int device, void* event, bool* out_done) = 0;
  virtual Status synchronize_event(int device, void* event) = 0;
  // NOT_READY if one is not reached; INVALID_ARGUMENT if one was never recorded or has no timing.
  virtual Status elapsed(int device, void* start, void* stop, float* out_milliseconds) = 0;

  // ---- Graphs.
  virtual Status capture_info(int device, void* stream, CaptureInfo* out) = 0;
  virtual Status begin_capture(int device, void* stream) = 0;
  // Leaves the capture in any case. *out is a graph ready to launch.
  virtual Status end_capture(int device, void* stream, void** out_graph) = 0;
  // Ties `drop(object)` to the graph that `stream` is recording: called once, when the graph and
  // all instances of it are gone, on any thread; it must not call the device.
  virtual Status retain_in_capture(int device, void* stream, void* object,
                                   void (*drop)(void* object)) = 0;
  virtual Status launch_graph(int device, void* graph, void* stream) = 0;
  virtual void drop_graph(int device, void* graph) noexcept = 0;
};

// The backends of this build, best first; the host is last and always there. Made on first use and
// never destroyed, so that nothing of a driver is touched at exit.
std::span<Backend* const> backends();

}  // namespace mr
