// Cost of memory on the host backend, through the C interface: nanoseconds for one allocation and
// its free, the median of several runs with the lowest and highest. What other allocators take:
// memory_peers.py; whole traces: memory_replay.cpp.
//
//   memory_bench
//
// Each row repeats a pattern that is warm: nothing is taken from the device while the clock runs,
// which is checked.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "millrace/millrace.h"

namespace {

constexpr int kRuns = 7;
constexpr int kPairs = 100000;

void require(mr_status status, const mr_error& err) {
  if (status == MR_OK) return;
  std::fprintf(stderr, "%s: %s\n", mr_status_name(status), err.text);
  std::exit(1);
}

struct Device {
  Device() {
    mr_error err;
    mr_context_config config = MR_CONTEXT_CONFIG_INIT;
    config.backend = MR_BACKEND_HOST;
    require(mr_context_create(&config, &context, &err), err);
    memory = mr_context_memory(context);
  }
  ~Device() { mr_context_release(context); }
  mr_stream* stream() {
    mr_error err;
    mr_stream* out = nullptr;
    require(mr_stream_create(context, nullptr, &out, &err), err);
    return out;
  }
  uint64_t taken_from_device() {
    mr_error err;
    mr_memory_stats stats = MR_MEMORY_STATS_INIT;
    require(mr_memory_get_stats(memory, &stats, &err), err);
    return stats.driver_allocations;
  }
  mr_context* context = nullptr;
  mr_memory* memory = nullptr;
};

// Keeps `live` allocations and replaces a random one each time; sizes from 1 to `most` bytes.
void churn(Device& device, mr_stream* stream, size_t live, uint64_t most, uint32_t seed) {
  mr_error err;
  std::mt19937 random(seed);
  std::vector<void*> held(live, nullptr);
  for (int i = 0; i < kPairs; ++i) {
    void*& slot = held[random() % live];
    require(mr_memory_free(device.memory, stream, slot, &err), err);
    const uint64_t bytes = most == 0 ? 4096 : 1 + random() % most;
    require(mr_memory_allocate(device.memory, stream, bytes, 0, MR_TAG_OTHER, &slot, &err), err);
  }
  for (void* address : held) {
    require(mr_memory_free(device.memory, stream, address, &err), err);
  }
}

// The same size over and over, by address or by the block's name.
void same(Device& device, mr_stream* stream, bool by_block) {
  mr_error err;
  for (int i = 0; i < kPairs; ++i) {
    void* address = nullptr;
    mr_block block = 0;
    if (by_block) {
      require(mr_memory_allocate_block(device.memory, stream, 1 << 20, 0, MR_TAG_OTHER, &block,
                                       &address, &err),
              err);
      require(mr_memory_free_block(device.memory, stream, block, &err), err);
    } else {
      require(mr_memory_allocate(device.memory, stream, 1 << 20, 0, MR_TAG_OTHER, &address, &err),
              err);
      require(mr_memory_free(device.memory, stream, address, &err), err);
    }
  }
}

// Leaves a thousand free blocks between a thousand that are in use, which it returns.
std::vector<void*> make_holes(Device& device, mr_stream* stream) {
  mr_error err;
  std::vector<void*> all(2000, nullptr), kept;
  for (size_t i = 0; i < all.size(); ++i) {
    require(mr_memory_allocate(device.memory, stream, 40000 + i % 50 * 1000, 0, MR_TAG_OTHER,
                               &all[i], &err),
            err);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (i % 2 == 0) {
      require(mr_memory_free(device.memory, stream, all[i], &err), err);
    } else {
      kept.push_back(all[i]);
    }
  }
  return kept;
}

template <class Body>
void row(const char* name, Device& device, Body&& body) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> results;
  uint64_t taken = 0;
  for (int run = 0; run <= kRuns; ++run) {
    const auto start = Clock::now();
    body();
    const std::chrono::duration<double, std::nano> elapsed = Clock::now() - start;
    if (run == 0) {  // the first warms up
      taken = device.taken_from_device();
    } else {
      results.push_back(elapsed.count() / kPairs);
    }
  }
  std::sort(results.begin(), results.end());
  std::printf("%-44s %8.1f ns a pair (%.1f to %.1f)%s\n", name, results[kRuns / 2], results.front(),
              results.back(),
              device.taken_from_device() == taken ? "" : "  NOT WARM: the pool still grew");
}

}  // namespace

int main() {
  Device device;
  mr_stream* const first = device.stream();
  mr_stream* const second = device.stream();
  row("1 MiB, by address", device, [&] { same(device, first, false); });
  row("1 MiB, by block", device, [&] { same(device, first, true); });
  const std::vector<void*> kept = make_holes(device, first);
  row("1 MiB, by address, 1000 holes", device, [&] { same(device, first, false); });
  row("1 MiB, by block, 1000 holes", device, [&] { same(device, first, true); });
  mr_error err;
  for (void* address : kept) {
    require(mr_memory_free(device.memory, first, address, &err), err);
  }
  row("4 KiB, one at a time", device, [&] { churn(device, first, 1, 0, 1); });
  row("4 KiB, no stream", device, [&] { churn(device, nullptr, 1, 0, 1); });
  row("1 B to 64 KiB, 100 live", device, [&] { churn(device, first, 100, 64 << 10, 2); });
  row("1 B to 1 MiB, 1000 live", device, [&] { churn(device, first, 1000, 1 << 20, 3); });
  row("1 B to 64 KiB, 100 live, two threads", device, [&] {
    std::thread other([&] { churn(device, second, 100, 64 << 10, 4); });
    churn(device, first, 100, 64 << 10, 5);
    other.join();
  });
  mr_stream_release(second);
  mr_stream_release(first);
  return 0;
}
