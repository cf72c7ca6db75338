/* millrace/sampling.h : the choice of the next token. */
#ifndef MILLRACE_SAMPLING_H
#define MILLRACE_SAMPLING_H

#include "op.h"

MR_EXTERN_C_BEGIN

/* ---- Argmax ---------------------------------------------------------------------------------- */

/* output[r] = the lowest index of the largest input[r, :]. NaN is never chosen and sets
 * MR_ROW_HAD_NAN; a row without any number gives 0, MR_ROW_HAD_NAN (if it holds NaN) and
 * MR_ROW_ALL_MASKED. -inf is a number. width >= 1 where rows >= 1, and at most 2^31 where output is
 * I32. */
typedef struct mr_argmax_args {
  uint32_t struct_size;
  uint32_t flags;       /* 0 */
  mr_tensor input;      /* [rows, width] T */
  mr_tensor output;     /* [rows] I32 | I64 */
  mr_tensor row_status; /* optional [rows] I32 */
} mr_argmax_args;

#define MR_ARGMAX_ARGS_INIT                                                                     \
  {sizeof(mr_argmax_args), 0u, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT}

MR_API mr_status mr_argmax(mr_stream* stream, const mr_argmax_args* args,
                           mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_argmax_prepare(mr_stream* stream, const mr_argmax_args* args,
                                   mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_argmax_workspace(mr_stream* stream, const mr_argmax_args* args,
                                     uint64_t* out_bytes, mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_argmax_kernel(mr_stream* stream, const mr_argmax_args* args,
                                  mr_kernel_info* out, mr_error* err) MR_NOEXCEPT;

/* ---- Sample ---------------------------------------------------------------------------------- */

/* Draws output[r] from softmax(logits[r, :] / temperature[r]) after these filters, in this order:
 *   top_k   keeps the k largest logits, exactly k: ties at the boundary go to the lower index.
 *           k <= 0 or k >= vocab: no filter
 *   top_p   over what is left, renormalised: keeps the shortest run of tokens, largest first (ties:
 *           lower index first), whose probability reaches p, the crossing token included; always at
 *           least one. p >= 1 or NaN: no filter; p <= 0: the largest only
 *   min_p   keeps tokens of at least min_p times the largest probability; above 1 it acts as 1.
 *           <= 0 or NaN: no filter
 * temperature 0 (or below, or NaN) is argmax. An absent parameter is no filter, temperature 1.
 *
 * The draw is argmax of logit / temperature + Gumbel noise over the tokens kept. The noise of token
 * v is a function of (seed[r], offset of row r, v) alone, by Philox4x32-10 (Salmon et al., SC
 * 2011), so a row's result depends neither on its batch mates nor on its place. rng_offset[r] is
 * advanced by one per launch on the device, also where the temperature is 0, so that a captured
 * draw moves on.
 * A token of probability zero is never drawn.
 *
 * NaN logits count as -inf and set MR_ROW_HAD_NAN. A row without a finite or +inf logit gives 0 and
 * MR_ROW_ALL_MASKED. Parameters are device tensors; a stride of 0 shares one value. Output ids are
 * always in [0, vocab). vocab >= 1 where rows >= 1, and at most 2^31 where output is I32. */
typedef struct mr_sample_args {
  uint32_t struct_size;
  uint32_t flags;        /* 0 */
  mr_tensor logits;      /* [rows, vocab] T */
  mr_tensor temperature; /* optional [rows] F32 */
  mr_tensor top_k;       /* optional [rows] I32 */
  mr_tensor top_p;       /* optional [rows] F32 */
  mr_tensor min_p;       /* optional [rows] F32 */
  mr_tensor seed;        /* [rows] U64 */
  mr_tensor rng_offset;  /* [rows] U64, read and advanced; its elements must not overlap */
  mr_tensor output;      /* [rows] I32 | I64 */
  mr_tensor row_status;  /* optional [rows] I32 */
} mr_sample_args;

#define MR_SAMPLE_ARGS_INIT                                                                     \
  {sizeof(mr_sample_args), 0u, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT,                  \
   MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT,              \
   MR_TENSOR_INIT}

MR_API mr_status mr_sample(mr_stream* stream, const mr_sample_args* args,
                           mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_sample_prepare(mr_stream* stream, const mr_sample_args* args,
                                   mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_sample_workspace(mr_stream* stream, const mr_sample_args* args,
                                     uint64_t* out_bytes, mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_sample_kernel(mr_stream* stream, const mr_sample_args* args,
                                  mr_kernel_info* out, mr_error* err) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
