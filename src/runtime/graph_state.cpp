#include "runtime/graph_state.h"

#include <new>

using mr::Ref;
using mr::Status;

// ---- Pool ---------------------------------------------------------------------------------------

Status mr_graph_pool::create(mr_context& context, uint64_t bytes, Ref<mr_graph_pool>* out) {
  MR_TRY(context.check_alive());
  auto pool = Ref<mr_graph_pool>::take(new mr_graph_pool);
  pool->context_ = Ref<mr_context>::share(&context);
  MR_TRY(mr_event::create(context, false, &pool->last_));
  MR_TRY(context.memory().allocate({}, bytes, 256, MR_TAG_WORKSPACE, &pool->address_));
  pool->bytes_ = bytes;
  *out = std::move(pool);
  return {};
}

// Graphs hold the pool, and a graph's release waits for its last launch: the scratch is idle here.
mr_graph_pool::~mr_graph_pool() {
  if (forked() || address_ == nullptr) return;
  (void)last_->synchronize();
  (void)context_->memory().free({}, address_);
}

Status mr_graph_pool::lease(uint64_t bytes, void** out) const {
  if (bytes > bytes_) {
    return mr::error(MR_WORKSPACE_TOO_SMALL, "the graph pool is smaller than the call needs")
        .about("pool")
        .got(static_cast<int64_t>(bytes))
        .wanted(static_cast<int64_t>(bytes_));
  }
  *out = address_;
  return {};
}

Status mr_graph_pool::enter(mr_stream& stream) { return last_->hold(stream); }
Status mr_graph_pool::leave(mr_stream& stream) { return last_->record_behind(stream, false); }

// ---- Graph --------------------------------------------------------------------------------------

Status mr_graph::end(mr_stream& stream, Ref<mr_graph>* out) {
  Status made;
  Ref<mr_graph> graph;
  try {
    graph = Ref<mr_graph>::take(new mr_graph);
    graph->context_ = Ref<mr_context>::share(&stream.context());
    made = mr_event::create(stream.context(), false, &graph->last_);
  } catch (const std::bad_alloc&) {
    made = mr::error(MR_OUT_OF_HOST_MEMORY, "the host has no memory left for the graph");
  }
  if (!made.ok()) {
    stream.abandon_capture();
    return made;
  }
  MR_TRY(stream.end_capture(&graph->native_, &graph->pool_));
  *out = std::move(graph);
  return {};
}

// What the graph uses may be freed next, so its last launch is waited for.
mr_graph::~mr_graph() {
  if (forked() || native_ == nullptr) return;
  (void)last_->synchronize();
  context_->backend().drop_graph(context_->device(), native_);
  Object::release_due();
}

// Locked so that two launches keep one order among the waits, the launch and the records.
Status mr_graph::launch(mr_stream& stream) {
  MR_TRY(context_->check_alive());
  if (&stream.context() != context_.get()) {
    return mr::invalid("stream", "belongs to another context than the graph");
  }
  bool capturing = false;
  MR_TRY(stream.is_capturing(&capturing));
  if (capturing) {
    return stream.noted(mr::error(MR_CAPTURE_VIOLATION, "a graph cannot be launched into a capture")
                            .about("stream"));
  }
  MR_TRY(stream.before_enqueue("graph"));
  std::unique_lock pool_lock =
      pool_ ? std::unique_lock(pool_->mutex()) : std::unique_lock<std::mutex>();
  std::lock_guard lock(mutex_);
  // Waits that were enqueued before one failed do no harm.
  if (pool_) MR_TRY(pool_->enter(stream));
  MR_TRY(last_->hold(stream));
  MR_TRY(context_->watch(
      context_->backend().launch_graph(context_->device(), native_, stream.native())));
  MR_TRY(last_->record_behind(stream, false));
  if (pool_) MR_TRY(pool_->leave(stream));
  return stream.after_enqueue();
}
