/* millrace/api.h : the same functions as a table, for hosts that open the library as a plugin.
 *
 * Written by bindings/generate.py from the other headers; edit those, or bindings/generator/api.h.in.
 *
 * A plugin host needs one symbol. It opens the library (dlopen, RTLD_NOW | RTLD_LOCAL), looks up
 * "mr_get_api", asks for the range of ABI versions that it can drive, and calls through the table:
 *
 *   const mr_api* api;
 *   mr_error err;
 *   if (get_api(MR_ABI_MAJOR, MR_ABI_MAJOR, MR_ABI_MINOR, &api, &err) != MR_OK) ...
 *   api->context_create(&config, &context, &err);
 *
 * bindings/loader/millrace_loader.c does this behind the names of the other headers. The library is
 * linked so that it stays in memory once it is open: closing it frees objects, not code. */
#ifndef MILLRACE_API_H
#define MILLRACE_API_H

#include "base.h"
#include "status.h"
#include "tensor.h"
#include "probe.h"
#include "memory.h"
#include "context.h"
#include "stream.h"
#include "event.h"
#include "graph.h"
#include "ring.h"
#include "op.h"
#include "embedding.h"
#include "norm.h"
#include "elementwise.h"
#include "rope.h"
#include "attention.h"
#include "matmul.h"
#include "sampling.h"

MR_EXTERN_C_BEGIN

/* Every public function but mr_get_api(), in an order that never changes: a later ABI MINOR appends.
 * struct_size says how many bytes of the table this library has. A host that was built with a newer
 * header must not read beyond it; MR_API_HAS() asks. A slot within struct_size is never NULL. */
