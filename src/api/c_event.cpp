#include "api/guard.h"
#include "millrace/millrace.h"
#include "runtime/event_state.h"

using mr::ObjectKind;
using mr::Status;
using mr::api::check_handle;
using mr::api::check_out;
using mr::api::guard;

mr_status mr_event_create(mr_context* context, uint32_t flags, mr_event** out,
                          mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(context, ObjectKind::kContext, "context"));
    MR_TRY(check_out(out, "out"));
    if ((flags & ~MR_EVENT_TIMING) != 0) return mr::invalid("flags", "holds unknown bits", flags);
    mr::Ref<mr_event> event;
    MR_TRY(mr_event::create(*context, (flags & MR_EVENT_TIMING) != 0, &event));
    *out = event.give();
    return {};
  });
}

mr_status mr_event_wrap(mr_context* context, void* native, mr_event** out, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(context, ObjectKind::kContext, "context"));
    MR_TRY(check_out(out, "out"));
    mr::Ref<mr_event> event;
    MR_TRY(mr_event::wrap(*context, native, &event));
    *out = event.give();
    return {};
  });
}

void mr_event_retain(mr_event* event) noexcept { mr::api::retain(event, ObjectKind::kEvent); }

void mr_event_release(mr_event* event) noexcept { mr::api::release(event, ObjectKind::kEvent); }

void* mr_event_native(mr_event* event) noexcept {
  return event != nullptr && event->kind() == ObjectKind::kEvent ? event->native() : nullptr;
}

mr_status mr_event_record(mr_event* event, mr_stream* stream, uint32_t flags,
                          mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(event, ObjectKind::kEvent, "event"));
    MR_TRY(check_handle(stream, ObjectKind::kStream, "stream"));
    if ((flags & ~MR_EVENT_EXTERNAL) != 0) return mr::invalid("flags", "holds unknown bits", flags);
    return event->record(*stream, (flags & MR_EVENT_EXTERNAL) != 0);
  });
}

mr_status mr_stream_wait_event(mr_stream* stream, mr_event* event, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(stream, ObjectKind::kStream, "stream"));
    MR_TRY(check_handle(event, ObjectKind::kEvent, "event"));
    return event->hold(*stream);
  });
}

mr_status mr_event_query(mr_event* event, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(event, ObjectKind::kEvent, "event"));
    bool done = false;
    MR_TRY(event->query(&done));
    return done ? Status() : mr::error(MR_NOT_READY, "the event is not reached");
  });
}

mr_status mr_event_synchronize(mr_event* event, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(event, ObjectKind::kEvent, "event"));
    return event->synchronize();
  });
}

mr_status mr_event_elapsed(mr_event* start, mr_event* stop, float* out_milliseconds,
                           mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(start, ObjectKind::kEvent, "start"));
    MR_TRY(check_handle(stop, ObjectKind::kEvent, "stop"));
    MR_TRY(check_out(out_milliseconds, "out_milliseconds"));
    float milliseconds = 0.0f;
    MR_TRY(start->elapsed_to(*stop, &milliseconds));
    *out_milliseconds = milliseconds;
    return {};
  });
}
