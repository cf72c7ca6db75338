// What tests of the interface share: a host context with streams of either mode, and short forms of
// the calls that every test makes. Only include/ is seen here.
#pragma once

#include <doctest/doctest.h>
#include <millrace/millrace.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "support/sanitizers.h"

namespace test {

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;

// Fails the test with the error's text unless the call succeeded.
#define MR_OK_OR_FAIL(call)                                               \
  do {                                                                    \
    const mr_status status_of_call = (call);                              \
    if (status_of_call != MR_OK) {                                        \
      FAIL(#call << ": " << std::string(mr_status_name(status_of_call))); \
    }                                                                     \
  } while (0)

inline mr_context* make_context(const std::string& options, mr_memory* memory = nullptr) {
  mr_context_config config = MR_CONTEXT_CONFIG_INIT;
  config.backend = MR_BACKEND_HOST;
  config.options = options.c_str();
  config.memory = memory;
  mr_context* context = nullptr;
  mr_error error = {};
  REQUIRE_MESSAGE(mr_context_create(&config, &context, &error) == MR_OK, error.text);
  return context;
}

inline mr_memory_stats stats_of(mr_memory* memory) {
  mr_memory_stats stats = MR_MEMORY_STATS_INIT;
  MR_OK_OR_FAIL(mr_memory_get_stats(memory, &stats, nullptr));
  return stats;
}

// Equal but for what other programs on the machine change, and for counts of failures.
inline bool same_figures(mr_memory_stats a, mr_memory_stats b) {
  for (mr_memory_stats* stats : {&a, &b}) {
    stats->device_free = stats->external = 0;
    stats->out_of_memory = stats->address_bytes = stats->largest_free = 0;
  }
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// A context with two streams. mode is "inline" or "deferred".
class Engine {
 public:
  explicit Engine(const std::string& mode = "inline", const std::string& options = "",
                  mr_memory* shared = nullptr)
      : context(make_context("host.threads=1;host.blas=off;host.streams=" + mode + ";" + options,
                             shared)),
        memory(mr_context_memory(context)) {
    mr_stream_config config = MR_STREAM_CONFIG_INIT;
    config.workspace_bytes = 64 * kKiB;
    MR_OK_OR_FAIL(mr_stream_create(context, &config, &a, nullptr));
    MR_OK_OR_FAIL(mr_stream_create(context, &config, &b, nullptr));
  }
  ~Engine() {
    mr_stream_release(a);
    mr_stream_release(b);
    mr_context_release(context);
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  mr_context* context = nullptr;
  mr_memory* memory = nullptr;  // the context's
  mr_stream* a = nullptr;
  mr_stream* b = nullptr;
};

// Runs the body with an engine of either mode.
template <class Body>
void both_modes(Body&& body) {
  for (const char* mode : {"inline", "deferred"}) {
    CAPTURE(std::string(mode));
    Engine engine(mode);
    body(engine);
  }
}

// A buffer of bytes, released with the scope.
class Bytes {
 public:
  Bytes(mr_stream* stream, uint64_t bytes, uint32_t kind = MR_MEMORY_DEVICE) : stream_(stream) {
    MR_OK_OR_FAIL(mr_buffer_create(stream, bytes, kind, MR_TAG_OTHER, &handle, nullptr));
    data = static_cast<unsigned char*>(mr_buffer_data(handle));
    size = bytes;
  }
  ~Bytes() { mr_buffer_release(handle); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  void fill(unsigned char value) const {
    MR_OK_OR_FAIL(mr_fill(stream_, data, value, size, nullptr));
  }
  // What a download on `stream` sees: the byte that all are, or -1 if they differ.
  int value_on(mr_stream* stream) const {
    std::vector<unsigned char> seen(size);
    MR_OK_OR_FAIL(mr_download(stream, seen.data(), data, size, nullptr));
    for (const unsigned char byte : seen) {
      if (byte != seen.front()) return -1;
    }
    return seen.front();
  }
  int value() const { return value_on(stream_); }

  mr_buffer* handle = nullptr;
  unsigned char* data = nullptr;
  uint64_t size = 0;

 private:
  mr_stream* stream_;
};

inline mr_event* make_event(mr_context* context, uint32_t flags = 0) {
  mr_event* event = nullptr;
  MR_OK_OR_FAIL(mr_event_create(context, flags, &event, nullptr));
  return event;
}

// output = 2 * input, elementwise on floats: a small operator whose result is easy to tell.
inline mr_status twice(mr_stream* stream, void* input, void* output, int64_t count,
                       mr_error* error = nullptr) {
  mr_add_args args = MR_ADD_ARGS_INIT;
  mr_tensor_pack(input, MR_F32, 1, &count, &args.a, nullptr);
  args.b = args.a;
  mr_tensor_pack(output, MR_F32, 1, &count, &args.output, nullptr);
  return mr_add(stream, &args, error);
}

}  // namespace test
