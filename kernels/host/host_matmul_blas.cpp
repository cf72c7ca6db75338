// Matmul on the host through a BLAS: one call for a batch entry, then the rest of the formula in
// place.
//
// The call is made from one thread: a BLAS spreads it over threads of its own, and two such
// libraries' threads at once would only get into each other's way.
#include <algorithm>

#include "backend/host/host_libraries.h"
#include "kernels/host/host_kernels.h"
#include "kernels/host/host_matmul.h"
#include "kernels/host/host_rows.h"

namespace mr::host {
namespace {

// A matrix whose rows or columns are contiguous and do not overlap; false if it is neither.
bool as_blas(const MatrixView& view, int64_t rows, int64_t columns, BlasMatrix* out) {
  const int64_t step = columns > 1 ? view.stride : 1;
  const int64_t row_step = rows > 1 ? view.row_stride : std::max(columns, int64_t{1});
  if (step == 1 && row_step >= columns && row_step <= INT32_MAX) {
    *out = {nullptr, row_step, false};
    return true;
  }
  const int64_t column_step = columns > 1 ? view.stride : rows;
  if ((rows == 1 || view.row_stride == 1) && column_step >= rows && column_step <= INT32_MAX) {
    *out = {nullptr, column_step, true};
    return true;
  }
  return false;
}

// bias, activation or an alpha of its own: what the BLAS cannot do.
bool needs_finish(const MatmulArgs& args) {
  return args.bias_dtype != MR_ABSENT || args.activation != MR_ACTIVATION_NONE ||
         args.alpha != 1.0f;
}

void run(HostWorkers& workers, const MatmulArgs& args, void*, size_t) {
  const HostBlas& blas = *static_cast<const HostLibraries*>(args.libraries)->blas();
  BlasMatrix x, w, d;
  as_blas(args.x, args.m, args.k, &x);
  as_blas(args.w, args.n, args.k, &w);
  as_blas(args.d, args.m, args.n, &d);
  w.transposed = !w.transposed;  // the BLAS wants it as [k, n]
  const bool in_place = args.add_c && args.c.data == args.d.data;
  for (int64_t b = 0; b < args.batch; ++b) {
    x.data = static_cast<const float*>(args.x.data) + b * args.x.batch_stride;
    w.data = static_cast<const float*>(args.w.data) + b * args.w.batch_stride;
    float* to = static_cast<float*>(args.d.data) + b * args.d.batch_stride;
    blas.multiply(args.m, args.n, args.k, 1.0f, x, w, in_place ? args.beta : 0.0f, to, d.leading);
    if (!needs_finish(args) && (!args.add_c || in_place)) continue;
    workers.parallel(args.m, grain(args.n), [&](int64_t begin, int64_t end) {
      for (int64_t m = begin; m < end; ++m) {
        matmul_finish(args, b, m, 0, args.n, to + m * d.leading);
      }
    });
  }
}

}  // namespace

const char* matmul_blas_reject(const DeviceInfo&, const MatmulArgs& args) {
  const auto* libraries = static_cast<const HostLibraries*>(args.libraries);
  if (libraries == nullptr || libraries->blas() == nullptr) return "no BLAS is loaded";
  if (args.batch_invariant) return "a BLAS may sum a row differently with other rows around it";
  if (args.k == 0) return "there is nothing to multiply";
  if (args.m < kBlasRows) return "too few rows to pay for a BLAS call";
  const double products =
      static_cast<double>(args.m) * static_cast<double>(args.n) * static_cast<double>(args.k);
  if (products < kBlasProducts) return "too little work to pay for a BLAS call";
  if (args.d_dtype != MR_F32) return "d is not F32";
  if (std::max({args.m, args.n, args.k}) > INT32_MAX)
    return "an extent is beyond a BLAS's integers";
  BlasMatrix matrix;
  if (!as_blas(args.x, args.m, args.k, &matrix)) return "x's strides are none that a BLAS takes";
  if (!as_blas(args.w, args.n, args.k, &matrix)) return "w's strides are none that a BLAS takes";
  if (!as_blas(args.d, args.m, args.n, &matrix) || matrix.transposed) {
    return "d's strides are none that a BLAS takes";
  }
  if (args.add_c && needs_finish(args))
    return "c may be d, which a BLAS overwrites before c is read";
  return nullptr;
}

Status matmul_blas_launch(const Launch& launch_, const MatmulArgs& args) {
  return launch<MatmulArgs, run>(launch_, args);
}

}  // namespace mr::host
