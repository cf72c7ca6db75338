// Contexts: configuration, options and log through the interface, health, device, shared memory.
#include <functional>

#include "api/api_fixture.h"

namespace {

using test::Bytes;
using test::Engine;
using test::make_context;

struct Lines {
  std::vector<std::pair<int32_t, std::string>> all;
  static void keep(void* user, int32_t level, const char* text, uint64_t length) {
    CHECK(text[length] == '\0');
    static_cast<Lines*>(user)->all.emplace_back(level, std::string(text, length));
  }
};

mr_status create(const std::function<void(mr_context_config&)>& change, std::string* text) {
  mr_context_config config = MR_CONTEXT_CONFIG_INIT;
  config.backend = MR_BACKEND_HOST;
  change(config);
  mr_context* context = nullptr;
  mr_error error = {};
  const mr_status status = mr_context_create(&config, &context, &error);
  CHECK((context != nullptr) == (status == MR_OK));
  mr_context_release(context);
  *text = error.text;
  return status;
}

std::string get(mr_context* context, const char* name) {
  char text[64] = {};
  MR_OK_OR_FAIL(mr_context_get_option(context, name, text, sizeof text, nullptr, nullptr));
  return text;
}

}  // namespace

TEST_CASE("each field of the configuration that is wrong is refused and named") {
  const auto refused = [](mr_status code, const char* part,
                          const std::function<void(mr_context_config&)>& change) {
    std::string text;
    CHECK(create(change, &text) == code);
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  };
  refused(MR_INVALID_ARGUMENT, "config.flags", [](auto& c) { c.flags = 1; });
  refused(MR_INVALID_ARGUMENT, "config.reserved", [](auto& c) { c.reserved = 1; });
  refused(MR_INVALID_ARGUMENT, "config.backend", [](auto& c) { c.backend = 3; });
  refused(MR_INVALID_ARGUMENT, "config.backend", [](auto& c) { c.backend = 0xffffffffu; });
  refused(MR_NO_DEVICE, "config.ordinal", [](auto& c) { c.ordinal = 1; });
  refused(MR_NO_DEVICE, "config.ordinal", [](auto& c) { c.ordinal = -1; });
  refused(MR_INVALID_ARGUMENT, "config.log_level", [](auto& c) { c.log_level = 5; });
  refused(MR_INVALID_ARGUMENT, "config.log_level", [](auto& c) { c.log_level = -1; });
  refused(MR_INVALID_ARGUMENT, "config.options", [](auto& c) { c.options = "x"; });
  refused(MR_INVALID_ARGUMENT, "speed", [](auto& c) { c.options = "speed=1"; });
  refused(MR_INVALID_ARGUMENT, "host.threads", [](auto& c) { c.options = "host.threads=1025"; });
  refused(MR_INVALID_ARGUMENT, "0..1024", [](auto& c) { c.options = "host.threads=1025"; });
  refused(MR_DEPENDENCY_MISSING, "no/such/library",
          [](auto& c) { c.options = "host.blas=/no/such/library.so"; });
  refused(MR_INVALID_ARGUMENT, "struct_size", [](auto& c) { c.struct_size = 65537; });
  mr_context* context = nullptr;
  CHECK(mr_context_create(nullptr, &context, nullptr) == MR_INVALID_ARGUMENT);
  mr_context_config config = MR_CONTEXT_CONFIG_INIT;
  CHECK(mr_context_create(&config, nullptr, nullptr) == MR_INVALID_ARGUMENT);
}

TEST_CASE("a zeroed configuration with its size opens the best device") {
  mr_context_config config = {};
  config.struct_size = sizeof config;
  mr_context* context = nullptr;
  MR_OK_OR_FAIL(mr_context_create(&config, &context, nullptr));
  mr_device_info device = MR_DEVICE_INFO_INIT;
  MR_OK_OR_FAIL(mr_context_device(context, &device, nullptr));
  mr_device_info first = MR_DEVICE_INFO_INIT;
  MR_OK_OR_FAIL(mr_device_query(0, &first, nullptr));
  CHECK(device.backend == first.backend);
  CHECK(std::string(device.name) == first.name);
  mr_context_release(context);
}

