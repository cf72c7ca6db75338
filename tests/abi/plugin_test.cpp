// The library as a plugin in somebody else's process: cases E01, E05, E08, E13 and a forked child.
// This program is not linked with the library; MILLRACE_LIBRARY names it.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "plugin_host.h"
#include "support/in_child.h"
#include "support/sanitizers.h"

namespace fs = std::filesystem;
using plugin_host::library_file;
using plugin_host::run_once;
using plugin_host::table_of;
using test::in_child;

namespace {

// A folder that goes away again.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "millrace-test-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }
  // A copy of the library under another name: another file, so another library to the loader.
  std::string copy(const fs::path& name) const {
    fs::create_directories((path_ / name).parent_path());
    fs::copy_file(library_file(), path_ / name);
    return (path_ / name).string();
  }

 private:
  fs::path path_;
};

// Exact, unlike statm, whose counters lag behind by up to 64 pages per thread.
long resident_kilobytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);) {
    long kilobytes = 0;
    if (std::sscanf(line.c_str(), "Rss: %ld kB", &kilobytes) == 1) return kilobytes;
  }
  return 0;
}

std::string file_of(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fname : "";
}

template <class Function>
const void* address_of(Function function) {
  void* address;
  static_assert(sizeof function == sizeof address);
  std::memcpy(&address, &function, sizeof address);
  return address;
}

}  // namespace

TEST_CASE("E01: without a driver the library opens, probes, and says why CUDA does not work") {
  void* handle = dlopen(library_file().c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE_MESSAGE(handle != nullptr, dlerror());
  std::string why;
  const mr_api* api = table_of(handle, &why);
  REQUIRE_MESSAGE(api != nullptr, why);
  CHECK(api->version() == MR_VERSION_MAJOR * 10000 + MR_VERSION_MINOR * 100 + MR_VERSION_PATCH);

  mr_error err;
  mr_probe_info info = MR_PROBE_INFO_INIT;
  REQUIRE(api->probe(&info, &err) == MR_OK);
  CHECK(info.version == api->version());
  CHECK(info.device_count >= 1);
  CHECK(info.build[0] != '\0');
  mr_device_info host = MR_DEVICE_INFO_INIT;
  REQUIRE(api->device_query(info.device_count - 1, &host, &err) == MR_OK);
  CHECK(host.backend == MR_BACKEND_HOST);
  CHECK(host.usable == MR_OK);
  CHECK(api->device_query(info.device_count, &host, &err) == MR_INVALID_ARGUMENT);

  if (info.cuda_status != MR_OK) {
    CHECK(info.device_count == 1);
    mr_context_config config = MR_CONTEXT_CONFIG_INIT;
    config.backend = MR_BACKEND_CUDA;
    mr_context* const untouched = reinterpret_cast<mr_context*>(8);
    mr_context* context = untouched;
    std::memset(&err, 0, sizeof err);
    const mr_status status = api->context_create(&config, &context, &err);
    CHECK(status == info.cuda_status);
    CHECK(err.code == status);
    CHECK(err.text[0] != '\0');
    CHECK(context == untouched);
    // The best device that there is: the host.
    config.backend = MR_BACKEND_AUTO;
    REQUIRE(api->context_create(&config, &context, &err) == MR_OK);
    mr_device_info device = MR_DEVICE_INFO_INIT;
    CHECK(api->context_device(context, &device, &err) == MR_OK);
    CHECK(device.backend == MR_BACKEND_HOST);
    CHECK(run_once(*api, 5.0f, context) == "");
    api->context_release(context);
  }
  dlclose(handle);
}

TEST_CASE(
    "E05: two copies in one process answer for themselves, in both orders, even RTLD_GLOBAL") {
  Folder folder;
  const std::string one = folder.copy("one/libmillrace.so.0"),
                    two = folder.copy("two/millrace_two.so");
  for (const bool forward : {true, false}) {
    for (const int mode : {RTLD_NOW | RTLD_LOCAL, RTLD_NOW | RTLD_GLOBAL}) {
      CAPTURE(forward);
      CAPTURE(mode);
      const std::string& first = forward ? one : two;
      const std::string& second = forward ? two : one;
      CHECK(in_child([&]() -> std::string {
              const mr_api* a = table_of(dlopen(first.c_str(), mode));
              const mr_api* b = table_of(dlopen(second.c_str(), mode));
              if (a == nullptr || b == nullptr || a == b) return "no two tables";
              if (file_of(address_of(a->rmsnorm)) != first) return "the first copy's function";
              if (file_of(address_of(b->rmsnorm)) != second) return "the second copy's function";
              if (file_of(a) != first || file_of(b) != second) return "a table of the wrong copy";
              mr_context_config config = MR_CONTEXT_CONFIG_INIT;
              config.backend = MR_BACKEND_HOST;
              mr_context *in_a = nullptr, *in_b = nullptr;
              if (a->context_create(&config, &in_a, nullptr) != MR_OK)
                return "a context in the first";
              if (b->context_create(&config, &in_b, nullptr) != MR_OK)
                return "a context in the second";
              for (int i = 0; i < 10; ++i) {
                if (!run_once(*a, 2.0f, in_a).empty() || !run_once(*b, -2.0f, in_b).empty())
                  return "a wrong result";
              }
              a->context_release(in_a);
              if (!run_once(*b, 3.0f, in_b).empty()) return "a wrong result once the first is gone";
              b->context_release(in_b);
              return "";
            }) == "");
    }
  }
}

TEST_CASE("E08: opening and closing 100 times computes right each time and does not grow") {
  long after_ten = 0;
  for (int round = 1; round <= 100; ++round) {
    void* handle = dlopen(library_file().c_str(), RTLD_NOW | RTLD_LOCAL);
    const mr_api* api = table_of(handle);
    REQUIRE(api != nullptr);
    REQUIRE(run_once(*api, static_cast<float>(round)) == "");
    REQUIRE(dlclose(handle) == 0);
    if (round == 10) after_ten = resident_kilobytes();
  }
  REQUIRE(after_ten > 0);
  // A sanitizer keeps freed memory aside, so that growth says nothing under one.
  const long most = after_ten + after_ten / 20;
  if (!MR_TEST_ASAN && !MR_TEST_TSAN) CHECK(resident_kilobytes() <= most);
}

TEST_CASE("E13: a path with blanks and other scripts, absolute and relative") {
  Folder folder;
  const std::string absolute = folder.copy("a b/ü中/lib/libmillrace.so.0");
  CHECK(in_child([&]() -> std::string {
          const mr_api* api = table_of(dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL));
          return api != nullptr ? run_once(*api, 1.0f) : "it does not open";
        }) == "");
  CHECK(in_child([&]() -> std::string {
          if (chdir((folder.path() / "a b").c_str()) != 0) return "chdir";
          const mr_api* api = table_of(dlopen("./ü中/lib/libmillrace.so.0", RTLD_NOW | RTLD_LOCAL));
          return api != nullptr ? run_once(*api, 1.0f) : "it does not open";
        }) == "");
}

