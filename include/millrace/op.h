/* millrace/op.h : what all operators share.
 *
 * An operator <op> is four functions over one argument struct:
 *
 *   mr_<op>(stream, &args, &err)                    enqueues it                        [enqueue]
 *   mr_<op>_prepare(stream, &args, &err)            loads and searches what enqueuing a call of
 *                                                   this shape needs; optional unless the operator
 *                                                   says otherwise                     [blocking]
 *   mr_<op>_workspace(stream, &args, &bytes, &err)  the scratch that the call will take from the
 *                                                   stream: a function of shapes and upper bounds
 *                                                   only, data pointers may be NULL    [host]
 *   mr_<op>_kernel(stream, &args, &info, &err)      which kernel would run and why better ones
 *                                                   would not; data pointers may be NULL (they then
 *                                                   count as aligned)                  [host]
 *
 * Rules for every operator:
 *  - Tensors are described by shape and strides in elements; any strides are legal unless stated.
 *    An output's elements must not overlap each other. A tensor whose dtype is MR_ABSENT is left
 *    out.
 *  - T stands for one of F32, F16, BF16, the same for every tensor marked T. Arithmetic is in
 *    float32 or wider (sums of products included), rounded to the tensor's dtype on store, to
 *    nearest even. float32 inputs never use TF32. A conversion to F16 may give an infinity (IEEE).
 *  - Fields named `reserved`, those of the tensors that are given included, must be 0.
 *  - Data pointers are aligned to their element, else MISALIGNED. Fast paths are chosen at launch.
 *  - Zero rows, or zero elements of output, succeed without a launch and write nothing.
 *  - Aliasing: an output may be the same tensor (address, shape, strides) as an input only where
 *    the operator says so; any other overlap of an output is undefined.
 *  - NaN travels through values; it is never chosen as an index. Ties go to the lowest index.
 *  - `row_status`, where there is one, is an optional int32 tensor [rows], overwritten by the
 *    launch with MR_ROW_ bits.
 *  - Errors of every operator: INVALID_ARGUMENT (a NULL that must not be, a shape, dtype, flag or
 *    scalar that is not as documented; the text names it), MISALIGNED, UNSUPPORTED (no kernel
 *    serves it there: the text gives the reason), WORKSPACE_TOO_SMALL, NOT_PREPARED, DEVICE_LOST,
 *    FORKED.
 *  - Thread rule: as for the stream, one caller at a time. Contents are read and written in stream
 *    order.
 */
#ifndef MILLRACE_OP_H
#define MILLRACE_OP_H

#include "stream.h"
#include "tensor.h"

MR_EXTERN_C_BEGIN

/* row_status bits */
#define MR_ROW_HAD_NAN         0x1 /* the row's input held a NaN */
#define MR_ROW_ALL_MASKED      0x2 /* nothing was left to choose from, or no key was visible */
#define MR_ROW_EXHAUSTED       0x4 /* an iteration limit was reached; the result is still legal */
#define MR_ROW_ID_OUT_OF_RANGE 0x8 /* an id, slot or page neither padding nor in range: skipped */

/* Activations, x in float32.
 *   RELU          max(x, 0), NaN stays NaN
 *   RELU_SQUARED  max(x, 0)^2
 *   SILU          x / (1 + exp(-x)); -inf gives -0
 *   GELU_TANH     x * sigmoid(2 * sqrt(2/pi) * (x + 0.044715 x^3)), the tanh form rewritten so that
 *                 the negative tail does not cancel; -inf gives -0
 *   GELU_ERF      x / 2 * erfc(-x / sqrt(2)); -inf gives -0 */
#define MR_ACTIVATION_NONE         0u
#define MR_ACTIVATION_RELU         1u
#define MR_ACTIVATION_RELU_SQUARED 2u
#define MR_ACTIVATION_SILU         3u
#define MR_ACTIVATION_GELU_TANH    4u
#define MR_ACTIVATION_GELU_ERF     5u

/* Which kernel a call would run. Filled by the library up to the caller's struct_size. */
typedef struct mr_kernel_info {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t workspace_bytes;
  int32_t threads_per_block;   /* 0 where it does not apply (host) */
  int32_t registers_per_thread;
  int32_t blocks_per_multiprocessor; /* resident at once, by the occupancy calculator */
  int32_t reserved;
  uint64_t shared_bytes_per_block;
  char limit[32];              /* what bounds occupancy: "registers", "shared memory", "threads",
                                  "blocks"; "" on the host */
  char name[64];
  char refused[384];           /* "better_kernel: reason; ..." for those passed over; "" if none */
} mr_kernel_info;

#define MR_KERNEL_INFO_INIT {sizeof(mr_kernel_info), 0u, 0, 0, 0, 0, 0, 0, {0}, {0}, {0}}

MR_EXTERN_C_END

#endif
