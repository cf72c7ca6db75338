// Two engines in one process, each in several threads: contexts, memories, plans and events are
// used from all of them at once, a stream by one at a time.
#include <atomic>
#include <thread>

#include "api/api_fixture.h"

namespace {

using test::Bytes;
using test::Engine;

// What one thread does over and over: a product by the shared plan, a sum, and the check of both.
void step(Engine& engine, mr_matmul_plan* plan, mr_stream* stream, mr_event* shared, float value) {
  Bytes x(stream, 64), w(stream, 64), d(stream, 64), sum(stream, 64);
  const std::vector<float> xs(16, value), ws(16, 2.0f);
  std::vector<float> got(16);
  MR_OK_OR_FAIL(mr_upload(stream, x.data, xs.data(), 64, nullptr));
  MR_OK_OR_FAIL(mr_upload(stream, w.data, ws.data(), 64, nullptr));
  mr_matmul_operands run = MR_MATMUL_OPERANDS_INIT;
  const int64_t square[] = {4, 4};
  mr_tensor_pack(x.data, MR_F32, 2, square, &run.x, nullptr);
  mr_tensor_pack(w.data, MR_F32, 2, square, &run.w, nullptr);
  mr_tensor_pack(d.data, MR_F32, 2, square, &run.d, nullptr);
  run.event = shared;
  MR_OK_OR_FAIL(mr_matmul_run(plan, stream, &run, nullptr));
  MR_OK_OR_FAIL(test::twice(stream, d.data, sum.data, 16));
  MR_OK_OR_FAIL(mr_download(stream, got.data(), sum.data, 64, nullptr));
  for (const float element : got) {
    if (element != 16 * value) FAIL("got " << element << " for " << value);
  }
  MR_OK_OR_FAIL(mr_event_synchronize(shared, nullptr));
  MR_OK_OR_FAIL(mr_context_health(engine.context, nullptr));
  const mr_memory_stats stats = test::stats_of(engine.memory);
  if (stats.requested.current > stats.allocated.current ||
      stats.allocated.current > stats.active.current ||
      stats.active.current > stats.reserved.current) {
    FAIL("figures that contradict each other");
  }
}

mr_matmul_plan* make_plan(mr_context* context) {
  mr_matmul_problem problem = MR_MATMUL_PROBLEM_INIT;
  problem.dtype = problem.d_dtype = MR_F32;
  problem.m_max = 4, problem.n = 4, problem.k = 4;
  mr_matmul_plan* plan = nullptr;
  MR_OK_OR_FAIL(mr_matmul_plan_create(context, &problem, &plan, nullptr));
  return plan;
}

}  // namespace

TEST_CASE("two engines, inline and deferred, in three threads each") {
  Engine one("inline", "host.threads=2"), two("deferred", "host.threads=2");
  std::vector<std::thread> threads;
  std::vector<mr_matmul_plan*> plans;
  std::vector<mr_event*> events;
  for (Engine* engine : {&one, &two}) {
    plans.push_back(make_plan(engine->context));
    events.push_back(test::make_event(engine->context));
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([engine, t, plan = plans.back(), event = events.back()] {
        for (int round = 0; round < 12; ++round) {
          mr_stream* stream = nullptr;
          MR_OK_OR_FAIL(mr_stream_create(engine->context, nullptr, &stream, nullptr));
          step(*engine, plan, stream, event, static_cast<float>(t * 100 + round));
          mr_stream_release(stream);
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (mr_matmul_plan* plan : plans) mr_matmul_plan_release(plan);
  for (mr_event* event : events) mr_event_release(event);
  for (Engine* engine : {&one, &two}) {
    CHECK(mr_stream_synchronize(engine->a, nullptr) == MR_OK);
    CHECK(test::stats_of(engine->memory).tags[MR_TAG_OTHER].current == 0);
  }
}

TEST_CASE("options are set and read while operators run") {
  Engine engine("deferred");
  std::atomic<bool> stop{false};
  std::thread changing([&] {
    for (int i = 0; !stop; ++i) {
      const char* level = i % 2 == 0 ? "batch-invariant" : "fast";
      MR_OK_OR_FAIL(mr_context_set_option(engine.context, "determinism", level, nullptr));
      MR_OK_OR_FAIL(mr_context_set_option(engine.context, "force_kernel",
                                          i % 2 == 0 ? "host_add" : "", nullptr));
      char text[64];
      MR_OK_OR_FAIL(
          mr_context_get_option(engine.context, "force_kernel", text, 64, nullptr, nullptr));
      if (text[0] != '\0' && std::string(text) != "host_add") FAIL("a torn value: " << text);
    }
  });
  Bytes x(engine.a, 64);
  x.fill(0);
  for (int i = 0; i < 300; ++i) MR_OK_OR_FAIL(test::twice(engine.a, x.data, x.data, 16));
  MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
  stop = true;
  changing.join();
}

TEST_CASE("one graph launched by several threads, each on its own stream") {
  Engine engine("deferred");
  Bytes counter(engine.a, 64);
  const std::vector<float> one(16, 1.0f);
  MR_OK_OR_FAIL(mr_upload(engine.a, counter.data, one.data(), 64, nullptr));
  mr_graph_pool* pool = nullptr;
  MR_OK_OR_FAIL(mr_graph_pool_create(engine.context, 1024, &pool, nullptr));
  MR_OK_OR_FAIL(mr_graph_begin(engine.a, pool, nullptr));
  mr_add_args add = MR_ADD_ARGS_INIT;
  const int64_t count = 16;
  mr_tensor_pack(counter.data, MR_F32, 1, &count, &add.a, nullptr);
  add.b = add.output = add.a;
  Bytes ones(engine.b, 64);
  MR_OK_OR_FAIL(mr_upload(engine.b, ones.data, one.data(), 64, nullptr));
  add.b.data = ones.data;
  MR_OK_OR_FAIL(mr_add(engine.a, &add, nullptr));
  mr_graph* graph = nullptr;
  MR_OK_OR_FAIL(mr_graph_end(engine.a, &graph, nullptr));
  std::vector<std::thread> threads;
  for (mr_stream* stream : {engine.a, engine.b}) {
    threads.emplace_back([&, stream] {
      for (int i = 0; i < 100; ++i) MR_OK_OR_FAIL(mr_graph_launch(graph, stream, nullptr));
      MR_OK_OR_FAIL(mr_stream_synchronize(stream, nullptr));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<float> got(16);
  MR_OK_OR_FAIL(mr_download(engine.a, got.data(), counter.data, 64, nullptr));
  for (const float value : got) CHECK(value == 201.0f);  // no increment was lost
  mr_graph_release(graph);
  mr_graph_pool_release(pool);
}
