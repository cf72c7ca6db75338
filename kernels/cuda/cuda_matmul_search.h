// Finding cuBLASLt's algorithm for a product, once.
#pragma once

#include "kernels/cuda/cuda_matmul_problem.h"

namespace mr::cuda {

// Asks the library for algorithms that need at most `bytes` of scratch, and keeps the first that is
// accepted under `key`; where there is none, the key is refused, which is no failure. Blocking:
// loads kernels, allocates and frees scratch. The device's context must be current.
Status search_matmul(CudaLibraries& libraries, const MatmulArgs& asked, const Problem& problem,
                     const MatmulKey& key, size_t bytes);

}  // namespace mr::cuda
