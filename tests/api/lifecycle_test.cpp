// Children keep their parents alive, so objects may be released in every order, while work is
// queued or captures are open, and everything is given back in the end.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include "api/api_fixture.h"

namespace {

using test::kKiB;
using test::kMiB;

// The host application's allocator: what it has lent shows what is still held. Queued work may use
// what comes back until its stream has passed, so nothing is given out again before the end.
class Lender {
 public:
  ~Lender() {
    for (void* address : returned_) std::free(address);
  }
  static void* allocate(void* user, uint64_t bytes, uint64_t alignment, uint32_t, int32_t, void*) {
    auto* self = static_cast<Lender*>(user);
    ++self->live, ++self->calls;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void release(void* user, void* address, uint64_t, uint32_t, int32_t, void*) {
    auto* self = static_cast<Lender*>(user);
    --self->live;
    std::lock_guard lock(self->mutex_);
    self->returned_.push_back(address);
  }
  std::atomic<int64_t> live{0};
  std::atomic<int64_t> calls{0};

 private:
  std::mutex mutex_;
  std::vector<void*> returned_;
};

// One object of each kind, all with work behind them.
struct Objects {
  mr_memory* memory = nullptr;
  mr_context* context = nullptr;
  mr_stream* stream = nullptr;
  mr_event* event = nullptr;
  mr_buffer* buffer = nullptr;
  mr_graph* graph = nullptr;
  mr_graph_pool* pool = nullptr;
  mr_ring* ring = nullptr;
  mr_matmul_plan* plan = nullptr;

  Objects(Lender& lender, const char* mode) {
    mr_memory_config config = MR_MEMORY_CONFIG_INIT;
    config.backend = MR_BACKEND_HOST;
    config.allocate = Lender::allocate;
    config.deallocate = Lender::release;
    config.user = &lender;
    MR_OK_OR_FAIL(mr_memory_create(&config, &memory, nullptr));
    context = test::make_context(std::string("host.threads=1;host.blas=off;host.streams=") + mode,
                                 memory);
    mr_stream_config small = MR_STREAM_CONFIG_INIT;
    small.workspace_bytes = 256;
    MR_OK_OR_FAIL(mr_stream_create(context, &small, &stream, nullptr));
    MR_OK_OR_FAIL(mr_event_create(context, 0, &event, nullptr));
    MR_OK_OR_FAIL(mr_buffer_create(stream, 4 * kKiB, MR_MEMORY_DEVICE, 0, &buffer, nullptr));
    MR_OK_OR_FAIL(mr_ring_create(context, 2, 64, &ring, nullptr));
    MR_OK_OR_FAIL(mr_graph_pool_create(context, 512, &pool, nullptr));
    mr_matmul_problem problem = MR_MATMUL_PROBLEM_INIT;
    problem.dtype = problem.d_dtype = MR_F32;
    problem.m_max = 2, problem.n = 3, problem.k = 4;
    MR_OK_OR_FAIL(mr_matmul_plan_create(context, &problem, &plan, nullptr));
    MR_OK_OR_FAIL(mr_graph_begin(stream, pool, nullptr));
    work();
    MR_OK_OR_FAIL(mr_graph_end(stream, &graph, nullptr));
    work();
    MR_OK_OR_FAIL(mr_graph_launch(graph, stream, nullptr));
  }

  void work() const {
    MR_OK_OR_FAIL(mr_fill(stream, mr_buffer_data(buffer), 1, 4 * kKiB, nullptr));
    MR_OK_OR_FAIL(mr_ring_push(ring, 0, stream, mr_buffer_data(buffer), 64, nullptr));
    MR_OK_OR_FAIL(mr_event_record(event, stream, MR_EVENT_EXTERNAL, nullptr));
  }

