// What the host's matmul rows share.
#pragma once

#include "kernel_api/kernel.h"
#include "kernel_api/matmul_args.h"

namespace mr::host {

// d[m, n to n + count) from their sums of products: alpha, bias, activation, beta * c, one
// rounding.
void matmul_finish(const MatmulArgs& args, int64_t batch, int64_t m, int64_t n, int64_t count,
                   const float* sums);

// The row that calls a BLAS.
// Below these the library's own kernels are as quick, and leave no other library's threads
// spinning.
inline constexpr int64_t kBlasRows = 32;
inline constexpr double kBlasProducts = 4e6;  // m * n * k
const char* matmul_blas_reject(const DeviceInfo& device, const MatmulArgs& args);
Status matmul_blas_launch(const Launch& launch, const MatmulArgs& args);

}  // namespace mr::host
