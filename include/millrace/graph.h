/* millrace/graph.h : work captured once and replayed many times. */
#ifndef MILLRACE_GRAPH_H
#define MILLRACE_GRAPH_H

#include "stream.h"

MR_EXTERN_C_BEGIN

/* mr_graph_pool_create() : scratch for the graphs captured with it. They lease the same bytes, so
 * they never run at once: mr_graph_launch() inserts the wait. [blocking] */
MR_API mr_status mr_graph_pool_create(mr_context* context, uint64_t bytes, mr_graph_pool** out,
                                      mr_error* err) MR_NOEXCEPT;
MR_API void mr_graph_pool_retain(mr_graph_pool* pool) MR_NOEXCEPT;
MR_API void mr_graph_pool_release(mr_graph_pool* pool) MR_NOEXCEPT;

/* mr_graph_begin() : from now on, calls on `stream` are recorded instead of run. Scratch comes from
 * `pool`, or from the stream's capture reserve if pool is NULL. Other threads and streams are not
 * affected. Errors: CAPTURE_VIOLATION if the stream is capturing already. [host] */
MR_API mr_status mr_graph_begin(mr_stream* stream, mr_graph_pool* pool, mr_error* err) MR_NOEXCEPT;

/* mr_graph_end() : ends the recording. The stream leaves its capture state in any case. If a call
 * during the capture was illegal, returns CAPTURE_VIOLATION and no graph. [blocking] */
MR_API mr_status mr_graph_end(mr_stream* stream, mr_graph** out, mr_error* err) MR_NOEXCEPT;
MR_API void mr_graph_retain(mr_graph* graph) MR_NOEXCEPT;
/* A graph may be released while it runs; what it uses is freed after it has finished. */
MR_API void mr_graph_release(mr_graph* graph) MR_NOEXCEPT;

/* mr_graph_launch() : replays the graph in stream order. The tensors that it was captured with must
 * still be valid; their contents may have changed. One graph runs once at a time: launches of it on
 * different streams wait for each other. Not while the stream is capturing: CAPTURE_VIOLATION.
 * [enqueue] */
MR_API mr_status mr_graph_launch(mr_graph* graph, mr_stream* stream, mr_error* err) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
