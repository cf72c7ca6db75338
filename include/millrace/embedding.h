/* millrace/embedding.h : rows of a table by id. */
#ifndef MILLRACE_EMBEDDING_H
#define MILLRACE_EMBEDDING_H

#include "op.h"

MR_EXTERN_C_BEGIN

/* flags */
#define MR_EMBEDDING_SCALE 0x1u /* multiply by `scale` (float32, one rounding) */

/* output[r, :] = table[ids[r], :]
 * id -1 is padding: a zero row, status 0. Any other id outside [0, vocab): a zero row and
 * MR_ROW_ID_OUT_OF_RANGE. Nothing may alias. */
typedef struct mr_embedding_args {
  uint32_t struct_size;
  uint32_t flags;
  mr_tensor ids;        /* [rows] I32 | I64 */
  mr_tensor table;      /* [vocab, width] T */
  mr_tensor output;     /* [rows, width] T */
  mr_tensor row_status; /* optional [rows] I32 */
  float scale;
  uint32_t reserved;
} mr_embedding_args;

#define MR_EMBEDDING_ARGS_INIT                                                              \
  {sizeof(mr_embedding_args), 0u, MR_TENSOR_INIT, MR_TENSOR_INIT, MR_TENSOR_INIT,           \
   MR_TENSOR_INIT, 0.0f, 0u}

MR_API mr_status mr_embedding(mr_stream* stream, const mr_embedding_args* args,
                              mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_embedding_prepare(mr_stream* stream, const mr_embedding_args* args,
                                      mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_embedding_workspace(mr_stream* stream, const mr_embedding_args* args,
                                        uint64_t* out_bytes, mr_error* err) MR_NOEXCEPT;
MR_API mr_status mr_embedding_kernel(mr_stream* stream, const mr_embedding_args* args,
                                     mr_kernel_info* out, mr_error* err) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
