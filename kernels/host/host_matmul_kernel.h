// The inner part of the host's own matmul, compiled per processor level (see host_vector.h).
#pragma once

#include <cstdint>

#include "kernel_api/matmul_args.h"

namespace mr::host {

// A block of d of one batch entry: rows [m0, m1), columns [n0, n1).
struct MatmulBlock {
  int64_t batch;
  int64_t m0, m1;
  int64_t n0, n1;
};

inline constexpr int64_t kMatmulBlockRows = 32;
inline constexpr int64_t kMatmulBlockColumns = 64;

// sums[(m - m0) * kMatmulBlockColumns + n - n0] = sum over k of x[m, k] * w[n, k], in float32.
//
// The order of additions depends on k alone: chunks of 512, in each chunk one lane per k modulo the
// vector's length, lanes then halved, chunks added in order. So a row of d has the same bits for
// any m, block and number of threads.
using MatmulSums = void(const MatmulArgs& args, const MatmulBlock& block, float* sums);

namespace level1 {
MatmulSums matmul_sums;
}
namespace level3 {
MatmulSums matmul_sums;
}
namespace level4 {
MatmulSums matmul_sums;
}

}  // namespace mr::host
