/* millrace/context.h : a device made ready for work. */
#ifndef MILLRACE_CONTEXT_H
#define MILLRACE_CONTEXT_H

#include "memory.h"
#include "probe.h"

MR_EXTERN_C_BEGIN

#define MR_LOG_ERROR   1
#define MR_LOG_WARNING 2
#define MR_LOG_INFO    3
#define MR_LOG_DEBUG   4

/* Receives one line of `length` bytes with a NUL behind them, there until the callback returns; a
 * long line is cut. Called on any thread, sometimes inside a call of the library; it may call
 * [host] functions only and must not unwind. */
typedef void (*mr_log_fn)(void* user, int32_t level, const char* text, uint64_t length);

/* How to make a context. A zeroed struct with its size asks for the best device. */
typedef struct mr_context_config {
  uint32_t struct_size;
  uint32_t flags;      /* 0 */
  uint32_t backend;    /* MR_BACKEND_... */
  int32_t ordinal;     /* device within the backend */
  mr_log_fn log;       /* NULL: silent */
  void* log_user;
  int32_t log_level;   /* the least important level that is reported; 0: warnings */
  uint32_t reserved;
  const char* options; /* NULL or "name=value;name=value", see below; read before return */
  mr_memory* memory;   /* NULL: the context makes its own; else shared, on the same device */
} mr_context_config;

#define MR_CONTEXT_CONFIG_INIT {sizeof(mr_context_config), 0u, 0, 0, NULL, NULL, 0, 0, NULL, NULL}

/* Options. Each can also be set by an environment variable, MR_ and the name in capitals with dots
 * as underscores (MR_HOST_STREAMS); a value given in code wins. Values are checked when set.
 *
 *   name               values (default first)       meaning
 *   host.streams       inline | deferred            deferred: each host stream runs on a thread of
 *                                                   its own, so that a missing wait shows
 *   host.threads       0 (all) | 1..1024            threads that one host operator may use
 *   host.blas          auto | off | a file          BLAS library for host matmul; a file that is
 *                                                   none: DEPENDENCY_MISSING at creation
 *   determinism        fast | run-to-run |          fast: the quickest kernel; run-to-run: the same
 *                      batch-invariant              bits each run; batch-invariant: a row's bits do
 *                                                   not depend on its neighbours
 *   force_kernel       (empty) | a kernel's name    operators use this kernel or fail
 *   fallback           allow | error                error: a call that the best kernel of its table
 *                                                   cannot serve fails and says why
 *   synchronous        off | on                     each enqueue waits and reports its own fault;
 *                                                   refused while capturing
 *   library.cublaslt   (empty) | a file             where to load it from
 */

/* mr_context_create() : opens the device, loads the library's kernels there and makes the memory.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (a longer struct with a non-zero tail), NO_DRIVER,
 * DRIVER_TOO_OLD, NO_DEVICE, NO_KERNEL_IMAGE, DEPENDENCY_MISSING (host.blas), OUT_OF_HOST_MEMORY,
 * OUT_OF_DEVICE_MEMORY. [blocking]
 *
 * The host's worker threads live until the process ends, and so may those that a BLAS starts. They
 * do not hold up exit() or a return from main(); but a process whose main thread leaves by
 * pthread_exit() goes on with them for ever, so another thread must then call exit(). */
MR_API mr_status mr_context_create(const mr_context_config* config, mr_context** out,
                                   mr_error* err) MR_NOEXCEPT;

MR_API void mr_context_retain(mr_context* context) MR_NOEXCEPT;
/* Releasing the last reference while work is queued waits for it. [blocking] */
MR_API void mr_context_release(mr_context* context) MR_NOEXCEPT;

/* mr_context_health() : OK, or the first asynchronous failure seen on the context, with the
 * operators that were last enqueued on each stream in the text. Never waits. [host] */
MR_API mr_status mr_context_health(mr_context* context, mr_error* err) MR_NOEXCEPT;

/* mr_context_device() : the context's device. [host] */
MR_API mr_status mr_context_device(mr_context* context, mr_device_info* out,
                                   mr_error* err) MR_NOEXCEPT;

/* mr_context_memory() : the context's memory, borrowed: it lives as long as the context; retain it
 * to keep it longer. NULL for a NULL context. [host] */
MR_API mr_memory* mr_context_memory(mr_context* context) MR_NOEXCEPT;

/* mr_context_set_option() / mr_context_get_option() : see the table above. host.streams,
 * host.threads, host.blas and library.cublaslt are fixed at creation: setting one later is
 * INVALID_ARGUMENT. Setting another affects later calls. get writes NUL-terminated text; out_length
 * as in mr_dependency(). Errors: INVALID_ARGUMENT for an unknown name or value, naming what is
 * legal. [host] */
MR_API mr_status mr_context_set_option(mr_context* context, const char* name, const char* value,
                                       mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_context_get_option(mr_context* context, const char* name, char* out,
                                       uint64_t capacity, uint64_t* out_length,
                                       mr_error* err) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
