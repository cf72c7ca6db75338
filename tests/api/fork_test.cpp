// A forked child: every function that takes a handle from before the fork says so, releases are
// harmless, and what the child makes anew works. Nothing of this touches the parent.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "api/entry_points.h"

namespace {

using test::EntryPoint;
using test::Scene;
using test::Use;

// Runs the body in a child, which tells of a failure by a text; "" if there is none.
template <class Body>
std::string in_child(Body&& body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    close(ends[0]);
    const std::string text = body();
    const bool told = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(told ? 0 : 3);
  }
  close(ends[1]);
  std::string text;
  char piece[256];
  for (ssize_t n; (n = read(ends[0], piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<size_t>(n));
  close(ends[0]);
  int code = 0;
  REQUIRE(waitpid(child, &code, 0) == child);
  if (code != 0) text += " (the child ended with " + std::to_string(code) + ")";
  return text;
}

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

std::string work_anew() {
  test::Engine engine("deferred", "host.threads=4");
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

TEST_CASE("a fork while a deferred stream works, and while a capture is open") {
  test::Engine engine("deferred", "host.threads=3");
  test::Bytes x(engine.a, 8 * test::kMiB);
  for (int i = 0; i < 4; ++i) x.fill(1);
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
  CHECK(x.value() == 1);
}

TEST_CASE("a child's child, too: what the child made is FORKED there") {
  CHECK(in_child([] {
          test::Engine engine("deferred");
          return in_child([&] {
            return mr_stream_synchronize(engine.a, nullptr) == MR_FORKED ? work_anew()
                                                                         : std::string("no FORKED");
          });
        }) == "");
}
