#include "api/guard.h"
#include "millrace/millrace.h"
#include "runtime/ring_state.h"

using mr::ObjectKind;
using mr::Status;
using mr::api::check_handle;
using mr::api::check_out;
using mr::api::guard;

mr_status mr_ring_create(mr_context* context, uint32_t slots, uint64_t slot_bytes, mr_ring** out,
                         mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(context, ObjectKind::kContext, "context"));
    MR_TRY(check_out(out, "out"));
    mr::Ref<mr_ring> ring;
    MR_TRY(mr_ring::create(*context, slots, slot_bytes, &ring));
    *out = ring.give();
    return {};
  });
}

void mr_ring_retain(mr_ring* ring) noexcept { mr::api::retain(ring, ObjectKind::kRing); }

void mr_ring_release(mr_ring* ring) noexcept { mr::api::release(ring, ObjectKind::kRing); }

mr_status mr_ring_push(mr_ring* ring, uint32_t slot, mr_stream* stream, const void* from,
                       uint64_t bytes, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(ring, ObjectKind::kRing, "ring"));
    MR_TRY(check_handle(stream, ObjectKind::kStream, "stream"));
    return ring->push(slot, *stream, from, bytes);
  });
}

mr_status mr_ring_query(mr_ring* ring, uint32_t slot, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(ring, ObjectKind::kRing, "ring"));
    bool done = false;
    MR_TRY(ring->query(slot, &done));
    return done ? Status() : mr::error(MR_NOT_READY, "the slot's latest push has not arrived");
  });
}

mr_status mr_ring_wait(mr_ring* ring, uint32_t slot, const void** out_data,
                       mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(ring, ObjectKind::kRing, "ring"));
    MR_TRY(check_out(out_data, "out_data"));
    const void* data = nullptr;
    MR_TRY(ring->wait(slot, &data));
    *out_data = data;
    return {};
  });
}