TEST_CASE(
    "a forked child: handles from before answer FORKED, new ones work, releases are harmless") {
  void* handle = dlopen(library_file().c_str(), RTLD_NOW | RTLD_LOCAL);
  const mr_api* api = table_of(handle);
  REQUIRE(api != nullptr);
  for (const char* options : {"host.streams=inline", "host.streams=deferred"}) {
    if (!MR_TEST_FORK_WITH_THREADS && std::string(options) == "host.streams=deferred") continue;
    CAPTURE(std::string(options));
    mr_error err;
    mr_context_config config = MR_CONTEXT_CONFIG_INIT;
    config.backend = MR_BACKEND_HOST;
    config.options = options;
    mr_context* context = nullptr;
    mr_stream* stream = nullptr;
    mr_buffer* buffer = nullptr;
    REQUIRE(api->context_create(&config, &context, &err) == MR_OK);
    REQUIRE(api->stream_create(context, nullptr, &stream, &err) == MR_OK);
    REQUIRE(api->buffer_create(stream, 64, MR_MEMORY_DEVICE, MR_TAG_OTHER, &buffer, &err) == MR_OK);
    CHECK(in_child([&]() -> std::string {
            mr_error report;
            mr_stream* made = nullptr;
            mr_memory_stats stats = MR_MEMORY_STATS_INIT;
            if (api->stream_create(context, nullptr, &made, &report) != MR_FORKED)
              return "stream_create";
            if (report.code != MR_FORKED || report.text[0] == '\0') return "no report";
            if (api->stream_synchronize(stream, &report) != MR_FORKED) return "stream_synchronize";
            if (api->fill(stream, api->buffer_data(buffer), 0, 64, &report) != MR_FORKED)
              return "fill";
            if (api->memory_get_stats(api->context_memory(context), &stats, &report) != MR_FORKED)
              return "memory_get_stats";
            const std::string anew = run_once(*api, 4.0f);  // on a context of the child's own
            api->buffer_release(buffer);
            api->stream_release(stream);
            api->context_release(context);
            return anew;
          }) == "");
    CHECK(run_once(*api, 4.0f, context) == "");  // the parent is not affected
    api->buffer_release(buffer);
    api->stream_release(stream);
    api->context_release(context);
  }
}

int main(int argc, char** argv) {
  if (library_file().empty()) {
    std::printf("MILLRACE_LIBRARY must name the library\n");
    return 2;
  }
  return doctest::Context(argc, argv).run();
}
