// The allocator through the interface: the reported cases M07 to M14, B03, B04 and E14. How the
// pool does it is tested in tests/memory.
#include <cerrno>
#include <cfenv>
#include <memory>
#include <thread>

#include "api/api_fixture.h"
#include "api/slow_page.h"

namespace {

using test::both_modes;
using test::Bytes;
using test::Engine;
using test::kMiB;
using test::SlowPage;
using test::stats_of;

mr_status allocate(Engine& engine, mr_stream* stream, uint64_t bytes, void** out,
                   uint64_t alignment = 0, uint32_t tag = MR_TAG_OTHER, mr_error* error = nullptr) {
  return mr_memory_allocate(engine.memory, stream, bytes, alignment, tag, out, error);
}

void* take(Engine& engine, mr_stream* stream, uint64_t bytes) {
  void* address = nullptr;
  MR_OK_OR_FAIL(allocate(engine, stream, bytes, &address));
  return address;
}

void give(Engine& engine, mr_stream* stream, void* address) {
  MR_OK_OR_FAIL(mr_memory_free(engine.memory, stream, address, nullptr));
}

}  // namespace

TEST_CASE("M07: a reset of the peaks touches nothing else") {
  both_modes([](Engine& engine) {
    const uint64_t scratch = stats_of(engine.memory).allocated.current;
    void* const four = take(engine, engine.a, 4 * kMiB);
    MR_OK_OR_FAIL(mr_memory_reset_peaks(engine.memory, nullptr));
    const mr_memory_stats reset = stats_of(engine.memory);
    CHECK(reset.allocated.current == scratch + 4 * kMiB);
    CHECK(reset.allocated.peak == scratch + 4 * kMiB);
    CHECK(reset.reserved.current == reset.reserved.peak);
    CHECK(reset.reserved.current > 0);
    CHECK(reset.allocations == 3);
    void* const first = take(engine, engine.a, 256 * kMiB);
    void* const second = take(engine, engine.a, 256 * kMiB);
    give(engine, engine.a, first);
    const mr_memory_stats after = stats_of(engine.memory);
    CHECK(after.allocated.current == scratch + 260 * kMiB);
    CHECK(after.allocated.peak == scratch + 516 * kMiB);
    CHECK(after.allocated.total == scratch + 516 * kMiB);
    CHECK(after.allocations == 5);
    CHECK(after.frees == 1);
    give(engine, engine.a, second);
    give(engine, engine.a, four);
  });
}

TEST_CASE("M08: nothing is allocated for zero bytes, and NULL is freed without effect") {
  both_modes([](Engine& engine) {
    const mr_memory_stats before = stats_of(engine.memory);
    for (mr_stream* stream : {engine.a, static_cast<mr_stream*>(nullptr)}) {
      void* address = &engine;
      CHECK(allocate(engine, stream, 0, &address) == MR_OK);
      CHECK(address == nullptr);
      CHECK(mr_memory_free(engine.memory, stream, nullptr, nullptr) == MR_OK);
    }
    CHECK(mr_memory_use(engine.memory, engine.b, nullptr, nullptr) == MR_OK);
    for (const uint32_t kind : {MR_MEMORY_DEVICE, MR_MEMORY_PINNED}) {
      mr_buffer* buffer = nullptr;
      MR_OK_OR_FAIL(mr_buffer_create(engine.a, 0, kind, 0, &buffer, nullptr));
      CHECK(mr_buffer_data(buffer) == nullptr);
      CHECK(mr_buffer_bytes(buffer) == 0);
      if (kind == MR_MEMORY_DEVICE) CHECK(mr_buffer_use(buffer, engine.b, nullptr) == MR_OK);
      mr_buffer_release(buffer);
    }
    CHECK(test::same_figures(stats_of(engine.memory), before));
  });
}

