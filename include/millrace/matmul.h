/* millrace/matmul.h : matrix products, one-shot and planned. */
#ifndef MILLRACE_MATMUL_H
#define MILLRACE_MATMUL_H

#include "event.h"
#include "op.h"

MR_EXTERN_C_BEGIN

/* flags of mr_matmul_args and mr_matmul_problem */
#define MR_MATMUL_ADD_C 0x1u /* add beta * c */

/* d = activation(alpha * x w^T + bias) + beta * c
 *
 * d[b, m, n] = sum over k of x[b, m, k] * w[b, n, k], and so on. w is stored as [n, k], the way
 * checkpoints store a linear layer; a [k, n] matrix is the same tensor with its strides swapped.
 * Everything up to the store is float32 or wider, then one rounding. Rank 2, or rank 3 with a
 * batch; a stride of 0 in the batch dimension broadcasts x, w or c, and bias serves every batch.
 * alpha 0 reads neither x nor w; without MR_MATMUL_ADD_C, or with beta 0, c is not read. K = 0
 * gives activation(bias) + beta * c.
 * Aliasing: d may be c. */
typedef struct mr_matmul_args {
  uint32_t struct_size;
  uint32_t flags;
  mr_tensor x;         /* [(batch,) m, k] T */
  mr_tensor w;         /* [(batch,) n, k] T */
  mr_tensor bias;      /* optional [n] T | F32 */
  mr_tensor c;         /* with MR_MATMUL_ADD_C: [(batch,) m, n], dtype of d */
  mr_tensor d;         /* [(batch,) m, n] T | F32 */
  float alpha;         /* not implied: 1 must be written (the _INIT macro does) */
  float beta;
  uint32_t activation; /* MR_ACTIVATION_... */
  uint32_t reserved;
} mr_matmul_args;

#define MR_MATMUL_ARGS_INIT                                                                     \
  {sizeof(mr_matmul_args), 0u, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT,                  \
   MR_TENSOR_INIT, MR_TENSOR_INIT, 1.0f, 0.0f, 0u, 0u}

/* One-shot. On CUDA the library's search for an algorithm belongs to mr_matmul_prepare(), which
 * remembers it in the context per shape, dtype, strides and alignment; a shape that was not
 * prepared is NOT_PREPARED there. On the host nothing needs preparing. */
MR_API mr_status mr_matmul(mr_stream* stream, const mr_matmul_args* args,
                           mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_matmul_prepare(mr_stream* stream, const mr_matmul_args* args,
                                   mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_matmul_workspace(mr_stream* stream, const mr_matmul_args* args,
                                     uint64_t* out_bytes, mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_matmul_kernel(mr_stream* stream, const mr_matmul_args* args,
                                  mr_kernel_info* out, mr_error* err) MR_NOEXCEPT;

/* ---- Plans ----------------------------------------------------------------------------------- */

/* A family of products that differ in m alone. The operands of every run must be contiguous. */
typedef struct mr_matmul_problem {
  uint32_t struct_size;
  uint32_t flags;
  mr_dtype dtype;      /* of x and w: F32, F16, BF16 */
  mr_dtype d_dtype;    /* of d and c: dtype or F32 */
  mr_dtype bias_dtype; /* MR_ABSENT, dtype or F32 */
  uint32_t activation; /* MR_ACTIVATION_... */
  int64_t batch;       /* 0: rank 2 */
  int64_t m_max;       /* runs with any m from 0 to m_max */
  int64_t n;
  int64_t k;
} mr_matmul_problem;

#define MR_MATMUL_PROBLEM_INIT {sizeof(mr_matmul_problem), 0u, 0u, 0u, 0u, 0u, 0, 0, 0, 0}

/* What one run works on. */
typedef struct mr_matmul_operands {
  uint32_t struct_size;
  uint32_t flags;  /* 0 */
  mr_tensor x;     /* as in mr_matmul_args, with the plan's dtypes, n, k and batch */
  mr_tensor w;
  mr_tensor bias;
  mr_tensor c;
  mr_tensor d;
  float alpha;
  float beta;
  mr_event* event; /* NULL, or recorded behind the product */
} mr_matmul_operands;

#define MR_MATMUL_OPERANDS_INIT                                                                 \
  {sizeof(mr_matmul_operands), 0u, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT,              \
   MR_TENSOR_INIT, MR_TENSOR_INIT, 1.0f, 0.0f, NULL}

/* mr_matmul_plan_create() : decides, for each power of two of m up to m_max, how such a product
 * runs, and loads what that needs. The plan is immutable and may be shared by threads and streams
 * of the context. Errors: INVALID_ARGUMENT, UNSUPPORTED, DEPENDENCY_MISSING. [blocking] */
MR_API mr_status mr_matmul_plan_create(mr_context* context, const mr_matmul_problem* problem,
                                       mr_matmul_plan** out, mr_error* err) MR_NOEXCEPT;
MR_API void mr_matmul_plan_retain(mr_matmul_plan* plan) MR_NOEXCEPT;
MR_API void mr_matmul_plan_release(mr_matmul_plan* plan) MR_NOEXCEPT;

/* mr_matmul_plan_workspace() : the most scratch that a run with m rows takes of its stream. [host]
 * mr_matmul_plan_kernel() : which kernel a run with m rows uses, for aligned operands. [host] */
MR_API mr_status mr_matmul_plan_workspace(mr_matmul_plan* plan, int64_t m, uint64_t* out_bytes,
                                          mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_matmul_plan_kernel(mr_matmul_plan* plan, int64_t m, mr_kernel_info* out,
                                       mr_error* err) MR_NOEXCEPT;

/* mr_matmul_run() : enqueues one product. No search, no lock, no allocation. Operands that the plan
 * was not made for are INVALID_ARGUMENT. [enqueue] */
MR_API mr_status mr_matmul_run(mr_matmul_plan* plan, mr_stream* stream,
                               const mr_matmul_operands* operands, mr_error* err) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
