// Host memory runs out: the n-th allocation within a call fails, for n = 1, 2, 3 ... until the call
// makes fewer, for every function of the interface. Each failure is OUT_OF_HOST_MEMORY and nothing
// else: no figure, out-parameter or tensor changes, and the same call works afterwards.
//
// A program of its own, linked from the library's objects: the library itself keeps its operator
// new to itself.
#include <cstddef>
#include <cstdlib>
#include <new>

#include "api/entry_points.h"

namespace {

// Of this thread. 0: none fails.
thread_local int fail_at = 0;
thread_local int seen = 0;

bool fails_now() { return fail_at > 0 && ++seen == fail_at; }

void* get(std::size_t bytes, std::size_t alignment) noexcept {
  if (fails_now()) return nullptr;
  if (bytes == 0) bytes = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* get_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const address = get(bytes, alignment);
  if (address == nullptr) throw std::bad_alloc();
  return address;
}

}  // namespace

void* operator new(std::size_t n) { return get_or_throw(n, 1); }
void* operator new[](std::size_t n) { return get_or_throw(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) { return get_or_throw(n, std::size_t(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return get_or_throw(n, std::size_t(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return get(n, 1); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return get(n, 1); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return get(n, std::size_t(a));
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return get(n, std::size_t(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }

namespace {

using test::Engine;
using test::EntryPoint;
using test::kMiB;
using test::Scene;

// Lets the n-th allocation of the body fail. True if it made that many.
template <class Body>
bool with_failure(int n, Body&& body) {
  seen = 0;
  fail_at = n;
  body();
  fail_at = 0;
  return seen >= n;
}

void prepare(Scene& scene, const EntryPoint& entry) {
  scene.clear();
  if (scene.address == nullptr) {
    MR_OK_OR_FAIL(mr_memory_allocate(scene.handles.memory(), scene.handles.stream(), 512, 0, 0,
                                     &scene.address, nullptr));
  }
  scene.reset_arena();
  if (entry.setup) entry.setup(scene);
}

bool floats_untouched(Scene& scene) {
  (void)mr_stream_synchronize(scene.handles.stream(), nullptr);
  for (const auto& row : scene.arena.floats) {
    for (const float value : row) {
      if (value != 1.0f) return false;
    }
  }
  return true;
}

void check_failure(Scene& scene, const EntryPoint& entry, const mr_error& error) {
  CHECK(error.code == MR_OUT_OF_HOST_MEMORY);
  CHECK(error.text[0] != '\0');
  CHECK(scene.untouched());
  int32_t capturing = 0;
  MR_OK_OR_FAIL(mr_stream_is_capturing(scene.handles.stream(), &capturing, nullptr));
  CHECK(capturing == 0);  // graph_end: left in any case; graph_begin: not begun
  CHECK(floats_untouched(scene));
  if (entry.name == "graph_end") entry.setup(scene);
  mr_error again = {};
  CHECK_MESSAGE(entry.call(scene, scene.handles, &again) == MR_OK, again.text);
}

// How many of the call's allocations can fail.
int fail_each_allocation(Scene& scene, const EntryPoint& entry) {
  CAPTURE(entry.name);
  for (int n = 1;; ++n) {
    CAPTURE(n);
    REQUIRE(n < 300);
    prepare(scene, entry);
    const mr_memory_stats before = test::stats_of(scene.handles.memory());
    mr_error error = {};
    mr_status status = MR_OK;
    const bool failed = with_failure(n, [&] { status = entry.call(scene, scene.handles, &error); });
    if (!failed) {
      CHECK_MESSAGE(status == MR_OK, error.text);
      return n - 1;
    }
    if (status == MR_OK) continue;  // the library could do without
    CHECK(status == MR_OUT_OF_HOST_MEMORY);
    if (status != MR_OUT_OF_HOST_MEMORY) continue;
    CHECK(test::same_figures(test::stats_of(scene.handles.memory()), before));
    check_failure(scene, entry, error);
  }
}

}  // namespace

TEST_CASE("every function, every allocation that it makes") {
  for (const char* mode : {"host.streams=inline", "host.streams=deferred"}) {
    CAPTURE(std::string(mode));
    int allocations = 0;
    {
      Scene scene(mode);
      for (const EntryPoint& entry : test::entry_points()) {
        allocations += fail_each_allocation(scene, entry);
      }
    }
    CHECK(allocations > 50);
  }
}

TEST_CASE(
    "functions that record, on a stream that is capturing: the capture is spoilt or as before") {
  Engine engine;
  for (const EntryPoint& entry : test::entry_points()) {
    if (entry.name != "copy" && entry.name != "fill" && entry.name != "add" &&
        entry.name != "ring_push" && entry.name != "event_record" && entry.name != "matmul_run") {
      continue;
    }
    CAPTURE(entry.name);
    Scene scene("");
    for (int n = 1;; ++n) {
      CAPTURE(n);
      REQUIRE(n < 50);
      scene.clear();
      MR_OK_OR_FAIL(mr_graph_begin(scene.handles.stream(), nullptr, nullptr));
      mr_status status = MR_OK;
      const bool failed =
          with_failure(n, [&] { status = entry.call(scene, scene.handles, nullptr); });
      mr_graph* graph = nullptr;
      const mr_status ended = mr_graph_end(scene.handles.stream(), &graph, nullptr);
      if (status == MR_OK) CHECK(ended == MR_OK);
      if (status != MR_OK) CHECK(status == MR_OUT_OF_HOST_MEMORY);
      if (status != MR_OK && ended == MR_OK) {
        // Nothing of the failed call is in the graph.
        scene.reset_arena();
        MR_OK_OR_FAIL(mr_graph_launch(graph, scene.handles.stream(), nullptr));
        CHECK(floats_untouched(scene));
      }
      mr_graph_release(graph);
      if (!failed) break;
    }
  }
}

TEST_CASE("releases: whatever fails within them, everything is given back") {
  for (const char* mode : {"inline", "deferred"}) {
    CAPTURE(std::string(mode));
    for (int n = 1; n < 40; ++n) {
      CAPTURE(n);
      Engine engine(mode);
      const uint64_t before = test::stats_of(engine.memory).allocated.current;
      mr_stream* stream = nullptr;
      mr_buffer* buffer = nullptr;
      mr_graph* graph = nullptr;
      mr_graph_pool* pool = nullptr;
      mr_ring* ring = nullptr;
      MR_OK_OR_FAIL(mr_stream_create(engine.context, nullptr, &stream, nullptr));
      MR_OK_OR_FAIL(mr_buffer_create(stream, kMiB, MR_MEMORY_DEVICE, 0, &buffer, nullptr));
      auto* const data = static_cast<char*>(mr_buffer_data(buffer));
      MR_OK_OR_FAIL(mr_buffer_use(buffer, engine.a, nullptr));
      MR_OK_OR_FAIL(mr_buffer_use(buffer, engine.b, nullptr));
      MR_OK_OR_FAIL(mr_stream_reserve_capture(stream, 1024, nullptr));
      MR_OK_OR_FAIL(mr_graph_pool_create(engine.context, 1024, &pool, nullptr));
      MR_OK_OR_FAIL(mr_graph_begin(stream, pool, nullptr));
      MR_OK_OR_FAIL(mr_fill(stream, data, 1, kMiB / 2, nullptr));
      MR_OK_OR_FAIL(mr_graph_end(stream, &graph, nullptr));
      MR_OK_OR_FAIL(mr_graph_launch(graph, stream, nullptr));
      MR_OK_OR_FAIL(mr_ring_create(engine.context, 2, 64, &ring, nullptr));
      MR_OK_OR_FAIL(mr_fill(engine.a, data + kMiB / 2, 1, kMiB / 2, nullptr));
      with_failure(n, [&] {
        mr_buffer_release(buffer);
        mr_graph_release(graph);
        mr_graph_pool_release(pool);
        mr_ring_release(ring);
        mr_stream_release(stream);
      });
      CHECK(test::stats_of(engine.memory).allocated.current == before);
      CHECK(test::stats_of(engine.memory).pinned.current == 0);
    }
  }
}

TEST_CASE("a context cannot be made: nothing stays behind") {
  for (const char* options :
       {"host.threads=5;host.streams=deferred", "host.blas=auto", "synchronous=on"}) {
    for (int n = 1;; ++n) {
      REQUIRE(n < 300);
      mr_context_config config = MR_CONTEXT_CONFIG_INIT;
      config.backend = MR_BACKEND_HOST;
      config.options = options;
      mr_context* context = nullptr;
      mr_stream* stream = nullptr;
      mr_status status = MR_OK;
      const bool failed = with_failure(n, [&] {
        status = mr_context_create(&config, &context, nullptr);
        if (status == MR_OK) status = mr_stream_create(context, nullptr, &stream, nullptr);
      });
      CHECK((status == MR_OK || status == MR_OUT_OF_HOST_MEMORY));
      CHECK((stream != nullptr) == (status == MR_OK));
      mr_stream_release(stream);
      mr_context_release(context);
      if (!failed) break;
    }
  }
}
