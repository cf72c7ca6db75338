// Case C08: whatever an operator needs is there once its context is. Each case runs in a process
// that has not used the library before: its first call of each operator is in a capture, or beside
// a stream that stands still.
#include <cstring>
#include <functional>

#include "abi/op_calls.h"
#include "api/api_fixture.h"
#include "api/slow_page.h"
#include "support/in_child.h"

namespace {

using op_calls::Arena;
using test::Engine;
using test::SlowPage;

struct Operator {
  std::string name;
  std::function<void(Arena&)> set;  // what the call reads; floats that are not 0
  std::function<mr_status(mr_stream*, Arena&)> run;
};

template <class Args>
Args args_of(Arena& arena) {
  Args args = {};
  args.struct_size = sizeof args;
  op_calls::fill(args, arena);
  return args;
}

template <class Args>
Operator make(const char* name, mr_status (*run)(mr_stream*, const Args*, mr_error*)) {
  const auto set = [](Arena& arena) {
    arena = {};
    float value = 0.25f;
    for (auto& row : arena.floats) {
      for (float& element : row) element = value += 0.125f;
    }
    (void)args_of<Args>(arena);
  };
  return {name, set, [run](mr_stream* stream, Arena& arena) {
            const Args args = args_of<Args>(arena);
            return run(stream, &args, nullptr);
          }};
}

std::vector<Operator> operators() {
  std::vector<Operator> all;
#define MR_OPERATOR(op, args) all.push_back(make<args>(#op, mr_##op));
#define MR_CALLER_FILLS(type, function)
#define MR_LIBRARY_FILLS(type, function)
#include "abi/struct_table.inc"
#undef MR_OPERATOR
#undef MR_CALLER_FILLS
#undef MR_LIBRARY_FILLS
  return all;
}

bool same(const Arena& a, const Arena& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

// "" if each operator's first call, in a capture, and its graph do what a plain call does.
std::string first_in_capture(const char* mode) {
  Engine engine(mode);
  for (const Operator& op : operators()) {
    Arena replayed, plain, before;
    for (Arena* arena : {&replayed, &plain, &before}) op.set(*arena);
    mr_graph* graph = nullptr;
    if (mr_graph_begin(engine.a, nullptr, nullptr) != MR_OK) return op.name + ": begin";
    const mr_status captured = op.run(engine.a, replayed);
    if (captured != MR_OK) return op.name + ": " + mr_status_name(captured);
    if (mr_graph_end(engine.a, &graph, nullptr) != MR_OK) return op.name + ": end";
    if (!same(replayed, before)) return op.name + " ran while it was captured";
    const mr_status launched = mr_graph_launch(graph, engine.a, nullptr);
    if (launched != MR_OK) return op.name + ": launch";
    if (mr_stream_synchronize(engine.a, nullptr) != MR_OK) return op.name + ": synchronize";
    if (op.run(engine.a, plain) != MR_OK) return op.name + ": a plain call";
    if (mr_stream_synchronize(engine.a, nullptr) != MR_OK) return op.name + ": synchronize";
    if (same(plain, before)) return op.name + " wrote nothing";
    if (!same(replayed, plain)) return op.name + ": another result than a plain call's";
    mr_graph_release(graph);
  }
  return "";
}

std::string first_beside_a_stalled_stream() {
  SlowPage page;
  Engine engine("deferred");
  page.hold_up(engine.a);
  page.wait_for_arrival();
  for (const Operator& op : operators()) {
    Arena arena, before;
    for (Arena* each : {&arena, &before}) op.set(*each);
    const mr_status status = op.run(engine.b, arena);
    if (status != MR_OK) return op.name + ": " + mr_status_name(status);
    if (mr_stream_synchronize(engine.b, nullptr) != MR_OK) return op.name + ": synchronize";
    if (same(arena, before)) return op.name + " wrote nothing";
  }
  if (mr_stream_query(engine.a, nullptr) != MR_NOT_READY) return "the stalled stream went on";
  page.appear();
  return mr_stream_synchronize(engine.a, nullptr) == MR_OK ? "" : "the stalled stream";
}

}  // namespace

TEST_CASE("C08: the first use of each operator is in a capture") {
  CHECK(test::in_child([] { return first_in_capture("inline"); }) == "");
  CHECK(test::in_child([] { return first_in_capture("deferred"); }) == "");
}

TEST_CASE("C08: the first use of each operator is while another stream stands still") {
  CHECK(test::in_child(first_beside_a_stalled_stream) == "");
}
