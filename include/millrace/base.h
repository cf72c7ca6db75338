/* millrace/base.h : linkage, versions and the conventions that every other header relies on.
 *
 * Scalars. Only fixed-width integers, float, double and pointers cross this interface: no C enum,
 * bool, long, bit-field, union, variable argument list or struct by value. Constants are macros.
 * The library is little-endian.
 *
 * Structs. A struct that the caller fills opens with `uint32_t struct_size, flags` and is set up by
 * its _INIT macro, or by zeroing it and writing struct_size. Fields are only ever appended, and a
 * zero in a field means "off" or "the default". A shorter struct than the library knows is legal:
 * the missing fields are zero. A longer one must have a zero tail, else UNSUPPORTED. Unknown flag
 * bits are refused. Structs marked "frozen" (mr_tensor, mr_error, mr_rope_config) never change
 * size.
 *
 * Handles are opaque and reference counted: _create gives one reference, _retain adds one, _release
 * takes one away and accepts NULL. An object keeps what it depends on alive, so handles may be
 * released in any order. Released means freed once the last reference, inner ones included, is gone.
 *
 * Labels. Each function carries one:
 *   [enqueue]   returns when the work is queued on its stream: no host synchronisation, no driver
 *               allocation, no library loading; legal while the stream is being captured, by this
 *               library or by the host application itself.
 *   [host]      no device work, never waits for a device.
 *   [blocking]  may wait for the device, allocate from the driver, or load libraries.
 *
 * Threads. No function keeps thread-local state, uses a default stream, or leaves another current
 * device behind. Contexts, memories, plans and events may be used from any thread at once; a stream
 * by one caller at a time, from any OS thread.
 *
 * Failure. A fallible function returns an mr_status and takes a trailing, nullable mr_error, which
 * is written only on failure. A failed call changes nothing: out-parameters, tensors and statistics
 * other than failure counters are as before.
 *
 * Since 0.1 unless a declaration says otherwise.
 */
#ifndef MILLRACE_BASE_H
#define MILLRACE_BASE_H

#include <stddef.h>
#include <stdint.h>

/* The product version; CMake reads these lines and MR_ABI_MAJOR. */
#define MR_VERSION_MAJOR 0
#define MR_VERSION_MINOR 1
#define MR_VERSION_PATCH 0

/* The ABI version. A change of MAJOR breaks (it is also in the SONAME and the symbol version node);
 * MINOR only adds. While MAJOR is 0, layouts may change with an `abi:` line in the change log. */
#define MR_ABI_MAJOR 0u
#define MR_ABI_MINOR 1u

#ifndef MR_API
#if defined(_WIN32)
#define MR_API __declspec(dllimport)
#else
#define MR_API __attribute__((visibility("default")))
#endif
#endif

#ifdef __cplusplus
#define MR_NOEXCEPT noexcept
#define MR_EXTERN_C_BEGIN extern "C" {
#define MR_EXTERN_C_END }
#else
#define MR_NOEXCEPT
#define MR_EXTERN_C_BEGIN
#define MR_EXTERN_C_END
#endif

MR_EXTERN_C_BEGIN

/* Objects. */
typedef struct mr_memory mr_memory;           /* memory.h  : an allocator of one device */
typedef struct mr_context mr_context;         /* context.h : one device, its options and log */
typedef struct mr_stream mr_stream;           /* stream.h  : a queue of device work */
typedef struct mr_event mr_event;             /* event.h   : a point in a stream */
typedef struct mr_buffer mr_buffer;           /* memory.h  : counted device or pinned memory */
typedef struct mr_graph mr_graph;             /* graph.h   : captured work, replayable */
typedef struct mr_graph_pool mr_graph_pool;   /* graph.h   : scratch that graphs share */
typedef struct mr_ring mr_ring;               /* ring.h    : pinned slots for results */
typedef struct mr_matmul_plan mr_matmul_plan; /* matmul.h  : a matmul decided in advance */

/* mr_version() : the library's version, MAJOR * 10000 + MINOR * 100 + PATCH. [host] */
MR_API uint32_t mr_version(void) MR_NOEXCEPT;

/* mr_abi_version() : the library's ABI version, MAJOR * 65536 + MINOR. [host] */
MR_API uint32_t mr_abi_version(void) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
