// The host application's allocator through the interface: what it is asked, and that a refusal by
// it fails every call that needs it without any other effect.
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "api/entry_points.h"

namespace {

using test::EntryPoint;
using test::Scene;

// Refuses the request with the number `fail_at`, counted from arm().
class Allocator {
 public:
  ~Allocator() {
    for (void* address : returned_) std::free(address);
  }
  mr_memory_config config() {
    mr_memory_config config = MR_MEMORY_CONFIG_INIT;
    config.backend = MR_BACKEND_HOST;
    config.allocate = allocate;
    config.deallocate = release;
    config.user = this;
    return config;
  }
  void arm(int fail_at) { seen = 0, fail_at_ = fail_at, failed_kind = -1; }

  int seen = 0;
  int failed_kind = -1;  // of the request that was refused
  int live = 0;
  mr_memory* ask = nullptr;  // whose figures are read within the functions, if not null
  uint64_t shift = 0;        // of the addresses given out

 private:
  static void* allocate(void* user, uint64_t bytes, uint64_t alignment, uint32_t kind,
                        int32_t ordinal, void*) {
    auto* self = static_cast<Allocator*>(user);
    CHECK(bytes > 0);
    CHECK((alignment & (alignment - 1)) == 0);
    CHECK(alignment >= 256);
    CHECK(kind <= MR_MEMORY_PINNED);
    CHECK(ordinal == 0);
    if (self->ask != nullptr) (void)test::stats_of(self->ask);
    if (++self->seen == self->fail_at_) {
      self->failed_kind = static_cast<int>(kind);
      return nullptr;
    }
    ++self->live;
    const uint64_t room = (bytes + self->shift + alignment - 1) / alignment * alignment;
    return static_cast<char*>(std::aligned_alloc(alignment, room)) + self->shift;
  }
  static void release(void* user, void* address, uint64_t bytes, uint32_t kind, int32_t ordinal,
                      void*) {
    auto* self = static_cast<Allocator*>(user);
    CHECK(bytes > 0);
    CHECK(kind <= MR_MEMORY_PINNED);
    CHECK(ordinal == 0);
    if (self->ask != nullptr) (void)test::stats_of(self->ask);
    --self->live;
    self->returned_.push_back(static_cast<char*>(address) - self->shift);
  }
  int fail_at_ = -1;
  std::vector<void*> returned_;  // queued work may use them until the end
};

void prepare(Scene& scene, const EntryPoint& entry) {
  scene.clear();
  if (scene.address == nullptr) {
    MR_OK_OR_FAIL(mr_memory_allocate(scene.handles.memory(), scene.handles.stream(), 512, 0, 0,
                                     &scene.address, nullptr));
  }
  if (entry.setup) entry.setup(scene);
}

// How many requests of the call were refused, one per run.
int refuse_each_request(Scene& scene, Allocator& allocator, const EntryPoint& entry) {
  CAPTURE(entry.name);
  for (int n = 1;; ++n) {
    REQUIRE(n < 50);
    prepare(scene, entry);
    const mr_memory_stats before = test::stats_of(scene.handles.memory());
    const int live = allocator.live;
    allocator.arm(n);
    mr_error error = {};
    const mr_status status = entry.call(scene, scene.handles, &error);
    if (allocator.failed_kind < 0) {
      allocator.arm(-1);
      CHECK_MESSAGE(status == MR_OK, error.text);
      return n - 1;
    }
    CHECK(status == (allocator.failed_kind == static_cast<int>(MR_MEMORY_PINNED)
                         ? MR_OUT_OF_HOST_MEMORY
                         : MR_OUT_OF_DEVICE_MEMORY));
    CHECK(error.code == status);
    CHECK(error.text[0] != '\0');
    CHECK(scene.untouched());
    CHECK(allocator.live == live);
    CHECK(test::same_figures(test::stats_of(scene.handles.memory()), before));
    allocator.arm(-1);
    CHECK_MESSAGE(entry.call(scene, scene.handles, &error) == MR_OK, error.text);
  }
}

}  // namespace

TEST_CASE("a refusal fails the call that needs the memory, and nothing else happens") {
  for (const char* mode : {"host.streams=inline", "host.streams=deferred"}) {
    Allocator allocator;
    {
      const mr_memory_config config = allocator.config();
      Scene scene(mode, &config);
      std::string asking;
      for (const EntryPoint& entry : test::entry_points()) {
        if (!entry.fallible) continue;
        if (refuse_each_request(scene, allocator, entry) > 0) asking += entry.name + " ";
      }
      // Nothing that only enqueues is among them.
      CHECK(asking ==
            "memory_allocate buffer_create stream_create stream_wrap stream_reserve_capture "
            "graph_pool_create ring_create memory_allocate_block ");
    }
    CHECK(allocator.live == 0);
  }
}

TEST_CASE("the functions are called without a lock that the figures need") {
  Allocator allocator;
  {
    const mr_memory_config config = allocator.config();
    Scene scene("host.streams=deferred", &config);
    allocator.ask = scene.handles.memory();
    for (const EntryPoint& entry : test::entry_points()) {
      CAPTURE(entry.name);
      prepare(scene, entry);
      CHECK(entry.call(scene, scene.handles, nullptr) == MR_OK);
    }
    scene.clear();
    allocator.ask = nullptr;
  }
  CHECK(allocator.live == 0);
}

TEST_CASE("an address that is not aligned as asked goes back and the call fails") {
  Allocator allocator;
  mr_memory_config config = allocator.config();
  mr_memory* memory = nullptr;
  MR_OK_OR_FAIL(mr_memory_create(&config, &memory, nullptr));
  allocator.shift = 64;
  void* address = nullptr;
  mr_error error = {};
  CHECK(mr_memory_allocate(memory, nullptr, 1000, 0, 0, &address, &error) == MR_INVALID_ARGUMENT);
  CHECK(std::string(error.text).find("config.allocate") == 0);
  CHECK(address == nullptr);
  CHECK(allocator.live == 0);
  CHECK(test::stats_of(memory).reserved.current == 0);
  mr_memory_release(memory);
}

TEST_CASE("one function without the other, and other wrong configurations") {
  Allocator allocator;
  mr_memory* memory = nullptr;
  mr_error error = {};
  mr_memory_config config = allocator.config();
  config.allocate = nullptr;
  CHECK(mr_memory_create(&config, &memory, &error) == MR_INVALID_ARGUMENT);
  config = allocator.config();
  config.deallocate = nullptr;
  CHECK(mr_memory_create(&config, &memory, &error) == MR_INVALID_ARGUMENT);
  CHECK(std::string(error.text).find("config.allocate") == 0);
  config = allocator.config();
  config.flags = 2;
  CHECK(mr_memory_create(&config, &memory, &error) == MR_INVALID_ARGUMENT);
  config = allocator.config();
  config.backend = 9;
  CHECK(mr_memory_create(&config, &memory, &error) == MR_INVALID_ARGUMENT);
  config = allocator.config();
  config.ordinal = 1;
  CHECK(mr_memory_create(&config, &memory, &error) == MR_NO_DEVICE);
  CHECK(mr_memory_create(nullptr, &memory, &error) == MR_INVALID_ARGUMENT);
  CHECK(mr_memory_create(&config, nullptr, &error) == MR_INVALID_ARGUMENT);
  CHECK(memory == nullptr);
  CHECK(allocator.seen == 0);
}
