// Every function of the interface, asked with NULL and with a handle of every other kind.
#include <set>

#include "api/entry_points.h"

namespace {

using test::EntryPoint;
using test::Handles;
using test::Scene;
using test::Use;

// Asks with the given handle in place of the right one; the answer must name the argument.
void expect_refusal(Scene& scene, const EntryPoint& entry, const Use& use, void* instead) {
  CAPTURE(entry.name);
  Handles handles = scene.handles;
  handles.at[use.kind] = instead;
  mr_error error = {};
  const mr_status status = entry.call(scene, handles, &error);
  if (!entry.fallible) {
    CHECK(status == MR_OK);
    return;
  }
  if (instead == nullptr && use.optional) {
    CHECK_MESSAGE(status == MR_OK, error.text);
    return;
  }
  CHECK(status == MR_INVALID_ARGUMENT);
  CHECK(error.code == MR_INVALID_ARGUMENT);
  CHECK_MESSAGE(std::string(error.text).find(std::string(use.argument) + ":") == 0, error.text);
  CHECK(scene.untouched());
}

void prepare(Scene& scene, const EntryPoint& entry) {
  scene.clear();
  if (scene.address == nullptr) {
    MR_OK_OR_FAIL(mr_memory_allocate(scene.handles.memory(), scene.handles.stream(), 512, 0, 0,
                                     &scene.address, nullptr));
  }
  if (entry.setup) entry.setup(scene);
}

}  // namespace

TEST_CASE("the list holds every function of the table, once") {
  std::set<std::string> names;
  for (const EntryPoint& entry : test::entry_points()) CHECK(names.insert(entry.name).second);
  CHECK(names.size() == (sizeof(mr_api) - offsetof(mr_api, version)) / sizeof(void*));
}

TEST_CASE("each call in the list succeeds with the right handles") {
  for (const char* mode : {"host.streams=inline", "host.streams=deferred"}) {
    Scene scene(mode);
    for (const EntryPoint& entry : test::entry_points()) {
      CAPTURE(entry.name);
      prepare(scene, entry);
      mr_error error = {};
      const mr_status status = entry.call(scene, scene.handles, &error);
      CHECK_MESSAGE(status == MR_OK, error.text);
      CHECK(error.text[0] == '\0');  // written on failure alone
    }
  }
}

TEST_CASE("NULL is refused and named, or harmless where there is no status") {
  Scene scene("");
  for (const EntryPoint& entry : test::entry_points()) {
    for (const Use& use : entry.uses) {
      prepare(scene, entry);
      if (!entry.fallible) scene.made = {};  // nothing was retained for a release to take
      expect_refusal(scene, entry, use, nullptr);
    }
    if (!entry.fallible && entry.name.find("_release") != std::string::npos && entry.setup) {
      entry.call(scene, scene.handles, nullptr);  // what the setup retained
    }
  }
}

TEST_CASE("a handle of another kind is refused and named, or left alone where there is no status") {
  Scene scene("");
  for (const EntryPoint& entry : test::entry_points()) {
    for (const Use& use : entry.uses) {
      for (int kind = 0; kind < test::kKinds; ++kind) {
        if (kind == use.kind) continue;
        if (entry.fallible) prepare(scene, entry);
        expect_refusal(scene, entry, use, scene.handles.at[kind]);
      }
    }
  }
  // Nothing lost a reference that it needed.
  scene.clear();
  for (const EntryPoint& entry : test::entry_points()) {
    CAPTURE(entry.name);
    prepare(scene, entry);
    CHECK(entry.call(scene, scene.handles, nullptr) == MR_OK);
  }
}

TEST_CASE("getters give NULL and 0 for NULL and for handles of another kind") {
  Scene scene("");
  const Handles& h = scene.handles;
  for (void* wrong : {static_cast<void*>(nullptr), h.at[test::kRing]}) {
    CHECK(mr_buffer_data(static_cast<mr_buffer*>(wrong)) == nullptr);
    CHECK(mr_buffer_bytes(static_cast<mr_buffer*>(wrong)) == 0);
    CHECK(mr_context_memory(static_cast<mr_context*>(wrong)) == nullptr);
    CHECK(mr_stream_native(static_cast<mr_stream*>(wrong)) == nullptr);
    CHECK(mr_stream_context(static_cast<mr_stream*>(wrong)) == nullptr);
    CHECK(mr_event_native(static_cast<mr_event*>(wrong)) == nullptr);
  }
  CHECK(mr_context_memory(h.context()) == h.memory());
  CHECK(mr_stream_context(h.stream()) == h.context());
  CHECK(mr_buffer_bytes(h.buffer()) == 512);
}

TEST_CASE("handles of another context are refused where the two must agree") {
  Scene one(""), two("");
  mr_error error = {};
  const auto refused = [&](const char* argument, mr_status status) {
    CHECK(status == MR_INVALID_ARGUMENT);
    CHECK_MESSAGE(std::string(error.text).find(argument) == 0, error.text);
  };
  const Handles& a = one.handles;
  const Handles& b = two.handles;
  refused("stream:", mr_buffer_use(a.buffer(), b.stream(), &error));
  refused("pool:", mr_graph_begin(a.stream(), b.graph_pool(), &error));
  refused("stream:", mr_graph_launch(a.graph(), b.stream(), &error));
  refused("stream:", mr_ring_push(a.ring(), 0, b.stream(), one.arena.floats, 4, &error));
  refused("address:", mr_memory_free(a.memory(), a.stream(), two.address, &error));
  mr_matmul_operands run = MR_MATMUL_OPERANDS_INIT;
  run.x = op_calls::floats(one.arena, 0, {2, 4});
  run.w = op_calls::floats(one.arena, 1, {3, 4});
  run.d = op_calls::floats(one.arena, 2, {2, 3});
  refused("stream:", mr_matmul_run(a.plan(), b.stream(), &run, &error));
  run.event = b.event();
  refused("operands.event:", mr_matmul_run(a.plan(), a.stream(), &run, &error));
  int32_t capturing = 1;
  MR_OK_OR_FAIL(mr_stream_is_capturing(a.stream(), &capturing, nullptr));
  CHECK(capturing == 0);
}
