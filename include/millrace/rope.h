/* millrace/rope.h : rotary position embedding, and the operator behind the QKV projection. */
#ifndef MILLRACE_ROPE_H
#define MILLRACE_ROPE_H

#include "op.h"

MR_EXTERN_C_BEGIN

/* Pairing: which two elements of a head form a rotated pair. */
#define MR_ROPE_NEOX 0u /* (i, i + rotary_dim / 2) */
#define MR_ROPE_GPTJ 1u /* (2 i, 2 i + 1) */

/* Scaling of the angles. f_i = theta^(-2 i / rotary_dim), s = factor, L = original_max_position.
 *   NONE    f_i
 *   LINEAR  f_i / s
 *   NTK     f_i with theta * s^(rotary_dim / (rotary_dim - 2))
 *   YARN    a ramp between f_i / s and f_i over the number of rotations within L, from beta_slow to
 *           beta_fast (the dimension bounds floored and ceiled), and cos and sin times
 *           attention_factor (arXiv:2309.00071)
 *   LLAMA3  by wavelength w = 2 pi / f_i: f_i / s where w > L / low_freq_factor, f_i where
 *           w < L / high_freq_factor, between them (1 - t) f_i / s + t f_i with
 *           t = (L / w - low_freq_factor) / (high_freq_factor - low_freq_factor) */
#define MR_ROPE_SCALING_NONE   0u
#define MR_ROPE_SCALING_LINEAR 1u
#define MR_ROPE_SCALING_NTK    2u
#define MR_ROPE_SCALING_YARN   3u
#define MR_ROPE_SCALING_LLAMA3 4u

/* Frozen: 64 bytes. Angles are position * frequency in at least float32, whatever T is. Numbers
 * that the scaling uses must be finite; those that it does not use are ignored. A zeroed struct is
 * the plain rotation of whole heads. */
typedef struct mr_rope_config {
  uint32_t pairing;              /* MR_ROPE_NEOX or MR_ROPE_GPTJ */
  uint32_t scaling;              /* MR_ROPE_SCALING_... */
  int32_t rotary_dim;            /* even, 2 to dim; 0: dim. Elements beyond it are copied. */
  int32_t original_max_position; /* YARN, LLAMA3: > 0 */
  float theta;                   /* > 0, YARN: > 1; 0: 10000 */
  float factor;                  /* > 0 where the scaling uses it */
  float low_freq_factor;         /* LLAMA3: > 0 and below high_freq_factor */
  float high_freq_factor;
  float beta_fast;               /* YARN: > beta_slow; 0: 32 */
  float beta_slow;               /* YARN: > 0; 0: 1 */
  float attention_factor;        /* YARN: > 0; 0: 0.1 ln(factor) + 1, at least 1 */
  uint32_t reserved[5];          /* 0 */
} mr_rope_config;

#define MR_ROPE_CONFIG_INIT {0u, 0u, 0, 0, 10000.0f, 1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, {0}}

/* ---- RoPE ------------------------------------------------------------------------------------ */

/* Rotates the pairs (a, b) of each head by the angle p = positions[t] * frequency:
 *   (a cos p - b sin p, b cos p + a sin p)
 * A negative position is padding: the token's heads are copied unrotated. dim is at most 65536.
 * Aliasing: output may be input. */
typedef struct mr_rope_args {
  uint32_t struct_size;
  uint32_t flags;      /* 0 */
  mr_tensor input;     /* [tokens, heads, dim] T, inner stride 1 */
  mr_tensor positions; /* [tokens] I32 | I64 */
  mr_tensor output;    /* [tokens, heads, dim] T, inner stride 1 */
  mr_rope_config rope;
} mr_rope_args;

#define MR_ROPE_ARGS_INIT                                                                       \
  {sizeof(mr_rope_args), 0u, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT,                    \
   MR_ROPE_CONFIG_INIT}

