/* millrace/tensor.h : the description of a tensor, and the way from and to DLPack. */
#ifndef MILLRACE_TENSOR_H
#define MILLRACE_TENSOR_H

#include "status.h"

MR_EXTERN_C_BEGIN

/* A data type in DLPack's numbering: code | bits << 8 | lanes << 16, which on a little-endian
 * machine are the very bytes of a DLDataType. 0 bits means "this optional tensor is absent". */
typedef uint32_t mr_dtype;

#define MR_DTYPE(code, bits, lanes) ((code) * 1u | (bits) * 0x100u | (lanes) * 0x10000u)

#define MR_ABSENT 0u
#define MR_I8     MR_DTYPE(0, 8, 1)
#define MR_I32    MR_DTYPE(0, 32, 1)
#define MR_I64    MR_DTYPE(0, 64, 1)
#define MR_U8     MR_DTYPE(1, 8, 1)
#define MR_U32    MR_DTYPE(1, 32, 1)
#define MR_U64    MR_DTYPE(1, 64, 1)
#define MR_F16    MR_DTYPE(2, 16, 1)
#define MR_F32    MR_DTYPE(2, 32, 1)
#define MR_F64    MR_DTYPE(2, 64, 1)
#define MR_BF16   MR_DTYPE(4, 16, 1)

#define MR_MAX_RANK 6

/* mr_tensor.flags: DLPack's bits. */
#define MR_TENSOR_READ_ONLY      0x1u /* refused as an output */
#define MR_TENSOR_IS_COPIED      0x2u /* informational */
#define MR_TENSOR_SUBBYTE_PADDED 0x4u /* elements below 8 bits take a byte each */

/* A view of device memory. Plain data: it owns nothing and may be copied freely. Frozen: 128 bytes.
 * Strides are in elements and always explicit; 0 broadcasts (inputs only), negative ones are legal.
 * `data` is the address of the element at index 0; its minimum alignment is the element's size.
 * Entries of shape and strides at and beyond `rank` are ignored. Where shape holds a zero the tensor
 * is empty and data may be NULL. */
typedef struct mr_tensor {
  void* data;
  mr_dtype dtype;
  int32_t rank;      /* 0 to MR_MAX_RANK; 0 is a scalar */
  uint64_t flags;    /* MR_TENSOR_...; unknown bits are refused */
  uint64_t reserved; /* 0 */
  int64_t shape[MR_MAX_RANK];
  int64_t strides[MR_MAX_RANK];
} mr_tensor;

/* An absent tensor. */
#define MR_TENSOR_INIT {NULL, MR_ABSENT, 0, 0, 0, {0}, {0}}

/* mr_tensor_pack() : fills *out with a row-major contiguous tensor.
 * Conditions: 0 <= rank <= MR_MAX_RANK, shape entries >= 0, their product times the element's size
 * below 2^63; `shape` may be NULL only at rank 0. Errors: INVALID_ARGUMENT. [host] */
MR_API mr_status mr_tensor_pack(void* data, mr_dtype dtype, int32_t rank, const int64_t* shape,
                                mr_tensor* out, mr_error* err) MR_NOEXCEPT;

/* ---- DLPack -----------------------------------------------------------------------------------
 * The pointers are void so that this header needs no DLPack header: `DLTensor*` and
 * `DLManagedTensorVersioned*` of DLPack 1.x, as its header declares them. DLPack carries no stream:
 * the caller says, by ordering its streams, when the data is ready. */

/* mr_tensor_from_dlpack() : describes *dl_tensor (a DLTensor) without owning it: byte_offset is
 * added to data, missing strides are made explicit. The result is valid while the producer keeps
 * the memory. `flags` becomes mr_tensor.flags.
 * *out_device_type and *out_device_id (each may be NULL) receive DLPack's device numbers: 1 is the
 * CPU, 2 CUDA, 3 CUDA pinned host memory.
 * Errors: INVALID_ARGUMENT (NULL, negative shape), UNSUPPORTED (rank above MR_MAX_RANK). [host] */
MR_API mr_status mr_tensor_from_dlpack(const void* dl_tensor, uint64_t flags, mr_tensor* out,
                                       int32_t* out_device_type, int32_t* out_device_id,
                                       mr_error* err) MR_NOEXCEPT;

/* mr_tensor_import_dlpack() : the owning form. Takes a DLManagedTensorVersioned; on success the
 * caller must pass it to mr_dlpack_release() once all work on it has finished. A major version
 * other than 1 is VERSION_MISMATCH: the deleter is then called, as DLPack asks, and nothing else
 * is touched. After any other failure the managed tensor is still the caller's. [host] */
MR_API mr_status mr_tensor_import_dlpack(void* dl_managed, mr_tensor* out, int32_t* out_device_type,
                                         int32_t* out_device_id, mr_error* err) MR_NOEXCEPT;

/* mr_dlpack_release() : calls the deleter of a DLManagedTensorVersioned. NULL is accepted. [host] */
MR_API void mr_dlpack_release(void* dl_managed) MR_NOEXCEPT;

/* mr_tensor_to_dlpack() : borrowed export. Fills a DLTensor and the two arrays that it points to,
 * all owned by the caller: `shape` and `strides` hold MR_MAX_RANK entries each. [host] */
MR_API mr_status mr_tensor_to_dlpack(const mr_tensor* tensor, int32_t device_type, int32_t device_id,
                                     void* out_dl_tensor, int64_t* shape, int64_t* strides,
                                     mr_error* err) MR_NOEXCEPT;

/* mr_tensor_export_dlpack() : owned export. *out_dl_managed becomes a DLManagedTensorVersioned
 * (version 1.0) that keeps one reference to `buffer` until its deleter runs; `tensor` must lie
 * within the buffer. The deleter may run on any thread.
 * Errors: INVALID_ARGUMENT, OUT_OF_HOST_MEMORY. [host] */
MR_API mr_status mr_tensor_export_dlpack(const mr_tensor* tensor, mr_buffer* buffer,
                                         void** out_dl_managed, mr_error* err) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
