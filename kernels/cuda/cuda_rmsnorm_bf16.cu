#include "kernels/cuda/rmsnorm_kernels.cuh"

namespace mr::cuda {
const RmsNormKernels& rmsnorm_kernels_bf16() { return kRmsNormTable<__nv_bfloat16>; }
}  // namespace mr::cuda
