#include "runtime/event_state.h"

#include <new>

using mr::CaptureInfo;
using mr::CaptureState;
using mr::Ref;
using mr::Status;

Status mr_event::create(mr_context& context, bool timing, Ref<mr_event>* out) {
  MR_TRY(context.check_alive());
  auto event = Ref<mr_event>::take(new mr_event);
  event->context_ = Ref<mr_context>::share(&context);
  MR_TRY(context.watch(context.backend().make_event(context.device(), timing, &event->native_)));
  event->owned_ = true;
  event->timing_ = timing;
  *out = std::move(event);
  return {};
}

Status mr_event::wrap(mr_context& context, void* native, Ref<mr_event>* out) {
  MR_TRY(context.check_alive());
  if (native == nullptr) return mr::invalid("native", "is NULL");
  auto event = Ref<mr_event>::take(new mr_event);
  event->context_ = Ref<mr_context>::share(&context);
  event->native_ = native;
  event->timing_ = true;  // what its owner made is not known: the device answers
  *out = std::move(event);
  return {};
}

mr_event::~mr_event() {
  if (owned_ && !forked()) context_->backend().drop_event(context_->device(), native_);
}

Status mr_event::record(mr_stream& stream, bool external) {
  MR_TRY(context_->check_alive());
  MR_TRY(stream.context().check_alive());
  if (&stream.context().backend() != &context_->backend() ||
      stream.context().device() != context_->device()) {
    return mr::invalid("stream", "is on another device than the event");
  }
  CaptureInfo capture;
  MR_TRY(context_->watch(
      context_->backend().capture_info(context_->device(), stream.native(), &capture)));
  const bool capturing = capture.state == CaptureState::kActive;
  MR_TRY(context_->watch(context_->backend().record_event(context_->device(), native_,
                                                          stream.native(), capturing && external)));
  capture_id_ = capturing && !external ? capture.id : 0;
  recorded_here_ = true;
  return {};
}

Status mr_event::record_behind(mr_stream& stream, bool external) {
  Status status;
  try {
    status = record(stream, external);
  } catch (const std::bad_alloc&) {
    status = mr::error(MR_OUT_OF_HOST_MEMORY, "the host has no memory left");
  }
  if (status.code != MR_OUT_OF_HOST_MEMORY) return status;
  bool capturing = false;
  MR_TRY(stream.is_capturing(&capturing));
  if (!capturing) return stream.synchronize();
  stream.spoil_capture();  // it holds the work without the record
  return status;
}

// Inside a capture an event only marks a point of the graph; there is nothing to ask or to wait
// for.
Status mr_event::check_outside() const {
  if (capture_id_ == 0) return {};
  return mr::error(MR_CAPTURE_VIOLATION, "the event was recorded inside a capture").about("event");
}

Status mr_event::hold(mr_stream& stream) {
  MR_TRY(context_->check_alive());
  mr_context& there = stream.context();
  MR_TRY(there.check_alive());
  if (&there.backend() != &context_->backend()) {
    return mr::unsupported("a stream cannot wait for an event of another backend").about("event");
  }
  CaptureInfo capture;
  MR_TRY(there.watch(there.backend().capture_info(there.device(), stream.native(), &capture)));
  const bool capturing = capture.state == CaptureState::kActive;
  const uint64_t recorded_in = capture_id_;
  if (recorded_in != 0 && capturing && capture.id != recorded_in) {
    return stream.noted(
        mr::error(MR_CAPTURE_VIOLATION, "the event was recorded inside another capture")
            .about("event"));
  }
  // A stream that is not capturing joins the capture; the backend refuses where that has ended.
  // The application records a wrapped event itself, perhaps within this very capture.
  const bool external = capturing && recorded_in == 0 && recorded_here_;
  if (!capturing && (recorded_in != 0 || !recorded_here_)) stream.may_have_joined();
  return stream.noted(
      there.watch(there.backend().wait_event(there.device(), stream.native(), native_, external)));
}

Status mr_event::query(bool* out_done) {
  MR_TRY(context_->check_alive());
  MR_TRY(check_outside());
  return context_->watch(context_->backend().query_event(context_->device(), native_, out_done));
}

Status mr_event::synchronize() {
  MR_TRY(context_->check_alive());
  MR_TRY(check_outside());
  return context_->watch(context_->backend().synchronize_event(context_->device(), native_));
}

Status mr_event::elapsed_to(mr_event& stop, float* out_milliseconds) {
  MR_TRY(context_->check_alive());
  if (stop.context_.get() != context_.get()) {
    return mr::invalid("stop", "belongs to another context than start");
  }
  if (!timing_) return mr::invalid("start", "was made without MR_EVENT_TIMING");
  if (!stop.timing_) return mr::invalid("stop", "was made without MR_EVENT_TIMING");
  MR_TRY(check_outside());
  MR_TRY(stop.check_outside());
  return context_->watch(
      context_->backend().elapsed(context_->device(), native_, stop.native_, out_milliseconds));
}
