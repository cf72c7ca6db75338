#include "kernels/cuda/cuda_matmul_descriptors.h"

#include "core/dtype.h"

namespace mr::cuda {
namespace {

cudaDataType cuda_type(mr_dtype dtype) {
  return dtype == MR_F16 ? CUDA_R_16F : dtype == MR_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

// One of our matrices, rows x columns: by rows, its columns are cuBLASLt's rows.
void describe(Calls& call, cublasLtMatrixLayoutOpaque_t* layout, mr_dtype dtype,
              const Matrix& matrix, int64_t rows, int64_t columns, int64_t batch) {
  const auto contiguous = static_cast<uint64_t>(matrix.by_rows ? columns : rows);
  const auto lines = static_cast<uint64_t>(matrix.by_rows ? rows : columns);
  call(call.library().layout_init(layout, sizeof *layout, cuda_type(dtype), contiguous, lines,
                                  matrix.pitch));
  if (batch == 1) return;
  call.set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(batch));
  call.set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.batch_stride);
}

}  // namespace

cublasStatus_t describe(const CublasLt& library, const MatmulArgs& args, const Problem& problem,
                        const void* bias, Descriptors* out) {
  Calls call(library);
  call(library.desc_init(&out->operation, sizeof out->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  // A is w, n x k: held by rows it is k x n to cuBLASLt, hence transposed. B is x^T, k x m: held by
  // rows of x it is just that.
  const int32_t transpose = CUBLAS_OP_T;
  const int32_t as_is = CUBLAS_OP_N;
  call.set(&out->operation, CUBLASLT_MATMUL_DESC_TRANSA, problem.w.by_rows ? transpose : as_is);
  call.set(&out->operation, CUBLASLT_MATMUL_DESC_TRANSB, problem.x.by_rows ? as_is : transpose);
  if (args.bias_dtype != MR_ABSENT) {
    call.set(&out->operation, CUBLASLT_MATMUL_DESC_EPILOGUE,
             static_cast<uint32_t>(CUBLASLT_EPILOGUE_BIAS));
    call.set(&out->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }
  describe(call, &out->a, args.dtype, problem.w, args.n, args.k, args.batch);
  describe(call, &out->b, args.dtype, problem.x, args.m, args.k, args.batch);
  describe(call, &out->c, args.d_dtype, problem.c, args.m, args.n, args.batch);
  describe(call, &out->d, args.d_dtype, problem.d, args.m, args.n, args.batch);
  return call.result();
}

cublasStatus_t enqueue(const CublasLt& library, cublasLtHandle_t handle, Descriptors& at,
                       const cublasLtMatmulAlgo_t& algorithm, const MatmulArgs& args, void* scratch,
                       size_t scratch_bytes, cudaStream_t stream) {
  const float beta = args.add_c ? args.beta : 0.0f;
  const void* c = args.add_c ? args.c.data : args.d.data;
  return library.matmul(handle, &at.operation, &args.alpha, args.w.data, &at.a, args.x.data, &at.b,
                        &beta, c, &at.c, args.d.data, &at.d, &algorithm, scratch, scratch_bytes,
                        stream);
}

}  // namespace mr::cuda
