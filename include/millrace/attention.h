/* millrace/attention.h : attention over ragged batches, contiguous or paged. */
#ifndef MILLRACE_ATTENTION_H
#define MILLRACE_ATTENTION_H

#include "op.h"

MR_EXTERN_C_BEGIN

/* flags. Query i of a sequence stands at key o = i + kv_len - q_len (bottom-right) and sees ... */
#define MR_ATTENTION_CAUSAL 0x1u /* keys j <= o */
#define MR_ATTENTION_WINDOW 0x2u /* keys j with -window_left <= j - o <= window_right */

/* For sequence b, query row i in [cu_q[b], cu_q[b + 1]), head h, and the keys j that it sees:
 *   s_j = scale * q . k_j    P = softmax(s)    output = sum_j P_j v_j    lse = ln sum_j exp(s_j)
 * with key head h / (q_heads / kv_heads); any whole ratio is served. A row that sees no key gives
 * output 0, lse -inf and MR_ROW_ALL_MASKED. A row whose visible scores are all -inf gives output 0
 * and lse -inf too, but not the bit: it sees keys. NaN and junk outside the keys that a row sees
 * never reach the output. Sequences may be empty on either side. P and the sums are float32.
 *
 * Keys are either
 *   paged        k, v of rank 4: [pages, page_size, kv_heads, dim], with block_table and kv_len;
 *                key j of sequence b is k[block_table[b, j / page_size], j % page_size].
 *                A page outside [0, pages) is skipped and sets MR_ROW_ID_OUT_OF_RANGE; or
 *   contiguous   k, v of rank 3: [total_kv, kv_heads, dim], with cu_kv.
 * What belongs to the other form is refused: cu_kv with pages, kv_len or block_table without.
 *
 * cu_q, cu_kv and kv_len are device data and are trusted to be non-decreasing and non-negative, and
 * cu_q[0] = 0. Entries of kv_len beyond max_pages * page_size are clamped to it. Rows of q from
 * cu_q[batch] on are not written. Nothing may alias. Heads: 1 <= dim, v_dim <= 256. */
typedef struct mr_attention_args {
  uint32_t struct_size;
  uint32_t flags;
  mr_tensor q;           /* [total_q, q_heads, dim] T, inner stride 1 */
  mr_tensor k;           /* rank 3 or 4, T, inner stride 1 */
  mr_tensor v;           /* rank 3 or 4, T, last dimension v_dim, inner stride 1 */
  mr_tensor cu_q;        /* [batch + 1] I32 */
  mr_tensor cu_kv;       /* contiguous: [batch + 1] I32 */
  mr_tensor kv_len;      /* paged: [batch] I32 */
  mr_tensor block_table; /* paged: [batch, max_pages] I32 */
  mr_tensor output;      /* [total_q, q_heads, v_dim] T, inner stride 1 */
  mr_tensor lse;         /* optional [total_q, q_heads] F32 */
  mr_tensor row_status;  /* optional [total_q] I32 */
  int64_t max_q;         /* upper bound of any sequence's queries; 0: total_q */
  int64_t max_kv;        /* upper bound of any sequence's keys; 0: total_kv, or
                            max_pages * page_size */
  float scale;           /* passed explicitly, usually 1 / sqrt(dim) */
  int32_t window_left;   /* with MR_ATTENTION_WINDOW: keys to the left, the own one not counted; -1:
                            unlimited. A window of W keys including the own one is W - 1. */
  int32_t window_right;  /* likewise to the right */
  uint32_t reserved;
} mr_attention_args;

#define MR_ATTENTION_ARGS_INIT                                                                  \
  {sizeof(mr_attention_args), 0u, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT,               \
   MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT,              \
   MR_TENSOR_INIT, MR_TENSOR_INIT, 0, 0, 0.0f, 0, 0, 0u}

MR_API mr_status mr_attention(mr_stream* stream, const mr_attention_args* args,
                              mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_attention_prepare(mr_stream* stream, const mr_attention_args* args,
                                      mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_attention_workspace(mr_stream* stream, const mr_attention_args* args,
                                        uint64_t* out_bytes, mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_attention_kernel(mr_stream* stream, const mr_attention_args* args,
                                     mr_kernel_info* out, mr_error* err) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
