// A forked child: every function that takes a handle from before the fork says so, releases are
// harmless, and what the child makes anew works. Nothing of this touches the parent.
#include "api/entry_points.h"
#include "api/slow_page.h"
#include "support/in_child.h"

namespace {

using test::EntryPoint;
using test::in_child;
using test::Scene;
using test::Use;

// What a handle from before the fork leads to.
std::string ask_everything(Scene& scene) {
  for (const EntryPoint& entry : test::entry_points()) {
    if (!entry.fallible) continue;
    bool needs_handle = false;
    for (const Use& use : entry.uses) needs_handle = needs_handle || !use.optional;
    mr_error error = {};
    const mr_status status = entry.call(scene, scene.handles, &error);
    const mr_status wanted = needs_handle || !entry.uses.empty() ? MR_FORKED : MR_OK;
    if (status != wanted) {
      return entry.name + " gave " + mr_status_name(status) + ": " + error.text;
    }
    if (status == MR_FORKED && (error.code != MR_FORKED || error.text[0] == '\0')) {
      return entry.name + " wrote no report";
    }
    if (!scene.untouched()) {
      if (entry.uses.empty()) {
        scene.clear();  // what needs no handle works
      } else {
        return entry.name + " wrote an out-parameter";
      }
    }
  }
  return "";
}

constexpr const char* kChildMode = MR_TEST_FORK_WITH_THREADS ? "deferred" : "inline";

std::string work_anew() {
  test::Engine engine(kChildMode, MR_TEST_FORK_WITH_THREADS ? "host.threads=4" : "");
  test::Bytes x(engine.a, 64), y(engine.a, 64);
  const std::vector<float> values(16, 1.5f);
  std::vector<float> got(16);
  if (mr_upload(engine.a, x.data, values.data(), 64, nullptr) != MR_OK) return "upload";
  if (test::twice(engine.a, x.data, y.data, 16) != MR_OK) return "add";
  if (mr_download(engine.a, got.data(), y.data, 64, nullptr) != MR_OK) return "download";
  return got[15] == 3.0f ? "" : "a wrong sum";
}

void release_everything(Scene& scene) {
  const test::Handles& h = scene.handles;
  mr_context_release(h.context());
  mr_memory_release(h.memory());
  mr_graph_release(h.graph());
  mr_stream_release(h.stream());
  mr_buffer_release(h.buffer());
  mr_event_release(h.event());
  mr_graph_pool_release(h.graph_pool());
  mr_ring_release(h.ring());
  mr_matmul_plan_release(h.plan());
  for (mr_event* event : scene.timed) mr_event_release(event);
}

}  // namespace

TEST_CASE("in a child every handle from before the fork is FORKED, and the parent works on") {
  for (const char* mode : {"host.streams=inline", "host.streams=deferred"}) {
    if (!MR_TEST_FORK_WITH_THREADS && std::string(mode) == "host.streams=deferred") continue;
    CAPTURE(std::string(mode));
    Scene scene(mode);
    CHECK(in_child([&] { return ask_everything(scene); }) == "");
    CHECK(in_child([&] {
            release_everything(scene);
            return work_anew();
          }) == "");
    // The parent's handles are as they were.
    for (const EntryPoint& entry : test::entry_points()) {
      CAPTURE(entry.name);
      scene.clear();
      if (scene.address == nullptr) {
        MR_OK_OR_FAIL(mr_memory_allocate(scene.handles.memory(), scene.handles.stream(), 512, 0, 0,
                                         &scene.address, nullptr));
      }
      if (entry.setup) entry.setup(scene);
      CHECK(entry.call(scene, scene.handles, nullptr) == MR_OK);
    }
  }
}

#if MR_TEST_FORK_WITH_THREADS
namespace {

// Forks with `engine.a` at work on x and a capture open on `engine.b`; the child finds both FORKED.
void fork_at_work(test::Engine& engine, const test::Bytes& x) {
  MR_OK_OR_FAIL(mr_graph_begin(engine.b, nullptr, nullptr));
  CHECK(in_child([&] {
          if (mr_fill(engine.a, x.data, 2, 64, nullptr) != MR_FORKED) return std::string("fill");
          if (mr_graph_end(engine.b, nullptr, nullptr) != MR_FORKED) return std::string("end");
          mr_buffer_release(x.handle);
          mr_stream_release(engine.b);
          mr_stream_release(engine.a);
          mr_context_release(engine.context);
          return work_anew();
        }) == "");
  mr_graph* graph = nullptr;
  CHECK(mr_graph_end(engine.b, &graph, nullptr) == MR_OK);
  mr_graph_release(graph);
}

}  // namespace

TEST_CASE("a fork while a deferred stream is held up, and while a capture is open") {
  test::SlowPage page;
  test::Engine engine("deferred", "host.threads=3");
  test::Bytes x(engine.a, 64);
  page.hold_up(engine.a);
  x.fill(1);
  page.wait_for_arrival();
  fork_at_work(engine, x);
  page.appear();
  CHECK(x.value() == 1);
}

TEST_CASE("a fork while a deferred stream runs, and while a capture is open") {
  test::Engine engine("deferred", "host.threads=3");
  test::Bytes x(engine.a, 8 * test::kMiB);
  for (int i = 0; i < 4; ++i) x.fill(1);
  fork_at_work(engine, x);
  CHECK(x.value() == 1);
}

#endif  // MR_TEST_FORK_WITH_THREADS

TEST_CASE("a child's child, too: what the child made is FORKED there") {
  CHECK(in_child([] {
          test::Engine engine(kChildMode);
          return in_child([&] {
            return mr_stream_synchronize(engine.a, nullptr) == MR_FORKED ? work_anew()
                                                                         : std::string("no FORKED");
          });
        }) == "");
}
