// cuBLASLt's descriptors for a matmul call, on the stack: making them allocates nothing.
#pragma once

#include "kernels/cuda/cuda_matmul_problem.h"

namespace mr::cuda {

// Keeps the first failure of a run of calls.
class Calls {
 public:
  explicit Calls(const CublasLt& library) : library_(library) {}
  void operator()(cublasStatus_t result) {
    if (result_ == CUBLAS_STATUS_SUCCESS) result_ = result;
  }
  template <class Value>
  void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which, Value value) {
    (*this)(library_.layout_set(layout, which, &value, sizeof value));
  }
  template <class Value>
  void set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t which, Value value) {
    (*this)(library_.desc_set(desc, which, &value, sizeof value));
  }
  template <class Value>
  void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t which,
           Value value) {
    (*this)(library_.preference_set(preference, which, &value, sizeof value));
  }
  const CublasLt& library() const { return library_; }
  cublasStatus_t result() const { return result_; }

 private:
  const CublasLt& library_;
  cublasStatus_t result_ = CUBLAS_STATUS_SUCCESS;
};

struct Descriptors {
  cublasLtMatmulDescOpaque_t operation;
  cublasLtMatrixLayoutOpaque_t a;
  cublasLtMatrixLayoutOpaque_t b;
  cublasLtMatrixLayoutOpaque_t c;
  cublasLtMatrixLayoutOpaque_t d;
};

// `bias` stands apart from the arguments: its address is part of the description.
cublasStatus_t describe(const CublasLt& library, const MatmulArgs& args, const Problem& problem,
                        const void* bias, Descriptors* out);

// Enqueues the product that `at` describes on the operands of `args`.
cublasStatus_t enqueue(const CublasLt& library, cublasLtHandle_t handle, Descriptors& at,
                       const cublasLtMatmulAlgo_t& algorithm, const MatmulArgs& args, void* scratch,
                       size_t scratch_bytes, cudaStream_t stream);

}  // namespace mr::cuda
