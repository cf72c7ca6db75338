// Cost of cached memory beside PyTorch's caching allocator and cudaMallocAsync, all three called
// from C++ in one process. Built and run by memory_peers.py, which links it with PyTorch's
// libraries.
//
// Each row is measured in turn for every allocator, several times over, so that whatever else the
// machine does hits all of them. Batches of 64 pairs are timed; a row's figure is the median over
// all batches, with the 99th percentile.

#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda_runtime.h>
#include <millrace/millrace.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace torch_memory = c10::cuda::CUDACachingAllocator;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr int kBatches = 2000;
constexpr int kPairs = 64;

void require(mr_status status, const char* what) {
  if (status == MR_OK) return;
  std::fprintf(stderr, "%s: %s\n", what, mr_status_name(status));
  std::abort();
}
void require(cudaError_t result) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(result));
  std::abort();
}

// One allocator on one stream: what a caller keeps of an allocation is 64 bits.
struct Peer {
  std::string name;
  std::function<uint64_t(uint64_t bytes)> take;
  std::function<void(uint64_t)> give;
};

struct Ours {
  explicit Ours(uint32_t flags) {
    mr_memory_config memory_config = MR_MEMORY_CONFIG_INIT;
    memory_config.backend = MR_BACKEND_CUDA;
    memory_config.flags = flags;
    require(mr_memory_create(&memory_config, &memory, nullptr), "mr_memory_create");
    mr_context_config config = MR_CONTEXT_CONFIG_INIT;
    config.backend = MR_BACKEND_CUDA;
    config.memory = memory;
    require(mr_context_create(&config, &context, nullptr), "mr_context_create");
  }
  ~Ours() {
    mr_context_release(context);
    mr_memory_release(memory);
  }
  mr_stream* stream() {
    mr_stream* out = nullptr;
    mr_stream_config config = MR_STREAM_CONFIG_INIT;
    config.workspace_bytes = 1 << 16;
    require(mr_stream_create(context, &config, &out, nullptr), "mr_stream_create");
    return out;
  }
  mr_memory_stats stats() {
    mr_memory_stats out = MR_MEMORY_STATS_INIT;
    require(mr_memory_get_stats(memory, &out, nullptr), "mr_memory_get_stats");
    return out;
  }
  mr_memory* memory = nullptr;
  mr_context* context = nullptr;
};

// The loops are templates, so that no allocator pays for an indirect call of the benchmark's.
template <class Take, class Give>
void pairs(Take&& take, Give&& give, uint64_t bytes, std::vector<double>* out) {
  for (int i = 0; i < 1000; ++i) give(take(bytes));
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto start = Clock::now();
    for (int i = 0; i < kPairs; ++i) give(take(bytes));
    const std::chrono::duration<double, std::nano> elapsed = Clock::now() - start;
    out->push_back(elapsed.count() / kPairs);
  }
}

// 256 allocations live at a time, one replaced by each step; sizes from 512 bytes to 64 MiB, each
// power of two as likely as any other.
template <class Take, class Give>
void mixed(Take&& take, Give&& give, uint64_t, std::vector<double>* out) {
  std::mt19937_64 random(7);
  std::vector<uint64_t> live(256, 0);
  const auto step = [&] {
    uint64_t& slot = live[random() % live.size()];
    if (slot != 0) give(slot);
    const uint64_t bytes = uint64_t{512} << (random() % 17);
    slot = take(bytes + random() % bytes);
  };
  for (int i = 0; i < 20000; ++i) step();
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto start = Clock::now();
    for (int i = 0; i < kPairs; ++i) step();
    const std::chrono::duration<double, std::nano> elapsed = Clock::now() - start;
    out->push_back(elapsed.count() / kPairs);
  }
  for (const uint64_t slot : live) {
    if (slot != 0) give(slot);
  }
}

std::string json;

void print(const std::string& row, const std::string& peer, std::vector<double>* values) {
  std::sort(values->begin(), values->end());
  const double median = (*values)[values->size() / 2];
  const double late = (*values)[values->size() * 99 / 100];
  char text[200];
  std::snprintf(text, sizeof text,
                "%s{\"row\": \"%s\", \"allocator\": \"%s\", \"median_ns\": %.1f, "
                "\"p99_ns\": %.1f}",
                json.empty() ? "" : ",\n", row.c_str(), peer.c_str(), median, late);
  json += text;
  std::fflush(stdout);
}

uint64_t number(const void* address) { return reinterpret_cast<uintptr_t>(address); }
void* pointer(uint64_t number) { return reinterpret_cast<void*>(static_cast<uintptr_t>(number)); }

#define TAKE(body) [=](uint64_t bytes) -> uint64_t body
#define GIVE(body) [=](uint64_t it) body

