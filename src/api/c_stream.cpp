#include "api/guard.h"
#include "millrace/millrace.h"
#include "runtime/stream_state.h"

using mr::ObjectKind;
using mr::Status;
using mr::api::check_handle;
using mr::api::check_out;
using mr::api::guard;

namespace {

// The configuration may be NULL: the defaults.
Status read_config(const mr_stream_config* config, mr_stream_config* out) {
  if (config == nullptr) return *out = MR_STREAM_CONFIG_INIT, Status();
  return mr::api::read_struct(config, "config", out);
}

Status done_or_not_ready(bool done) {
  return done ? Status() : mr::error(MR_NOT_READY, "the work is not finished");
}

}  // namespace

mr_status mr_stream_create(mr_context* context, const mr_stream_config* config, mr_stream** out,
                           mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(context, ObjectKind::kContext, "context"));
    MR_TRY(check_out(out, "out"));
    mr_stream_config own;
    MR_TRY(read_config(config, &own));
    mr::Ref<mr_stream> stream;
    MR_TRY(mr_stream::create(*context, own, &stream));
    *out = stream.give();
    return {};
  });
}

mr_status mr_stream_wrap(mr_context* context, void* native, const mr_stream_config* config,
                         mr_stream** out, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(context, ObjectKind::kContext, "context"));
    MR_TRY(check_out(out, "out"));
    mr_stream_config own;
    MR_TRY(read_config(config, &own));
    mr::Ref<mr_stream> stream;
    MR_TRY(mr_stream::wrap(*context, native, own, &stream));
    *out = stream.give();
    return {};
  });
}

void mr_stream_retain(mr_stream* stream) noexcept { mr::api::retain(stream, ObjectKind::kStream); }

void mr_stream_release(mr_stream* stream) noexcept {
  mr::api::release(stream, ObjectKind::kStream);
}

void* mr_stream_native(mr_stream* stream) noexcept {
  if (stream == nullptr || stream->kind() != ObjectKind::kStream) return nullptr;
  stream->expose();
  return stream->native();
}

mr_context* mr_stream_context(mr_stream* stream) noexcept {
  return stream != nullptr && stream->kind() == ObjectKind::kStream ? &stream->context() : nullptr;
}

mr_status mr_stream_query(mr_stream* stream, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(stream, ObjectKind::kStream, "stream"));
    bool done = false;
    MR_TRY(stream->query(&done));
    return done_or_not_ready(done);
  });
}

mr_status mr_stream_synchronize(mr_stream* stream, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(stream, ObjectKind::kStream, "stream"));
    return stream->synchronize();
  });
}

mr_status mr_stream_set_workspace(mr_stream* stream, void* address, uint64_t bytes,
                                  mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(stream, ObjectKind::kStream, "stream"));
    return stream->set_workspace(address, bytes);
  });
}

mr_status mr_stream_reserve_capture(mr_stream* stream, uint64_t bytes, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(stream, ObjectKind::kStream, "stream"));
    return stream->reserve_capture(bytes);
  });
}

mr_status mr_stream_is_capturing(mr_stream* stream, int32_t* out, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(stream, ObjectKind::kStream, "stream"));
    MR_TRY(check_out(out, "out"));
    bool capturing = false;
    MR_TRY(stream->is_capturing(&capturing));
    *out = capturing ? 1 : 0;
    return {};
  });
}

mr_status mr_copy(mr_stream* stream, void* to, const void* from, uint64_t bytes, uint32_t direction,
                  mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(stream, ObjectKind::kStream, "stream"));
    return stream->copy(to, from, bytes, direction);
  });
}

mr_status mr_fill(mr_stream* stream, void* to, uint32_t value, uint64_t bytes,
                  mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(stream, ObjectKind::kStream, "stream"));
    return stream->fill(to, value, bytes);
  });
}

mr_status mr_upload(mr_stream* stream, void* to_device, const void* from_host, uint64_t bytes,
                    mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(stream, ObjectKind::kStream, "stream"));
    return stream->upload(to_device, from_host, bytes);
  });
}

mr_status mr_download(mr_stream* stream, void* to_host, const void* from_device, uint64_t bytes,
                      mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(stream, ObjectKind::kStream, "stream"));
    return stream->download(to_host, from_device, bytes);
  });
}
