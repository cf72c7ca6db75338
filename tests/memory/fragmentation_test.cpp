// How well allocations lie: what is reserved against what was asked for, on traces of an engine's
// temporaries, and that a trace which was seen before costs no call of the device.
#include <sstream>
#include <string_view>

#include "memory/pool_fixture.h"
#include "support/memory_trace_file.h"
#include "support/memory_traces.h"

using namespace test;

namespace {

// One stream of a device that is never full.
struct Replay : PoolFixture {
  Replay() : PoolFixture(0, uint64_t{4} << 40) {}
  // Asserts only at the end: there are 200,000 steps to a trace.
  void run(const TraceScript& script) {
    slots.resize(script.slots);
    while (streams.size() < script.streams) streams.push_back(device.stream());
    size_t failed = 0;
    for (const TraceScript::Step& step : script.steps) {
      void*& slot = slots[step.slot];
      const StreamRef stream = streams[step.stream];
      const Status status = step.bytes != 0
                                ? allocate(pool, stream, step.bytes, 256, MR_TAG_ACTIVATIONS, &slot)
                                : pool.free(stream, slot);
      if (!status.ok()) ++failed;
    }
    REQUIRE(failed == 0);
  }
  std::vector<StreamRef> streams;
  std::vector<void*> slots;
};

std::string read_error(const std::string& text) {
  std::istringstream in(text);
  MemoryTrace trace;
  return read_trace(in, &trace);
}

std::string rmm_error(const std::string& rows) {
  std::istringstream in("Thread,Time,Action,Pointer,Size,Stream\n" + rows);
  MemoryTrace trace;
  return read_rmm_log(in, &trace);
}

}  // namespace

// The seeds of T3 are three of many: blocks of mixed lifetimes lie as chance will have it, and over
// more seeds some miss the goal, with an exact best fit too (memory_replay --model T3 --seed N).
TEST_CASE("on each model, little more is reserved than was asked for, and repeats are free") {
  for (const TraceModel& model : trace_models()) {
    CAPTURE(model.title());
    Replay f;
    const TraceScript script = script_of(model.make(model.seed));
    f.run(script);
    f.run(script);
    const mr_memory_stats second = f.stats();
    const uint64_t calls = f.device.counts.driver();
    CHECK(second.requested.peak == script.peak_bytes);
    const double ratio =
        static_cast<double>(second.reserved.peak) / static_cast<double>(script.peak_bytes);
    CHECK(ratio <= model.goal);
    for (int repeat = 3; repeat <= 5; ++repeat) {
      f.run(script);
      const mr_memory_stats now = f.stats();
      CHECK(now.driver_allocations == second.driver_allocations);
      CHECK(now.driver_frees == second.driver_frees);
      CHECK(now.reserved.peak == second.reserved.peak);
      CHECK(f.device.counts.driver() == calls);
    }
    CHECK(f.stats().requested.current == 0);
  }
}

// ---- The traces themselves ----------------------------------------------------------------------

TEST_CASE("models have the sizes that they are named for") {
  const TraceScript prompts = script_of(growing_prompts());
  // 8186 tokens: residual, norm and both halves of the gated product, or the latter with its
  // result.
  CHECK(prompts.peak_bytes == uint64_t{8186} * 2 * (4096 + 3 * 14336));
  CHECK(script_of(mixed_batches(1)).peak_bytes != script_of(mixed_batches(7)).peak_bytes);
  for (const TraceModel& model : trace_models()) {
    CAPTURE(model.title());
    int64_t live = 0;
    for (const TraceOperation& operation : model.make(model.seed)) {
      live += operation.kind == TraceKind::kAllocate ? 1 : -1;
      if (operation.kind == TraceKind::kAllocate && operation.bytes == 0) FAIL("no bytes");
    }
    CHECK(live == 0);
  }
}