typedef struct mr_api {
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t reserved;
  uint32_t (*version)(void);
  uint32_t (*abi_version)(void);
  const char* (*status_name)(mr_status status);
  const char* (*status_text)(mr_status status);
  mr_status (*tensor_pack)(void* data, mr_dtype dtype, int32_t rank, const int64_t* shape,
                           mr_tensor* out, mr_error* err);
  mr_status (*tensor_from_dlpack)(const void* dl_tensor, uint64_t flags, mr_tensor* out,
                                  int32_t* out_device_type, int32_t* out_device_id, mr_error* err);
  mr_status (*tensor_import_dlpack)(void* dl_managed, mr_tensor* out, int32_t* out_device_type,
                                    int32_t* out_device_id, mr_error* err);
  void (*dlpack_release)(void* dl_managed);
  mr_status (*tensor_to_dlpack)(const mr_tensor* tensor, int32_t device_type, int32_t device_id,
                                void* out_dl_tensor, int64_t* shape, int64_t* strides,
                                mr_error* err);
  mr_status (*tensor_export_dlpack)(const mr_tensor* tensor, mr_buffer* buffer,
                                    void** out_dl_managed, mr_error* err);
  mr_status (*probe)(mr_probe_info* out, mr_error* err);
  mr_status (*device_query)(uint32_t index, mr_device_info* out, mr_error* err);
  mr_status (*dependency)(const char* name, char* out, uint64_t capacity, uint64_t* out_length,
                          mr_error* err);
  mr_status (*memory_create)(const mr_memory_config* config, mr_memory** out, mr_error* err);
  void (*memory_retain)(mr_memory* memory);
  void (*memory_release)(mr_memory* memory);
  mr_status (*memory_allocate)(mr_memory* memory, mr_stream* stream, uint64_t bytes,
                               uint64_t alignment, uint32_t tag, void** out, mr_error* err);
  mr_status (*memory_free)(mr_memory* memory, mr_stream* stream, void* address, mr_error* err);
  mr_status (*memory_use)(mr_memory* memory, mr_stream* stream, void* address, mr_error* err);
  mr_status (*memory_trim)(mr_memory* memory, uint64_t target_bytes, uint64_t* out_reserved,
                           mr_error* err);
  mr_status (*memory_set_limit)(mr_memory* memory, uint64_t limit_bytes, mr_error* err);
  mr_status (*memory_get_stats)(mr_memory* memory, mr_memory_stats* out, mr_error* err);
  mr_status (*memory_reset_peaks)(mr_memory* memory, mr_error* err);
  mr_status (*buffer_create)(mr_stream* stream, uint64_t bytes, uint32_t kind, uint32_t tag,
                             mr_buffer** out, mr_error* err);
  void (*buffer_retain)(mr_buffer* buffer);
  void (*buffer_release)(mr_buffer* buffer);
  void* (*buffer_data)(mr_buffer* buffer);
  uint64_t (*buffer_bytes)(mr_buffer* buffer);
  mr_status (*buffer_use)(mr_buffer* buffer, mr_stream* stream, mr_error* err);
  mr_status (*context_create)(const mr_context_config* config, mr_context** out, mr_error* err);
  void (*context_retain)(mr_context* context);
  void (*context_release)(mr_context* context);
  mr_status (*context_health)(mr_context* context, mr_error* err);
  mr_status (*context_device)(mr_context* context, mr_device_info* out, mr_error* err);
  mr_memory* (*context_memory)(mr_context* context);
  mr_status (*context_set_option)(mr_context* context, const char* name, const char* value,
                                  mr_error* err);
  mr_status (*context_get_option)(mr_context* context, const char* name, char* out,
                                  uint64_t capacity, uint64_t* out_length, mr_error* err);
  mr_status (*stream_create)(mr_context* context, const mr_stream_config* config, mr_stream** out,
                             mr_error* err);
  mr_status (*stream_wrap)(mr_context* context, void* native, const mr_stream_config* config,
                           mr_stream** out, mr_error* err);
  void (*stream_retain)(mr_stream* stream);
  void (*stream_release)(mr_stream* stream);
  void* (*stream_native)(mr_stream* stream);
  mr_context* (*stream_context)(mr_stream* stream);
  mr_status (*stream_query)(mr_stream* stream, mr_error* err);
  mr_status (*stream_synchronize)(mr_stream* stream, mr_error* err);
  mr_status (*stream_set_workspace)(mr_stream* stream, void* address, uint64_t bytes,
                                    mr_error* err);
  mr_status (*stream_reserve_capture)(mr_stream* stream, uint64_t bytes, mr_error* err);
  mr_status (*stream_is_capturing)(mr_stream* stream, int32_t* out, mr_error* err);
  mr_status (*copy)(mr_stream* stream, void* to, const void* from, uint64_t bytes,
                    uint32_t direction, mr_error* err);
  mr_status (*fill)(mr_stream* stream, void* to, uint32_t value, uint64_t bytes, mr_error* err);
  mr_status (*upload)(mr_stream* stream, void* to_device, const void* from_host, uint64_t bytes,
                      mr_error* err);
  mr_status (*download)(mr_stream* stream, void* to_host, const void* from_device, uint64_t bytes,
                        mr_error* err);
  mr_status (*event_create)(mr_context* context, uint32_t flags, mr_event** out, mr_error* err);
  mr_status (*event_wrap)(mr_context* context, void* native, mr_event** out, mr_error* err);
  void (*event_retain)(mr_event* event);
  void (*event_release)(mr_event* event);
  void* (*event_native)(mr_event* event);
  mr_status (*event_record)(mr_event* event, mr_stream* stream, uint32_t flags, mr_error* err);
  mr_status (*stream_wait_event)(mr_stream* stream, mr_event* event, mr_error* err);
  mr_status (*event_query)(mr_event* event, mr_error* err);
  mr_status (*event_synchronize)(mr_event* event, mr_error* err);
  mr_status (*event_elapsed)(mr_event* start, mr_event* stop, float* out_milliseconds,
                             mr_error* err);
  mr_status (*graph_pool_create)(mr_context* context, uint64_t bytes, mr_graph_pool** out,
                                 mr_error* err);
  void (*graph_pool_retain)(mr_graph_pool* pool);
  void (*graph_pool_release)(mr_graph_pool* pool);
  mr_status (*graph_begin)(mr_stream* stream, mr_graph_pool* pool, mr_error* err);
  mr_status (*graph_end)(mr_stream* stream, mr_graph** out, mr_error* err);
  void (*graph_retain)(mr_graph* graph);
  void (*graph_release)(mr_graph* graph);
  mr_status (*graph_launch)(mr_graph* graph, mr_stream* stream, mr_error* err);
  mr_status (*ring_create)(mr_context* context, uint32_t slots, uint64_t slot_bytes, mr_ring** out,
                           mr_error* err);
  void (*ring_retain)(mr_ring* ring);
  void (*ring_release)(mr_ring* ring);
  mr_status (*ring_push)(mr_ring* ring, uint32_t slot, mr_stream* stream, const void* from,
                         uint64_t bytes, mr_error* err);
  mr_status (*ring_query)(mr_ring* ring, uint32_t slot, mr_error* err);
  mr_status (*ring_wait)(mr_ring* ring, uint32_t slot, const void** out_data, mr_error* err);
  mr_status (*embedding)(mr_stream* stream, const mr_embedding_args* args, mr_error* err);
  mr_status (*embedding_prepare)(mr_stream* stream, const mr_embedding_args* args, mr_error* err);
  mr_status (*embedding_workspace)(mr_stream* stream, const mr_embedding_args* args,
                                   uint64_t* out_bytes, mr_error* err);
  mr_status (*embedding_kernel)(mr_stream* stream, const mr_embedding_args* args,
                                mr_kernel_info* out, mr_error* err);
  mr_status (*rmsnorm)(mr_stream* stream, const mr_rmsnorm_args* args, mr_error* err);
  mr_status (*rmsnorm_prepare)(mr_stream* stream, const mr_rmsnorm_args* args, mr_error* err);
  mr_status (*rmsnorm_workspace)(mr_stream* stream, const mr_rmsnorm_args* args,
                                 uint64_t* out_bytes, mr_error* err);
  mr_status (*rmsnorm_kernel)(mr_stream* stream, const mr_rmsnorm_args* args, mr_kernel_info* out,
                              mr_error* err);
  mr_status (*add)(mr_stream* stream, const mr_add_args* args, mr_error* err);
  mr_status (*add_prepare)(mr_stream* stream, const mr_add_args* args, mr_error* err);
  mr_status (*add_workspace)(mr_stream* stream, const mr_add_args* args, uint64_t* out_bytes,
                             mr_error* err);
  mr_status (*add_kernel)(mr_stream* stream, const mr_add_args* args, mr_kernel_info* out,
                          mr_error* err);
  mr_status (*gated_activation)(mr_stream* stream, const mr_gated_activation_args* args,
                                mr_error* err);
  mr_status (*gated_activation_prepare)(mr_stream* stream, const mr_gated_activation_args* args,
                                        mr_error* err);
  mr_status (*gated_activation_workspace)(mr_stream* stream, const mr_gated_activation_args* args,
                                          uint64_t* out_bytes, mr_error* err);
  mr_status (*gated_activation_kernel)(mr_stream* stream, const mr_gated_activation_args* args,
                                       mr_kernel_info* out, mr_error* err);
  mr_status (*rope)(mr_stream* stream, const mr_rope_args* args, mr_error* err);
  mr_status (*rope_prepare)(mr_stream* stream, const mr_rope_args* args, mr_error* err);
  mr_status (*rope_workspace)(mr_stream* stream, const mr_rope_args* args, uint64_t* out_bytes,
                              mr_error* err);
  mr_status (*rope_kernel)(mr_stream* stream, const mr_rope_args* args, mr_kernel_info* out,
                           mr_error* err);
  mr_status (*qkv_post)(mr_stream* stream, const mr_qkv_post_args* args, mr_error* err);
  mr_status (*qkv_post_prepare)(mr_stream* stream, const mr_qkv_post_args* args, mr_error* err);
  mr_status (*qkv_post_workspace)(mr_stream* stream, const mr_qkv_post_args* args,
                                  uint64_t* out_bytes, mr_error* err);
  mr_status (*qkv_post_kernel)(mr_stream* stream, const mr_qkv_post_args* args, mr_kernel_info* out,
                               mr_error* err);
  mr_status (*attention)(mr_stream* stream, const mr_attention_args* args, mr_error* err);
  mr_status (*attention_prepare)(mr_stream* stream, const mr_attention_args* args, mr_error* err);
  mr_status (*attention_workspace)(mr_stream* stream, const mr_attention_args* args,
                                   uint64_t* out_bytes, mr_error* err);
  mr_status (*attention_kernel)(mr_stream* stream, const mr_attention_args* args,
                                mr_kernel_info* out, mr_error* err);
  mr_status (*matmul)(mr_stream* stream, const mr_matmul_args* args, mr_error* err);
  mr_status (*matmul_prepare)(mr_stream* stream, const mr_matmul_args* args, mr_error* err);
  mr_status (*matmul_workspace)(mr_stream* stream, const mr_matmul_args* args, uint64_t* out_bytes,
                                mr_error* err);
  mr_status (*matmul_kernel)(mr_stream* stream, const mr_matmul_args* args, mr_kernel_info* out,
                             mr_error* err);
  mr_status (*matmul_plan_create)(mr_context* context, const mr_matmul_problem* problem,
                                  mr_matmul_plan** out, mr_error* err);
  void (*matmul_plan_retain)(mr_matmul_plan* plan);
  void (*matmul_plan_release)(mr_matmul_plan* plan);
  mr_status (*matmul_plan_workspace)(mr_matmul_plan* plan, int64_t m, uint64_t* out_bytes,
                                     mr_error* err);
  mr_status (*matmul_plan_kernel)(mr_matmul_plan* plan, int64_t m, mr_kernel_info* out,
                                  mr_error* err);
  mr_status (*matmul_run)(mr_matmul_plan* plan, mr_stream* stream,
                          const mr_matmul_operands* operands, mr_error* err);
  mr_status (*argmax)(mr_stream* stream, const mr_argmax_args* args, mr_error* err);
  mr_status (*argmax_prepare)(mr_stream* stream, const mr_argmax_args* args, mr_error* err);
  mr_status (*argmax_workspace)(mr_stream* stream, const mr_argmax_args* args, uint64_t* out_bytes,
                                mr_error* err);
  mr_status (*argmax_kernel)(mr_stream* stream, const mr_argmax_args* args, mr_kernel_info* out,
                             mr_error* err);
  mr_status (*sample)(mr_stream* stream, const mr_sample_args* args, mr_error* err);
  mr_status (*sample_prepare)(mr_stream* stream, const mr_sample_args* args, mr_error* err);
  mr_status (*sample_workspace)(mr_stream* stream, const mr_sample_args* args, uint64_t* out_bytes,
                                mr_error* err);
  mr_status (*sample_kernel)(mr_stream* stream, const mr_sample_args* args, mr_kernel_info* out,
                             mr_error* err);
  mr_status (*abi_layout)(uint32_t index, const char** out_struct, const char** out_field,
                          uint32_t* out_offset, uint32_t* out_size, mr_error* err);
  mr_status (*memory_allocate_block)(mr_memory* memory, mr_stream* stream, uint64_t bytes,
                                     uint64_t alignment, uint32_t tag, mr_block* out_block,
                                     void** out, mr_error* err);
  mr_status (*memory_free_block)(mr_memory* memory, mr_stream* stream, mr_block block,
                                 mr_error* err);
  mr_status (*memory_summary)(mr_memory* memory, char* out, uint64_t capacity, uint64_t* out_length,
                              mr_error* err);
  mr_status (*memory_visit)(mr_memory* memory, mr_memory_visit_fn visit, void* user, mr_error* err);
} mr_api;

