#include "kernels/cuda/cuda_table.h"

#include <memory>

#include "kernels/cuda/cuda_kernels.h"

namespace mr {

// An operator whose list stays empty is answered UNSUPPORTED by the dispatcher, which says why.
const KernelTable& cuda_kernels() {
  static const KernelTable table = {
      .embedding = cuda::embedding(),
      .rmsnorm = cuda::rmsnorm(),
      .add = {},
      .gated_activation = {},
      .rope = {},
      .qkv_post = {},
      .attention = {},
      .matmul = cuda::matmul(),
      .argmax = {},
      .sample = {},
  };
  return table;
}

std::span<const void* const> cuda_kernel_functions() {
  static const cuda::KernelFunctions* const functions = [] {
    auto made = std::make_unique<cuda::KernelFunctions>();
    cuda::add_embedding_functions(made.get());
    cuda::add_rmsnorm_functions(made.get());
    cuda::add_matmul_plain_functions(made.get());
    return made.release();
  }();
  return functions->all();
}

}  // namespace mr
