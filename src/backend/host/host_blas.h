// A BLAS found at run time, for large float32 products on the host.
//
// Only its Fortran symbol sgemm_ is used: every BLAS has it. Its thread count is never touched: it
// belongs to the process.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"

namespace mr {

// A matrix as a BLAS takes it: rows with a leading dimension, or columns if transposed.
struct BlasMatrix {
  const float* data = nullptr;
  int64_t leading = 1;
  bool transposed = false;
};

class HostBlas {
 public:
  // The library that `wanted` names: "auto" looks for the well-known ones, a copy that the process
  // has already loaded first; anything else is a file. A library is loaded once and never unloaded.
  // *out is null if "auto" finds none; a file that cannot serve is DEPENDENCY_MISSING.
  static Status find(const std::string& wanted, const HostBlas** out);

  // What find() loaded last: "path (version)"; DEPENDENCY_MISSING with what was tried.
  static Status describe(std::string* out);

  // d[m, n] = alpha * x[m, k] * w[k, n] + beta * d, row by row; beta 0 does not read d. Every
  // extent and leading dimension is below 2^31.
  void multiply(int64_t m, int64_t n, int64_t k, float alpha, const BlasMatrix& x,
                const BlasMatrix& w, float beta, float* d, int64_t d_leading) const;

  // Integers are passed by address: as 64-bit ones whose upper half is zero they are right for
  // libraries of either width. The last two are the lengths that Fortran compilers append.
  using Sgemm = void(const char* trans_a, const char* trans_b, const int64_t* m, const int64_t* n,
                     const int64_t* k, const float* alpha, const float* a, const int64_t* lda,
                     const float* b, const int64_t* ldb, const float* beta, float* c,
                     const int64_t* ldc, size_t trans_a_length, size_t trans_b_length);

 private:
  HostBlas(Sgemm* sgemm, std::string description)
      : sgemm_(sgemm), description_(std::move(description)) {}
  static Status load(const char* file, int extra_flags, const HostBlas** out);

  Sgemm* sgemm_;
  std::string description_;
};

}  // namespace mr
