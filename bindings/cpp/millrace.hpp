// millrace.hpp : the C interface for C++17 and later, header only.
//
// Objects are counted handles: copying shares, moving moves, the last one gone releases. They may
// go in any order, since each keeps what it depends on alive. Failures are thrown as
// millrace::Error, except in destructors, which cannot fail. A method does what the C function of
// the same name does, with the same label and thread rule; the headers in <millrace/> describe it.
// Nothing here decides anything, and every get() gives the C handle for what is not wrapped.
//
//   millrace::Context context;                              // the best device there is
//   millrace::Stream stream(context);
//   millrace::Buffer x(stream, rows * width * sizeof(float));
//   stream.upload(x.data(), values.data(), x.bytes());
//   auto norm = millrace::args<mr_rmsnorm_args>();
//   norm.input = norm.output = x.tensor(MR_F32, {rows, width});
//   norm.epsilon = 1e-5f;
//   stream.rmsnorm(norm);
//   stream.synchronize();
//
// Works alike whether the application links libmillrace or compiles the loader
// (bindings/loader/millrace_loader.c) and calls mrl_open() first.
#ifndef MILLRACE_HPP
#define MILLRACE_HPP

#include <millrace/millrace.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "millrace_handle.hpp"
#include "millrace_structs.hpp"
#include "millrace_tensor.hpp"

namespace millrace {

// ---- Objects ------------------------------------------------------------------------------------

// In each class: `adopt` takes over one reference, `share` adds one to a borrowed handle. A default
// constructed object is empty.
#define MILLRACE_HANDLE(Class, object)                                                      \
  using Base = Handle<object, object##_retain, object##_release>;                           \
                                                                                            \
 public:                                                                                    \
  static Class adopt(object* owned) noexcept { return Class(owned); }                       \
  static Class share(object* borrowed) noexcept { return Class(Base::retained(borrowed)); } \
                                                                                            \
 private:                                                                                   \
  explicit Class(object* owned) noexcept : Base(owned) {}                                   \
                                                                                            \
 public:

// ---- Probe (probe.h) ----------------------------------------------------------------------------

inline mr_probe_info probe() {
  auto info = args<mr_probe_info>();
  call(mr_probe, &info);
  return info;
}

// All devices, CUDA first, the host last.
inline std::vector<mr_device_info> devices() {
  std::vector<mr_device_info> found(probe().device_count, args<mr_device_info>());
  for (size_t i = 0; i < found.size(); ++i)
    call(mr_device_query, static_cast<uint32_t>(i), &found[i]);
  return found;
}

// Path and version of "cublaslt", "cudnn" or "blas"; throws DEPENDENCY_MISSING if it is not loaded.
inline std::string dependency(const char* name) { return read_text(mr_dependency, name); }

// ---- Memory (memory.h) --------------------------------------------------------------------------

class Memory : public Handle<mr_memory, mr_memory_retain, mr_memory_release> {
  MILLRACE_HANDLE(Memory, mr_memory)
  Memory() noexcept = default;
  explicit Memory(const mr_memory_config& config) : Base(create(mr_memory_create, &config)) {}

  mr_memory_stats stats() const {
    auto read = args<mr_memory_stats>();
    call(mr_memory_get_stats, get(), &read);
    return read;
  }
  void reset_peaks() const { call(mr_memory_reset_peaks, get()); }
  void set_limit(uint64_t bytes) const { call(mr_memory_set_limit, get(), bytes); }
  // Returns what is reserved afterwards.
  uint64_t trim(uint64_t target_bytes = 0) const {
    uint64_t reserved = 0;
    call(mr_memory_trim, get(), target_bytes, &reserved);
    return reserved;
  }
  void* allocate(mr_stream* stream, uint64_t bytes, uint64_t alignment = 0,
                 uint32_t tag = MR_TAG_OTHER) const {
    void* address = nullptr;
    call(mr_memory_allocate, get(), stream, bytes, alignment, tag, &address);
    return address;
  }
  void free(mr_stream* stream, void* address) const {
    call(mr_memory_free, get(), stream, address);
  }
  void use(mr_stream* stream, void* address) const { call(mr_memory_use, get(), stream, address); }
};

// ---- Context (context.h) ------------------------------------------------------------------------

class Context : public Handle<mr_context, mr_context_retain, mr_context_release> {
  MILLRACE_HANDLE(Context, mr_context)
  // Unlike the other classes, the default is not empty: it is a context on the best device.
  Context() : Context(args<mr_context_config>()) {}
  explicit Context(const mr_context_config& config) : Base(create(mr_context_create, &config)) {}
  // MR_BACKEND_..., e.g. Context(MR_BACKEND_HOST, "host.streams=deferred").
  explicit Context(uint32_t backend, const char* options = nullptr, int32_t ordinal = 0)
      : Context(describe(backend, options, ordinal)) {}

  // Throws the first asynchronous failure, if there was one.
  void check_health() const { call(mr_context_health, get()); }
  mr_device_info device() const {
    auto info = args<mr_device_info>();
    call(mr_context_device, get(), &info);
    return info;
  }
  Memory memory() const { return Memory::share(mr_context_memory(get())); }
  void set_option(const char* name, const char* value) const {
    call(mr_context_set_option, get(), name, value);
  }
  std::string option(const char* name) const {
    return read_text(mr_context_get_option, get(), name);
  }

