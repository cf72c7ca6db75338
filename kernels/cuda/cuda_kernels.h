// The CUDA kernels: one list of rows per operator, each defined in cuda_<op>.cu or, for what a
// library does, in cuda_<op>_<library>.cpp; and the __global__ functions behind them, so that they
// can all be loaded before the first is used.
#pragma once

#include <vector>

#include "kernel_api/kernel_table.h"

namespace mr::cuda {

class KernelFunctions {
 public:
  template <class... Parameters>
  void add(void (*kernel)(Parameters...)) {
    functions_.push_back(reinterpret_cast<const void*>(kernel));
  }
  const std::vector<const void*>& all() const { return functions_; }

 private:
  std::vector<const void*> functions_;
};

KernelList<EmbeddingArgs> embedding();
KernelList<RmsNormArgs> rmsnorm();
KernelList<MatmulArgs> matmul();

void add_embedding_functions(KernelFunctions* out);
void add_rmsnorm_functions(KernelFunctions* out);
void add_matmul_plain_functions(KernelFunctions* out);

// Rows that other files of an operator join into its list.
Kernel<MatmulArgs> matmul_plain_row();
Kernel<MatmulArgs> matmul_cublaslt_row();

}  // namespace mr::cuda
