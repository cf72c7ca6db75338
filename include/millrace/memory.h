/* millrace/memory.h : an allocator for one device, its statistics, and counted buffers. */
#ifndef MILLRACE_MEMORY_H
#define MILLRACE_MEMORY_H

#include "status.h"

MR_EXTERN_C_BEGIN

/* Kinds of memory. */
#define MR_MEMORY_DEVICE 0u
#define MR_MEMORY_PINNED 1u /* host memory that the device can copy from and to asynchronously */

/* What memory is for; statistics are kept per tag. */
#define MR_TAG_OTHER       0u
#define MR_TAG_WEIGHTS     1u
#define MR_TAG_KV          2u
#define MR_TAG_ACTIVATIONS 3u
#define MR_TAG_WORKSPACE   4u
#define MR_TAG_COUNT       5u

/* The host application's own allocator. Called on any thread, never from an [enqueue] function,
 * never while the library holds a lock that a callback could need; must not unwind. `kind` is
 * MR_MEMORY_..., `ordinal` the device, `native_stream` as mr_stream_native() gives it (NULL where no
 * stream is involved). allocate returns an address that is a multiple of `alignment` (a power of
 * two), or NULL when it has none. release gets the same bytes, kind, ordinal and a native stream
 * after which the memory is free. */
typedef void* (*mr_allocate_fn)(void* user, uint64_t bytes, uint64_t alignment, uint32_t kind,
                                int32_t ordinal, void* native_stream);
typedef void (*mr_deallocate_fn)(void* user, void* address, uint64_t bytes, uint32_t kind,
                                 int32_t ordinal, void* native_stream);

/* Flags of mr_memory_config. Without it all streams share one lock and one set of books, and every
 * figure is exact. With it each stream has its own, so that threads on streams of their own do not
 * meet; what is current or total stays exact, but a peak is then the sum of each stream's own peak,
 * an upper bound, which mr_memory_stats.flags says. The peak of reserved is exact in any case. */
#define MR_MEMORY_LOCK_PER_STREAM 1u

/* Flags of mr_memory_stats. */
#define MR_MEMORY_PEAKS_ARE_BOUNDS 1u

typedef struct mr_memory_config {
  uint32_t struct_size;
  uint32_t flags;              /* MR_MEMORY_LOCK_PER_STREAM or 0 */
  uint32_t backend;            /* MR_BACKEND_... of probe.h; 0: the best device */
  int32_t ordinal;
  uint64_t limit_bytes;        /* most that may be reserved from the device; 0: no limit */
  mr_allocate_fn allocate;     /* NULL: the driver's; both or neither */
  mr_deallocate_fn deallocate;
  void* user;
} mr_memory_config;

#define MR_MEMORY_CONFIG_INIT {sizeof(mr_memory_config), 0u, 0, 0, 0, NULL, NULL, NULL}

/* mr_memory_create() : an allocator on its own, with no context; see mr_context_config.memory.
 * A stream that is passed beside a memory must be one of a context that uses this memory, since no
 * other memory learns when the stream goes; else INVALID_ARGUMENT.
 * Errors as mr_context_create(). [blocking] */
MR_API mr_status mr_memory_create(const mr_memory_config* config, mr_memory** out,
                                  mr_error* err) MR_NOEXCEPT;
MR_API void mr_memory_retain(mr_memory* memory) MR_NOEXCEPT;
MR_API void mr_memory_release(mr_memory* memory) MR_NOEXCEPT;

/* mr_memory_allocate() : `bytes` of device memory that work enqueued on `stream` from now on may
 * use. stream NULL: usable on any stream, at once ([blocking] in that case if cached memory must
 * first become idle). `alignment` is a power of two up to 2 MiB; 0 means 256. Zero bytes succeed
 * with *out = NULL. On a hit no driver call is made; otherwise the pool grows, or `stream` waits
 * for memory that others still use; both are refused while it is capturing (CAPTURE_VIOLATION).
 * What is handed out while capturing comes after the stream's earlier work: launch the graph there
 * or behind it, and keep the memory allocated while the graph may be launched. The size is rounded
 * up to a multiple of 256 bytes, above 16 KiB to a 64th of the power of two below it; with an
 * alignment for which it may need more than 32 KiB, to 32 KiB at least. The device is asked for
 * multiples of 2 MiB. A call that fails for want of memory may have given idle cache back:
 * reserved and inactive are then less, and driver_frees more.
 * Errors: INVALID_ARGUMENT, OUT_OF_DEVICE_MEMORY (text: requested, reserved, limit, driver free),
 * CAPTURE_VIOLATION. [blocking] on growth, else [host]. */
MR_API mr_status mr_memory_allocate(mr_memory* memory, mr_stream* stream, uint64_t bytes,
                                    uint64_t alignment, uint32_t tag, void** out,
                                    mr_error* err) MR_NOEXCEPT;

