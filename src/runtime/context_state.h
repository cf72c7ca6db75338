// The context behind mr_context: one device, its options, libraries, memory, and its first fault.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "backend/backend.h"
#include "core/log.h"
#include "core/object.h"
#include "core/options.h"
#include "memory/memory_state.h"

struct mr_context final : mr::Object {
 public:
  static mr::Status create(const mr_context_config& config, mr::Ref<mr_context>* out);

  mr::Backend& backend() const { return *backend_; }
  int device() const { return device_; }
  const mr::DeviceInfo& info() const { return backend_->devices()[static_cast<size_t>(device_)]; }
  mr::Libraries* libraries() const { return libraries_.get(); }
  mr_memory& memory() const { return *memory_; }
  mr::Options& options() { return options_; }
  const mr::Options& options() const { return options_; }
  const mr::BackendOptions& backend_options() const { return backend_options_; }
  const mr::Log& log() const { return log_; }

  // OK while the context can work: not forked, no fault latched. One relaxed load on the fast path.
  mr::Status check_alive() const;
  bool is_alive() const { return !forked() && !lost_.load(std::memory_order_acquire); }
  // Passes a status through, latching the first DEVICE_LOST with the operators that streams ran
  // last.
  mr::Status watch(mr::Status status);

  // Streams announce themselves, so that a fault can say what was enqueued last.
  void add_stream(mr_stream* stream);
  void remove_stream(mr_stream* stream);
  // Whether a call on any stream of this context was illegal in the capture with this id.
  bool is_spoiled(uint64_t capture_id) const;

 private:
  mr_context() : Object(mr::ObjectKind::kContext) {}
  ~mr_context() override = default;
  std::array<char, sizeof mr::Status::detail> describe_recent(const mr::Status& status) const;

  mr::Backend* backend_ = nullptr;
  int device_ = 0;
  mr::Options options_;
  mr::BackendOptions backend_options_;
  mr::Log log_;
  mr::Ref<mr_memory> memory_;
  std::unique_ptr<mr::Libraries> libraries_;

  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_;  // guards fault_ and streams_
  mr::Status fault_;
  mr_stream* streams_ = nullptr;  // intrusive list
};
