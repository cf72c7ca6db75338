// Addition on the host: a + b in float32, rounded once. Bound by memory.
#include "kernels/host/host_kernels.h"
#include "kernels/host/host_rows.h"

namespace mr::host {
namespace {

// The three addresses of one element, in elements from each base.
struct Place {
  int64_t a = 0;
  int64_t b = 0;
  int64_t output = 0;
};

// Where the row of the innermost dimension with this number starts.
Place row_start(const AddArgs& args, int64_t row) {
  Place at;
  for (int32_t d = args.rank - 2; d >= 0; --d) {
    const int64_t i = row % args.shape[d];
    row /= args.shape[d];
    at.a += i * args.a_strides[d];
    at.b += i * args.b_strides[d];
    at.output += i * args.output_strides[d];
  }
  return at;
}

// Elements [begin, end) of one row.
template <class T>
void add_row(const AddArgs& args, int64_t row, int64_t begin, int64_t end) {
  const int32_t inner = args.rank - 1;
  const int64_t sa = args.a_strides[inner], sb = args.b_strides[inner],
                so = args.output_strides[inner];
  const Place start = row_start(args, row);
  for_each_piece(begin, end, [&](int64_t at, int64_t n) {
    float x[kPiece], y[kPiece];
    load(static_cast<const T*>(args.a) + start.a + at * sa, sa, n, x);
    load(static_cast<const T*>(args.b) + start.b + at * sb, sb, n, y);
    add_piece(x, y, n);
    store(x, n, static_cast<T*>(args.output) + start.output + at * so, so);
  });
}

// Split by elements, not by rows, so that one long row and many short ones spread alike.
void run(HostWorkers& workers, const AddArgs& args, void*, size_t) {
  const int64_t width = args.shape[args.rank - 1];
  visit_float(args.dtype, [&]<class T>(type_tag<T>) {
    workers.parallel(args.count, grain(1), [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t row = begin / width, from = begin % width;
        const int64_t n = std::min(width - from, end - begin);
        add_row<T>(args, row, from, from + n);
        begin += n;
      }
    });
  });
}

constexpr Kernel<AddArgs> kRows[] = {
    {.name = "host_add", .launch = launch<AddArgs, run>},
};

}  // namespace

KernelList<AddArgs> add() { return kRows; }

}  // namespace mr::host
