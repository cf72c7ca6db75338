// Traces of allocations for tests and benchmarks of memory: models of what an inference engine asks
// for while it runs, and the form in which any trace is replayed.
//
// The models are those of the study behind the allocator's goals: the temporaries of a decoder of
// 32 layers with a hidden size of 4096, an inner one of 14336 and a vocabulary of 128256, in 16
// bits. Weights and cache are left out, since they are taken once. Sizes repeat from layer to layer
// and change from step to step.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace test {

enum class TraceKind : uint8_t { kAllocate, kFree };

struct TraceOperation {
  uint64_t id = 0;     // of the allocation; free for reuse once it is freed
  uint64_t bytes = 0;  // 0 with a free
  TraceKind kind = TraceKind::kAllocate;
  uint32_t stream = 0;
};
using MemoryTrace = std::vector<TraceOperation>;

// ---- Models: all end with nothing allocated, and are the same on every machine -----------------

// T1: prompts of 256, 317, ... 8186 tokens, one after the other.
MemoryTrace growing_prompts();
// T2: 300 steps of 1 to 8192 tokens, as many small ones as large ones.
MemoryTrace mixed_batches(uint32_t seed);
// T3: as T2, with blocks of 4 KiB to 32 MiB in between that live for 2 to 40 steps.
MemoryTrace mixed_lifetimes(uint32_t seed);
// T4: 400 steps of 8 tokens, with split-K scratch that grows from step to step.
MemoryTrace growing_scratch();
// Graphs for batches of 1, 2, 4, 8, 16, 24, ... 512 tokens, or from the largest to the smallest;
// `keep`: the output of each lives on.
MemoryTrace captured_graphs(bool descending, bool keep);

struct TraceModel {
  const char* name;
  uint32_t seed;  // 0: it has none
  MemoryTrace (*make)(uint32_t seed);
  double goal;  // most that may be reserved, as a multiple of the most that was asked for at once
  std::string title() const;
};
std::span<const TraceModel> trace_models();

// ---- Replay -------------------------------------------------------------------------------------

// A trace as a loop runs it best: allocations are numbered anew so that they fit an array, streams
// so that they can be made beforehand, and what is left at the end is freed where it was made.
struct TraceScript {
  struct Step {
    uint64_t bytes = 0;  // 0: free
    uint32_t slot = 0;
    uint32_t stream = 0;
  };
  std::vector<Step> steps;
  uint32_t slots = 0;
  uint32_t streams = 0;
  uint64_t peak_bytes = 0;  // the most that is asked for at once
};
// The trace frees only what is allocated, and allocates no id twice, as read_trace() sees to.
TraceScript script_of(const MemoryTrace& trace);

}  // namespace test
