// A device fault ends a context: it is latched with what the streams ran last, and every later call
// says so. The host has no faults, so the test reports one itself.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "api/entry_points.h"
#include "runtime/context_state.h"

namespace {

using test::EntryPoint;
using test::Scene;

mr::Status fault(const char* detail) {
  return mr::error(MR_DEVICE_LOST, "work on the stream failed")
      .from(MR_DOMAIN_CUDA, 700)
      .say(detail);
}

struct Heard {
  mr_context* context = nullptr;
  int lines = 0;
  std::string last;
  static void hear(void* user, int32_t level, const char* text, uint64_t length) {
    auto* self = static_cast<Heard*>(user);
    if (level != MR_LOG_ERROR) return;
    ++self->lines;
    self->last = std::string(text, length);
    // A callback may ask; that must not stand still.
    CHECK(mr_context_health(self->context, nullptr) == MR_DEVICE_LOST);
  }
};

}  // namespace

TEST_CASE("the first fault is kept, with the codes and what each stream ran last") {
  test::Engine engine;
  test::Bytes x(engine.a, 64);
  x.fill(1);
  MR_OK_OR_FAIL(test::twice(engine.b, x.data, x.data, 4));
  CHECK(engine.context->watch(mr::Status()).ok());
  CHECK(engine.context->watch(mr::error(MR_DEVICE_ERROR, "no")).code == MR_DEVICE_ERROR);
  CHECK(mr_context_health(engine.context, nullptr) == MR_OK);

  CHECK(engine.context->watch(fault("error 700")).code == MR_DEVICE_LOST);
  CHECK(engine.context->watch(fault("a later one")).code == MR_DEVICE_LOST);
  mr_error error = {};
  CHECK(mr_context_health(engine.context, &error) == MR_DEVICE_LOST);
  const std::string text = error.text;
  CHECK_MESSAGE(text.find("error 700") != std::string::npos, text);
  CHECK(text.find("a later one") == std::string::npos);
  CHECK_MESSAGE(text.find("ran fill") != std::string::npos, text);
  CHECK_MESSAGE(text.find("ran add") != std::string::npos, text);
  CHECK(error.domain == MR_DOMAIN_CUDA);
  CHECK(error.native_code == 700);
  CHECK(error.flags == MR_ERROR_CONTEXT_LOST);
}

TEST_CASE("more streams than a text holds are cut, not written past its end") {
  test::Engine engine;
  std::vector<mr_stream*> streams;
  mr_stream_config config = MR_STREAM_CONFIG_INIT;
  config.workspace_bytes = 256;
  for (int i = 0; i < 40; ++i) {
    mr_stream* stream = nullptr;
    MR_OK_OR_FAIL(mr_stream_create(engine.context, &config, &stream, nullptr));
    streams.push_back(stream);
    unsigned char byte = 0;
    MR_OK_OR_FAIL(mr_fill(stream, &byte, 1, 1, nullptr));
  }
  (void)engine.context->watch(fault(std::string(180, 'd').c_str()));
  mr_error error = {};
  CHECK(mr_context_health(engine.context, &error) == MR_DEVICE_LOST);
  CHECK(std::string(error.text).find("ddd") != std::string::npos);
  for (mr_stream* stream : streams) mr_stream_release(stream);
}

TEST_CASE("streams that are gone are not spoken of") {
  test::Engine engine;
  unsigned char bytes[2] = {};
  for (int i = 0; i < 3; ++i) {
    mr_stream* stream = nullptr;
    MR_OK_OR_FAIL(mr_stream_create(engine.context, nullptr, &stream, nullptr));
    MR_OK_OR_FAIL(mr_copy(stream, bytes, bytes + 1, 1, MR_COPY_ON_DEVICE, nullptr));
    if (i == 1) MR_OK_OR_FAIL(mr_fill(engine.a, bytes, 1, 1, nullptr));
    mr_stream_release(stream);
  }
  (void)engine.context->watch(fault("error 700"));
  mr_error error = {};
  CHECK(mr_context_health(engine.context, &error) == MR_DEVICE_LOST);
  CHECK(std::string(error.text).find("ran fill") != std::string::npos);
  CHECK(std::string(error.text).find("ran copy") == std::string::npos);
}

TEST_CASE("the log hears of it once, and its callback may ask for the context's health") {
  Heard heard;
  mr_context_config config = MR_CONTEXT_CONFIG_INIT;
  config.backend = MR_BACKEND_HOST;
  config.log = Heard::hear;
  config.log_user = &heard;
  MR_OK_OR_FAIL(mr_context_create(&config, &heard.context, nullptr));
  (void)heard.context->watch(fault("error 700"));
  (void)heard.context->watch(fault("error 700"));
  CHECK(heard.lines == 1);
  CHECK(heard.last.find("error 700") != std::string::npos);
  mr_context_release(heard.context);
}

TEST_CASE(
    "every later call on the context says so, but for what has nothing to do with its device") {
  // Memory and descriptions live on; what only tells about the context may be asked.
  const std::set<std::string> fine = {"tensor_pack",          "tensor_from_dlpack",
                                      "tensor_import_dlpack", "tensor_to_dlpack",
                                      "tensor_export_dlpack", "probe",
                                      "device_query",         "dependency",
                                      "memory_create",        "memory_trim",
                                      "memory_set_limit",     "memory_get_stats",
                                      "memory_summary",       "memory_visit",
                                      "memory_reset_peaks",   "context_create",
                                      "context_device",       "context_set_option",
                                      "context_get_option",   "abi_layout"};
  for (const char* mode : {"host.streams=inline", "host.streams=deferred"}) {
    Scene scene(mode);
    (void)scene.handles.context()->watch(fault("error 700"));
    for (const EntryPoint& entry : test::entry_points()) {
      if (!entry.fallible) continue;
      CAPTURE(entry.name);
      mr_error error = {};
      const mr_status status = entry.call(scene, scene.handles, &error);
      CHECK(status == (fine.count(entry.name) != 0 ? MR_OK : MR_DEVICE_LOST));
      if (status == MR_DEVICE_LOST) {
        CHECK(error.flags == MR_ERROR_CONTEXT_LOST);
        CHECK(std::string(error.text).find("error 700") != std::string::npos);
        CHECK(scene.untouched());
      }
      scene.clear();
    }
    // A new context works, and releasing the old one's objects does too.
    test::Engine fresh("inline");
    test::Bytes x(fresh.a, 64);
    x.fill(2);
    CHECK(x.value() == 2);
  }
}