/* mr_memory_free() : gives memory back once the work enqueued so far on `stream` is done; the
 * stream's own later work may reuse it at once. Work so far on the stream that it was allocated on
 * is waited for too. stream NULL: the caller knows it to be idle on every stream. While one of
 * these streams is capturing, the memory stays active until the graph that is being recorded is
 * gone; the host application's own allocator cannot keep it so, and where it serves, memory that
 * several streams use is not freed while one of them is capturing (CAPTURE_VIOLATION). address
 * NULL is accepted. On a hit no driver call is made, unless the stream is wrapped or was given out
 * by mr_stream_native(): the device is then asked whether it is capturing, which costs about as
 * much as the free. Errors: INVALID_ARGUMENT for an address this memory did not hand out or that
 * is already free; CAPTURE_VIOLATION as above. [host] */
MR_API mr_status mr_memory_free(mr_memory* memory, mr_stream* stream, void* address,
                                mr_error* err) MR_NOEXCEPT;

/* The name of one allocation, for callers that keep it: 0 is none. A freed name is not valid again
 * while another allocation lives, unless the host application's own allocator serves. */
typedef uint64_t mr_block;

/* mr_memory_allocate_block() : mr_memory_allocate() that also names the allocation (*out_block; 0
 * where *out is NULL). It may be freed by either function; by its name nothing is looked up.
 * mr_memory_free_block() : as mr_memory_free(). INVALID_ARGUMENT for a name that is not in use. */
