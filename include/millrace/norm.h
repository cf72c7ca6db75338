/* millrace/norm.h : normalisation. */
#ifndef MILLRACE_NORM_H
#define MILLRACE_NORM_H

#include "op.h"

MR_EXTERN_C_BEGIN

/* ---- RMSNorm ---------------------------------------------------------------------------------- */

/* flags */
#define MR_RMSNORM_WEIGHT_PLUS_ONE     0x1u /* scale by 1 + weight, added in float32 (Gemma) */
#define MR_RMSNORM_ROUND_BEFORE_WEIGHT 0x2u /* round to T before the multiplication by the weight, as
                                               Hugging Face's Llama does; default: one rounding */

/* s = input, or round_T(input + residual) if there is a residual
 * output[r, :] = s[r, :] / sqrt(mean(s[r, :]^2) + epsilon) * weight
 *
 * With a residual the result equals mr_add() followed by mr_rmsnorm(), bit for bit. An all-zero row
 * gives zeros if epsilon > 0. width 0 succeeds and writes nothing.
 * Rank 1 to 6; the last dimension is normalised. The leading dimensions of each tensor must merge
 * into at most two strides, as those of [tokens, heads, dim] views do, else UNSUPPORTED.
 * Aliasing: residual_output may be residual or input; output may be input; output may be residual
 * only where residual_output is absent. */
typedef struct mr_rmsnorm_args {
  uint32_t struct_size;
  uint32_t flags;
  mr_tensor input;           /* [..., width] T */
  mr_tensor residual;        /* optional [..., width] T */
  mr_tensor weight;          /* optional [width] T | F32; absent: 1 (0 with WEIGHT_PLUS_ONE) */
  mr_tensor output;          /* [..., width] T */
  mr_tensor residual_output; /* optional [..., width] T: s; needs residual */
  float epsilon;             /* >= 0 and finite */
  uint32_t reserved;
} mr_rmsnorm_args;

#define MR_RMSNORM_ARGS_INIT                                                                    \
  {sizeof(mr_rmsnorm_args), 0u, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT,                 \
   MR_TENSOR_INIT, MR_TENSOR_INIT, 0.0f, 0u}

MR_API mr_status mr_rmsnorm(mr_stream* stream, const mr_rmsnorm_args* args,
                            mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_rmsnorm_prepare(mr_stream* stream, const mr_rmsnorm_args* args,
                                    mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_rmsnorm_workspace(mr_stream* stream, const mr_rmsnorm_args* args,
                                      uint64_t* out_bytes, mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_rmsnorm_kernel(mr_stream* stream, const mr_rmsnorm_args* args,
                                   mr_kernel_info* out, mr_error* err) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
