#include "backend/host/host_backend.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>

#include "backend/host/host_device.h"
#include "backend/host/host_libraries.h"
#include "backend/host/host_pages.h"
#include "backend/host/host_stream.h"
#include "backend/host/host_workers.h"
#include "kernels/host/host_table.h"

namespace mr {
namespace {

HostStream& stream_of(void* native) {
  return *static_cast<HostStream*>(static_cast<HostQueue*>(native));
}
const std::shared_ptr<HostEvent>& event_of(void* native) {
  return static_cast<HostEventHandle*>(native)->event;
}

struct CopyArgs {
  void* to;
  const void* from;
  size_t bytes;
};

struct FillArgs {
  void* to;
  size_t bytes;
  uint8_t value;
};

void run_copy(HostWorkers&, const CopyArgs& args, void*, size_t) {
  std::memcpy(args.to, args.from, args.bytes);
}

void run_fill(HostWorkers&, const FillArgs& args, void*, size_t) {
  std::memset(args.to, args.value, args.bytes);
}

struct HostGraphHandle {
  std::shared_ptr<HostGraph> graph;
};

class HostBackend final : public Backend {
 public:
  HostBackend() : device_(host_device()) {}

  uint32_t kind() const override { return MR_BACKEND_HOST; }
  const char* name() const override { return "host"; }
  Status status() const override { return {}; }
  std::span<const DeviceInfo> devices() const override { return {&device_, 1}; }
  const KernelTable& kernels() const override { return host_kernels(); }
  Status dependency(const char* name, std::string* out) const override {
    if (std::strcmp(name, "blas") != 0) return invalid("name", "is not a library of the host");
    return host_blas_dependency(out);
  }
  Status open(int) override { return {}; }
  Status make_libraries(int, const BackendOptions& options,
                        std::unique_ptr<Libraries>* out) override {
    return make_host_libraries(options, out);
  }

  // ---- Memory: pages are touched by whoever uses them first.
  Status reserve(int, MemoryKind kind, size_t bytes, void** out) override {
    constexpr size_t kAlignment = 4096;
    if (bytes > SIZE_MAX - kAlignment) return out_of_memory(kind, bytes);
    void* address = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) & ~(kAlignment - 1));
    if (address == nullptr) return out_of_memory(kind, bytes);
    *out = address;
    return {};
  }
  void release(int, MemoryKind, void* address, size_t) noexcept override { std::free(address); }
  uint64_t page_bytes(int) const override { return 4096; }
  Status reserve_range(int, uint64_t bytes, void** out) override {
    return host_reserve_range(bytes, out);
  }
  void release_range(int, void* address, uint64_t bytes) noexcept override {
    host_release_range(address, bytes);
  }
  Status map(int, void* address, uint64_t bytes, uint64_t* out_handle) override {
    *out_handle = 0;
    return host_map(address, bytes);
  }
  void unmap(int, void* address, uint64_t bytes, uint64_t) noexcept override {
    host_unmap(address, bytes);
  }
  Status memory_info(int, uint64_t* out_free, uint64_t* out_total) override {
    host_memory(out_free, out_total);
    return {};
  }
  bool is_pinned(int, const void*) override { return true; }

  // ---- Streams.
  Status make_stream(int, const BackendOptions& options, int, void** out_native) override {
    HostPool* pool = HostPool::shared(options.host_threads);
    try {
      *out_native = static_cast<HostQueue*>(new HostStream(*pool, options.deferred_streams));
    } catch (const std::system_error& failure) {
      return error(MR_OUT_OF_HOST_MEMORY, "the system starts no thread for the stream")
          .from(MR_DOMAIN_SYSTEM, failure.code().value());
    }
    return {};
  }
  Status adopt_stream(int, void* native, bool) override {
    if (native == nullptr) return invalid("native", "is NULL; the host has no default stream");
    return {};
  }
  void drop_stream(int, void* native) noexcept override { delete &stream_of(native); }
  uint64_t stream_id(int, void* native) override { return stream_of(native).id(); }
  Status query_stream(int, void* native, bool* out_done) override {
    *out_done = stream_of(native).done();
    return {};
  }
  Status synchronize_stream(int, void* native) override {
    stream_of(native).drain();
    return {};
  }

  // ---- Work.
  Status copy(int, void* native, void* to, const void* from, size_t bytes, CopyDirection) override {
    return host_launch<CopyArgs, run_copy>(native, {to, from, bytes}, nullptr, 0);
  }
  Status fill(int, void* native, void* to, uint8_t value, size_t bytes) override {
    return host_launch<FillArgs, run_fill>(native, {to, bytes, value}, nullptr, 0);
  }

  // ---- Events.
  Status make_event(int, bool timing, void** out_native) override {
    *out_native = new HostEventHandle{std::make_shared<HostEvent>(timing)};
    return {};
  }
  void drop_event(int, void* native) noexcept override {
    delete static_cast<HostEventHandle*>(native);
  }
  Status record_event(int, void* event, void* stream, bool external) override {
    return stream_of(stream).record(event_of(event), external);
  }
  Status wait_event(int, void* stream, void* event, bool external) override {
    return stream_of(stream).wait(event_of(event), external);
  }
  Status query_event(int, void* event, bool* out_done) override {
    const auto& host_event = event_of(event);
    *out_done = host_event->reached(host_event->latest());
    return {};
  }
  Status synchronize_event(int, void* event) override {
    const auto& host_event = event_of(event);
    host_event->wait(host_event->latest());
    return {};
  }
  Status elapsed(int, void* start, void* stop, float* out_milliseconds) override {
    return event_of(start)->elapsed_to(*event_of(stop), out_milliseconds);
  }

  // ---- Graphs.
  Status capture_info(int, void* stream, CaptureInfo* out) override {
    const auto capture = stream_of(stream).capture();
    *out = {};
    if (capture != nullptr) *out = {CaptureState::kActive, capture->id};
    return {};
  }
  Status begin_capture(int, void* stream) override { return stream_of(stream).begin_capture(); }
  // The capture is left before anything is allocated.
  Status end_capture(int, void* stream, void** out_graph) override {
    std::shared_ptr<HostGraph> graph;
    MR_TRY(stream_of(stream).end_capture(&graph));
    *out_graph = new HostGraphHandle{std::move(graph)};
    return {};
  }
  Status retain_in_capture(int, void* stream, void* object, void (*drop)(void*)) override {
    return stream_of(stream).retain_in_capture(object, drop);
  }
  Status launch_graph(int, void* graph, void* stream) override {
    return stream_of(stream).launch(static_cast<HostGraphHandle*>(graph)->graph);
  }
  void drop_graph(int, void* graph) noexcept override {
    delete static_cast<HostGraphHandle*>(graph);
  }

 private:
  static Status out_of_memory(MemoryKind kind, size_t bytes) {
    return error(kind == MemoryKind::kPinned ? MR_OUT_OF_HOST_MEMORY : MR_OUT_OF_DEVICE_MEMORY,
                 "the machine has not enough memory; bytes asked for")
        .got(static_cast<int64_t>(bytes));
  }

  const DeviceInfo device_;
};

}  // namespace

// Never destroyed: nothing is torn down at exit, whatever order the process ends in.
Backend& host_backend() {
  static auto* const backend = new HostBackend;
  return *backend;
}

}  // namespace mr