 private:
  static mr_context_config describe(uint32_t backend, const char* options, int32_t ordinal) {
    auto config = args<mr_context_config>();
    config.backend = backend;
    config.options = options;
    config.ordinal = ordinal;
    return config;
  }
};

// ---- Events, pools and graphs (event.h, graph.h) ------------------------------------------------

class Event : public Handle<mr_event, mr_event_retain, mr_event_release> {
  MILLRACE_HANDLE(Event, mr_event)
  Event() noexcept = default;
  // flags: MR_EVENT_TIMING
  explicit Event(const Context& context, uint32_t flags = 0)
      : Base(create(mr_event_create, context.get(), flags)) {}
  static Event wrap(const Context& context, void* native) {
    return adopt(create(mr_event_wrap, context.get(), native));
  }

  void* native() const { return mr_event_native(get()); }
  bool ready() const { return call_ready(mr_event_query, get()); }
  void synchronize() const { call(mr_event_synchronize, get()); }
  // Milliseconds from this event to a later one; both made with MR_EVENT_TIMING.
  float elapsed(const Event& later) const {
    float milliseconds = 0;
    call(mr_event_elapsed, get(), later.get(), &milliseconds);
    return milliseconds;
  }
};

class GraphPool : public Handle<mr_graph_pool, mr_graph_pool_retain, mr_graph_pool_release> {
  MILLRACE_HANDLE(GraphPool, mr_graph_pool)
  GraphPool() noexcept = default;
  GraphPool(const Context& context, uint64_t bytes)
      : Base(create(mr_graph_pool_create, context.get(), bytes)) {}
};

class Graph : public Handle<mr_graph, mr_graph_retain, mr_graph_release> {
  MILLRACE_HANDLE(Graph, mr_graph)
  Graph() noexcept = default;  // made by Stream::capture()
};

// ---- Stream (stream.h) --------------------------------------------------------------------------

class Stream : public Handle<mr_stream, mr_stream_retain, mr_stream_release>,
               public OperatorMethods<Stream> {
  MILLRACE_HANDLE(Stream, mr_stream)
  Stream() noexcept = default;
  explicit Stream(const Context& context, const mr_stream_config& config = args<mr_stream_config>())
      : Base(create(mr_stream_create, context.get(), &config)) {}
  // Borrows a stream of the host application, e.g. a cudaStream_t.
  static Stream wrap(const Context& context, void* native,
                     const mr_stream_config& config = args<mr_stream_config>()) {
    return adopt(create(mr_stream_wrap, context.get(), native, &config));
  }

  void* native() const { return mr_stream_native(get()); }
  Context context() const { return Context::share(mr_stream_context(get())); }
  bool ready() const { return call_ready(mr_stream_query, get()); }
  void synchronize() const { call(mr_stream_synchronize, get()); }
  void set_workspace(void* address, uint64_t bytes) const {
    call(mr_stream_set_workspace, get(), address, bytes);
  }
  void reserve_capture(uint64_t bytes) const { call(mr_stream_reserve_capture, get(), bytes); }
  bool capturing() const {
    int32_t answer = 0;
    call(mr_stream_is_capturing, get(), &answer);
    return answer != 0;
  }

  // Order between streams: record here, wait there.
  void record(const Event& event, uint32_t flags = 0) const {
    call(mr_event_record, event.get(), get(), flags);
  }
  void wait(const Event& event) const { call(mr_stream_wait_event, get(), event.get()); }

  // direction: MR_COPY_ON_DEVICE, MR_COPY_TO_DEVICE, MR_COPY_TO_HOST. upload and download wait.
  void copy(void* to, const void* from, uint64_t bytes, uint32_t direction) const {
    call(mr_copy, get(), to, from, bytes, direction);
  }
  void fill(void* to, uint8_t value, uint64_t bytes) const {
    call(mr_fill, get(), to, static_cast<uint32_t>(value), bytes);
  }
  void upload(void* to_device, const void* from_host, uint64_t bytes) const {
    call(mr_upload, get(), to_device, from_host, bytes);
  }
  void download(void* to_host, const void* from_device, uint64_t bytes) const {
    call(mr_download, get(), to_host, from_device, bytes);
  }
  template <class T>
  std::vector<T> download(const void* from_device, size_t count) const {
    std::vector<T> values(count);
    download(values.data(), from_device, count * sizeof(T));
    return values;
  }

  // Operators. run(args) enqueues the operator that the struct belongs to; stream.rmsnorm(args) is
  // the same by name.
  template <class Args>
  void run(const Args& operands) const {
    call(Operator<Args>::enqueue, get(), &operands);
  }
  template <class Args>
  void prepare(const Args& operands) const {
    call(Operator<Args>::prepare, get(), &operands);
  }
  template <class Args>
  uint64_t workspace(const Args& operands) const {
    uint64_t bytes = 0;
    call(Operator<Args>::workspace, get(), &operands, &bytes);
    return bytes;
  }
  template <class Args>
  mr_kernel_info kernel(const Args& operands) const {
    auto info = args<mr_kernel_info>();
    call(Operator<Args>::kernel, get(), &operands, &info);
    return info;
  }

  // capture(pool, work) records what work() enqueues on this stream; scratch comes from the pool,
  // or from reserve_capture() if it is empty. If work() throws, the recording is dropped and the
  // stream is usable again.
  template <class Work>
  Graph capture(const GraphPool& pool, Work&& work) const {
    call(mr_graph_begin, get(), pool.get());
    mr_graph* graph = nullptr;
    try {
      std::forward<Work>(work)();
    } catch (...) {
      mr_graph_end(get(), &graph, nullptr);
      mr_graph_release(graph);
      throw;
    }
    call(mr_graph_end, get(), &graph);
    return Graph::adopt(graph);
  }
  template <class Work>
  Graph capture(Work&& work) const {
    return capture(GraphPool(), std::forward<Work>(work));
  }
  void launch(const Graph& graph) const { call(mr_graph_launch, graph.get(), get()); }
};

// ---- Buffer (memory.h) --------------------------------------------------------------------------

class Buffer : public Handle<mr_buffer, mr_buffer_retain, mr_buffer_release> {
  MILLRACE_HANDLE(Buffer, mr_buffer)
  Buffer() noexcept = default;
  Buffer(const Stream& stream, uint64_t bytes, uint32_t tag = MR_TAG_OTHER,
         uint32_t kind = MR_MEMORY_DEVICE)
      : Base(create(mr_buffer_create, stream.get(), bytes, kind, tag)) {}
  // Host memory that the device copies from and to asynchronously.
  static Buffer pinned(const Stream& stream, uint64_t bytes, uint32_t tag = MR_TAG_OTHER) {
    return Buffer(stream, bytes, tag, MR_MEMORY_PINNED);
  }