TEST_CASE("options: set and get, fixed ones, truncation and length") {
  Engine engine("deferred", "determinism=run-to-run");
  CHECK(get(engine.context, "host.streams") == "deferred");
  CHECK(get(engine.context, "determinism") == "run-to-run");
  CHECK(get(engine.context, "force_kernel").empty());
  MR_OK_OR_FAIL(mr_context_set_option(engine.context, "determinism", "batch-invariant", nullptr));
  CHECK(get(engine.context, "determinism") == "batch-invariant");
  mr_error error = {};
  for (const char* fixed : {"host.streams", "host.threads", "host.blas"}) {
    CHECK(mr_context_set_option(engine.context, fixed, "1", &error) == MR_INVALID_ARGUMENT);
    CHECK(std::string(error.text).find(fixed) != std::string::npos);
  }
  CHECK(mr_context_set_option(engine.context, "determinism", "no", &error) == MR_INVALID_ARGUMENT);
  CHECK(std::string(error.text).find("fast|run-to-run|batch-invariant") != std::string::npos);
  CHECK(mr_context_set_option(engine.context, nullptr, "x", nullptr) == MR_INVALID_ARGUMENT);
  CHECK(mr_context_set_option(engine.context, "fallback", nullptr, nullptr) == MR_INVALID_ARGUMENT);
  CHECK(get(engine.context, "determinism") == "batch-invariant");

  char text[8];
  std::memset(text, '#', sizeof text);
  uint64_t length = 99;
  MR_OK_OR_FAIL(mr_context_get_option(engine.context, "determinism", text, 6, &length, nullptr));
  CHECK(std::string(text) == "batch");
  CHECK(text[6] == '#');
  CHECK(length == 15);
  MR_OK_OR_FAIL(mr_context_get_option(engine.context, "determinism", text, 1, nullptr, nullptr));
  CHECK(text[0] == '\0');
  MR_OK_OR_FAIL(mr_context_get_option(engine.context, "determinism", nullptr, 0, &length, nullptr));
  CHECK(length == 15);
  CHECK(mr_context_get_option(engine.context, "determinism", nullptr, 4, &length, nullptr) ==
        MR_INVALID_ARGUMENT);
  length = 99;
  CHECK(mr_context_get_option(engine.context, "no", text, 8, &length, nullptr) ==
        MR_INVALID_ARGUMENT);
  CHECK(length == 99);
}

TEST_CASE("force_kernel and fallback reach the operators") {
  Engine engine;
  Bytes x(engine.a, 64);
  MR_OK_OR_FAIL(mr_context_set_option(engine.context, "force_kernel", "no_such_kernel", nullptr));
  mr_error error = {};
  CHECK(test::twice(engine.a, x.data, x.data, 4, &error) == MR_UNSUPPORTED);
  CHECK(std::string(error.text).find("add") == 0);
  CHECK(std::string(error.text).find("force_kernel") != std::string::npos);
  MR_OK_OR_FAIL(mr_context_set_option(engine.context, "force_kernel", "host_add", nullptr));
  CHECK(test::twice(engine.a, x.data, x.data, 4, &error) == MR_OK);
  MR_OK_OR_FAIL(mr_context_set_option(engine.context, "force_kernel", "", nullptr));
  MR_OK_OR_FAIL(mr_context_set_option(engine.context, "fallback", "error", nullptr));
  CHECK(test::twice(engine.a, x.data, x.data, 4, &error) == MR_OK);
}

TEST_CASE("the log: silent by default, lines up to the level, on the user's pointer") {
  for (const int32_t level : {MR_LOG_ERROR, MR_LOG_WARNING, MR_LOG_INFO, MR_LOG_DEBUG, 0}) {
    Lines lines;
    std::string text;
    CHECK(create(
              [&](auto& config) {
                config.log = Lines::keep;
                config.log_user = &lines;
                config.log_level = level;
              },
              &text) == MR_OK);
    for (const auto& [got, line] : lines.all) {
      CHECK(got >= MR_LOG_ERROR);
      CHECK(got <= (level == 0 ? MR_LOG_WARNING : level));
      CHECK(!line.empty());
    }
    if (level >= MR_LOG_INFO) CHECK(!lines.all.empty());  // which device it is
    if (level <= MR_LOG_WARNING) CHECK(lines.all.empty());
  }
}