  // All but the plan and the pool, by number.
  static constexpr int kCount = 7;
  void release(int number) const {
    switch (number) {
      case 0:
        return mr_context_release(context);
      case 1:
        return mr_stream_release(stream);
      case 2:
        return mr_event_release(event);
      case 3:
        return mr_buffer_release(buffer);
      case 4:
        return mr_graph_release(graph);
      case 5:
        return mr_ring_release(ring);
      case 6:
        return mr_memory_release(memory);
    }
  }
};

// Releases in that order, the plan and the graph's pool somewhere in between.
template <size_t kLength>
void release_in(const std::array<int, kLength>& order, const char* mode, size_t between) {
  Lender lender;
  const Objects objects(lender, mode);
  for (size_t i = 0; i < kLength; ++i) {
    if (i == between % kLength) mr_graph_pool_release(objects.pool);
    if (i == between / kLength % kLength) mr_matmul_plan_release(objects.plan);
    objects.release(order[i]);
  }
  if (lender.live != 0 || lender.calls == 0) {
    std::string text;
    for (const int number : order) text += static_cast<char>('0' + number);
    FAIL(mode << ", order " << text << ": " << lender.live << " allocations are left");
  }
}

}  // namespace

TEST_CASE("objects are released in every order: all permutations of seven, streams inline") {
  std::array<int, Objects::kCount> order = {0, 1, 2, 3, 4, 5, 6};
  size_t number = 0;
  do {
    // Under a sanitizer a part of them, of every kind of beginning.
    if ((!MR_TEST_ASAN && !MR_TEST_TSAN) || number % 17 == 0) release_in(order, "inline", number);
    ++number;
  } while (std::next_permutation(order.begin(), order.end()));
  CHECK(number == 5040);
}

TEST_CASE("objects are released in many orders while a deferred stream still works for them") {
  std::array<int, Objects::kCount> order = {0, 1, 2, 3, 4, 5, 6};
  std::mt19937 random(3);
  // Each pair in either order at the end, and the others at random before.
  for (int last = 0; last < Objects::kCount; ++last) {
    for (int before = 0; before < Objects::kCount; ++before) {
      if (before == last) continue;
      std::shuffle(order.begin(), order.end(), random);
      std::stable_partition(order.begin(), order.end(),
                            [&](int number) { return number != before && number != last; });
      order[5] = before, order[6] = last;
      release_in(order, "deferred", random() % 49);
    }
  }
}

TEST_CASE("a reference more keeps an object usable") {
  test::both_modes([](test::Engine& engine) {
    mr_event* event = test::make_event(engine.context);
    for (int i = 0; i < 3; ++i) mr_event_retain(event);
    for (int i = 0; i < 3; ++i) mr_event_release(event);
    CHECK(mr_event_record(event, engine.a, 0, nullptr) == MR_OK);
    mr_event_release(event);
    mr_buffer* buffer = nullptr;
    MR_OK_OR_FAIL(mr_buffer_create(engine.a, 64, MR_MEMORY_DEVICE, 0, &buffer, nullptr));
    mr_buffer_retain(buffer);
    mr_buffer_release(buffer);
    CHECK(mr_fill(engine.a, mr_buffer_data(buffer), 1, 64, nullptr) == MR_OK);
    mr_buffer_release(buffer);
  });
}

TEST_CASE("M11: a context that is released with live buffers lives until the last of them") {
  for (const char* mode : {"inline", "deferred"}) {
    unsigned char host[16];
    std::memset(host, 5, sizeof host);
    Lender lender;
    {
      const Objects objects(lender, mode);
      mr_buffer* second = nullptr;
      MR_OK_OR_FAIL(mr_buffer_create(objects.stream, 64, MR_MEMORY_DEVICE, 0, &second, nullptr));
      for (const int number : {0, 6, 1, 2, 4, 5}) objects.release(number);
      mr_matmul_plan_release(objects.plan);
      mr_graph_pool_release(objects.pool);
      CHECK(lender.live > 0);
      CHECK(mr_buffer_bytes(second) == 64);
      std::memset(mr_buffer_data(second), 1, 64);  // still there
      objects.release(3);
      CHECK(lender.live > 0);
      mr_buffer_release(second);
    }
    CHECK(lender.live == 0);
    for (const unsigned char byte : host) CHECK(byte == 5);
  }
}

TEST_CASE("the memory's live allocations go with it") {
  Lender lender;
  mr_memory_config config = MR_MEMORY_CONFIG_INIT;
  config.backend = MR_BACKEND_HOST;
  config.allocate = Lender::allocate;
  config.deallocate = Lender::release;
  config.user = &lender;
  mr_memory* memory = nullptr;
  MR_OK_OR_FAIL(mr_memory_create(&config, &memory, nullptr));
  for (int i = 0; i < 3; ++i) {
    void* address = nullptr;
    MR_OK_OR_FAIL(mr_memory_allocate(memory, nullptr, 1000, 0, MR_TAG_KV, &address, nullptr));
  }
  CHECK(lender.live == 3);
  mr_memory_release(memory);
  CHECK(lender.live == 0);
}

TEST_CASE("releases from many threads at once") {
  for (const char* mode : {"inline", "deferred"}) {
    for (int round = 0; round < 20; ++round) {
      Lender lender;
      const Objects objects(lender, mode);
      std::vector<std::thread> threads;
      for (int number = 0; number < Objects::kCount; ++number) {
        threads.emplace_back([&objects, number] { objects.release(number); });
      }
      mr_graph_pool_release(objects.pool);
      mr_matmul_plan_release(objects.plan);
      for (std::thread& thread : threads) thread.join();
      CHECK(lender.live == 0);
    }
  }
}
