// Argmax on the host: the lowest index of the largest number of a row.
//
// One pass finds the largest value and the piece that first reaches it, in loops that vectorise;
// the place within that piece is looked up at the end.
#include <limits>

#include "kernels/host/host_kernels.h"
#include "kernels/host/host_rows.h"
#include "millrace/op.h"

namespace mr::host {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

struct PieceMax {
  float max;
  bool nan;
};

// The largest number of x[0, n), -inf if there is none. NaN compares false and drops out.
PieceMax piece_max(const float* x, int64_t n) {
  constexpr int kLanes = 16;
  float best[kLanes];
  uint32_t nan[kLanes];
  for (int l = 0; l < kLanes; ++l) best[l] = kMinusInfinity, nan[l] = 0;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      const float v = x[i + l];
      best[l] = v > best[l] ? v : best[l];
      nan[l] |= v != v ? 1u : 0u;
    }
  }
  for (int l = 0; i + l < n; ++l) {
    const float v = x[i + l];
    best[l] = v > best[l] ? v : best[l];
    nan[l] |= v != v ? 1u : 0u;
  }
  PieceMax result = {kMinusInfinity, false};
  for (int l = 0; l < kLanes; ++l) {
    result.max = std::max(result.max, best[l]);
    result.nan = result.nan || nan[l] != 0;
  }
  return result;
}

struct Result {
  int64_t index;
  int32_t status;
};

template <class T>
Result argmax_row(const T* row, int64_t stride, int64_t width) {
  float x[kPiece];
  float best = kMinusInfinity;
  int64_t best_at = 0;  // where the piece starts that first holds `best`
  int32_t status = 0;
  for_each_piece(0, width, [&](int64_t at, int64_t n) {
    load(row + at * stride, stride, n, x);
    const PieceMax piece = piece_max(x, n);
    if (piece.nan) status |= MR_ROW_HAD_NAN;
    if (piece.max > best) best = piece.max, best_at = at;
  });
  // The first element equal to the maximum: within that piece, or anywhere if the maximum is -inf,
  // which every piece seems to hold. A row of nothing but NaN has none.
  for (int64_t i = best_at; i < width; ++i) {
    if (to_float(row[i * stride]) == best) return {i, status};
  }
  return {0, status | MR_ROW_ALL_MASKED};
}

void run(HostWorkers& workers, const ArgmaxArgs& args, void*, size_t) {
  visit_float(args.dtype, [&]<class T>(type_tag<T>) {
    workers.parallel(args.rows, grain(args.width), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* row = static_cast<const T*>(args.input) + r * args.input_row_stride;
        const Result result = argmax_row(row, args.input_stride, args.width);
        if (args.output_dtype == MR_I32) {
          static_cast<int32_t*>(args.output)[r * args.output_stride] =
              static_cast<int32_t>(result.index);
        } else {
          static_cast<int64_t*>(args.output)[r * args.output_stride] = result.index;
        }
        if (args.row_status != nullptr) {
          args.row_status[r * args.row_status_stride] = result.status;
        }
      }
    });
  });
}

constexpr Kernel<ArgmaxArgs> kRows[] = {
    {.name = "host_argmax", .launch = launch<ArgmaxArgs, run>},
};

}  // namespace

KernelList<ArgmaxArgs> argmax() { return kRows; }

}  // namespace mr::host
