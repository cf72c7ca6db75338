#include "kernels/cuda/rmsnorm_kernels.cuh"

namespace mr::cuda {
const RmsNormKernels& rmsnorm_kernels_f32() { return kRmsNormTable<float>; }
}  // namespace mr::cuda