MR_API mr_status mr_memory_allocate_block(mr_memory* memory, mr_stream* stream, uint64_t bytes,
                                          uint64_t alignment, uint32_t tag, mr_block* out_block,
                                          void** out, mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_memory_free_block(mr_memory* memory, mr_stream* stream, mr_block block,
                                      mr_error* err) MR_NOEXCEPT;

/* mr_memory_use() : declares that `stream`, another than the one it was allocated on, works with the
 * memory; a later free waits for what is enqueued there at the time of the free. Without it the
 * caller orders the streams itself before freeing. [host] */
MR_API mr_status mr_memory_use(mr_memory* memory, mr_stream* stream, void* address,
                               mr_error* err) MR_NOEXCEPT;

/* mr_memory_trim() : returns idle cached memory to the device until at most `target_bytes` are
 * reserved or none is idle. Memory that queued work may still use is waited for.
 * *out_reserved (may be NULL) receives what is reserved afterwards. [blocking] */
MR_API mr_status mr_memory_trim(mr_memory* memory, uint64_t target_bytes, uint64_t* out_reserved,
                                mr_error* err) MR_NOEXCEPT;

/* mr_memory_set_limit() : a new limit (0: none). Idle memory above it is trimmed; what is in use is
 * left, and later growth is refused until use falls below. [blocking] */
MR_API mr_status mr_memory_set_limit(mr_memory* memory, uint64_t limit_bytes,
                                     mr_error* err) MR_NOEXCEPT;

/* A quantity with its history, in bytes. peak: largest current since the last peak reset. total:
 * sum of all increases since the memory was made. Frozen. */
typedef struct mr_counter {
  uint64_t current;
  uint64_t peak;
  uint64_t total;
} mr_counter;

/* The figures of one memory, exact at the moment of the call. Always:
 *   requested <= allocated <= active <= reserved, and peak >= current for each. */
typedef struct mr_memory_stats {
  uint32_t struct_size;
  uint32_t flags;                 /* MR_MEMORY_PEAKS_ARE_BOUNDS or 0 */
  mr_counter requested;           /* what callers asked for and have not freed */
  mr_counter allocated;           /* the same after rounding to blocks */
  mr_counter active;              /* allocated + freed memory that queued work may still use */
  mr_counter reserved;            /* what the device gave */
  mr_counter inactive;            /* reserved - active: idle cache */
  mr_counter pinned;              /* pinned host memory held by this memory, in bytes */
  mr_counter tags[MR_TAG_COUNT];  /* allocated, per tag */
  uint64_t allocations;           /* successful allocations of more than zero bytes */
  uint64_t frees;
  uint64_t retries;               /* allocations that succeeded only after cached memory was freed */
  uint64_t out_of_memory;         /* allocations that failed for want of memory */
  uint64_t driver_allocations;    /* calls that took memory from the device */
  uint64_t driver_frees;
  uint64_t limit_bytes;           /* 0: none */
  uint64_t device_free;           /* the driver's figures, read now; host: available memory */
  uint64_t device_total;
  uint64_t external;              /* total - free - reserved: other users, contexts, the driver */
  uint64_t waits;                 /* waits enqueued on a stream so that it could take memory that
                                     others still worked with */
  uint64_t taken_over;            /* bytes that came so */
  uint64_t largest_free;          /* bytes of the largest free block, idle or of any stream */
  uint64_t graph_bytes;           /* freed, and kept because a graph may use it; part of active */
  uint64_t address_bytes;         /* ranges of addresses set aside for growth; no memory */
} mr_memory_stats;

#define MR_MEMORY_STATS_INIT                                                                    \
  {sizeof(mr_memory_stats), 0u, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0},          \
   {0, 0, 0}, {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, 0, 0, 0, 0, 0, 0, 0, 0,  \
   0, 0, 0, 0, 0, 0, 0}

/* A caller sets struct_size (and flags 0) only; the library fills up to that size. */

/* mr_memory_get_stats() : reads the figures. [host] */
MR_API mr_status mr_memory_get_stats(mr_memory* memory, mr_memory_stats* out,
                                     mr_error* err) MR_NOEXCEPT;

/* mr_memory_reset_peaks() : peak = current for every counter; nothing else changes. [host] */
MR_API mr_status mr_memory_reset_peaks(mr_memory* memory, mr_error* err) MR_NOEXCEPT;

/* mr_memory_summary() : the figures as a page of text in English, one line each, which also says
 * what the rest of the device's memory is used for. As mr_context_get_option() writes: at most
 * `capacity` bytes with a NUL, cut if that is less; *out_length (may be NULL) receives the whole
 * length without it. The text is for people: its form may change. [host] */
MR_API mr_status mr_memory_summary(mr_memory* memory, char* out, uint64_t capacity,
                                   uint64_t* out_length, mr_error* err) MR_NOEXCEPT;

/* States of a block. */
#define MR_BLOCK_FREE      0u
#define MR_BLOCK_ALLOCATED 1u
#define MR_BLOCK_PENDING   2u /* freed, but work of other streams or a graph may still use it */

/* A block of memory as mr_memory_visit() shows it. Blocks tile their segment, which is a range that
 * the device gave, without gaps. */
typedef struct mr_memory_block {
  uint32_t struct_size;
  uint32_t flags;            /* 0 */
  void* segment_address;
  uint64_t segment_bytes;
  void* address;
  uint64_t bytes;
  uint64_t requested;        /* as asked; 0 unless allocated */
  uint64_t stream;           /* native id of the stream in whose order it is; 0: of none */
  uint32_t state;            /* MR_BLOCK_... */
  uint32_t tag;              /* MR_TAG_...; of the last allocation where it is not allocated */
  uint32_t graphs;           /* how many captured graphs keep it */
  uint32_t reserved;
} mr_memory_block;

#define MR_MEMORY_BLOCK_INIT {sizeof(mr_memory_block), 0u, NULL, 0, NULL, 0, 0, 0, 0u, 0u, 0u, 0u}

/* Must not unwind, nor call the library. */
typedef void (*mr_memory_visit_fn)(void* user, const mr_memory_block* block);

/* mr_memory_visit() : calls visit(user, block) for every block of the memory at one moment, by
 * segment, and by address within one. Other threads' calls wait meanwhile. [host] */
MR_API mr_status mr_memory_visit(mr_memory* memory, mr_memory_visit_fn visit, void* user,
                                 mr_error* err) MR_NOEXCEPT;

/* ---- Buffers ---------------------------------------------------------------------------------- */

/* mr_buffer_create() : counted memory. kind MR_MEMORY_DEVICE: as mr_memory_allocate() on `stream`
 * (not NULL), freed in that stream's order when the last reference goes. kind MR_MEMORY_PINNED:
 * host memory that both sides can address, freed when the last reference goes: release it only once
 * copies from or to it have finished. Zero bytes are legal: data is NULL.
 * Errors: as mr_memory_allocate(); OUT_OF_HOST_MEMORY for pinned memory. [blocking] on growth. */
MR_API mr_status mr_buffer_create(mr_stream* stream, uint64_t bytes, uint32_t kind, uint32_t tag,
                                  mr_buffer** out, mr_error* err) MR_NOEXCEPT;
MR_API void mr_buffer_retain(mr_buffer* buffer) MR_NOEXCEPT;
MR_API void mr_buffer_release(mr_buffer* buffer) MR_NOEXCEPT;

/* mr_buffer_data(), mr_buffer_bytes() : address and size; NULL and 0 for NULL. [host] */
MR_API void* mr_buffer_data(mr_buffer* buffer) MR_NOEXCEPT;
MR_API uint64_t mr_buffer_bytes(mr_buffer* buffer) MR_NOEXCEPT;

/* mr_buffer_use() : as mr_memory_use(): `stream` works with the buffer too, and the buffer's memory
 * is reused only after what is enqueued there when the last reference goes. Device buffers only.
 * [host] */
MR_API mr_status mr_buffer_use(mr_buffer* buffer, mr_stream* stream, mr_error* err) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
