#include "support/memory_traces.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <unordered_map>
#include <utility>

namespace test {
namespace {

// ---- Numbers ------------------------------------------------------------------------------------

// Seeds the Mersenne Twister with an array of one word (Matsumoto and Nishimura, 2002), as Python's
// random.seed() does. So the traces are those that the goals were measured on.
class ArraySeed {
 public:
  using result_type = uint32_t;
  explicit ArraySeed(uint32_t key) : key_(key) {}
  template <class Iterator>
  void generate(Iterator begin, Iterator end) const {
    const auto count = static_cast<uint32_t>(end - begin);
    const auto mixed = [&](uint32_t i) {
      const uint32_t before = begin[i - 1];
      return before ^ (before >> 30);
    };
    begin[0] = 19650218u;
    for (uint32_t i = 1; i < count; ++i) begin[i] = 1812433253u * mixed(i) + i;
    uint32_t at = 1;
    const auto advance = [&] {
      if (++at < count) return;
      begin[0] = begin[count - 1];
      at = 1;
    };
    for (uint32_t k = 0; k < count; ++k, advance()) {
      begin[at] = (begin[at] ^ (mixed(at) * 1664525u)) + key_;
    }
    for (uint32_t k = 1; k < count; ++k, advance()) {
      begin[at] = (begin[at] ^ (mixed(at) * 1566083941u)) - at;
    }
    begin[0] = 0x80000000u;
  }

 private:
  uint32_t key_;
};

class TraceRandom {
 public:
  explicit TraceRandom(uint32_t seed) : engine_(make_engine(seed)) {}

  // The whole part of 2^x for x even between `low` and `low + width`. The standard library's powers
  // differ in their last digits; square roots and products are the same everywhere, and the
  // exponent is kept as an integer: x - low = width * (53 random bits) / 2^53.
  uint64_t power_of_two(uint32_t low, uint32_t width) {
    const uint64_t high = engine_() >> 5;
    const uint64_t bits = (high << 26) | (engine_() >> 6);
    const uint64_t exponent = bits * width;
    double value = 1, root = 2;
    for (int bit = 52; bit >= 0; --bit) {
      root = std::sqrt(root);
      if (((exponent >> bit) & 1) != 0) value *= root;
    }
    return static_cast<uint64_t>(std::ldexp(value, static_cast<int>(low + (exponent >> 53))));
  }

  // From first to last, both included.
  uint32_t between(uint32_t first, uint32_t last) {
    const uint32_t count = last - first + 1;
    uint32_t bits = 0;
    while ((count >> bits) != 0) ++bits;
    for (;;) {
      const auto drawn = static_cast<uint32_t>(engine_() >> (32 - bits));
      if (drawn < count) return first + drawn;
    }
  }

 private:
  static std::mt19937 make_engine(uint32_t seed) {
    ArraySeed words(seed);
    return std::mt19937(words);
  }
  std::mt19937 engine_;
};

// ---- One step of the decoder --------------------------------------------------------------------

constexpr uint64_t kLayers = 32, kHidden = 4096, kKeysAndValues = 2048, kInner = 14336;
constexpr uint64_t kVocabulary = 128256, kMostRowsSampled = 256;
constexpr uint64_t kItem = 2, kLogit = 4;  // bytes

class TraceBuilder {
 public:
  uint64_t allocate(uint64_t bytes) {
    trace_.push_back({++last_id_, bytes, TraceKind::kAllocate, 0});
    return last_id_;
  }
  void free(uint64_t id) { trace_.push_back({id, 0, TraceKind::kFree, 0}); }

  // `scratch`: of the split-K attention in each layer.
  void step(uint64_t tokens, uint64_t scratch = 0) {
    const uint64_t row = tokens * kItem;
    uint64_t hidden = allocate(row * kHidden);
    for (uint64_t layer = 0; layer < kLayers; ++layer) {
      uint64_t norm = allocate(row * kHidden);
      const uint64_t qkv = allocate(row * (kHidden + kKeysAndValues));
      free(norm);
      const uint64_t attended = allocate(row * kHidden);
      if (scratch != 0) free(allocate(scratch));
      free(qkv);
      const uint64_t projected = allocate(row * kHidden);
      free(attended);
      norm = allocate(row * kHidden);
      free(projected);
      const uint64_t gate_and_up = allocate(row * 2 * kInner);
      free(norm);
      const uint64_t gated = allocate(row * kInner);
      free(gate_and_up);
      const uint64_t out = allocate(row * kHidden);
      free(gated);
      free(hidden);
      hidden = out;
    }
    const uint64_t sampled = std::min(tokens, kMostRowsSampled) * kVocabulary * kLogit;
    const uint64_t logits = allocate(sampled);
    const uint64_t probabilities = allocate(sampled);
    free(logits);
    free(probabilities);
    free(hidden);
  }

  // What was built since the last call.
  MemoryTrace take() { return std::exchange(trace_, {}); }
  void append(const TraceOperation& operation) { trace_.push_back(operation); }

