// The CUDA backend against a driver that only pretends (fake_cuda.h): which calls it makes, in
// which context and capture mode, what it leaves behind, and what it makes of a failure.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_status.h"
#include "fake_cuda.h"

using namespace mr;

namespace {

bool configured(const char* as) {
  const char* value = std::getenv("FAKE_CUDA");
  return std::string(value != nullptr ? value : "") == as;
}

template <class Function>
Function fake(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  REQUIRE(library != nullptr);
  return reinterpret_cast<Function>(dlsym(library, name));
}
FakeCuda& driver() { return fake<FakeCudaState>("fake_cuda_state")(); }
FakeThread& here() { return fake<FakeCudaThread>("fake_cuda_thread")(); }
CUcontext context(int device) { return fake<FakeCudaContext>("fake_cuda_context")(device); }

// A test that starts with a fresh driver and ends with a thread that is as it was.
struct Fixture {
  Backend& backend = cuda_backend();
  void* stream = nullptr;
  Fixture() {
    REQUIRE(backend.status().ok());
    driver() = FakeCuda();
    driver().stream_context = context(0);
    stream = &driver();
  }
  ~Fixture() {
    CHECK(here().depth == 0);
    CHECK(here().mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
    CHECK(driver().unsafe == "");
    CHECK(driver().calls["an entry point that no test expects"] == 0);
  }
};

int dropped = 0;
void drop(void* object) {
  CHECK(object == &dropped);
  ++dropped;
}

}  // namespace

TEST_CASE("a driver that is too old, or sees no device, says so") {
  if (configured("old")) {
    CHECK(cuda_backend().status().code == MR_DRIVER_TOO_OLD);
    CHECK(cuda_backend().status().value == 12080);
    CHECK(cuda_backend().build_info().driver_version == 12080);
    CHECK(cuda_backend().devices().empty());
  }
  if (configured("empty")) {
    CHECK(cuda_backend().status().code == MR_NO_DEVICE);
    CHECK(cuda_backend().devices().empty());
  }
}

TEST_CASE(
    "code for X.Y runs on X.Z with Z >= Y, with the suffix a there alone, as PTX on all later") {
  const auto serves = [](const char* list, int architecture) {
    return cuda_architectures_serve(list, architecture);
  };
  for (const int yes : {80, 86, 89, 90, 120, 121, 130}) CHECK(serves("80 90a 120+ptx", yes));
  for (const int no : {75, 91, 100, 103, 110}) CHECK_FALSE(serves("80 90a 120+ptx", no));
  CHECK_FALSE(serves("86", 80));
  CHECK(serves("86", 89));
  CHECK(serves("80+ptx", 90));
  CHECK_FALSE(serves("90a+ptx", 100));
  CHECK_FALSE(serves("", 90));
}

TEST_CASE("a code of the driver becomes the status that the header promises") {
  CHECK(cuda_check(0, "s").ok());
  for (const int fault : {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719}) {
    CAPTURE(fault);
    CHECK(cuda_status(fault, "s").code == MR_DEVICE_LOST);
    CHECK(cuda_status(fault, "s").flags == MR_ERROR_CONTEXT_LOST);
  }
  for (int code = 900; code <= 908; ++code) {
    CHECK(cuda_status(code, "s").code == MR_CAPTURE_VIOLATION);
  }
  CHECK(cuda_status(2, "s").code == MR_OUT_OF_DEVICE_MEMORY);
  CHECK(cuda_status(3, "s").code == MR_FORKED);
  CHECK(cuda_status(209, "s").code == MR_NO_KERNEL_IMAGE);
  CHECK(cuda_status(600, "s").code == MR_NOT_READY);
  const Status refused = cuda_status(1, "s");
  CHECK(refused.code == MR_DEVICE_ERROR);
  CHECK(refused.domain == MR_DOMAIN_CUDA);
  CHECK(refused.native == 1);
  CHECK(std::string(refused.detail).find("cudaErrorInvalidValue") == 0);
}

TEST_SUITE("with devices" * doctest::skip(std::getenv("FAKE_CUDA") != nullptr)) {
  // Runs first, by its place in the file: nothing else may have made a context by then.
  TEST_CASE("listing makes no context") {
    const auto devices = cuda_backend().devices();
    REQUIRE(devices.size() == 2);
    CHECK(driver().primary_contexts == 0);
    CHECK(driver().calls["cuCtxPushCurrent"] == 0);
    CHECK(devices[0].architecture == 90);
    CHECK(devices[0].usable == MR_OK);
    CHECK(devices[1].architecture == 75);
    CHECK(devices[1].usable == MR_NO_KERNEL_IMAGE);
    CHECK(cuda_backend().open(1).code == MR_NO_KERNEL_IMAGE);
    CHECK(driver().primary_contexts == 0);
  }

  TEST_CASE_FIXTURE(Fixture, "the caller's context is put back, whatever it was") {
    void* event = nullptr;
    CHECK(backend.make_event(0, false, &event).ok());  // none was current
    CHECK(here().depth == 0);
    here().stack[here().depth++] = context(1);  // another device's
    CHECK(backend.make_event(0, false, &event).ok());
    CHECK(here().depth == 1);
    CHECK(here().stack[0] == context(1));
    here().stack[0] = context(0);  // ours: neither pushed nor popped
    const int pushed = driver().calls["cuCtxPushCurrent"];
    CHECK(backend.make_event(0, false, &event).ok());
    CHECK(driver().calls["cuCtxPushCurrent"] == pushed);
    here().depth = 0;
    driver().fail["cuEventCreate"] = CUDA_ERROR_OUT_OF_MEMORY;  // and where the call fails
    CHECK(backend.make_event(0, false, &event).code == MR_OUT_OF_DEVICE_MEMORY);
    CHECK(here().depth == 0);
  }

  TEST_CASE_FIXTURE(Fixture, "a failure writes nothing") {
    void* out = &dropped;
    driver().fail["cuMemAlloc"] = CUDA_ERROR_OUT_OF_MEMORY;
    CHECK(backend.reserve(0, MemoryKind::kDevice, 64, &out).code == MR_OUT_OF_DEVICE_MEMORY);
    driver().fail["cuMemHostAlloc"] = CUDA_ERROR_OUT_OF_MEMORY;
    CHECK(backend.reserve(0, MemoryKind::kPinned, 64, &out).code == MR_OUT_OF_HOST_MEMORY);
    CHECK(out == &dropped);
    bool done = true;
    driver().fail["cuEventQuery"] = CUDA_ERROR_ILLEGAL_ADDRESS;
    CHECK(backend.query_event(0, stream, &done).code == MR_DEVICE_LOST);
    CHECK(done);
    driver().fail["cuEventQuery"] = CUDA_ERROR_NOT_READY;
    CHECK(backend.query_event(0, stream, &done).ok());
    CHECK_FALSE(done);
  }

  TEST_CASE_FIXTURE(Fixture, "R22: memory by pages: mapped whole with access, or not at all") {
    constexpr uint64_t kPage = uint64_t{2} << 20;
    CHECK(backend.page_bytes(0) == kPage);
    void* range = nullptr;
    REQUIRE(backend.reserve_range(0, 8 * kPage, &range).ok());
    uint64_t handle = 99;
    for (const char* call : {"cuMemCreate", "cuMemMap", "cuMemSetAccess"}) {
      CAPTURE(std::string(call));
      const auto before = driver().calls;
      driver().fail[call] = CUDA_ERROR_OUT_OF_MEMORY;
      CHECK(backend.map(0, range, kPage, &handle).code == MR_OUT_OF_DEVICE_MEMORY);
      CHECK(handle == 99);
      const auto made = [&](const char* name) {
        const auto at = before.find(name);
        return driver().calls[name] - (at == before.end() ? 0 : at->second);
      };
      const bool created = std::string(call) != "cuMemCreate";
      CHECK(made("cuMemRelease") == (created ? 1 : 0));
      CHECK(made("cuMemUnmap") == (std::string(call) == "cuMemSetAccess" ? 1 : 0));
    }
    REQUIRE(backend.map(0, range, kPage, &handle).ok());
    backend.unmap(0, range, kPage, handle);
    backend.release_range(0, range, 8 * kPage);
    CHECK(here().depth == 0);
  }

  TEST_CASE_FIXTURE(Fixture, "memory, its figures, and what is pinned") {
    void* out = nullptr;
    REQUIRE(backend.reserve(0, MemoryKind::kDevice, 64, &out).ok());
    backend.release(0, MemoryKind::kDevice, out, 64);
    REQUIRE(backend.reserve(0, MemoryKind::kPinned, 64, &out).ok());
    backend.release(0, MemoryKind::kPinned, out, 64);
    uint64_t free_bytes = 0;
    uint64_t total = 0;
    REQUIRE(backend.memory_info(0, &free_bytes, &total).ok());
    CHECK(free_bytes == 3);
    CHECK(total == 4);
    CHECK_FALSE(backend.is_pinned(0, &out));
    driver().pointer_type = CU_MEMORYTYPE_HOST;
    CHECK(backend.is_pinned(0, &out));
    driver().pointer_managed = true;
    CHECK_FALSE(backend.is_pinned(0, &out));
    driver().pointer_managed = false;
    driver().pointer_type = CU_MEMORYTYPE_DEVICE;
    CHECK_FALSE(backend.is_pinned(0, &out));
  }

  TEST_CASE_FIXTURE(Fixture, "which streams of the host application may be used") {
    CHECK(backend.adopt_stream(0, CU_STREAM_PER_THREAD, true).code == MR_INVALID_ARGUMENT);
    CHECK(backend.adopt_stream(0, nullptr, false).code == MR_INVALID_ARGUMENT);
    CHECK(backend.adopt_stream(0, CU_STREAM_LEGACY, false).code == MR_INVALID_ARGUMENT);
    CHECK(backend.adopt_stream(0, nullptr, true).ok());
    CHECK(backend.adopt_stream(0, stream, false).ok());
    driver().capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    CHECK(backend.adopt_stream(0, stream, false).ok());
    driver().stream_context = context(1);
    const Status other = backend.adopt_stream(0, stream, false);
    CHECK(other.code == MR_INVALID_ARGUMENT);
    CHECK(other.value == 1);
    driver().stream_context = reinterpret_cast<CUcontext>(&dropped);
    CHECK(backend.adopt_stream(0, stream, false).code == MR_INVALID_ARGUMENT);
    driver().stream_context = context(0);
    driver().stream_green = reinterpret_cast<CUgreenCtx>(&dropped);
    CHECK(backend.adopt_stream(0, stream, false).code == MR_UNSUPPORTED);
  }

  TEST_CASE_FIXTURE(Fixture, "a capturing stream is neither asked nor waited for") {
    bool done = false;
    for (const auto capture :
         {CU_STREAM_CAPTURE_STATUS_ACTIVE, CU_STREAM_CAPTURE_STATUS_INVALIDATED}) {
      driver().capture = capture;
      CHECK(backend.query_stream(0, stream, &done).code == MR_CAPTURE_VIOLATION);
      CHECK(backend.synchronize_stream(0, stream).code == MR_CAPTURE_VIOLATION);
    }
    CHECK(driver().calls["cuStreamQuery"] == 0);
    CHECK(driver().calls["cuStreamSynchronize"] == 0);
    driver().capture = CU_STREAM_CAPTURE_STATUS_NONE;
    CHECK(backend.query_stream(0, stream, &done).ok());
    CHECK(done);
    CHECK(backend.synchronize_stream(0, stream).ok());
    CHECK(backend.stream_id(0, stream) == 42);
    driver().fail["cuStreamGetId"] = CUDA_ERROR_INVALID_HANDLE;
    CHECK(backend.stream_id(0, stream) == 0);
  }

  TEST_CASE_FIXTURE(Fixture, "streams do not block, events keep no time unless asked") {
    void* native = nullptr;
    REQUIRE(backend.make_stream(0, {}, 0, &native).ok());
    CHECK(driver().stream_flags == CU_STREAM_NON_BLOCKING);
    backend.drop_stream(0, native);
    CHECK(driver().calls["cuStreamSynchronize"] == 1);
    CHECK(driver().calls["cuStreamDestroy"] == 1);
    REQUIRE(backend.make_event(0, false, &native).ok());
    CHECK(driver().event_flags == CU_EVENT_DISABLE_TIMING);
    REQUIRE(backend.make_event(0, true, &native).ok());
    CHECK(driver().event_flags == CU_EVENT_DEFAULT);
    backend.drop_event(0, native);
    CHECK(driver().calls["cuEventDestroy"] == 1);
    float milliseconds = 0.0f;
    CHECK(backend.elapsed(0, native, native, &milliseconds).ok());
    CHECK(milliseconds == 1.5f);
    driver().fail["cuEventElapsedTime"] = CUDA_ERROR_INVALID_HANDLE;
    CHECK(backend.elapsed(0, native, native, &milliseconds).code == MR_INVALID_ARGUMENT);
    driver().fail["cuEventElapsedTime"] = CUDA_ERROR_NOT_READY;
    CHECK(backend.elapsed(0, native, native, &milliseconds).code == MR_NOT_READY);
  }

  TEST_CASE_FIXTURE(Fixture, "the external flags are given while capturing, and only then") {
    for (const bool capturing : {false, true}) {
      driver().capture =
          capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
      CHECK(backend.record_event(0, stream, stream, true).ok());
      CHECK(driver().record_flags == (capturing ? unsigned{CU_EVENT_RECORD_EXTERNAL} : 0u));
      CHECK(backend.record_event(0, stream, stream, false).ok());
      CHECK(driver().record_flags == CU_EVENT_RECORD_DEFAULT);
      CHECK(backend.wait_event(0, stream, stream, true).ok());
      CHECK(driver().wait_flags == (capturing ? unsigned{CU_EVENT_WAIT_EXTERNAL} : 0u));
      CHECK(backend.wait_event(0, stream, stream, false).ok());
      CHECK(driver().wait_flags == CU_EVENT_WAIT_DEFAULT);
    }
    driver().fail["cuStreamWaitEvent"] = CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    CHECK(backend.wait_event(0, stream, stream, false).code == MR_CAPTURE_VIOLATION);
  }

  TEST_CASE_FIXTURE(Fixture, "a capture can be begun on one thread and ended on another") {
    CaptureInfo info;
    REQUIRE(backend.begin_capture(0, stream).ok());
    CHECK(driver().begun_in == CU_STREAM_CAPTURE_MODE_RELAXED);
    CHECK(backend.capture_info(0, stream, &info).ok());
    CHECK(info.state == CaptureState::kActive);
    CHECK(info.id == 7);
    CHECK(backend.begin_capture(0, stream).code == MR_CAPTURE_VIOLATION);
    CHECK(driver().calls["cuStreamBeginCapture"] == 1);
    void* graph = nullptr;
    std::thread([&] { CHECK(backend.end_capture(0, stream, &graph).ok()); }).join();
    REQUIRE(graph != nullptr);
    CHECK(backend.launch_graph(0, graph, stream).ok());
    backend.drop_graph(0, graph);
    CHECK(driver().live_graphs == 0);
    CHECK(driver().live_instances == 0);
    CHECK(backend.capture_info(0, stream, &info).ok());
    CHECK(info.state == CaptureState::kNone);
    CHECK(info.id == 0);
  }

  TEST_CASE_FIXTURE(Fixture, "a capture that fails leaves no graph") {
    void* graph = &dropped;
    driver().graph_is_null = true;
    driver().fail["cuStreamEndCapture"] = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    CHECK(backend.end_capture(0, stream, &graph).code == MR_CAPTURE_VIOLATION);
    CHECK(backend.end_capture(0, stream, &graph).code == MR_CAPTURE_VIOLATION);
    driver().graph_is_null = false;
    driver().fail["cuGraphInstantiateWithFlags"] = CUDA_ERROR_OUT_OF_MEMORY;
    CHECK(backend.end_capture(0, stream, &graph).code == MR_OUT_OF_DEVICE_MEMORY);
    driver().fail["cuGraphUpload"] = CUDA_ERROR_OUT_OF_MEMORY;
    CHECK(backend.end_capture(0, stream, &graph).code == MR_OUT_OF_DEVICE_MEMORY);
    CHECK(graph == &dropped);
    CHECK(driver().live_graphs == 0);
    CHECK(driver().live_instances == 0);
  }

  TEST_CASE_FIXTURE(Fixture, "what a graph retains is dropped once, and only if it was retained") {
    dropped = 0;
    CHECK(backend.retain_in_capture(0, stream, &dropped, drop).code == MR_CAPTURE_VIOLATION);
    driver().capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    driver().fail["cuUserObjectCreate"] = CUDA_ERROR_OUT_OF_MEMORY;
    CHECK(backend.retain_in_capture(0, stream, &dropped, drop).code == MR_OUT_OF_DEVICE_MEMORY);
    driver().fail["cuGraphRetainUserObject"] = CUDA_ERROR_INVALID_VALUE;
    CHECK(backend.retain_in_capture(0, stream, &dropped, drop).code == MR_DEVICE_ERROR);
    CHECK(dropped == 0);
    REQUIRE(backend.retain_in_capture(0, stream, &dropped, drop).ok());
    CHECK(dropped == 0);
    driver().destroy(driver().destroy_data);  // as the driver does when the graph is gone
    CHECK(dropped == 1);
    driver().capture = CU_STREAM_CAPTURE_STATUS_NONE;
  }
}
