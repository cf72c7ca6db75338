/* millrace/ring.h : results for the host without a wait.
 *
 * A ring has `slots` pinned slots, each with an event of its own. The device copies a result into a
 * slot and records its event; the host reads the slot once the event is reached, while the device is
 * already at the next step. Pushes may be captured: the event is recorded inside the graph as an
 * external event, so that each replay counts. A slot must be read before it is pushed again: with
 * two slots, step n + 1 may run while the host reads step n. */
#ifndef MILLRACE_RING_H
#define MILLRACE_RING_H

#include "stream.h"

MR_EXTERN_C_BEGIN

/* mr_ring_create() : 1 <= slots <= 1024, slot_bytes > 0. The pinned memory is counted in the
 * context's memory. Errors: INVALID_ARGUMENT, OUT_OF_HOST_MEMORY. [blocking] */
MR_API mr_status mr_ring_create(mr_context* context, uint32_t slots, uint64_t slot_bytes,
                                mr_ring** out, mr_error* err) MR_NOEXCEPT;
MR_API void mr_ring_retain(mr_ring* ring) MR_NOEXCEPT;
MR_API void mr_ring_release(mr_ring* ring) MR_NOEXCEPT;

/* mr_ring_push() : copies `bytes` (at most slot_bytes) of device memory into the slot in stream
 * order, then records the slot's event. [enqueue] */
MR_API mr_status mr_ring_push(mr_ring* ring, uint32_t slot, mr_stream* stream, const void* from,
                              uint64_t bytes, mr_error* err) MR_NOEXCEPT;

/* mr_ring_query() : OK when the slot's latest push has arrived, NOT_READY before. [host]
 * mr_ring_wait() : waits for it and gives the slot's address, valid until the slot is pushed again.
 * A slot that was never pushed is INVALID_ARGUMENT. [blocking] */
MR_API mr_status mr_ring_query(mr_ring* ring, uint32_t slot, mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_ring_wait(mr_ring* ring, uint32_t slot, const void** out_data,
                              mr_error* err) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
