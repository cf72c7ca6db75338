#include "kernels/cuda/cuda_matmul_problem.h"

#include <algorithm>
#include <limits>

#include "kernels/cuda/common/launch.cuh"
#include "millrace/op.h"

namespace mr::cuda {
namespace {

// Where key_of() puts things.
constexpr size_t kAddC = 7;
constexpr size_t kFirstMatrix = 8;
constexpr size_t kAlignments = kFirstMatrix + 4 * 3;

// The largest power of two up to kAlignment that divides the address and every step from it.
int64_t alignment_of(const void* data, int64_t size, int64_t pitch, int64_t batch_stride) {
  int64_t bytes = kAlignment;
  while (bytes > size && (!is_aligned(data, bytes) || pitch % (bytes / size) != 0 ||
                          batch_stride % (bytes / size) != 0)) {
    bytes /= 2;
  }
  return bytes;
}

// A dimension of one element may have any stride: its own is not looked at.
Matrix matrix_of(const MatrixView& view, int64_t rows, int64_t columns, int64_t batch,
                 int64_t size) {
  Matrix out;
  const bool by_rows = columns <= 1 || view.stride == 1;
  const bool by_columns = rows <= 1 || view.row_stride == 1;
  out.by_rows = by_rows;
  if (!by_rows && !by_columns) return out;
  const int64_t lines = by_rows ? rows : columns;
  const int64_t contiguous = by_rows ? columns : rows;
  const int64_t stride = by_rows ? view.row_stride : view.stride;
  // With a single line the pitch only has to be legal, and aligned.
  const int64_t line = (contiguous + kAlignment - 1) / kAlignment * kAlignment;
  out.pitch = lines > 1 ? stride : std::max<int64_t>(line, kAlignment);
  out.batch_stride = batch > 1 ? view.batch_stride : 0;
  out.valid = out.pitch >= contiguous && out.batch_stride >= 0;
  out.alignment = alignment_of(view.data, size, out.pitch, out.batch_stride);
  return out;
}

}  // namespace

Problem problem_of(const MatmulArgs& args) {
  const int64_t size = dtype_bytes(args.dtype);
  const int64_t d_size = dtype_bytes(args.d_dtype);
  Problem out;
  out.x = matrix_of(args.x, args.m, args.k, args.batch, size);
  out.w = matrix_of(args.w, args.n, args.k, args.batch, size);
  out.d = matrix_of(args.d, args.m, args.n, args.batch, d_size);
  out.c = args.add_c ? matrix_of(args.c, args.m, args.n, args.batch, d_size) : out.d;
  return out;
}

MatmulKey key_of(const MatmulArgs& args, const Problem& problem) {
  MatmulKey key;
  size_t at = 0;
  const auto put = [&](int64_t word) { key.words[at++] = word; };
  for (const mr_dtype dtype : {args.dtype, args.d_dtype, args.bias_dtype}) put(dtype);
  for (const int64_t extent : {args.batch, args.m, args.n, args.k}) put(extent);
  put(args.add_c ? 1 : 0);
  for (const Matrix* matrix : {&problem.x, &problem.w, &problem.c, &problem.d}) {
    put(matrix->by_rows ? 1 : 0);
    put(matrix->pitch);
    put(matrix->batch_stride);
  }
  // Four alignments of at most 16 in one word.
  put(problem.x.alignment | problem.w.alignment << 8 | problem.c.alignment << 16 |
      problem.d.alignment << 24);
  return key;
}

Problem aligned(Problem problem) {
  for (Matrix* matrix : {&problem.x, &problem.w, &problem.c, &problem.d}) {
    matrix->alignment = kAlignment;
  }
  return problem;
}

bool fits(const PreparedMatmul& prepared, const MatmulArgs& args, const Problem& problem) {
  if (args.m < prepared.m_low || args.m > prepared.m_high) return false;
  MatmulArgs at_high = args;
  at_high.m = prepared.m_high;
  const MatmulKey key = key_of(at_high, problem);
  for (size_t i = 0; i < kFirstMatrix; ++i) {
    // A plan that may add c may also be run without.
    if (key.words[i] != prepared.key.words[i] && (i != kAddC || args.add_c)) return false;
  }
  for (size_t i = kFirstMatrix; i < kAlignments; i += 3) {
    if (key.words[i] != prepared.key.words[i]) return false;  // by rows or by columns
  }
  for (int shift = 0; shift < 32; shift += 8) {
    const int64_t now = key.words[kAlignments] >> shift & 0xff;
    const int64_t promised = prepared.key.words[kAlignments] >> shift & 0xff;
    if (now < promised) return false;
  }
  return true;
}

const char* reject_call(const MatmulArgs& args) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (args.batch_invariant) return "its choice of algorithm depends on m";
  if (args.activation != MR_ACTIVATION_NONE) return "its activations have other semantics";
  if (args.alpha == 0.0f || args.k == 0) return "x and w must not be read";
  if (args.m > kMost || args.n > kMost || args.k > kMost || args.batch > kMost) {
    return "an extent is above 2^31 - 1";
  }
  if (args.bias_dtype != MR_ABSENT) {
    if (args.bias_dtype != args.d_dtype) return "it wants a bias of d's dtype";
    if (args.n > 1 && args.bias_stride != 1) return "the bias is not contiguous";
    if (!is_aligned(args.bias, kAlignment)) return "the bias is not aligned to 16 bytes";
  }
  return nullptr;
}

const char* reject_problem(const MatmulArgs& args, const Problem& problem) {
  if (!problem.x.valid) return "x has no contiguous dimension, or overlapping rows";
  if (!problem.w.valid) return "w has no contiguous dimension, or overlapping rows";
  if (!problem.d.valid || !problem.d.by_rows) return "the rows of d are not contiguous";
  if (!problem.c.valid || !problem.c.by_rows) return "the rows of c are not contiguous";
  // Seen with cuBLASLt 13.1 on an H200: with an operand below 16 bytes of alignment (an odd k or n,
  // say) a bf16 product was rounded before the bf16 bias was added, and then again. The same in
  // f16, and aligned bf16, rounded once, as op.h promises.
  const int64_t least = std::min({problem.x.alignment, problem.w.alignment, problem.d.alignment});
  if (args.d_dtype == MR_BF16 && args.bias_dtype != MR_ABSENT && least < kAlignment) {
    return "it rounds a bf16 product before the bias where an operand is not aligned to 16 bytes";
  }
  return nullptr;
}

}  // namespace mr::cuda
