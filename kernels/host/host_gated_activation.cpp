// Gated activation on the host: activation(gate) * up, rounded once. Bound by the activation's exp.
#include "kernels/host/host_activation.h"
#include "kernels/host/host_kernels.h"
#include "kernels/host/host_rows.h"

namespace mr::host {
namespace {

// Elements [begin, end) of one row.
template <class T>
void gate_row(const GatedActivationArgs& args, int64_t row, int64_t begin, int64_t end) {
  const T* gate = row_data<T>(args.space, args.gate, row);
  const T* up = row_data<T>(args.space, args.up, row);
  T* output = row_data<T>(args.space, args.output, row);
  for_each_piece(begin, end, [&](int64_t at, int64_t n) {
    float x[kPiece], y[kPiece];
    load(gate + at * args.gate.stride, args.gate.stride, n, x);
    load(up + at * args.up.stride, args.up.stride, n, y);
    activate(args.activation, x, n);
    for (int64_t i = 0; i < n; ++i) x[i] *= y[i];
    store(x, n, output + at * args.output.stride, args.output.stride);
  });
}

// Split by elements: one row of a wide layer is worth spreading.
void run(HostWorkers& workers, const GatedActivationArgs& args, void*, size_t) {
  constexpr int64_t kNanoseconds = 8;  // per element, mostly the exp
  const int64_t width = args.space.width;
  visit_float(args.dtype, [&]<class T>(type_tag<T>) {
    workers.parallel(args.space.rows() * width, grain(kNanoseconds),
                     [&](int64_t begin, int64_t end) {
                       while (begin < end) {
                         const int64_t row = begin / width, from = begin % width;
                         const int64_t n = std::min(width - from, end - begin);
                         gate_row<T>(args, row, from, from + n);
                         begin += n;
                       }
                     });
  });
}

constexpr Kernel<GatedActivationArgs> kRows[] = {
    {.name = "host_gated_activation", .launch = launch<GatedActivationArgs, run>},
};

}  // namespace

KernelList<GatedActivationArgs> gated_activation() { return kRows; }

}  // namespace mr::host
