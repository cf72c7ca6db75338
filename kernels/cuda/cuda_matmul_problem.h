// A matmul call as cuBLASLt sees it: pure arithmetic on strides and alignments, no library call.
#pragma once

#include "backend/cuda/cuda_libraries.h"
#include "kernel_api/matmul_args.h"

namespace mr::cuda {

// Alignment is promised per operand, at most this much: every vector access is 16 bytes, and a
// promise of more would tie what was prepared to the addresses it was prepared with.
constexpr int64_t kAlignment = 16;

// One matrix: `contiguous` elements lie side by side, `lines` of them lie `pitch` apart.
struct Matrix {
  bool valid = false;   // cuBLASLt can describe it
  bool by_rows = true;  // our rows are contiguous; else our columns are
  int64_t pitch = 0;
  int64_t batch_stride = 0;
  int64_t alignment = kAlignment;  // of every line's start, in bytes
};

struct Problem {
  Matrix x;
  Matrix w;
  Matrix c;
  Matrix d;
};

Problem problem_of(const MatmulArgs& args);

// The same with every alignment at its best.
Problem aligned(Problem problem);

// All that the choice of an algorithm depends on.
MatmulKey key_of(const MatmulArgs& args, const Problem& problem);

// Whether what was found for one call, a plan's, fits another: the same problem but for m and for
// pitches, with alignments no worse than those that were promised.
bool fits(const PreparedMatmul& prepared, const MatmulArgs& args, const Problem& problem);

// nullptr, or why cuBLASLt does not serve the call with our semantics.
const char* reject_call(const MatmulArgs& args);
const char* reject_problem(const MatmulArgs& args, const Problem& problem);

}  // namespace mr::cuda