template <class Measure>
void compare(const std::string& row, Ours& ours, mr_stream* stream, mr_stream* wrapped,
             cudaStream_t native, uint64_t bytes, Measure&& measure) {
  mr_memory* memory = ours.memory;
  const auto by_address = TAKE({
    void* out = nullptr;
    mr_memory_allocate(memory, stream, bytes, 0, MR_TAG_OTHER, &out, nullptr);
    return number(out);
  });
  const auto free_address = GIVE({ mr_memory_free(memory, stream, pointer(it), nullptr); });
  const auto by_block = TAKE({
    void* out = nullptr;
    mr_block block = 0;
    mr_memory_allocate_block(memory, stream, bytes, 0, MR_TAG_OTHER, &block, &out, nullptr);
    return block;
  });
  const auto free_block = GIVE({ mr_memory_free_block(memory, stream, it, nullptr); });
  const auto on_wrapped = TAKE({
    void* out = nullptr;
    mr_memory_allocate(memory, wrapped, bytes, 0, MR_TAG_OTHER, &out, nullptr);
    return number(out);
  });
  const auto free_wrapped = GIVE({ mr_memory_free(memory, wrapped, pointer(it), nullptr); });
  const auto torch_take =
      TAKE({ return number(torch_memory::raw_alloc_with_stream(bytes, native)); });
  const auto torch_give = GIVE({ torch_memory::raw_delete(pointer(it)); });
  const auto async_take = TAKE({
    void* out = nullptr;
    require(cudaMallocAsync(&out, bytes, native));
    return number(out);
  });
  const auto async_give = GIVE({ require(cudaFreeAsync(pointer(it), native)); });
  std::vector<double> address, block, wrap, torch, async;
  uint64_t calls = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (round == 1) calls = ours.stats().driver_allocations + ours.stats().driver_frees;
    measure(by_address, free_address, bytes, &address);
    measure(by_block, free_block, bytes, &block);
    measure(on_wrapped, free_wrapped, bytes, &wrap);
    measure(torch_take, torch_give, bytes, &torch);
    measure(async_take, async_give, bytes, &async);
    require(cudaStreamSynchronize(native));
  }
  const uint64_t after = ours.stats().driver_allocations + ours.stats().driver_frees;
  if (after != calls)
    std::fprintf(stderr, "%s: %llu driver calls in the later rounds\n", row.c_str(),
                 static_cast<unsigned long long>(after - calls));
  print(row, "millrace, by address", &address);
  print(row, "millrace, by block", &block);
  print(row, "millrace, by address, wrapped stream", &wrap);
  print(row, "PyTorch", &torch);
  print(row, "cudaMallocAsync", &async);
}

// Nanoseconds a pair in each of `count` threads, each with a stream of its own; all threads start
// at once.
template <class Body>
double threads(int count, Body&& body) {
  constexpr int kEach = 100000;
  double best = 1e30;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> ready{0};
    std::atomic<bool> go{false};
    std::vector<std::thread> all;
    for (int t = 0; t < count; ++t) {
      all.emplace_back([&, t] { body(t, kEach, &ready, &go); });
    }
    while (ready < count) std::this_thread::yield();
    const auto start = Clock::now();
    go = true;
    for (std::thread& thread : all) thread.join();
    const std::chrono::duration<double, std::nano> elapsed = Clock::now() - start;
    best = std::min(best, elapsed.count() / kEach);
  }
  return best;
}

void scale(const std::string& name, const std::function<Peer(int)>& peer_of) {
  std::vector<Peer> peers;
  for (int t = 0; t < 8; ++t) peers.push_back(peer_of(t));
  const auto body = [&](int t, int each, std::atomic<int>* ready, std::atomic<bool>* go) {
    const Peer& peer = peers[static_cast<size_t>(t)];
    for (int i = 0; i < 1000; ++i) peer.give(peer.take(1 << 20));
    ++*ready;
    while (!*go) std::this_thread::yield();
    for (int i = 0; i < each; ++i) peer.give(peer.take(1 << 20));
  };
  const double one = threads(1, body), eight = threads(8, body);
  char text[200];
  std::snprintf(text, sizeof text,
                ",\n{\"row\": \"threads\", \"allocator\": \"%s\", \"one_ns\": %.1f, "
                "\"eight_ns\": %.1f, \"of_eight\": %.3f}",
                name.c_str(), one, eight, one / eight);
  json += text;
}

}  // namespace