TEST_CASE("M10: sizes that wrap when they are rounded are refused and change nothing") {
  both_modes([](Engine& engine) {
    const mr_memory_stats before = stats_of(engine.memory);
    for (const uint64_t bytes : {UINT64_MAX, UINT64_MAX - 255, UINT64_MAX - 256, uint64_t{1} << 63,
                                 (uint64_t{1} << 63) - 1, uint64_t{1} << 50}) {
      CAPTURE(bytes);
      for (mr_stream* stream : {engine.a, static_cast<mr_stream*>(nullptr)}) {
        for (const uint64_t alignment : {0, 1 << 21}) {
          void* address = &engine;
          mr_error error = {};
          CHECK(allocate(engine, stream, bytes, &address, alignment, 0, &error) ==
                MR_OUT_OF_DEVICE_MEMORY);
          CHECK(address == &engine);
          CHECK(std::string(error.text).find("requested " + std::to_string(bytes)) !=
                std::string::npos);
        }
      }
      for (const uint32_t kind : {MR_MEMORY_DEVICE, MR_MEMORY_PINNED}) {
        mr_buffer* buffer = nullptr;
        CHECK(mr_buffer_create(engine.a, bytes, kind, 0, &buffer, nullptr) ==
              (kind == MR_MEMORY_DEVICE ? MR_OUT_OF_DEVICE_MEMORY : MR_OUT_OF_HOST_MEMORY));
        CHECK(buffer == nullptr);
      }
    }
    CHECK(test::same_figures(stats_of(engine.memory), before));
    CHECK(stats_of(engine.memory).out_of_memory == before.out_of_memory + 6 * 5);
    give(engine, engine.a, take(engine, engine.a, kMiB));
  });
}

TEST_CASE("alignments, tags and kinds that there are none of") {
  both_modes([](Engine& engine) {
    void* address = &engine;
    mr_error error = {};
    for (const uint64_t alignment :
         {uint64_t{3}, uint64_t{257}, uint64_t{4} << 20, uint64_t{1} << 63}) {
      CHECK(allocate(engine, engine.a, 64, &address, alignment, 0, &error) == MR_INVALID_ARGUMENT);
      CHECK(std::string(error.text).find("alignment:") == 0);
    }
    CHECK(allocate(engine, engine.a, 64, &address, 0, MR_TAG_COUNT, &error) == MR_INVALID_ARGUMENT);
    CHECK(std::string(error.text).find("tag:") == 0);
    mr_buffer* buffer = nullptr;
    CHECK(mr_buffer_create(engine.a, 64, 2, 0, &buffer, &error) == MR_INVALID_ARGUMENT);
    CHECK(std::string(error.text).find("kind:") == 0);
    CHECK(mr_buffer_create(engine.a, 64, 0, MR_TAG_COUNT, &buffer, &error) == MR_INVALID_ARGUMENT);
    CHECK(address == &engine);
    for (uint64_t alignment = 1; alignment <= 2 * kMiB; alignment *= 2) {
      MR_OK_OR_FAIL(allocate(engine, engine.a, 100, &address, alignment, MR_TAG_KV));
      CHECK(reinterpret_cast<uintptr_t>(address) % alignment == 0);
      give(engine, engine.a, address);
    }
  });
}

TEST_CASE("an address that was not given out, or is free already, is refused") {
  both_modes([](Engine& engine) {
    auto* const address = static_cast<char*>(take(engine, engine.a, 1024));
    int elsewhere = 0;
    for (void* wrong : {static_cast<void*>(address + 256), static_cast<void*>(&elsewhere),
                        reinterpret_cast<void*>(UINTPTR_MAX)}) {
      CHECK(mr_memory_free(engine.memory, engine.a, wrong, nullptr) == MR_INVALID_ARGUMENT);
      CHECK(mr_memory_use(engine.memory, engine.b, wrong, nullptr) == MR_INVALID_ARGUMENT);
    }
    give(engine, engine.a, address);
    const mr_memory_stats before = stats_of(engine.memory);
    CHECK(mr_memory_free(engine.memory, engine.a, address, nullptr) == MR_INVALID_ARGUMENT);
    CHECK(mr_memory_free(engine.memory, nullptr, address, nullptr) == MR_INVALID_ARGUMENT);
    CHECK(test::same_figures(stats_of(engine.memory), before));
  });
}

TEST_CASE("M14: memory without a stream is usable at once, on any stream, behind none") {
  SlowPage page;
  Engine engine("deferred");
  give(engine, engine.a,
       take(engine, engine.a, kMiB));  // cached, and protected by stream a's order
  page.hold_up(engine.a);
  auto* const free_for_all = static_cast<unsigned char*>(take(engine, nullptr, kMiB));
  MR_OK_OR_FAIL(mr_fill(engine.b, free_for_all, 3, kMiB, nullptr));
  MR_OK_OR_FAIL(mr_stream_synchronize(engine.b, nullptr));
  CHECK(free_for_all[kMiB - 1] == 3);
  give(engine, nullptr, free_for_all);
  CHECK(mr_stream_query(engine.a, nullptr) == MR_NOT_READY);
  page.appear();
  MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
}