  void* data() const { return mr_buffer_data(get()); }
  template <class T>
  T* data_as() const {
    return static_cast<T*>(data());
  }
  uint64_t bytes() const { return mr_buffer_bytes(get()); }
  // Declares that another stream works with the buffer too.
  void use(const Stream& stream) const { call(mr_buffer_use, get(), stream.get()); }

  // A row-major tensor at byte_offset; throws INVALID_ARGUMENT if it leaves the buffer.
  Tensor tensor(mr_dtype dtype, const std::vector<int64_t>& shape, uint64_t byte_offset = 0) const {
    const Tensor unplaced(static_cast<void*>(nullptr), dtype, shape);
    if (byte_offset > bytes() || static_cast<uint64_t>(unplaced.bytes()) > bytes() - byte_offset) {
      throw Error(MR_INVALID_ARGUMENT, "Buffer::tensor: " + std::to_string(unplaced.bytes()) +
                                           " bytes at offset " + std::to_string(byte_offset) +
                                           " leave the buffer of " + std::to_string(bytes()));
    }
    Tensor view = unplaced;
    if (bytes() != 0) view.data = data_as<char>() + byte_offset;
    return view;
  }
};

// ---- Ring (ring.h) ------------------------------------------------------------------------------

class Ring : public Handle<mr_ring, mr_ring_retain, mr_ring_release> {
  MILLRACE_HANDLE(Ring, mr_ring)
  Ring() noexcept = default;
  Ring(const Context& context, uint32_t slots, uint64_t slot_bytes)
      : Base(create(mr_ring_create, context.get(), slots, slot_bytes)) {}

  void push(uint32_t slot, const Stream& stream, const void* from, uint64_t bytes) const {
    call(mr_ring_push, get(), slot, stream.get(), from, bytes);
  }
  bool ready(uint32_t slot) const { return call_ready(mr_ring_query, get(), slot); }
  // The slot's contents, valid until it is pushed again.
  template <class T = void>
  const T* wait(uint32_t slot) const {
    const void* data = nullptr;
    call(mr_ring_wait, get(), slot, &data);
    return static_cast<const T*>(data);
  }
};

// ---- Matmul plan (matmul.h) ---------------------------------------------------------------------

class MatmulPlan : public Handle<mr_matmul_plan, mr_matmul_plan_retain, mr_matmul_plan_release> {
  MILLRACE_HANDLE(MatmulPlan, mr_matmul_plan)
  MatmulPlan() noexcept = default;
  MatmulPlan(const Context& context, const mr_matmul_problem& problem)
      : Base(create(mr_matmul_plan_create, context.get(), &problem)) {}

  uint64_t workspace(int64_t m) const {
    uint64_t bytes = 0;
    call(mr_matmul_plan_workspace, get(), m, &bytes);
    return bytes;
  }
  mr_kernel_info kernel(int64_t m) const {
    auto info = args<mr_kernel_info>();
    call(mr_matmul_plan_kernel, get(), m, &info);
    return info;
  }
  void run(const Stream& stream, const mr_matmul_operands& operands) const {
    call(mr_matmul_run, get(), stream.get(), &operands);
  }
};

#undef MILLRACE_HANDLE

}  // namespace millrace

#endif