extern "C" const char* memory_peers() {
  require(cudaSetDevice(0));
  cudaStream_t native = nullptr;
  require(cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking));
  cudaMemPool_t pool = nullptr;
  require(cudaDeviceGetDefaultMemPool(&pool, 0));
  uint64_t keep = UINT64_MAX;
  require(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  Ours ours(0), apart(MR_MEMORY_LOCK_PER_STREAM);
  mr_stream* const stream = ours.stream();
  mr_stream* wrapped = nullptr;
  mr_stream_config config = MR_STREAM_CONFIG_INIT;
  config.workspace_bytes = 1 << 16;
  require(mr_stream_wrap(ours.context, native, &config, &wrapped, nullptr), "mr_stream_wrap");
  const auto measure_pairs = [](auto&&... all) { pairs(all...); };
  const auto measure_mixed = [](auto&&... all) { mixed(all...); };
  compare("512 B", ours, stream, wrapped, native, 512, measure_pairs);
  compare("1 MiB", ours, stream, wrapped, native, 1 << 20, measure_pairs);
  compare("64 MiB", ours, stream, wrapped, native, 64 << 20, measure_pairs);
  compare("mixed, 256 live", ours, stream, wrapped, native, 0, measure_mixed);
  std::vector<void*> torch_live, our_live;  // every other one is freed: 1,000 holes
  for (int i = 0; i < 2000; ++i) {
    const uint64_t bytes = 40000 + static_cast<uint64_t>(i % 50) * 1000;
    torch_live.push_back(torch_memory::raw_alloc_with_stream(bytes, native));
    void* out = nullptr;
    require(mr_memory_allocate(ours.memory, stream, bytes, 0, 0, &out, nullptr), "allocate");
    our_live.push_back(out);
  }
  for (size_t i = 0; i < 2000; i += 2) {
    torch_memory::raw_delete(torch_live[i]);
    require(mr_memory_free(ours.memory, stream, our_live[i], nullptr), "free");
  }
  compare("1 MiB, 1000 holes", ours, stream, wrapped, native, 1 << 20, measure_pairs);
  for (size_t i = 1; i < 2000; i += 2) {
    torch_memory::raw_delete(torch_live[i]);
    require(mr_memory_free(ours.memory, stream, our_live[i], nullptr), "free");
  }
  std::vector<mr_stream*> made;
  std::vector<cudaStream_t> natives(8);
  for (cudaStream_t& each : natives) {
    require(cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking));
  }
  for (Ours* of : {&apart, &ours}) {
    scale(of == &apart ? "millrace, a lock per stream" : "millrace, exact peaks", [&](int) {
      mr_memory* memory = of->memory;
      mr_stream* mine = of->stream();
      made.push_back(mine);
      return Peer{"", TAKE({
                    void* out = nullptr;
                    mr_memory_allocate(memory, mine, bytes, 0, 0, &out, nullptr);
                    return number(out);
                  }),
                  GIVE({ mr_memory_free(memory, mine, pointer(it), nullptr); })};
    });
  }
  // What the machine itself allows: as much work, on cache lines that no other thread touches.
  scale("control: an atomic of its own, 16 exchanges", [&](int) {
    struct alignas(128) Line {
      std::atomic<uint64_t> value{0};
    };
    auto line = std::make_shared<Line>();
    const auto touch = [line] {
      for (uint64_t i = 0; i < 8; ++i) line->value.exchange(i, std::memory_order_acq_rel);
    };
    return Peer{"", [touch](uint64_t bytes) { return touch(), bytes; },
                [touch](uint64_t) { touch(); }};
  });
  // The same without memory: where two threads share a core's arithmetic, this falls, the other
  // not.
  scale("control: arithmetic alone", [&](int) {
    const auto compute = [](uint64_t seed) {
      uint64_t a = seed, b = seed + 1, c = seed + 2, d = seed + 3;
      for (int i = 0; i < 20; ++i) {
        a = a * 6364136223846793005u + 1;
        b = b * 6364136223846793005u + 3;
        c = (c ^ (c >> 7)) + 5;
        d = (d ^ (d << 9)) + 7;
      }
      return a ^ b ^ c ^ d;
    };
    return Peer{"", compute, [compute](uint64_t it) {
                  static thread_local volatile uint64_t sink;
                  sink = compute(it);
                }};
  });
  scale("PyTorch", [&](int t) {
    const cudaStream_t mine = natives[static_cast<size_t>(t)];
    return Peer{"", TAKE({ return number(torch_memory::raw_alloc_with_stream(bytes, mine)); }),
                GIVE({ torch_memory::raw_delete(pointer(it)); })};
  });
  scale("cudaMallocAsync", [&](int t) {
    const cudaStream_t mine = natives[static_cast<size_t>(t)];
    return Peer{"", TAKE({
                  void* out = nullptr;
                  require(cudaMallocAsync(&out, bytes, mine));
                  return number(out);
                }),
                GIVE({ require(cudaFreeAsync(pointer(it), mine)); })};
  });
  for (mr_stream* each : made) mr_stream_release(each);
  mr_stream_release(wrapped);
  mr_stream_release(stream);
  json = "[" + json + "]";
  return json.c_str();
}