TEST_CASE("B03: a buffer dropped while its reader runs: the reader sees what was in it") {
  for (const bool same_stream : {true, false}) {
    CAPTURE(same_stream);
    SlowPage page;
    Engine engine("deferred");
    Bytes result(engine.a, kMiB);
    auto* dropped = new Bytes(engine.a, kMiB);
    dropped->fill(7);
    page.hold_up(engine.a);
    MR_OK_OR_FAIL(mr_copy(engine.a, result.data, dropped->data, kMiB, MR_COPY_ON_DEVICE, nullptr));
    delete dropped;
    mr_stream* const taker = same_stream ? engine.a : engine.b;
    std::vector<std::unique_ptr<Bytes>> others;
    for (int i = 0; i < 4; ++i) {
      others.push_back(std::make_unique<Bytes>(taker, kMiB));
      others.back()->fill(9);
    }
    if (!same_stream) MR_OK_OR_FAIL(mr_stream_synchronize(engine.b, nullptr));
    page.appear();
    CHECK(result.value() == 7);
    for (const auto& other : others) CHECK(other->value() == 9);
  }
}

TEST_CASE("B04 and M01: a buffer that another stream still works with is not reused before that") {
  SlowPage page;
  Engine engine("deferred");
  auto* shared = new Bytes(engine.a, kMiB);
  shared->fill(1);
  MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
  MR_OK_OR_FAIL(mr_buffer_use(shared->handle, engine.b, nullptr));
  page.hold_up(engine.b);
  MR_OK_OR_FAIL(mr_fill(engine.b, shared->data, 5, kMiB, nullptr));
  delete shared;
  std::vector<std::unique_ptr<Bytes>> taken;
  for (int i = 0; i < 3; ++i) {
    taken.push_back(std::make_unique<Bytes>(engine.a, kMiB));
    taken.back()->fill(2);
  }
  std::thread opener([&] {
    page.wait_for_arrival();
    std::this_thread::yield();
    page.appear();
  });
  MR_OK_OR_FAIL(mr_stream_synchronize(engine.b, nullptr));
  for (const auto& bytes : taken) CHECK(bytes->value() == 2);
  opener.join();
}

TEST_CASE("B04: a stream of another context is refused, and the buffer is still owned") {
  Engine engine, foreign;
  Bytes x(engine.a, 64);
  mr_error error = {};
  CHECK(mr_buffer_use(x.handle, foreign.a, &error) == MR_INVALID_ARGUMENT);
  CHECK(std::string(error.text).find("another context") != std::string::npos);
  x.fill(4);
  CHECK(x.value() == 4);
}

TEST_CASE("blocks: a name frees its own allocation once, and no other") {
  both_modes([](Engine& engine) {
    const uint64_t before = stats_of(engine.memory).requested.current;
    void *first = nullptr, *second = nullptr;
    mr_block one = 0, two = 0;
    const auto take = [&](uint64_t bytes, mr_block* block, void** out) {
      return mr_memory_allocate_block(engine.memory, engine.a, bytes, 0, MR_TAG_KV, block, out,
                                      nullptr);
    };
    const auto give_block = [&](mr_block block, mr_error* error = nullptr) {
      return mr_memory_free_block(engine.memory, engine.a, block, error);
    };
    for (const uint64_t bytes : {uint64_t{1}, 100 * test::kKiB}) {
      MR_OK_OR_FAIL(take(bytes, &one, &first));
      CHECK(one != 0);
      CHECK(give_block(one) == MR_OK);
      MR_OK_OR_FAIL(take(bytes, &two, &second));
      CHECK(second == first);  // the same memory under another name
      CHECK(two != one);
      mr_error error = {};
      CHECK(give_block(one, &error) == MR_INVALID_ARGUMENT);
      CHECK(error.text[0] != '\0');
      CHECK(mr_memory_free(engine.memory, engine.a, second, nullptr) == MR_OK);
      CHECK(give_block(two) == MR_INVALID_ARGUMENT);
    }
    CHECK(give_block(0) == MR_OK);
    CHECK(give_block(~mr_block{0}) == MR_INVALID_ARGUMENT);
    void* nothing = &first;
    CHECK(take(0, &one, &nothing) == MR_OK);
    CHECK(one == 0);
    CHECK(nothing == nullptr);
    MR_OK_OR_FAIL(
        mr_memory_allocate_block(engine.memory, nullptr, 64, 512, 0, &one, &first, nullptr));
    CHECK(mr_memory_free_block(engine.memory, nullptr, one, nullptr) == MR_OK);
    CHECK(mr_memory_allocate_block(engine.memory, engine.a, 64, 0, 0, nullptr, &first, nullptr) ==
          MR_INVALID_ARGUMENT);
    CHECK(stats_of(engine.memory).requested.current == before);
  });
}