/* Whether the table behind `api` has the slot, e.g. MR_API_HAS(api, rmsnorm). */
#define MR_API_HAS(api, slot) \
  ((api)->struct_size >= offsetof(mr_api, slot) + sizeof((api)->slot))

/* The type of mr_get_api(), for the result of a symbol look-up. */
typedef mr_status (*mr_get_api_fn)(uint32_t major_min, uint32_t major_max, uint32_t minor_min,
                                   const mr_api** out, mr_error* err);

/* mr_get_api() : the table of this library, valid for the life of the process. The caller passes the
 * lowest ABI version that it can drive, major_min.minor_min, and the highest major. No side effects:
 * nothing is loaded, no device is touched.
 * Errors: INVALID_ARGUMENT (out NULL, an empty range), VERSION_MISMATCH with both sides in the text;
 * *out is then left as it was. [host] */
MR_API mr_status mr_get_api(uint32_t major_min, uint32_t major_max, uint32_t minor_min,
                            const mr_api** out, mr_error* err) MR_NOEXCEPT;

/* mr_abi_layout() : the layout of every public struct as this library was compiled, so that a binding
 * can compare it with its own. Entries are numbered from 0, struct by struct: first the struct itself
 * with the field "" at offset 0 and its whole size, then its fields in order. The texts are static.
 * Each out-parameter may be NULL.
 * Errors: INVALID_ARGUMENT past the last entry. [host] */
MR_API mr_status mr_abi_layout(uint32_t index, const char** out_struct, const char** out_field,
                               uint32_t* out_offset, uint32_t* out_size, mr_error* err) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