 private:
  MemoryTrace trace_;
  uint64_t last_id_ = 0;
};

constexpr int kSteps = 300;
constexpr uint32_t kMostTokensBits = 13;

}  // namespace

// ---- Models -------------------------------------------------------------------------------------

MemoryTrace growing_prompts() {
  TraceBuilder builder;
  for (uint64_t tokens = 256; tokens <= 8192; tokens += 61) builder.step(tokens);
  return builder.take();
}

MemoryTrace mixed_batches(uint32_t seed) {
  TraceRandom random(seed);
  TraceBuilder builder;
  for (int i = 0; i < kSteps; ++i) builder.step(random.power_of_two(0, kMostTokensBits));
  return builder.take();
}

MemoryTrace mixed_lifetimes(uint32_t seed) {
  constexpr size_t kEvery = 97;  // operations
  struct Guest {
    uint32_t leaves_after;
    uint64_t id;
  };
  TraceRandom random(seed);
  TraceBuilder builder;
  std::vector<Guest> guests;
  MemoryTrace all;
  for (uint32_t i = 0; i < kSteps; ++i) {
    builder.step(random.power_of_two(0, kMostTokensBits));
    const MemoryTrace step = builder.take();
    for (size_t k = 0; k < step.size(); ++k) {
      builder.append(step[k]);
      if (k % kEvery != 0) continue;
      const uint64_t id = builder.allocate(random.power_of_two(12, 13));
      guests.push_back({i + random.between(2, 40), id});
    }
    std::erase_if(guests, [&](const Guest& guest) {
      if (guest.leaves_after > i) return false;
      builder.free(guest.id);
      return true;
    });
    const MemoryTrace whole = builder.take();
    all.insert(all.end(), whole.begin(), whole.end());
  }
  for (const Guest& guest : guests) builder.free(guest.id);
  const MemoryTrace rest = builder.take();
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

MemoryTrace growing_scratch() {
  // Per split of 8 keys: 32 heads, each with 128 partial sums and 4 numbers more, of 4 bytes.
  constexpr uint64_t kSplit = 8, kPerSplit = 32 * 132 * 4;
  TraceBuilder builder;
  for (uint64_t i = 0; i < 400; ++i) builder.step(8, (4096 + 64 * i) * kPerSplit / kSplit);
  return builder.take();
}

MemoryTrace captured_graphs(bool descending, bool keep) {
  std::vector<uint64_t> sizes = {1, 2, 4};
  for (uint64_t tokens = 8; tokens <= 512; tokens += 8) sizes.push_back(tokens);
  if (descending) std::reverse(sizes.begin(), sizes.end());
  TraceBuilder builder;
  std::vector<uint64_t> kept;
  for (const uint64_t tokens : sizes) {
    builder.step(tokens);
    if (keep) kept.push_back(builder.allocate(tokens * kVocabulary * kLogit));
  }
  for (const uint64_t id : kept) builder.free(id);
  return builder.take();
}

std::string TraceModel::title() const {
  return seed == 0 ? name : std::string(name) + " seed " + std::to_string(seed);
}

std::span<const TraceModel> trace_models() {
  static constexpr TraceModel kModels[] = {
      {"T1", 0, [](uint32_t) { return growing_prompts(); }, 1.10},
      {"T2", 1, mixed_batches, 1.12},
      {"T2", 7, mixed_batches, 1.12},
      {"T3", 2, mixed_lifetimes, 1.22},
      {"T3", 9, mixed_lifetimes, 1.22},
      {"T3", 21, mixed_lifetimes, 1.22},
      {"T4", 0, [](uint32_t) { return growing_scratch(); }, 1.05},
      {"capture-up", 0, [](uint32_t) { return captured_graphs(false, false); }, 1.05},
      {"capture-up-kept", 0, [](uint32_t) { return captured_graphs(false, true); }, 1.05},
      {"capture-down", 0, [](uint32_t) { return captured_graphs(true, false); }, 1.05},
      {"capture-down-kept", 0, [](uint32_t) { return captured_graphs(true, true); }, 1.05},
  };
  return kModels;
}

// ---- Replay -------------------------------------------------------------------------------------

TraceScript script_of(const MemoryTrace& trace) {
  struct Live {
    uint32_t slot, stream;
    uint64_t bytes;
  };
  TraceScript script;
  std::unordered_map<uint64_t, Live> live;
  std::unordered_map<uint32_t, uint32_t> streams;
  std::vector<uint32_t> spare;
  uint64_t bytes = 0;
  script.steps.reserve(trace.size());
  for (const TraceOperation& operation : trace) {
    const auto known =
        streams.try_emplace(operation.stream, static_cast<uint32_t>(streams.size())).first;
    if (operation.kind == TraceKind::kFree) {
      const auto at = live.find(operation.id);
      script.steps.push_back({0, at->second.slot, known->second});
      spare.push_back(at->second.slot);
      bytes -= at->second.bytes;
      live.erase(at);
      continue;
    }
    if (spare.empty()) spare.push_back(script.slots++);
    script.steps.push_back({operation.bytes, spare.back(), known->second});
    live[operation.id] = {spare.back(), known->second, operation.bytes};
    spare.pop_back();
    bytes += operation.bytes;
    script.peak_bytes = std::max(script.peak_bytes, bytes);
  }
  std::vector<std::pair<uint64_t, Live>> left(live.begin(), live.end());
  std::sort(left.begin(), left.end(), [](auto& a, auto& b) { return a.first < b.first; });
  for (const auto& [id, block] : left) script.steps.push_back({0, block.slot, block.stream});
  script.streams = static_cast<uint32_t>(streams.size());
  return script;
}

}  // namespace test
