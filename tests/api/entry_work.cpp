// Events, graphs, rings, operators and plans.
#include "api/entry_parts.h"

namespace test {
namespace {

void begin(Scene& scene) {
  MR_OK_OR_FAIL(mr_graph_begin(scene.handles.stream(), nullptr, nullptr));
}

void push(Scene& scene) {
  MR_OK_OR_FAIL(mr_ring_push(scene.handles.ring(), 0, scene.handles.stream(), scene.arena.floats,
                             64, nullptr));
  MR_OK_OR_FAIL(mr_stream_synchronize(scene.handles.stream(), nullptr));
}

template <class Args>
Args args_of(Scene& s) {
  s.reset_arena();  // what an earlier call left there is no page table
  Args args = {};
  args.struct_size = sizeof args;
  op_calls::fill(args, s.arena);
  return args;
}

template <class Args>
struct Functions {
  mr_status (*run)(mr_stream*, const Args*, mr_error*);
  mr_status (*prepare)(mr_stream*, const Args*, mr_error*);
  mr_status (*workspace)(mr_stream*, const Args*, uint64_t*, mr_error*);
  mr_status (*kernel)(mr_stream*, const Args*, mr_kernel_info*, mr_error*);
};

template <class Args>
void add_operator(std::vector<EntryPoint>& all, const std::string& name,
                  const Functions<Args>& op) {
  const std::vector<Use> stream = {{kStream, "stream"}};
  all.push_back({name, stream, [op](Scene& s, const Handles& h, mr_error* e) {
                   const Args args = args_of<Args>(s);
                   return op.run(h.stream(), &args, e);
                 }});
  all.push_back({name + "_prepare", stream, [op](Scene& s, const Handles& h, mr_error* e) {
                   const Args args = args_of<Args>(s);
                   return op.prepare(h.stream(), &args, e);
                 }});
  all.push_back({name + "_workspace", stream, [op](Scene& s, const Handles& h, mr_error* e) {
                   const Args args = args_of<Args>(s);
                   uint64_t out = 0;
                   return op.workspace(h.stream(), &args, &out, e);
                 }});
  all.push_back({name + "_kernel", stream, [op](Scene& s, const Handles& h, mr_error* e) {
                   const Args args = args_of<Args>(s);
                   mr_kernel_info out = MR_KERNEL_INFO_INIT;
                   return op.kernel(h.stream(), &args, &out, e);
                 }});
}

// Those that the table has before the plans, or behind them.
void add_some_operators(std::vector<EntryPoint>& all, bool behind) {
#define MR_OPERATOR(op, args)                                                                \
  if (behind == (std::string(#op) == "argmax" || std::string(#op) == "sample")) {            \
    add_operator<args>(all, #op,                                                             \
                       {mr_##op, mr_##op##_prepare, mr_##op##_workspace, mr_##op##_kernel}); \
  }
#define MR_CALLER_FILLS(type, function)
#define MR_LIBRARY_FILLS(type, function)
#include "abi/struct_table.inc"
#undef MR_OPERATOR
#undef MR_CALLER_FILLS
#undef MR_LIBRARY_FILLS
}

}  // namespace

mr_matmul_problem small_problem() {
  mr_matmul_problem problem = MR_MATMUL_PROBLEM_INIT;
  problem.dtype = problem.d_dtype = MR_F32;
  problem.m_max = 4, problem.n = 3, problem.k = 4;
  return problem;
}

void add_event(std::vector<EntryPoint>& all) {
  all.push_back(
      {"event_create", {{kContext, "context"}}, [](Scene& s, const Handles& h, mr_error* e) {
         return mr_event_create(h.context(), 0, reinterpret_cast<mr_event**>(&s.made.at[kEvent]),
                                e);
       }});
  all.push_back(
      {"event_wrap", {{kContext, "context"}}, [](Scene& s, const Handles& h, mr_error* e) {
         return mr_event_wrap(h.context(), mr_event_native(s.handles.event()),
                              reinterpret_cast<mr_event**>(&s.made.at[kEvent]), e);
       }});
  all.push_back({"event_retain",
                 {{kEvent, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   mr_event_retain(h.event());
                   return MR_OK;
                 },
                 [](Scene& s) { s.made.at[kEvent] = s.handles.event(); },
                 false});
  all.push_back({"event_release",
                 {{kEvent, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   mr_event_release(h.event());
                   return MR_OK;
                 },
                 [](Scene& s) { mr_event_retain(s.handles.event()); },
                 false});
  all.push_back({"event_native",
                 {{kEvent, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   (void)mr_event_native(h.event());
                   return MR_OK;
                 },
                 {},
                 false});
  all.push_back({"event_record",
                 {{kEvent, "event"}, {kStream, "stream"}},
                 [](Scene&, const Handles& h, mr_error* e) {
                   return mr_event_record(h.event(), h.stream(), 0, e);
                 }});
  all.push_back({"stream_wait_event",
                 {{kStream, "stream"}, {kEvent, "event"}},
                 [](Scene&, const Handles& h, mr_error* e) {
                   return mr_stream_wait_event(h.stream(), h.event(), e);
                 }});
  all.push_back({"event_query", {{kEvent, "event"}}, [](Scene&, const Handles& h, mr_error* e) {
                   return mr_event_query(h.event(), e);
                 }});
  all.push_back(
      {"event_synchronize", {{kEvent, "event"}}, [](Scene&, const Handles& h, mr_error* e) {
         return mr_event_synchronize(h.event(), e);
       }});
  all.push_back({"event_elapsed", {{kEvent, "start"}}, [](Scene& s, const Handles& h, mr_error* e) {
                   float out = 0;
                   mr_event* const start = h.event() == s.handles.event() ? s.timed[0] : h.event();
                   return mr_event_elapsed(start, s.timed[1], &out, e);
                 }});
}

void add_graph(std::vector<EntryPoint>& all) {
  all.push_back(
      {"graph_pool_create", {{kContext, "context"}}, [](Scene& s, const Handles& h, mr_error* e) {
         return mr_graph_pool_create(h.context(), 40 * kMiB,
                                     reinterpret_cast<mr_graph_pool**>(&s.made.at[kGraphPool]), e);
       }});
  all.push_back({"graph_pool_retain",
                 {{kGraphPool, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   mr_graph_pool_retain(h.graph_pool());
                   return MR_OK;
                 },
                 [](Scene& s) { s.made.at[kGraphPool] = s.handles.graph_pool(); },
                 false});
  all.push_back({"graph_pool_release",
                 {{kGraphPool, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   mr_graph_pool_release(h.graph_pool());
                   return MR_OK;
                 },
                 [](Scene& s) { mr_graph_pool_retain(s.handles.graph_pool()); },
                 false});
  all.push_back({"graph_begin",
                 {{kStream, "stream"}, {kGraphPool, "pool", true}},
                 [](Scene&, const Handles& h, mr_error* e) {
                   return mr_graph_begin(h.stream(), h.graph_pool(), e);
                 }});
  all.push_back({"graph_end",
                 {{kStream, "stream"}},
                 [](Scene& s, const Handles& h, mr_error* e) {
                   return mr_graph_end(h.stream(), reinterpret_cast<mr_graph**>(&s.made.at[kGraph]),
                                       e);
                 },
                 begin});
  all.push_back({"graph_retain",
                 {{kGraph, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   mr_graph_retain(h.graph());
                   return MR_OK;
                 },
                 [](Scene& s) { s.made.at[kGraph] = s.handles.graph(); },
                 false});
  all.push_back({"graph_release",
                 {{kGraph, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   mr_graph_release(h.graph());
                   return MR_OK;
                 },
                 [](Scene& s) { mr_graph_retain(s.handles.graph()); },
                 false});
  all.push_back({"graph_launch",
                 {{kGraph, "graph"}, {kStream, "stream"}},
                 [](Scene&, const Handles& h, mr_error* e) {
                   return mr_graph_launch(h.graph(), h.stream(), e);
                 }});
}

void add_ring(std::vector<EntryPoint>& all) {
  all.push_back(
      {"ring_create", {{kContext, "context"}}, [](Scene& s, const Handles& h, mr_error* e) {
         return mr_ring_create(h.context(), 2, 64, reinterpret_cast<mr_ring**>(&s.made.at[kRing]),
                               e);
       }});
  all.push_back({"ring_retain",
                 {{kRing, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   mr_ring_retain(h.ring());
                   return MR_OK;
                 },
                 [](Scene& s) { s.made.at[kRing] = s.handles.ring(); },
                 false});
  all.push_back({"ring_release",
                 {{kRing, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   mr_ring_release(h.ring());
                   return MR_OK;
                 },
                 [](Scene& s) { mr_ring_retain(s.handles.ring()); },
                 false});
  all.push_back({"ring_push",
                 {{kRing, "ring"}, {kStream, "stream"}},
                 [](Scene& s, const Handles& h, mr_error* e) {
                   return mr_ring_push(h.ring(), 0, h.stream(), s.arena.floats[0], 64, e);
                 }});
  all.push_back(
      {"ring_query",
       {{kRing, "ring"}},
       [](Scene&, const Handles& h, mr_error* e) { return mr_ring_query(h.ring(), 0, e); },
       push});
  all.push_back({"ring_wait",
                 {{kRing, "ring"}},
                 [](Scene&, const Handles& h, mr_error* e) {
                   const void* out = nullptr;
                   return mr_ring_wait(h.ring(), 0, &out, e);
                 },
                 push});
}

void add_operators(std::vector<EntryPoint>& all) { add_some_operators(all, false); }
void add_sampling(std::vector<EntryPoint>& all) { add_some_operators(all, true); }

void add_plan(std::vector<EntryPoint>& all) {
  all.push_back(
      {"matmul_plan_create", {{kContext, "context"}}, [](Scene& s, const Handles& h, mr_error* e) {
         const mr_matmul_problem problem = small_problem();
         return mr_matmul_plan_create(h.context(), &problem,
                                      reinterpret_cast<mr_matmul_plan**>(&s.made.at[kPlan]), e);
       }});
  all.push_back({"matmul_plan_retain",
                 {{kPlan, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   mr_matmul_plan_retain(h.plan());
                   return MR_OK;
                 },
                 [](Scene& s) { s.made.at[kPlan] = s.handles.plan(); },
                 false});
  all.push_back({"matmul_plan_release",
                 {{kPlan, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   mr_matmul_plan_release(h.plan());
                   return MR_OK;
                 },
                 [](Scene& s) { mr_matmul_plan_retain(s.handles.plan()); },
                 false});
  all.push_back(
      {"matmul_plan_workspace", {{kPlan, "plan"}}, [](Scene&, const Handles& h, mr_error* e) {
         uint64_t out = 0;
         return mr_matmul_plan_workspace(h.plan(), 2, &out, e);
       }});
  all.push_back(
      {"matmul_plan_kernel", {{kPlan, "plan"}}, [](Scene&, const Handles& h, mr_error* e) {
         mr_kernel_info out = MR_KERNEL_INFO_INIT;
         return mr_matmul_plan_kernel(h.plan(), 2, &out, e);
       }});
  all.push_back({"matmul_run",
                 {{kPlan, "plan"}, {kStream, "stream"}, {kEvent, "operands.event", true}},
                 [](Scene& s, const Handles& h, mr_error* e) {
                   mr_matmul_operands run = MR_MATMUL_OPERANDS_INIT;
                   run.x = op_calls::floats(s.arena, 0, {2, 4});
                   run.w = op_calls::floats(s.arena, 1, {3, 4});
                   run.d = op_calls::floats(s.arena, 2, {2, 3});
                   run.event = h.event();
                   return mr_matmul_run(h.plan(), h.stream(), &run, e);
                 }});
}

}  // namespace test
