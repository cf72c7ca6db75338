/* millrace/event.h : points in a stream that others wait for. */
#ifndef MILLRACE_EVENT_H
#define MILLRACE_EVENT_H

#include "stream.h"

MR_EXTERN_C_BEGIN

/* mr_event_create flags */
#define MR_EVENT_TIMING 0x1u /* mr_event_elapsed() may be asked; costs a time stamp per record */

/* mr_event_record flags */
#define MR_EVENT_EXTERNAL 0x1u /* while capturing: each replay of the graph records the event anew,
                                  so that the host or another stream can wait for it. Without it a
                                  record inside a capture only orders work within the graph. */

/* mr_event_create() : an event that has not been recorded. Errors: INVALID_ARGUMENT,
 * OUT_OF_HOST_MEMORY. [host] */
MR_API mr_status mr_event_create(mr_context* context, uint32_t flags, mr_event** out,
                                 mr_error* err) MR_NOEXCEPT;

/* mr_event_wrap() : borrows an event of the host application: on CUDA a cudaEvent_t or CUevent, on
 * the host what mr_event_native() gave. It must outlive the wrapper. [host] */
MR_API mr_status mr_event_wrap(mr_context* context, void* native, mr_event** out,
                               mr_error* err) MR_NOEXCEPT;
MR_API void mr_event_retain(mr_event* event) MR_NOEXCEPT;
MR_API void mr_event_release(mr_event* event) MR_NOEXCEPT;
MR_API void* mr_event_native(mr_event* event) MR_NOEXCEPT; /* [host] */

/* mr_event_record() : the event stands for the work enqueued on `stream` so far. A later record
 * replaces an earlier one. [enqueue] */
MR_API mr_status mr_event_record(mr_event* event, mr_stream* stream, uint32_t flags,
                                 mr_error* err) MR_NOEXCEPT;

/* mr_stream_wait_event() : work enqueued on `stream` from now on starts after the event's latest
 * record. An event never recorded is complete. Streams of other contexts of the same backend are legal.
 * While capturing, an event recorded in the same capture orders work within the graph; one recorded
 * elsewhere by this library is awaited anew by each replay. [enqueue] */
MR_API mr_status mr_stream_wait_event(mr_stream* stream, mr_event* event,
                                      mr_error* err) MR_NOEXCEPT;

/* mr_event_query() : OK when the latest record is reached or there was none, else NOT_READY. [host]
 * mr_event_synchronize() : waits for it. [blocking]
 * Both are CAPTURE_VIOLATION where the latest record lies inside a capture and is not external: such a
 * record only marks a point of the graph. */
MR_API mr_status mr_event_query(mr_event* event, mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_event_synchronize(mr_event* event, mr_error* err) MR_NOEXCEPT;

/* mr_event_elapsed() : milliseconds of device time from `start` to `stop`.
 * Errors: INVALID_ARGUMENT if one was made without MR_EVENT_TIMING, never recorded, or belongs to
 * another context; NOT_READY if one is not reached yet. [host] */
MR_API mr_status mr_event_elapsed(mr_event* start, mr_event* stop, float* out_milliseconds,
                                  mr_error* err) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