TEST_CASE("a trace that was written is read as it was") {
  const MemoryTrace trace = {{7, 300, TraceKind::kAllocate, 2},
                             {8, UINT64_MAX, TraceKind::kAllocate, 0},
                             {7, 0, TraceKind::kFree, 4},
                             {7, 1, TraceKind::kAllocate, UINT32_MAX}};
  std::ostringstream out;
  write_trace(out, trace);
  std::istringstream in("# comment\n\n" + out.str());
  MemoryTrace read;
  CHECK(read_trace(in, &read) == "");
  REQUIRE(read.size() == trace.size());
  for (size_t i = 0; i < trace.size(); ++i) {
    CHECK(read[i].id == trace[i].id);
    CHECK(read[i].bytes == trace[i].bytes);
    CHECK(read[i].kind == trace[i].kind);
    CHECK(read[i].stream == trace[i].stream);
  }
  // Both that are left are freed at the end.
  const TraceScript script = script_of({trace[0], trace[2], trace[3]});
  CHECK(script.slots == 1);
  CHECK(script.streams == 3);
  CHECK(script.peak_bytes == 300);
  REQUIRE(script.steps.size() == 4);
  CHECK(script.steps.back().bytes == 0);
  CHECK(script.steps.back().stream == 2);
}

TEST_CASE("a malformed trace is refused with the line") {
  CHECK(read_error("") == "");
  CHECK(read_error("x 1 2 0") == "line 1: neither an allocation (a), a free (f) nor a comment (#)");
  CHECK(read_error("a 1 256 0\nf 1 0\nf 1 0") == "line 3: the id is not allocated");
  CHECK(read_error("a 1 256 0\n\na 1 256 0") == "line 3: the id is allocated already");
  CHECK(read_error("a 1 0 0") == "line 1: an allocation has at least one byte");
  for (const char* line : {"a 1 256", "a 1 256 0 0", "a  1 256 0", "a 1 256 0 ", "a -1 256 0",
                           "a 1 2.5 0", "a 1 0x10 0", "a 18446744073709551616 1 0",
                           "a 1 1 4294967296", "a 1 256 0\r", " a 1 256 0", "f 1", "f"}) {
    CAPTURE(line);
    CHECK(read_error(std::string("# first\n") + line).substr(0, 8) == "line 2: ");
  }
  MemoryTrace kept(1);
  std::istringstream in("nonsense");
  CHECK(read_trace(in, &kept) != "");
  CHECK(kept.size() == 1);
}

TEST_CASE("RMM's log is read, address by address") {
  std::istringstream in(
      "Thread,Time,Action,Pointer,Size,Stream\n"
      "11,10:00:00.000001,allocate,0x7f00a0,512,0x2\n"
      "11,10:00:00.000002,allocate failure,(nil),99999,0x2\n"
      "11,10:00:00.000003,free,0x7f00a0,512,0x2\n"
      "12,10:00:00.000004,allocate,0x7f00a0,256,0x2\n"
      "12,10:00:00.000005,allocate,(nil),0,0\n"
      "11,10:00:00.000006,free,0x7f00a0,256,(nil)\n");
  MemoryTrace trace;
  REQUIRE(read_rmm_log(in, &trace) == "");
  REQUIRE(trace.size() == 4);
  CHECK(trace[0].bytes == 512);
  CHECK(trace[1].kind == TraceKind::kFree);
  CHECK(trace[1].id == trace[0].id);
  CHECK(trace[2].stream != trace[0].stream);  // the default streams of two threads
  CHECK(trace[3].id == trace[2].id);
  CHECK(trace[3].stream != trace[2].stream);

  std::istringstream headless("11,10:00:00,allocate,0x10,512,0\n");
  CHECK(read_rmm_log(headless, &trace).substr(0, 8) == "line 1: ");
  CHECK(rmm_error("1,t,allocate,0x10,512") == "line 2: there are not six columns");
  CHECK(rmm_error("1,t,grow,0x10,512,0") ==
        "line 2: the action is neither allocate, free nor allocate failure");
  CHECK(rmm_error("1,t,allocate,10,512,0") == "line 2: the pointer is none");
  CHECK(rmm_error("1,t,allocate,0x10,-1,0") == "line 2: the size is no number of 64 bits");
  CHECK(rmm_error("1,t,free,0x10,512,0") == "line 2: the pointer is not allocated");
  CHECK(rmm_error("1,t,allocate,0x10,512,0\n1,t,free,0x10,511,0") ==
        "line 3: it was allocated with another size");
}
