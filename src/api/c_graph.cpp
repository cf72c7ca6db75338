#include "api/guard.h"
#include "millrace/millrace.h"
#include "runtime/graph_state.h"

using mr::ObjectKind;
using mr::Status;
using mr::api::check_handle;
using mr::api::check_out;
using mr::api::guard;

namespace {

Status check_pool(const mr_graph_pool* pool) {
  return check_handle(pool, ObjectKind::kGraphPool, "pool");
}

}  // namespace

mr_status mr_graph_pool_create(mr_context* context, uint64_t bytes, mr_graph_pool** out,
                               mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(context, ObjectKind::kContext, "context"));
    MR_TRY(check_out(out, "out"));
    mr::Ref<mr_graph_pool> pool;
    MR_TRY(mr_graph_pool::create(*context, bytes, &pool));
    *out = pool.give();
    return {};
  });
}

void mr_graph_pool_retain(mr_graph_pool* pool) noexcept {
  mr::api::retain(pool, ObjectKind::kGraphPool);
}

void mr_graph_pool_release(mr_graph_pool* pool) noexcept {
  mr::api::release(pool, ObjectKind::kGraphPool);
}

mr_status mr_graph_begin(mr_stream* stream, mr_graph_pool* pool, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(stream, ObjectKind::kStream, "stream"));
    if (pool != nullptr) {
      MR_TRY(check_pool(pool));
      if (&pool->context() != &stream->context()) {
        return mr::invalid("pool", "belongs to another context than the stream");
      }
    }
    return stream->begin_capture(pool);
  });
}

mr_status mr_graph_end(mr_stream* stream, mr_graph** out, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(stream, ObjectKind::kStream, "stream"));
    MR_TRY(check_out(out, "out"));
    mr::Ref<mr_graph> graph;
    MR_TRY(mr_graph::end(*stream, &graph));
    *out = graph.give();
    return {};
  });
}

void mr_graph_retain(mr_graph* graph) noexcept { mr::api::retain(graph, ObjectKind::kGraph); }

void mr_graph_release(mr_graph* graph) noexcept { mr::api::release(graph, ObjectKind::kGraph); }

mr_status mr_graph_launch(mr_graph* graph, mr_stream* stream, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(graph, ObjectKind::kGraph, "graph"));
    MR_TRY(check_handle(stream, ObjectKind::kStream, "stream"));
    return graph->launch(*stream);
  });
}