TEST_CASE("neither log nor errors hold tensor contents") {
  constexpr float kSecret = 8675309.25f;
  const std::string traces[] = {"8675309", "8.67531", "8.675309", "0x4b0460"};
  Lines lines;
  mr_context_config config = MR_CONTEXT_CONFIG_INIT;
  config.backend = MR_BACKEND_HOST;
  config.log = Lines::keep;
  config.log_user = &lines;
  config.log_level = MR_LOG_DEBUG;
  mr_context* context = nullptr;
  mr_stream* stream = nullptr;
  MR_OK_OR_FAIL(mr_context_create(&config, &context, nullptr));
  MR_OK_OR_FAIL(mr_stream_create(context, nullptr, &stream, nullptr));
  std::string errors;
  {
    Bytes x(stream, 64);
    const std::vector<float> secret(16, kSecret);
    mr_error error = {};
    const auto remember = [&](mr_status status) {
      if (status != MR_OK) errors += error.text;
      CHECK(status != MR_OK);
    };
    MR_OK_OR_FAIL(mr_upload(stream, x.data, secret.data(), 64, nullptr));
    MR_OK_OR_FAIL(test::twice(stream, x.data, x.data, 16));
    remember(test::twice(stream, x.data + 1, x.data, 8, &error));
    remember(mr_copy(stream, x.data, nullptr, 64, MR_COPY_TO_DEVICE, &error));
    remember(mr_memory_free(mr_context_memory(context), stream, x.data + 4, &error));
    mr_add_args args = MR_ADD_ARGS_INIT;
    remember(mr_add(stream, &args, &error));
    MR_OK_OR_FAIL(mr_stream_synchronize(stream, nullptr));
  }
  mr_stream_release(stream);
  mr_context_release(context);
  for (const auto& [level, line] : lines.all) errors += line;
  for (const std::string& trace : traces) CHECK(errors.find(trace) == std::string::npos);
}

TEST_CASE("two contexts share a memory; it outlives both") {
  mr_memory_config config = MR_MEMORY_CONFIG_INIT;
  config.backend = MR_BACKEND_HOST;
  mr_memory* memory = nullptr;
  MR_OK_OR_FAIL(mr_memory_create(&config, &memory, nullptr));
  {
    Engine first("inline", "", memory), second("deferred", "", memory);
    CHECK(first.memory == memory);
    CHECK(second.memory == memory);
    Bytes x(first.a, 1000), y(second.a, 3000);
    CHECK(test::stats_of(memory).requested.current >= 4000);
    x.fill(1), y.fill(2);
    CHECK(x.value() == 1);
    CHECK(y.value() == 2);
    // Memory of one context freed in the order of the other's stream.
    void* address = nullptr;
    MR_OK_OR_FAIL(mr_memory_allocate(memory, first.a, 512, 0, 0, &address, nullptr));
    MR_OK_OR_FAIL(mr_memory_use(memory, second.a, address, nullptr));
    MR_OK_OR_FAIL(mr_memory_free(memory, second.b, address, nullptr));
  }
  CHECK(test::stats_of(memory).allocated.current == 0);
  uint64_t reserved = 1;
  MR_OK_OR_FAIL(mr_memory_trim(memory, 0, &reserved, nullptr));
  CHECK(reserved == 0);
  mr_memory_release(memory);
}

TEST_CASE("health is OK without a fault, and what health is asked about may be gone soon") {
  Engine engine;
  CHECK(mr_context_health(engine.context, nullptr) == MR_OK);
  mr_context_retain(engine.context);
  mr_context_release(engine.context);
  CHECK(mr_context_health(engine.context, nullptr) == MR_OK);
}
