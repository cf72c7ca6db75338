/* Written by bindings/generate.py from include/millrace; edit the headers instead. */
/* A C99 program that refers to every public function: it links only if all are exported. */
#include <millrace/millrace.h>
#include <stdio.h>

typedef void (*any_function)(void);

typedef struct named_function {
  const char* name;
  any_function address;
} named_function;

static const named_function functions[] = {
    {"mr_version", (any_function)mr_version},
    {"mr_abi_version", (any_function)mr_abi_version},
    {"mr_status_name", (any_function)mr_status_name},
    {"mr_status_text", (any_function)mr_status_text},
    {"mr_tensor_pack", (any_function)mr_tensor_pack},
    {"mr_tensor_from_dlpack", (any_function)mr_tensor_from_dlpack},
    {"mr_tensor_import_dlpack", (any_function)mr_tensor_import_dlpack},
    {"mr_dlpack_release", (any_function)mr_dlpack_release},
    {"mr_tensor_to_dlpack", (any_function)mr_tensor_to_dlpack},
    {"mr_tensor_export_dlpack", (any_function)mr_tensor_export_dlpack},
    {"mr_probe", (any_function)mr_probe},
    {"mr_device_query", (any_function)mr_device_query},
    {"mr_dependency", (any_function)mr_dependency},
    {"mr_memory_create", (any_function)mr_memory_create},
    {"mr_memory_retain", (any_function)mr_memory_retain},
    {"mr_memory_release", (any_function)mr_memory_release},
    {"mr_memory_allocate", (any_function)mr_memory_allocate},
    {"mr_memory_free", (any_function)mr_memory_free},
    {"mr_memory_use", (any_function)mr_memory_use},
    {"mr_memory_trim", (any_function)mr_memory_trim},
    {"mr_memory_set_limit", (any_function)mr_memory_set_limit},
    {"mr_memory_get_stats", (any_function)mr_memory_get_stats},
    {"mr_memory_reset_peaks", (any_function)mr_memory_reset_peaks},
    {"mr_buffer_create", (any_function)mr_buffer_create},
    {"mr_buffer_retain", (any_function)mr_buffer_retain},
    {"mr_buffer_release", (any_function)mr_buffer_release},
    {"mr_buffer_data", (any_function)mr_buffer_data},
    {"mr_buffer_bytes", (any_function)mr_buffer_bytes},
    {"mr_buffer_use", (any_function)mr_buffer_use},
    {"mr_context_create", (any_function)mr_context_create},
    {"mr_context_retain", (any_function)mr_context_retain},
    {"mr_context_release", (any_function)mr_context_release},
    {"mr_context_health", (any_function)mr_context_health},
    {"mr_context_device", (any_function)mr_context_device},
    {"mr_context_memory", (any_function)mr_context_memory},
    {"mr_context_set_option", (any_function)mr_context_set_option},
    {"mr_context_get_option", (any_function)mr_context_get_option},
    {"mr_stream_create", (any_function)mr_stream_create},
    {"mr_stream_wrap", (any_function)mr_stream_wrap},
    {"mr_stream_retain", (any_function)mr_stream_retain},
    {"mr_stream_release", (any_function)mr_stream_release},
    {"mr_stream_native", (any_function)mr_stream_native},
    {"mr_stream_context", (any_function)mr_stream_context},
    {"mr_stream_query", (any_function)mr_stream_query},
    {"mr_stream_synchronize", (any_function)mr_stream_synchronize},
    {"mr_stream_set_workspace", (any_function)mr_stream_set_workspace},
    {"mr_stream_reserve_capture", (any_function)mr_stream_reserve_capture},
    {"mr_stream_is_capturing", (any_function)mr_stream_is_capturing},
    {"mr_copy", (any_function)mr_copy},
    {"mr_fill", (any_function)mr_fill},
    {"mr_upload", (any_function)mr_upload},
    {"mr_download", (any_function)mr_download},
    {"mr_event_create", (any_function)mr_event_create},
    {"mr_event_wrap", (any_function)mr_event_wrap},
    {"mr_event_retain", (any_function)mr_event_retain},
    {"mr_event_release", (any_function)mr_event_release},
    {"mr_event_native", (any_function)mr_event_native},
    {"mr_event_record", (any_function)mr_event_record},
    {"mr_stream_wait_event", (any_function)mr_stream_wait_event},
    {"mr_event_query", (any_function)mr_event_query},
    {"mr_event_synchronize", (any_function)mr_event_synchronize},
    {"mr_event_elapsed", (any_function)mr_event_elapsed},
    {"mr_graph_pool_create", (any_function)mr_graph_pool_create},
    {"mr_graph_pool_retain", (any_function)mr_graph_pool_retain},
    {"mr_graph_pool_release", (any_function)mr_graph_pool_release},
    {"mr_graph_begin", (any_function)mr_graph_begin},
    {"mr_graph_end", (any_function)mr_graph_end},
    {"mr_graph_retain", (any_function)mr_graph_retain},
    {"mr_graph_release", (any_function)mr_graph_release},
    {"mr_graph_launch", (any_function)mr_graph_launch},
    {"mr_ring_create", (any_function)mr_ring_create},
    {"mr_ring_retain", (any_function)mr_ring_retain},
    {"mr_ring_release", (any_function)mr_ring_release},
    {"mr_ring_push", (any_function)mr_ring_push},
    {"mr_ring_query", (any_function)mr_ring_query},
    {"mr_ring_wait", (any_function)mr_ring_wait},
    {"mr_embedding", (any_function)mr_embedding},
    {"mr_embedding_prepare", (any_function)mr_embedding_prepare},
    {"mr_embedding_workspace", (any_function)mr_embedding_workspace},
    {"mr_embedding_kernel", (any_function)mr_embedding_kernel},
    {"mr_rmsnorm", (any_function)mr_rmsnorm},
    {"mr_rmsnorm_prepare", (any_function)mr_rmsnorm_prepare},
    {"mr_rmsnorm_workspace", (any_function)mr_rmsnorm_workspace},
    {"mr_rmsnorm_kernel", (any_function)mr_rmsnorm_kernel},
    {"mr_add", (any_function)mr_add},
    {"mr_add_prepare", (any_function)mr_add_prepare},
    {"mr_add_workspace", (any_function)mr_add_workspace},
    {"mr_add_kernel", (any_function)mr_add_kernel},
    {"mr_gated_activation", (any_function)mr_gated_activation},
    {"mr_gated_activation_prepare", (any_function)mr_gated_activation_prepare},
    {"mr_gated_activation_workspace", (any_function)mr_gated_activation_workspace},
    {"mr_gated_activation_kernel", (any_function)mr_gated_activation_kernel},
    {"mr_rope", (any_function)mr_rope},
    {"mr_rope_prepare", (any_function)mr_rope_prepare},
    {"mr_rope_workspace", (any_function)mr_rope_workspace},
    {"mr_rope_kernel", (any_function)mr_rope_kernel},
    {"mr_qkv_post", (any_function)mr_qkv_post},
    {"mr_qkv_post_prepare", (any_function)mr_qkv_post_prepare},
    {"mr_qkv_post_workspace", (any_function)mr_qkv_post_workspace},
    {"mr_qkv_post_kernel", (any_function)mr_qkv_post_kernel},
    {"mr_attention", (any_function)mr_attention},
    {"mr_attention_prepare", (any_function)mr_attention_prepare},
    {"mr_attention_workspace", (any_function)mr_attention_workspace},
    {"mr_attention_kernel", (any_function)mr_attention_kernel},
    {"mr_matmul", (any_function)mr_matmul},
    {"mr_matmul_prepare", (any_function)mr_matmul_prepare},
    {"mr_matmul_workspace", (any_function)mr_matmul_workspace},
    {"mr_matmul_kernel", (any_function)mr_matmul_kernel},
    {"mr_matmul_plan_create", (any_function)mr_matmul_plan_create},
    {"mr_matmul_plan_retain", (any_function)mr_matmul_plan_retain},
    {"mr_matmul_plan_release", (any_function)mr_matmul_plan_release},
    {"mr_matmul_plan_workspace", (any_function)mr_matmul_plan_workspace},
    {"mr_matmul_plan_kernel", (any_function)mr_matmul_plan_kernel},
    {"mr_matmul_run", (any_function)mr_matmul_run},
    {"mr_argmax", (any_function)mr_argmax},
    {"mr_argmax_prepare", (any_function)mr_argmax_prepare},
    {"mr_argmax_workspace", (any_function)mr_argmax_workspace},
    {"mr_argmax_kernel", (any_function)mr_argmax_kernel},
    {"mr_sample", (any_function)mr_sample},
    {"mr_sample_prepare", (any_function)mr_sample_prepare},
    {"mr_sample_workspace", (any_function)mr_sample_workspace},
    {"mr_sample_kernel", (any_function)mr_sample_kernel},
    {"mr_abi_layout", (any_function)mr_abi_layout},
    {"mr_get_api", (any_function)mr_get_api},
};

int main(void) {
  size_t i;
  for (i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
    if (functions[i].address == NULL) {
      printf("%s has no address\n", functions[i].name);
      return 1;
    }
  }
  if (mr_abi_version() != MR_ABI_MAJOR * 65536u + MR_ABI_MINOR) {
    printf("the header and the library disagree on the ABI version\n");
    return 1;
  }
  printf("%u functions\n", (unsigned)i);
  return 0;
}