MR_API mr_status mr_rope(mr_stream* stream, const mr_rope_args* args, mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_rope_prepare(mr_stream* stream, const mr_rope_args* args,
                                 mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_rope_workspace(mr_stream* stream, const mr_rope_args* args,
                                   uint64_t* out_bytes, mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_rope_kernel(mr_stream* stream, const mr_rope_args* args,
                                mr_kernel_info* out, mr_error* err) MR_NOEXCEPT;

/* ---- QKV post-operator ----------------------------------------------------------------------- */

/* flags */
#define MR_QKV_POST_ROPE            0x1u /* rotate q and k by `rope` and `positions` */
#define MR_QKV_POST_WEIGHT_PLUS_ONE 0x2u /* the norms scale by 1 + weight */

/* What stands between the QKV projection and attention, in one launch:
 *   q, k, v  plus their biases                                    where a bias is given
 *   q, k     RMSNorm over dim, per head                           where a norm weight is given
 *   q, k     RoPE                                                 with MR_QKV_POST_ROPE
 *   q        to q_output
 *   k, v     into the paged cache at slot[t]                      where there is a cache
 * It equals the sequence mr_add(), mr_rmsnorm(), mr_rope(), copy, bit for bit: each step rounds to
 * T.
 * q, k and v are usually views of one packed [tokens, (q_heads + 2 kv_heads) * dim] tensor.
 *
 * slot = page * page_size + token within the page. -1 is padding: nothing is appended. Any other
 * slot outside the cache is skipped and sets MR_ROW_ID_OUT_OF_RANGE. Two tokens with one slot:
 * undefined.
 *
 * dim and v_dim are at most 65536. A tensor that belongs to a part left out is refused: q_bias,
 * q_norm or q_output without q; v, slot, k_norm, or a bias or cache of k or v without k. So is a
 * call with neither q nor k. Without MR_QKV_POST_ROPE `positions` and `rope` are not looked at;
 * without a norm weight MR_QKV_POST_WEIGHT_PLUS_ONE does nothing.
 * Aliasing: q_output may be q. k and v are left as they are. */
typedef struct mr_qkv_post_args {
  uint32_t struct_size;
  uint32_t flags;
  mr_tensor q;          /* optional [tokens, q_heads, dim] T, inner stride 1 */
  mr_tensor k;          /* optional [tokens, kv_heads, dim] T, inner stride 1; with v */
  mr_tensor v;          /* optional [tokens, kv_heads, v_dim] T, inner stride 1; with k */
  mr_tensor q_bias;     /* optional [q_heads, dim] T */
  mr_tensor k_bias;     /* optional [kv_heads, dim] T */
  mr_tensor v_bias;     /* optional [kv_heads, v_dim] T */
  mr_tensor q_norm;     /* optional [dim] T | F32 */
  mr_tensor k_norm;     /* optional [dim] T | F32 */
  mr_tensor positions;  /* [tokens] I32 | I64; needed with MR_QKV_POST_ROPE */
  mr_tensor slot;       /* [tokens] I64; needed with k */
  mr_tensor q_output;   /* [tokens, q_heads, dim] T, inner stride 1; needed with q */
  mr_tensor k_cache;    /* [pages, page_size, kv_heads, dim] T, inner stride 1; needed with k */
  mr_tensor v_cache;    /* [pages, page_size, kv_heads, v_dim] T, inner stride 1; needed with v */
  mr_tensor row_status; /* optional [tokens] I32 */
  mr_rope_config rope;
  float epsilon;        /* of the norms, >= 0 and finite, checked even without one */
  uint32_t reserved;
} mr_qkv_post_args;

#define MR_QKV_POST_ARGS_INIT                                                                   \
  {sizeof(mr_qkv_post_args), 0u, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT,                \
   MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT,              \
   MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT,              \
   MR_TENSOR_INIT, MR_ROPE_CONFIG_INIT, 0.0f, 0u}

MR_API mr_status mr_qkv_post(mr_stream* stream, const mr_qkv_post_args* args,
                             mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_qkv_post_prepare(mr_stream* stream, const mr_qkv_post_args* args,
                                     mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_qkv_post_workspace(mr_stream* stream, const mr_qkv_post_args* args,
                                       uint64_t* out_bytes, mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_qkv_post_kernel(mr_stream* stream, const mr_qkv_post_args* args,
                                    mr_kernel_info* out, mr_error* err) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
