#include "api/entry_parts.h"

namespace test {

namespace {

constexpr uint64_t kSmall = 512;

}  // namespace

Scene::Scene(const std::string& options, const mr_memory_config* config) {
  mr_memory* memory = nullptr;
  mr_memory_config plain = MR_MEMORY_CONFIG_INIT;
  plain.backend = MR_BACKEND_HOST;
  reset_arena();
  MR_OK_OR_FAIL(mr_memory_create(config != nullptr ? config : &plain, &memory, nullptr));
  mr_context* context = make_context("host.threads=1;host.blas=off;" + options, memory);
  mr_stream_config small = MR_STREAM_CONFIG_INIT;
  small.workspace_bytes = kSmall;
  mr_stream* stream = nullptr;
  mr_buffer* buffer = nullptr;
  mr_graph* graph = nullptr;
  mr_graph_pool* pool = nullptr;
  mr_ring* ring = nullptr;
  mr_matmul_plan* plan = nullptr;
  const mr_matmul_problem problem = small_problem();
  MR_OK_OR_FAIL(mr_stream_create(context, &small, &stream, nullptr));
  MR_OK_OR_FAIL(mr_buffer_create(stream, kSmall, MR_MEMORY_DEVICE, 0, &buffer, nullptr));
  MR_OK_OR_FAIL(mr_graph_pool_create(context, kSmall, &pool, nullptr));
  MR_OK_OR_FAIL(mr_graph_begin(stream, pool, nullptr));
  MR_OK_OR_FAIL(mr_fill(stream, arena.floats[3], 0, 64, nullptr));
  MR_OK_OR_FAIL(mr_graph_end(stream, &graph, nullptr));
  MR_OK_OR_FAIL(mr_ring_create(context, 2, 64, &ring, nullptr));
  MR_OK_OR_FAIL(mr_matmul_plan_create(context, &problem, &plan, nullptr));
  MR_OK_OR_FAIL(mr_memory_allocate(memory, stream, kSmall, 0, 0, &address, nullptr));
  for (mr_event*& event : timed) {
    event = make_event(context, MR_EVENT_TIMING);
    MR_OK_OR_FAIL(mr_event_record(event, stream, 0, nullptr));
  }
  MR_OK_OR_FAIL(mr_stream_synchronize(stream, nullptr));
  handles = {{memory, context, stream, make_event(context), buffer, graph, pool, ring, plan}};
}

Scene::~Scene() {
  clear();
  if (address != nullptr) mr_memory_free(handles.memory(), handles.stream(), address, nullptr);
  for (mr_event* event : timed) mr_event_release(event);
  made = handles;
  handles = {};
  clear();
}

void Scene::clear() {
  int32_t capturing = 0;
  (void)mr_stream_is_capturing(handles.stream(), &capturing, nullptr);
  if (capturing != 0) {
    mr_graph* abandoned = nullptr;
    (void)mr_graph_end(handles.stream(), &abandoned, nullptr);
    mr_graph_release(abandoned);
  }
  (void)mr_stream_synchronize(handles.stream(), nullptr);
  if (made_address != nullptr)
    (void)mr_memory_free(handles.memory(), nullptr, made_address, nullptr);
  mr_dlpack_release(made_export);
  mr_matmul_plan_release(made.plan());
  mr_ring_release(made.ring());
  mr_graph_release(made.graph());
  mr_graph_pool_release(made.graph_pool());
  mr_buffer_release(made.buffer());
  mr_event_release(made.event());
  mr_stream_release(made.stream());
  mr_context_release(made.context());
  mr_memory_release(made.memory());
  made = {};
  made_address = made_export = nullptr;
}

void Scene::reset_arena() {
  arena = {};
  for (auto& row : arena.floats) {
    for (float& value : row) value = 1.0f;
  }
}

bool Scene::untouched() const {
  for (const void* handle : made.at) {
    if (handle != nullptr) return false;
  }
  return made_address == nullptr && made_export == nullptr;
}

}  // namespace test
