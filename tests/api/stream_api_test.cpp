// Streams through the interface: query, wrappers, scratch of the caller's, the option synchronous.
#include "api/api_fixture.h"
#include "api/slow_page.h"

namespace {

using test::both_modes;
using test::Bytes;
using test::Engine;
using test::kKiB;
using test::kMiB;
using test::SlowPage;

mr_stream* make_stream(mr_context* context, uint64_t workspace_bytes, int32_t priority = 0) {
  mr_stream_config config = MR_STREAM_CONFIG_INIT;
  config.workspace_bytes = workspace_bytes;
  config.priority = priority;
  mr_stream* stream = nullptr;
  MR_OK_OR_FAIL(mr_stream_create(context, &config, &stream, nullptr));
  return stream;
}

uint64_t workspace_bytes(Engine& engine) {
  return test::stats_of(engine.memory).tags[MR_TAG_WORKSPACE].current;
}

}  // namespace

TEST_CASE("a stream knows its context, and is idle when it is made") {
  both_modes([](Engine& engine) {
    CHECK(mr_stream_context(engine.a) == engine.context);
    CHECK(mr_stream_native(engine.a) != nullptr);
    CHECK(mr_stream_native(engine.a) != mr_stream_native(engine.b));
    CHECK(mr_stream_query(engine.a, nullptr) == MR_OK);
    CHECK(mr_stream_synchronize(engine.a, nullptr) == MR_OK);
    int32_t capturing = 7;
    CHECK(mr_stream_is_capturing(engine.a, &capturing, nullptr) == MR_OK);
    CHECK(capturing == 0);
  });
}

TEST_CASE("query: not ready while work is queued or runs, and the report says so") {
  SlowPage page;
  Engine engine("deferred");
  mr_error error = {};
  page.hold_up(engine.a);
  CHECK(mr_stream_query(engine.a, &error) == MR_NOT_READY);
  CHECK(error.code == MR_NOT_READY);
  page.wait_for_arrival();
  CHECK(mr_stream_query(engine.a, nullptr) == MR_NOT_READY);
  CHECK(mr_stream_query(engine.b, nullptr) == MR_OK);
  page.appear();
  CHECK(mr_stream_synchronize(engine.a, nullptr) == MR_OK);
  CHECK(mr_stream_query(engine.a, nullptr) == MR_OK);
}

TEST_CASE("the last release of a stream waits for its work") {
  SlowPage page;
  Engine engine("deferred");
  mr_stream* stream = make_stream(engine.context, 0);
  unsigned char target[64] = {};
  page.hold_up(stream);
  MR_OK_OR_FAIL(mr_fill(stream, target, 6, sizeof target, nullptr));
  std::thread opener([&] {
    page.wait_for_arrival();
    page.appear();
  });
  mr_stream_release(stream);
  CHECK(target[63] == 6);
  opener.join();
}

TEST_CASE(
    "scratch is allocated at creation, 4 MiB by default, counted, and freed with the stream") {
  both_modes([](Engine& engine) {
    const uint64_t before = workspace_bytes(engine);
    CHECK(before == 2 * 64 * kKiB);
    mr_stream* by_default = nullptr;
    MR_OK_OR_FAIL(mr_stream_create(engine.context, nullptr, &by_default, nullptr));
    CHECK(workspace_bytes(engine) == before + 4 * kMiB);
    mr_stream* small = make_stream(engine.context, 1, -5);
    CHECK(workspace_bytes(engine) == before + 4 * kMiB + 256);
    mr_stream_release(by_default);
    mr_stream_release(small);
    CHECK(workspace_bytes(engine) == before);
  });
}

TEST_CASE("a stream's configuration: what is refused, and that nothing stays behind") {
  both_modes([](Engine& engine) {
    const mr_memory_stats before = test::stats_of(engine.memory);
    mr_stream* stream = nullptr;
    mr_stream_config config = MR_STREAM_CONFIG_INIT;
    config.flags = 2;
    CHECK(mr_stream_create(engine.context, &config, &stream, nullptr) == MR_INVALID_ARGUMENT);
    config.flags = 0;
    config.reserved = 1;
    CHECK(mr_stream_create(engine.context, &config, &stream, nullptr) == MR_INVALID_ARGUMENT);
    config.reserved = 0;
    for (const uint64_t bytes : {UINT64_MAX, uint64_t{1} << 50, uint64_t{1} << 63}) {
      config.workspace_bytes = bytes;
      mr_error error = {};
      CHECK(mr_stream_create(engine.context, &config, &stream, &error) == MR_OUT_OF_DEVICE_MEMORY);
      CHECK(std::string(error.text).find("requested") != std::string::npos);
    }
    CHECK(stream == nullptr);
    CHECK(test::same_figures(test::stats_of(engine.memory), before));
    config.workspace_bytes = 0;
    config.priority = INT32_MIN;
    CHECK(mr_stream_create(engine.context, &config, &stream, nullptr) == MR_OK);
    mr_stream_release(stream);
  });
}

