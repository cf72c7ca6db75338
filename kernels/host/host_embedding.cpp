// Embedding on the host: rows copied by id. Bound by memory: one read of each row, one write.
#include "kernels/host/host_kernels.h"
#include "kernels/host/host_rows.h"
#include "millrace/op.h"

namespace mr::host {
namespace {

int64_t id_at(const EmbeddingArgs& args, int64_t row) {
  const int64_t at = row * args.ids_stride;
  return args.ids_dtype == MR_I32 ? static_cast<const int32_t*>(args.ids)[at]
                                  : static_cast<const int64_t*>(args.ids)[at];
}

template <class T>
void zero_row(const EmbeddingArgs& args, T* to) {
  for (int64_t i = 0; i < args.width; ++i) to[i * args.output_stride] = T{};
}

template <class T>
void copy_row(const EmbeddingArgs& args, const T* from, T* to) {
  if (args.scaled) {
    for_each_piece(0, args.width, [&](int64_t at, int64_t n) {
      float x[kPiece];
      load(from + at * args.table_stride, args.table_stride, n, x);
      for (int64_t i = 0; i < n; ++i) x[i] *= args.scale;
      store(x, n, to + at * args.output_stride, args.output_stride);
    });
  } else if (args.table_stride == 1 && args.output_stride == 1) {
    std::memmove(to, from, static_cast<size_t>(args.width) * sizeof(T));
  } else {
    for (int64_t i = 0; i < args.width; ++i) {
      to[i * args.output_stride] = from[i * args.table_stride];
    }
  }
}

template <class T>
void embed_row(const EmbeddingArgs& args, int64_t row) {
  const int64_t id = id_at(args, row);
  const bool valid = id >= 0 && id < args.vocab;
  if (args.width > 0) {
    T* to = static_cast<T*>(args.output) + row * args.output_row_stride;
    if (valid) {
      copy_row(args, static_cast<const T*>(args.table) + id * args.table_row_stride, to);
    } else {
      zero_row(args, to);
    }
  }
  if (args.row_status != nullptr) {
    args.row_status[row * args.row_status_stride] = valid || id == -1 ? 0 : MR_ROW_ID_OUT_OF_RANGE;
  }
}

void run(HostWorkers& workers, const EmbeddingArgs& args, void*, size_t) {
  visit_float(args.dtype, [&]<class T>(type_tag<T>) {
    workers.parallel(args.rows, grain(args.width / 2 + 4), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) embed_row<T>(args, row);
    });
  });
}

constexpr Kernel<EmbeddingArgs> kRows[] = {
    {.name = "host_embedding", .launch = launch<EmbeddingArgs, run>},
};

}  // namespace

KernelList<EmbeddingArgs> embedding() { return kRows; }

}  // namespace mr::host
