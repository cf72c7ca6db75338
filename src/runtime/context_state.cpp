#include "runtime/context_state.h"

#include <charconv>
#include <cstdio>
#include <cstring>

#include "runtime/stream_state.h"

namespace mr {
namespace {

BackendOptions backend_options(const Options& options) {
  BackendOptions out;
  out.deferred_streams = options.text(Option::kHostStreams) == "deferred";
  const std::string threads = options.text(Option::kHostThreads);
  std::from_chars(threads.data(), threads.data() + threads.size(), out.host_threads);
  out.host_blas = options.text(Option::kHostBlas);
  out.cublaslt_path = options.text(Option::kLibraryCublasLt);
  return out;
}

}  // namespace
}  // namespace mr

using mr::Ref;
using mr::Status;

Status mr_context::create(const mr_context_config& config, Ref<mr_context>* out) {
  if (config.flags != 0) return mr::invalid("config.flags", "holds unknown bits", config.flags, 0);
  if (config.reserved != 0) return mr::invalid("config.reserved", "is not 0", config.reserved, 0);
  if (config.log_level < 0 || config.log_level > MR_LOG_DEBUG) {
    return mr::invalid("config.log_level", "is out of range", config.log_level, MR_LOG_DEBUG);
  }
  auto context = Ref<mr_context>::take(new mr_context);
  context->log_ = mr::Log(config.log, config.log_user,
                          config.log_level == 0 ? MR_LOG_WARNING : config.log_level);
  MR_TRY(context->options_.load(config.options));
  context->backend_options_ = mr::backend_options(context->options_);
  MR_TRY(mr::choose_device(config.backend, config.ordinal, &context->backend_, &context->device_));
  MR_TRY(context->backend_->open(context->device_));
  if (config.memory != nullptr) {
    if (&config.memory->backend() != context->backend_ ||
        config.memory->device() != context->device_) {
      return mr::invalid("config.memory", "belongs to another device");
    }
    context->memory_ = Ref<mr_memory>::share(config.memory);
  } else {
    const mr_memory_config memory_config = MR_MEMORY_CONFIG_INIT;
    MR_TRY(
        mr_memory::create(*context->backend_, context->device_, memory_config, &context->memory_));
  }
  MR_TRY(context->backend_->make_libraries(context->device_, context->backend_options_,
                                           &context->libraries_));
  context->log_.line(MR_LOG_INFO, "context on %s", context->info().name.c_str());
  *out = std::move(context);
  return {};
}

Status mr_context::check_alive() const {
  if (forked()) return mr::error(MR_FORKED, "the handle was made before fork()");
  if (!lost_.load(std::memory_order_acquire)) return {};
  std::lock_guard lock(mutex_);
  return fault_;
}

Status mr_context::watch(Status status) {
  if (status.code != MR_DEVICE_LOST) return status;
  Status fault;
  {
    std::lock_guard lock(mutex_);
    if (lost_.load(std::memory_order_relaxed)) return fault_;
    fault_ = fault = status.flag(MR_ERROR_CONTEXT_LOST).say(describe_recent(status).data());
    lost_.store(true, std::memory_order_release);
  }
  // Without the lock: the callback may ask for the context's health.
  log_.line(MR_LOG_ERROR, "device lost: %s: %s", fault.sentence, fault.detail);
  return fault;
}

// The status's detail and what each stream ran last. Called with the context locked.
std::array<char, sizeof Status::detail> mr_context::describe_recent(const Status& status) const {
  std::array<char, sizeof Status::detail> text;
  int used = std::snprintf(text.data(), text.size(), "%s", status.detail);
  for (mr_stream* stream = streams_; stream != nullptr; stream = stream->next_in_context_) {
    for (const auto& name : stream->recent_) {
      const char* ran = name.load(std::memory_order_relaxed);
      if (ran == nullptr || used < 0 || static_cast<size_t>(used) >= text.size()) continue;
      const size_t at = static_cast<size_t>(used);
      used += std::snprintf(text.data() + at, text.size() - at, "; stream %llu ran %s",
                            static_cast<unsigned long long>(stream->id()), ran);
    }
  }
  return text;
}

bool mr_context::is_spoiled(uint64_t capture_id) const {
  std::lock_guard lock(mutex_);
  for (const mr_stream* stream = streams_; stream != nullptr; stream = stream->next_in_context_) {
    if (stream->spoiled_capture_ == capture_id) return true;
  }
  return false;
}

void mr_context::add_stream(mr_stream* stream) {
  std::lock_guard lock(mutex_);
  stream->next_in_context_ = streams_;
  if (streams_ != nullptr) streams_->previous_in_context_ = stream;
  streams_ = stream;
}

void mr_context::remove_stream(mr_stream* stream) {
  std::lock_guard lock(mutex_);
  if (streams_ == stream) streams_ = stream->next_in_context_;
  if (stream->next_in_context_ != nullptr) {
    stream->next_in_context_->previous_in_context_ = stream->previous_in_context_;
  }
  if (stream->previous_in_context_ != nullptr) {
    stream->previous_in_context_->next_in_context_ = stream->next_in_context_;
  }
}
