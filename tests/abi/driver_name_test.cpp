// Case E02: a toolkit's stub of the driver is called libcuda.so. It is never opened, wherever it
// stands on the path; what is called libcuda.so.1 is. CTest runs this with a folder that holds a
// stub alone, and with that folder before another one with a driver in it (MILLRACE_TEST_DRIVER,
// made from stub_driver.c as well), and LD_LIBRARY_PATH leading there.

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "plugin_host.h"

namespace {

bool mapped(const std::string& file) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(file) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("E02: a stub called libcuda.so is passed over, libcuda.so.1 is what is opened") {
  const std::string stub = std::getenv("MILLRACE_TEST_STUB");
  const char* driver = std::getenv("MILLRACE_TEST_DRIVER");
  REQUIRE(std::filesystem::exists(stub));
  std::string why;
  const mr_api* api =
      plugin_host::table_of(dlopen(plugin_host::library_file().c_str(), RTLD_NOW), &why);
  REQUIRE_MESSAGE(api != nullptr, why);
  mr_probe_info info = MR_PROBE_INFO_INIT;
  mr_error err;
  REQUIRE(api->probe(&info, &err) == MR_OK);
  CHECK_FALSE(mapped(stub));
  if (driver == nullptr) {
    // Nothing but the stub, or this machine's own driver, which is none of this test's.
    CHECK((info.cuda_status == MR_NO_DRIVER || mapped("libcuda.so.1")));
  } else {
    CHECK(mapped(driver));
    CHECK(info.cuda_status == MR_DRIVER_TOO_OLD);  // what stub_driver.c says of itself
    CHECK(info.cuda_driver_version == 7000);
  }
  // In either case what needs no driver works, and what does gives the same status with a text.
  CHECK(plugin_host::run_once(*api, 2.0f) == "");
  if (info.cuda_status != MR_OK) {
    mr_context_config config = MR_CONTEXT_CONFIG_INIT;
    config.backend = MR_BACKEND_CUDA;
    mr_context* context = nullptr;
    err.text[0] = '\0';
    CHECK(api->context_create(&config, &context, &err) == info.cuda_status);
    CHECK(context == nullptr);
    CHECK(err.text[0] != '\0');
  }
}
