/* millrace/stream.h : queues of device work, copies, events and scratch. */
#ifndef MILLRACE_STREAM_H
#define MILLRACE_STREAM_H

#include "context.h"

MR_EXTERN_C_BEGIN

/* ---- Streams ---------------------------------------------------------------------------------- */

/* mr_stream_wrap flags */
#define MR_STREAM_ALLOW_DEFAULT 0x1u /* a NULL native handle means CUDA's legacy default stream */

typedef struct mr_stream_config {
  uint32_t struct_size;
  uint32_t flags;           /* MR_STREAM_... */
  uint64_t workspace_bytes; /* scratch of the stream; 0: 32 MiB on Hopper, 4 MiB elsewhere */
  int32_t priority;         /* 0 is normal, negative is more urgent, clamped to the device's range;
                               ignored by wrap and by the host */
  uint32_t reserved;
} mr_stream_config;

#define MR_STREAM_CONFIG_INIT {sizeof(mr_stream_config), 0u, 0, 0, 0}

/* mr_stream_create() : a stream of the library's own, with no implicit order to any other. `config`
 * may be NULL. Errors: INVALID_ARGUMENT, OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY. [blocking] */
MR_API mr_status mr_stream_create(mr_context* context, const mr_stream_config* config,
                                  mr_stream** out, mr_error* err) MR_NOEXCEPT;

/* mr_stream_wrap() : borrows a stream of the host application. It must outlive the wrapper and
 * belong to the context's device. `native` is, on CUDA, a cudaStream_t or CUstream; on the host,
 * what mr_stream_native() of another stream gave. CUDA's per-thread default stream is refused,
 * because its meaning changes with the thread; so is NULL without MR_STREAM_ALLOW_DEFAULT.
 * May be called while the stream is captured if workspace_bytes needs no growth. [blocking] */
MR_API mr_status mr_stream_wrap(mr_context* context, void* native, const mr_stream_config* config,
                                mr_stream** out, mr_error* err) MR_NOEXCEPT;

MR_API void mr_stream_retain(mr_stream* stream) MR_NOEXCEPT;
/* The last release of a created stream waits for its work; that of a wrapped one does not: its
 * scratch is freed in stream order. [blocking] */
MR_API void mr_stream_release(mr_stream* stream) MR_NOEXCEPT;

/* mr_stream_native() : the handle described at mr_stream_wrap(); NULL for NULL. [host]
 * mr_stream_context() : the stream's context, borrowed. [host] */
MR_API void* mr_stream_native(mr_stream* stream) MR_NOEXCEPT;
MR_API mr_context* mr_stream_context(mr_stream* stream) MR_NOEXCEPT;

/* mr_stream_query() : OK when all enqueued work is done, NOT_READY when not, or the context's
 * failure. [host] */
MR_API mr_status mr_stream_query(mr_stream* stream, mr_error* err) MR_NOEXCEPT;

/* mr_stream_synchronize() : waits until all enqueued work is done and reports a fault of it.
 * Errors: CAPTURE_VIOLATION while capturing, DEVICE_LOST. [blocking] */
MR_API mr_status mr_stream_synchronize(mr_stream* stream, mr_error* err) MR_NOEXCEPT;

/* mr_stream_set_workspace() : operators on this stream use the caller's scratch instead of the
 * stream's. It stays the caller's, must be device memory aligned to 256 bytes, and must not be in
 * use by another stream. NULL with 0 bytes goes back to the stream's own. [host] */
MR_API mr_status mr_stream_set_workspace(mr_stream* stream, void* address, uint64_t bytes,
                                         mr_error* err) MR_NOEXCEPT;

/* mr_stream_reserve_capture() : sets `bytes` aside from which calls made while this stream is being
 * captured lease the scratch that they need. A lease belongs to the captured graph and comes back
 * when the graph and all instances of it are destroyed. Calling it again adds to the reserve. When
 * the reserve is used up the call fails with WORKSPACE_TOO_SMALL. Scratch set by
 * mr_stream_set_workspace() takes precedence. [blocking] */
MR_API mr_status mr_stream_reserve_capture(mr_stream* stream, uint64_t bytes,
                                           mr_error* err) MR_NOEXCEPT;

/* mr_stream_is_capturing() : *out is 1 while the stream records into a graph, whoever began the
 * capture, else 0. [host] */
MR_API mr_status mr_stream_is_capturing(mr_stream* stream, int32_t* out, mr_error* err) MR_NOEXCEPT;

/* ---- Copies ----------------------------------------------------------------------------------- */

#define MR_COPY_ON_DEVICE 0u /* device memory to device memory of the same context */
#define MR_COPY_TO_DEVICE 1u
#define MR_COPY_TO_HOST   2u

/* mr_copy() : copies bytes in stream order. The ranges must not overlap. Zero bytes succeed.
 *   MR_COPY_TO_DEVICE   `from` is host memory. Pinned memory must stay unchanged until the stream
 *                       has passed the copy; pageable memory is staged through a pinned pool of 8 MiB
 *                       per stream and may be reused on return. A pageable copy that does not fit
 *                       what is left of the pool is refused (UNSUPPORTED), never silently synchronous;
 *                       so is any pageable copy while capturing (CAPTURE_VIOLATION). mr_upload()
 *                       copies any amount.
 *   MR_COPY_TO_HOST     `to` is pinned host memory; pageable memory is refused (INVALID_ARGUMENT).
 * On the host backend all memory is device memory: the three are one, and both ranges must stay
 * valid until the stream has passed the copy. [enqueue] */
MR_API mr_status mr_copy(mr_stream* stream, void* to, const void* from, uint64_t bytes,
                         uint32_t direction, mr_error* err) MR_NOEXCEPT;

/* mr_fill() : sets every byte to `value` (0 to 255) in stream order. [enqueue] */
MR_API mr_status mr_fill(mr_stream* stream, void* to, uint32_t value, uint64_t bytes,
                         mr_error* err) MR_NOEXCEPT;

/* mr_upload() / mr_download() : copy between any host memory and the device in stream order, and
 * wait until it is done. CAPTURE_VIOLATION while capturing. [blocking] */
MR_API mr_status mr_upload(mr_stream* stream, void* to_device, const void* from_host, uint64_t bytes,
                           mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_download(mr_stream* stream, void* to_host, const void* from_device,
                             uint64_t bytes, mr_error* err) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
