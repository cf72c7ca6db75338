// What a memory says of itself: the blocks, the summary, and the figures behind them.
#include <map>

#include "api/api_fixture.h"

namespace {

using test::Engine;
using test::kKiB;
using test::kMiB;
using test::stats_of;

struct Seen {
  uint64_t allocated = 0, requested = 0, free = 0, pending = 0, largest = 0;
  std::map<char*, uint64_t> segments;  // by address: bytes
  std::string wrong;
  char* end = nullptr;  // of the block before
};

void see(void* user, const mr_memory_block* block) {
  auto& seen = *static_cast<Seen*>(user);
  auto* const address = static_cast<char*>(block->address);
  auto* const segment = static_cast<char*>(block->segment_address);
  if (block->struct_size != sizeof *block) seen.wrong = "struct_size";
  const bool first = seen.segments.emplace(segment, block->segment_bytes).second;
  if (address != (first ? segment : seen.end)) seen.wrong = "blocks do not tile";
  seen.end = address + block->bytes;
  if (seen.end > segment + block->segment_bytes) seen.wrong = "a block leaves its segment";
  seen.requested += block->requested;
  if (block->state == MR_BLOCK_ALLOCATED) seen.allocated += block->bytes;
  if (block->state == MR_BLOCK_PENDING) seen.pending += block->bytes;
  if (block->state != MR_BLOCK_FREE) return;
  seen.free += block->bytes;
  seen.largest = std::max(seen.largest, block->bytes);
}

Seen look(Engine& engine) {
  Seen seen;
  MR_OK_OR_FAIL(mr_memory_visit(engine.memory, see, &seen, nullptr));
  CHECK(seen.wrong == "");
  return seen;
}

void check_against_figures(Engine& engine) {
  const mr_memory_stats stats = stats_of(engine.memory);
  const Seen seen = look(engine);
  uint64_t reserved = 0;
  for (const auto& [address, bytes] : seen.segments) reserved += bytes;
  CHECK(reserved == stats.reserved.current);
  CHECK(seen.allocated == stats.allocated.current);
  CHECK(seen.requested == stats.requested.current);
  CHECK(seen.allocated + seen.pending + seen.free == stats.reserved.current);
  CHECK(seen.largest == stats.largest_free);
  CHECK(stats.address_bytes >= stats.reserved.current);
}

std::string summary(mr_memory* memory) {
  uint64_t length = 0;
  MR_OK_OR_FAIL(mr_memory_summary(memory, nullptr, 0, &length, nullptr));
  std::string text(length + 1, '\0');
  MR_OK_OR_FAIL(mr_memory_summary(memory, text.data(), text.size(), nullptr, nullptr));
  text.resize(text.find('\0'));
  return text;
}

}  // namespace

TEST_CASE("visit: the blocks tile what is reserved and add up to the figures") {
  test::both_modes([](Engine& engine) {
    check_against_figures(engine);
    std::vector<void*> live;
    for (const uint64_t bytes : {uint64_t{1}, 300 * kKiB, 5 * kMiB, 40 * kKiB, 64 * kMiB}) {
      void* address = nullptr;
      MR_OK_OR_FAIL(
          mr_memory_allocate(engine.memory, engine.a, bytes, 0, MR_TAG_KV, &address, nullptr));
      live.push_back(address);
      check_against_figures(engine);
    }
    for (size_t i = 0; i < live.size(); i += 2) {
      MR_OK_OR_FAIL(mr_memory_free(engine.memory, engine.a, live[i], nullptr));
      check_against_figures(engine);
    }
    for (size_t i = 1; i < live.size(); i += 2) {
      MR_OK_OR_FAIL(mr_memory_free(engine.memory, engine.b, live[i], nullptr));
      check_against_figures(engine);
    }
    MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
    MR_OK_OR_FAIL(mr_stream_synchronize(engine.b, nullptr));
    MR_OK_OR_FAIL(mr_memory_trim(engine.memory, 0, nullptr, nullptr));
    check_against_figures(engine);
    CHECK(mr_memory_visit(engine.memory, nullptr, nullptr, nullptr) == MR_INVALID_ARGUMENT);
  });
}

TEST_CASE("the summary says what the figures say, and is cut like any text") {
  Engine engine;
  void* address = nullptr;
  MR_OK_OR_FAIL(
      mr_memory_allocate(engine.memory, engine.a, 3 * kMiB, 0, MR_TAG_WEIGHTS, &address, nullptr));
  MR_OK_OR_FAIL(mr_memory_set_limit(engine.memory, 512 * kMiB, nullptr));
  const std::string text = summary(engine.memory);
  CHECK(text.find("| requested") != std::string::npos);
  CHECK(text.find("|   weights              |     3.0 MiB |     3.0 MiB |     3.0 MiB |") !=
        std::string::npos);
  CHECK(text.find("limit                 512.0 MiB") != std::string::npos);
  CHECK(text.find("everything else") != std::string::npos);
  CHECK(text.back() == '\n');
  char small[8] = "???????";
  uint64_t length = 0;
  MR_OK_OR_FAIL(mr_memory_summary(engine.memory, small, sizeof small, &length, nullptr));
  CHECK(length >= text.size() - 16);  // what other programs use is in it, and changes
  CHECK(std::string(small) == text.substr(0, 7));
  MR_OK_OR_FAIL(mr_memory_free(engine.memory, engine.a, address, nullptr));
}

TEST_CASE("a lock per stream: what is current is exact, and peaks say that they are bounds") {
  mr_memory_config config = MR_MEMORY_CONFIG_INIT;
  config.backend = MR_BACKEND_HOST;
  config.flags = MR_MEMORY_LOCK_PER_STREAM;
  mr_memory* memory = nullptr;
  MR_OK_OR_FAIL(mr_memory_create(&config, &memory, nullptr));
  {
    Engine engine("inline", "", memory);
    const mr_memory_stats before = stats_of(memory);
    CHECK(before.flags == MR_MEMORY_PEAKS_ARE_BOUNDS);
    CHECK(summary(memory).find("upper bounds") != std::string::npos);
    for (mr_stream* stream : {engine.a, engine.b}) {
      for (int i = 0; i < 3; ++i) {
        void* address = nullptr;
        MR_OK_OR_FAIL(mr_memory_allocate(memory, stream, kMiB, 0, MR_TAG_KV, &address, nullptr));
        CHECK(stats_of(memory).tags[MR_TAG_KV].current == kMiB);
        MR_OK_OR_FAIL(mr_memory_free(memory, stream, address, nullptr));
      }
    }
    const mr_memory_stats after = stats_of(memory);
    CHECK(after.allocated.current == before.allocated.current);
    CHECK(after.allocations - before.allocations == 6);
    CHECK(after.tags[MR_TAG_KV].total == 6 * kMiB);
    CHECK(after.tags[MR_TAG_KV].peak >= kMiB);
    CHECK(after.tags[MR_TAG_KV].peak <= 2 * kMiB);
    check_against_figures(engine);
  }
  CHECK(stats_of(memory).allocated.current == 0);
  mr_memory_release(memory);
  // Exact books do not say so.
  Engine engine;
  CHECK(stats_of(engine.memory).flags == 0);
}
