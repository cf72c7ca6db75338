// Every function of the interface with a call that succeeds, so that a test can put the same
// question to all of them: what do you say to NULL, to a handle of another kind, after a fork,
// without memory?
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "abi/op_calls.h"
#include "api/api_fixture.h"
#include "api/dlpack_mirror.h"

namespace test {

enum Kind { kMemory, kContext, kStream, kEvent, kBuffer, kGraph, kGraphPool, kRing, kPlan, kKinds };

// One handle of each kind, or what a test passes instead.
struct Handles {
  void* at[kKinds] = {};
  mr_memory* memory() const { return static_cast<mr_memory*>(at[kMemory]); }
  mr_context* context() const { return static_cast<mr_context*>(at[kContext]); }
  mr_stream* stream() const { return static_cast<mr_stream*>(at[kStream]); }
  mr_event* event() const { return static_cast<mr_event*>(at[kEvent]); }
  mr_buffer* buffer() const { return static_cast<mr_buffer*>(at[kBuffer]); }
  mr_graph* graph() const { return static_cast<mr_graph*>(at[kGraph]); }
  mr_graph_pool* graph_pool() const { return static_cast<mr_graph_pool*>(at[kGraphPool]); }
  mr_ring* ring() const { return static_cast<mr_ring*>(at[kRing]); }
  mr_matmul_plan* plan() const { return static_cast<mr_matmul_plan*>(at[kPlan]); }
};

// A context with one object of each kind, and room for what a call makes.
struct Scene {
  // The memory is one of its own where `config` is not null.
  explicit Scene(const std::string& options, const mr_memory_config* config = nullptr);
  ~Scene();
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  // Waits, releases what the last call made, and ends captures.
  void clear();
  // Whether the out-parameters are as before the call.
  bool untouched() const;
  // Every float 1, every other number 0: what operators work on.
  void reset_arena();

  Handles handles;
  void* address = nullptr;  // of memory() in the order of stream(), live
  Handles made;
  void* made_address = nullptr;
  void* made_export = nullptr;
  op_calls::Arena arena;
  Produced produced;
  mr_event* timed[2] = {};  // recorded and reached
};

struct Use {
  Kind kind;
  const char* argument;  // as the error's text names it
  bool optional = false;
};

// `call` makes the call with these handles. `setup` makes what must stand before it. What has no
// status (retains, releases, getters) is not fallible: `call` gives OK whatever happens.
struct EntryPoint {
  using Call = std::function<mr_status(Scene&, const Handles&, mr_error*)>;
  using Setup = std::function<void(Scene&)>;
  EntryPoint(std::string name_of, std::vector<Use> uses_of, Call make_call, Setup make_setup = {},
             bool has_status = true)
      : name(std::move(name_of)),
        uses(std::move(uses_of)),
        call(std::move(make_call)),
        setup(std::move(make_setup)),
        fallible(has_status) {}
  std::string name;
  std::vector<Use> uses;
  Call call;
  Setup setup;
  bool fallible;
};

// In the order of the function table; every function but mr_get_api().
std::vector<EntryPoint> entry_points();

}  // namespace test
