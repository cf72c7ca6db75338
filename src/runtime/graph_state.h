// The graph behind mr_graph, and the scratch that graphs share behind mr_graph_pool.
#pragma once

#include <mutex>

#include "runtime/event_state.h"

struct mr_graph_pool final : mr::Object {
 public:
  static mr::Status create(mr_context& context, uint64_t bytes, mr::Ref<mr_graph_pool>* out);

  mr_context& context() const { return *context_; }
  // The pool's one piece of scratch; every capture uses it from its start.
  mr::Status lease(uint64_t bytes, void** out) const;
  // Orders a launch on `stream` behind the pool's previous launch, and the next behind this one.
  mr::Status enter(mr_stream& stream);
  mr::Status leave(mr_stream& stream);
  std::mutex& mutex() { return mutex_; }

 private:
  mr_graph_pool() : Object(mr::ObjectKind::kGraphPool) {}
  ~mr_graph_pool() override;

  mr::Ref<mr_context> context_;
  void* address_ = nullptr;
  uint64_t bytes_ = 0;
  std::mutex mutex_;
  mr::Ref<mr_event> last_;
};

struct mr_graph final : mr::Object {
 public:
  // The stream leaves its capture in any case, for want of host memory too.
  static mr::Status end(mr_stream& stream, mr::Ref<mr_graph>* out);
  mr::Status launch(mr_stream& stream);

 private:
  mr_graph() : Object(mr::ObjectKind::kGraph) {}
  ~mr_graph() override;

  mr::Ref<mr_context> context_;
  mr::Ref<mr_graph_pool> pool_;
  void* native_ = nullptr;
  std::mutex mutex_;
  mr::Ref<mr_event> last_;  // the previous launch: a graph runs once at a time
};