TEST_CASE(
    "B04: a memory refuses a stream whose context uses another, and takes those that share it") {
  Engine engine, foreign, sharing("inline", "", engine.memory);
  void *address = nullptr, *untouched = &address;
  mr_error error = {};
  CHECK(mr_memory_allocate(engine.memory, foreign.a, 64, 0, 0, &untouched, &error) ==
        MR_INVALID_ARGUMENT);
  CHECK(std::string(error.text).find("stream:") == 0);
  CHECK(untouched == &address);
  MR_OK_OR_FAIL(mr_memory_allocate(engine.memory, sharing.a, 64, 0, 0, &address, nullptr));
  CHECK(mr_memory_use(engine.memory, foreign.a, address, nullptr) == MR_INVALID_ARGUMENT);
  CHECK(mr_memory_free(engine.memory, foreign.a, address, nullptr) == MR_INVALID_ARGUMENT);
  CHECK(mr_memory_use(engine.memory, engine.b, address, nullptr) == MR_OK);
  CHECK(mr_memory_free(engine.memory, engine.a, address, nullptr) == MR_OK);
}

TEST_CASE("the limit: refused above it, with the figures in the text, and changed at any time") {
  both_modes([](Engine& engine) {
    const uint64_t reserved = stats_of(engine.memory).reserved.current;
    MR_OK_OR_FAIL(mr_memory_set_limit(engine.memory, reserved + 8 * kMiB, nullptr));
    CHECK(stats_of(engine.memory).limit_bytes == reserved + 8 * kMiB);
    void* address = nullptr;
    mr_error error = {};
    CHECK(allocate(engine, engine.a, 16 * kMiB, &address, 0, 0, &error) == MR_OUT_OF_DEVICE_MEMORY);
    const std::string limit = "limit " + std::to_string(reserved + 8 * kMiB);
    CHECK_MESSAGE(std::string(error.text).find(limit) != std::string::npos, error.text);
    give(engine, engine.a, take(engine, engine.a, 8 * kMiB));
    MR_OK_OR_FAIL(mr_memory_set_limit(engine.memory, 0, nullptr));
    give(engine, engine.a, take(engine, engine.a, 64 * kMiB));
    CHECK(stats_of(engine.memory).retries == 0);
  });
}

TEST_CASE("E14: after every kind of failure the process lives and the next calls work") {
  Engine engine;
  void* address = nullptr;
  CHECK(allocate(engine, engine.a, uint64_t{1} << 50, &address) == MR_OUT_OF_DEVICE_MEMORY);
  mr_matmul_args product = MR_MATMUL_ARGS_INIT;
  const int64_t square[] = {2, 2};
  for (mr_tensor* tensor : {&product.x, &product.w, &product.d}) {
    MR_OK_OR_FAIL(mr_tensor_pack(nullptr, MR_F32, 2, square, tensor, nullptr));
  }
  CHECK(mr_matmul(engine.a, &product, nullptr) == MR_INVALID_ARGUMENT);
  CHECK(mr_matmul(reinterpret_cast<mr_stream*>(engine.context), &product, nullptr) ==
        MR_INVALID_ARGUMENT);
  CHECK(mr_matmul(nullptr, nullptr, nullptr) == MR_INVALID_ARGUMENT);
  give(engine, engine.a, take(engine, engine.a, kMiB));
  float x[] = {1, 2, 3, 4}, w[] = {1, 0, 0, 1}, d[4] = {};
  product.x.data = x, product.w.data = w, product.d.data = d;
  CHECK(mr_matmul(engine.a, &product, nullptr) == MR_OK);
  for (int i = 0; i < 4; ++i) CHECK(d[i] == x[i]);
}

TEST_CASE("E10: what the host application left pending does no harm, and stays") {
  both_modes([](Engine& engine) {
    Bytes x(engine.a, 64);
    errno = EDOM;
    std::feraiseexcept(FE_INVALID | FE_DIVBYZERO);
    std::fesetround(FE_UPWARD);
    CHECK(mr_fill(engine.a, nullptr, 1, 8, nullptr) == MR_INVALID_ARGUMENT);
    CHECK(errno == EDOM);
    CHECK(mr_fill(engine.a, x.data, 1, 64, nullptr) == MR_OK);
    CHECK(mr_stream_synchronize(engine.a, nullptr) == MR_OK);
    CHECK(std::fegetround() == FE_UPWARD);
    CHECK(std::fetestexcept(FE_INVALID | FE_DIVBYZERO) == (FE_INVALID | FE_DIVBYZERO));
    std::fesetround(FE_TONEAREST);
    std::feclearexcept(FE_ALL_EXCEPT);
  });
}
