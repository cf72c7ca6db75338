#include "kernels/cuda/rmsnorm_kernels.cuh"

namespace mr::cuda {
const RmsNormKernels& rmsnorm_kernels_f16() { return kRmsNormTable<__half>; }
}  // namespace mr::cuda