TEST_CASE("a wrapper is the same queue, with scratch of its own") {
  both_modes([](Engine& engine) {
    mr_stream* wrapper = nullptr;
    const uint64_t before = workspace_bytes(engine);
    mr_stream_config config = MR_STREAM_CONFIG_INIT;
    config.workspace_bytes = 512;
    MR_OK_OR_FAIL(
        mr_stream_wrap(engine.context, mr_stream_native(engine.a), &config, &wrapper, nullptr));
    CHECK(workspace_bytes(engine) == before + 512);
    CHECK(mr_stream_native(wrapper) == mr_stream_native(engine.a));
    CHECK(mr_stream_context(wrapper) == engine.context);
    Bytes x(wrapper, 64);
    x.fill(1);
    MR_OK_OR_FAIL(mr_fill(engine.a, x.data, 2, 32, nullptr));
    MR_OK_OR_FAIL(mr_fill(wrapper, x.data, 3, 16, nullptr));
    MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
    CHECK(x.data[15] == 3);
    CHECK(x.data[31] == 2);
    CHECK(x.data[63] == 1);
    // One capture, whichever handle asks.
    MR_OK_OR_FAIL(mr_graph_begin(wrapper, nullptr, nullptr));
    int32_t capturing = 0;
    MR_OK_OR_FAIL(mr_stream_is_capturing(engine.a, &capturing, nullptr));
    CHECK(capturing == 1);
    mr_graph* graph = nullptr;
    MR_OK_OR_FAIL(mr_graph_end(engine.a, &graph, nullptr));
    mr_graph_release(graph);
    mr_stream_release(wrapper);
  });
}

TEST_CASE("a wrapper that is released does not wait, and the stream works on") {
  SlowPage page;
  Engine engine("deferred");
  mr_stream* wrapper = nullptr;
  MR_OK_OR_FAIL(
      mr_stream_wrap(engine.context, mr_stream_native(engine.a), nullptr, &wrapper, nullptr));
  Bytes x(engine.a, 64);
  page.hold_up(wrapper);
  MR_OK_OR_FAIL(mr_fill(wrapper, x.data, 4, 64, nullptr));
  mr_stream_release(wrapper);
  CHECK(mr_stream_query(engine.a, nullptr) == MR_NOT_READY);
  page.appear();
  CHECK(x.value() == 4);
  CHECK(workspace_bytes(engine) == 2 * 64 * kKiB);
}

TEST_CASE("the host has no default stream to wrap") {
  both_modes([](Engine& engine) {
    mr_stream* wrapper = nullptr;
    mr_stream_config config = MR_STREAM_CONFIG_INIT;
    CHECK(mr_stream_wrap(engine.context, nullptr, &config, &wrapper, nullptr) ==
          MR_INVALID_ARGUMENT);
    config.flags = MR_STREAM_ALLOW_DEFAULT;
    mr_error error = {};
    CHECK(mr_stream_wrap(engine.context, nullptr, &config, &wrapper, &error) ==
          MR_INVALID_ARGUMENT);
    CHECK(std::string(error.text).find("native:") == 0);
    CHECK(wrapper == nullptr);
  });
}

TEST_CASE("G09: set_workspace takes both or neither, and addresses aligned to 256") {
  both_modes([](Engine& engine) {
    Bytes own(engine.a, 4096);
    mr_error error = {};
    CHECK(mr_stream_set_workspace(engine.a, own.data, 4096, nullptr) == MR_OK);
    CHECK(mr_stream_set_workspace(engine.a, nullptr, 4096, &error) == MR_INVALID_ARGUMENT);
    CHECK(std::string(error.text).find("bytes:") == 0);
    CHECK(mr_stream_set_workspace(engine.a, own.data, 0, nullptr) == MR_INVALID_ARGUMENT);
    for (const uint64_t shift : {1, 16, 32, 64, 128, 255}) {
      CHECK(mr_stream_set_workspace(engine.a, own.data + shift, 1024, &error) == MR_MISALIGNED);
      CHECK(std::string(error.text).find(std::to_string(shift)) != std::string::npos);
    }
    CHECK(mr_stream_set_workspace(engine.a, nullptr, 0, nullptr) == MR_OK);
  });
}

TEST_CASE("reserve_capture adds, is counted as workspace, and goes with the stream") {
  both_modes([](Engine& engine) {
    const uint64_t before = workspace_bytes(engine);
    mr_stream* stream = make_stream(engine.context, 256);
    MR_OK_OR_FAIL(mr_stream_reserve_capture(stream, 1000, nullptr));
    MR_OK_OR_FAIL(mr_stream_reserve_capture(stream, 0, nullptr));
    MR_OK_OR_FAIL(mr_stream_reserve_capture(stream, 256, nullptr));
    CHECK(workspace_bytes(engine) == before + 256 + 1024 + 256);
    CHECK(mr_stream_reserve_capture(stream, UINT64_MAX, nullptr) == MR_INVALID_ARGUMENT);
    CHECK(mr_stream_reserve_capture(stream, uint64_t{1} << 50, nullptr) == MR_OUT_OF_DEVICE_MEMORY);
    CHECK(workspace_bytes(engine) == before + 256 + 1024 + 256);
    mr_stream_release(stream);
    CHECK(workspace_bytes(engine) == before);
  });
}

TEST_CASE("synchronous: each call has done its work when it returns") {
  both_modes([](Engine& engine) {
    Bytes x(engine.a, kMiB), y(engine.a, kMiB);
    MR_OK_OR_FAIL(mr_context_set_option(engine.context, "synchronous", "on", nullptr));
    for (int i = 1; i < 20; ++i) {
      x.fill(static_cast<unsigned char>(i));
      CHECK(x.data[kMiB - 1] == i);
      MR_OK_OR_FAIL(mr_copy(engine.a, y.data, x.data, kMiB, MR_COPY_ON_DEVICE, nullptr));
      CHECK(y.data[kMiB - 1] == i);
      CHECK(mr_stream_query(engine.a, nullptr) == MR_OK);
    }
    const float value = 2.0f;
    MR_OK_OR_FAIL(mr_upload(engine.a, x.data, &value, 4, nullptr));
    MR_OK_OR_FAIL(test::twice(engine.a, x.data, y.data, 1));
    float got = 0.0f;
    std::memcpy(&got, y.data, 4);
    CHECK(got == 4.0f);
  });
}
