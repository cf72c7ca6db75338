// What the machine offers: probe, devices, dependencies.
#include "api/api_fixture.h"

namespace {

using test::Engine;

mr_probe_info probe() {
  mr_probe_info info = MR_PROBE_INFO_INIT;
  MR_OK_OR_FAIL(mr_probe(&info, nullptr));
  return info;
}

}  // namespace

TEST_CASE("probe: versions are those of the header, and the host is always a device") {
  const mr_probe_info info = probe();
  CHECK(info.struct_size == sizeof info);
  CHECK(info.flags == 0);
  CHECK(info.version == MR_VERSION_MAJOR * 10000 + MR_VERSION_MINOR * 100 + MR_VERSION_PATCH);
  CHECK(info.version == mr_version());
  CHECK(info.abi_version == MR_ABI_MAJOR * 65536 + MR_ABI_MINOR);
  CHECK(info.abi_version == mr_abi_version());
  CHECK(info.device_count >= 1);
  CHECK(info.build[0] != '\0');
  CHECK(std::memchr(info.build, 0, sizeof info.build) != nullptr);
  const bool built_with = info.cuda_status != MR_UNSUPPORTED;
  CHECK(built_with == (info.cuda_runtime_version != 0));
  CHECK(built_with == (info.cuda_architectures[0] != '\0'));
  if (info.cuda_status == MR_OK) CHECK(info.device_count >= 2);
}

TEST_CASE("devices: each index below the count, the host last, none beyond") {
  const uint32_t count = probe().device_count;
  for (uint32_t index = 0; index < count; ++index) {
    mr_device_info info = MR_DEVICE_INFO_INIT;
    MR_OK_OR_FAIL(mr_device_query(index, &info, nullptr));
    CHECK((info.backend == MR_BACKEND_HOST) == (index == count - 1));
    CHECK(info.multiprocessors >= 1);
    CHECK(info.memory_bytes > 0);
    CHECK(info.name[0] != '\0');
  }
  mr_device_info info = MR_DEVICE_INFO_INIT;
  const mr_device_info before = info;
  for (const uint32_t index : {count, count + 1, 0xffffffffu}) {
    mr_error error = {};
    CHECK(mr_device_query(index, &info, &error) == MR_INVALID_ARGUMENT);
    CHECK(std::string(error.text).find("index:") == 0);
    CHECK(std::memcmp(&info, &before, sizeof info) == 0);
  }
}

TEST_CASE("out structs: NULL and sizes that no version had") {
  CHECK(mr_probe(nullptr, nullptr) == MR_INVALID_ARGUMENT);
  CHECK(mr_device_query(0, nullptr, nullptr) == MR_INVALID_ARGUMENT);
  for (const uint32_t size : {0u, 7u, 65537u, 0xffffffffu}) {
    mr_probe_info info = MR_PROBE_INFO_INIT;
    info.struct_size = size;
    CHECK(mr_probe(&info, nullptr) == MR_INVALID_ARGUMENT);
    mr_device_info device = MR_DEVICE_INFO_INIT;
    device.struct_size = size;
    CHECK(mr_device_query(0, &device, nullptr) == MR_INVALID_ARGUMENT);
  }
}

TEST_CASE("dependencies: known names are there or missing, others are no names") {
  mr_error error = {};
  for (const char* name : {"cublaslt", "cudnn", "blas"}) {
    CAPTURE(std::string(name));
    uint64_t length = 0;
    const mr_status status = mr_dependency(name, nullptr, 0, &length, &error);
    if (status == MR_OK) {
      CHECK(length > 0);
    } else {
      CHECK(status == MR_DEPENDENCY_MISSING);
      CHECK(error.text[0] != '\0');
      CHECK(length == 0);
    }
  }
  for (const char* name : {"", "BLAS", "blas ", "cuda", "libopenblas.so.0"}) {
    CHECK(mr_dependency(name, nullptr, 0, nullptr, &error) == MR_INVALID_ARGUMENT);
    CHECK(std::string(error.text).find("name:") == 0);
  }
  CHECK(mr_dependency(nullptr, nullptr, 0, nullptr, nullptr) == MR_INVALID_ARGUMENT);
}

TEST_CASE(
    "a BLAS that a context has loaded is named with its path, in as many bytes as there are") {
  mr_context* context = test::make_context("host.blas=auto");
  char text[512];
  uint64_t length = 0;
  const mr_status status = mr_dependency("blas", text, sizeof text, &length, nullptr);
  if (status == MR_OK) {
    CHECK(std::strlen(text) == length);
    CHECK(std::string(text).find(".so") != std::string::npos);
    char few[5] = "####";
    CHECK(mr_dependency("blas", few, 4, &length, nullptr) == MR_OK);
    CHECK(std::strlen(few) == 3);
    CHECK(std::string(text).find(few) == 0);
    CHECK(mr_dependency("blas", nullptr, 4, nullptr, nullptr) == MR_INVALID_ARGUMENT);
  } else {
    CHECK(status == MR_DEPENDENCY_MISSING);
    MESSAGE("no BLAS on this machine");
  }
  mr_context_release(context);
}

TEST_CASE("a context tells its device") {
  Engine engine;
  mr_device_info info = MR_DEVICE_INFO_INIT;
  MR_OK_OR_FAIL(mr_context_device(engine.context, &info, nullptr));
  CHECK(info.backend == MR_BACKEND_HOST);
  CHECK(info.ordinal == 0);
  CHECK(info.usable == MR_OK);
}
