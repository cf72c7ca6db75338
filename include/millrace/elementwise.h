/* millrace/elementwise.h : sums and gated activations. */
#ifndef MILLRACE_ELEMENTWISE_H
#define MILLRACE_ELEMENTWISE_H

#include "op.h"

MR_EXTERN_C_BEGIN

/* ---- Add -------------------------------------------------------------------------------------- */

/* output = a + b, added in float32, rounded once. a and b are broadcast by their own strides (0); all
 * three have the same shape, any rank. Aliasing: output may be a or b. */
typedef struct mr_add_args {
  uint32_t struct_size;
  uint32_t flags;   /* 0 */
  mr_tensor a;      /* [...] T */
  mr_tensor b;      /* [...] T */
  mr_tensor output; /* [...] T */
} mr_add_args;

#define MR_ADD_ARGS_INIT                                                                        \
  {sizeof(mr_add_args), 0u, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT}

MR_API mr_status mr_add(mr_stream* stream, const mr_add_args* args, mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_add_prepare(mr_stream* stream, const mr_add_args* args,
                                mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_add_workspace(mr_stream* stream, const mr_add_args* args,
                                  uint64_t* out_bytes, mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_add_kernel(mr_stream* stream, const mr_add_args* args,
                               mr_kernel_info* out, mr_error* err) MR_NOEXCEPT;

/* ---- Gated activation ------------------------------------------------------------------------- */

/* output = activation(gate) * up, in float32, rounded once.
 * Split halves of one [rows, 2 * width] tensor are two views with its row stride; interleaved pairs
 * are two views with an inner stride of 2. Leading dimensions merge as for mr_rmsnorm().
 * Aliasing: output may be gate or up. */
typedef struct mr_gated_activation_args {
  uint32_t struct_size;
  uint32_t flags;      /* 0 */
  mr_tensor gate;      /* [..., width] T */
  mr_tensor up;        /* [..., width] T */
  mr_tensor output;    /* [..., width] T */
  uint32_t activation; /* MR_ACTIVATION_...; NONE multiplies */
  uint32_t reserved;
} mr_gated_activation_args;

#define MR_GATED_ACTIVATION_ARGS_INIT                                                           \
  {sizeof(mr_gated_activation_args), 0u, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT,        \
   0u, 0u}

MR_API mr_status mr_gated_activation(mr_stream* stream, const mr_gated_activation_args* args,
                                     mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_gated_activation_prepare(mr_stream* stream, const mr_gated_activation_args* args,
                                             mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_gated_activation_workspace(mr_stream* stream, const mr_gated_activation_args* args,
                                               uint64_t* out_bytes, mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_gated_activation_kernel(mr_stream* stream, const mr_gated_activation_args* args,
                                            mr_kernel_info* out, mr_error* err) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
