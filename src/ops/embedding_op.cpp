// mr_embedding: the checks of embedding.h, then the flat form.
#include "ops/check.h"
#include "ops/op_list.h"

namespace mr {
namespace {

Status flatten(const mr_embedding_args& args, Purpose purpose, EmbeddingArgs* out) {
  MR_TRY(check::tensor(args.ids, "args.ids", purpose));
  MR_TRY(check::dtype(args.ids, "args.ids", {MR_I32, MR_I64}));
  MR_TRY(check::rank(args.ids, "args.ids", 1));
  MR_TRY(check::tensor(args.table, "args.table", purpose));
  MR_TRY(check::float_dtype(args.table, "args.table"));
  MR_TRY(check::rank(args.table, "args.table", 2));
  MR_TRY(check::output(args.output, "args.output", purpose));
  MR_TRY(check::dtype(args.output, "args.output", args.table.dtype));
  MR_TRY(check::rank(args.output, "args.output", 2));
  MR_TRY(check::extent(args.output, "args.output", 0, args.ids.shape[0]));
  MR_TRY(check::extent(args.output, "args.output", 1, args.table.shape[1]));
  if (args.reserved != 0) return invalid("args.reserved", "is not 0", args.reserved, 0);

  out->dtype = args.table.dtype;
  out->ids_dtype = args.ids.dtype;
  out->rows = args.ids.shape[0];
  out->vocab = args.table.shape[0];
  out->width = args.table.shape[1];
  out->ids = args.ids.data;
  out->ids_stride = args.ids.strides[0];
  out->table = args.table.data;
  out->table_row_stride = args.table.strides[0];
  out->table_stride = args.table.strides[1];
  out->output = args.output.data;
  out->output_row_stride = args.output.strides[0];
  out->output_stride = args.output.strides[1];
  out->scaled = (args.flags & MR_EMBEDDING_SCALE) != 0;
  out->scale = out->scaled ? args.scale : 1.0f;
  return check::row_status(args.row_status, "args.row_status", out->rows, purpose, &out->row_status,
                           &out->row_status_stride);
}

// A row of no width still has a status.
bool empty(const EmbeddingArgs& args) {
  return args.rows == 0 || (args.width == 0 && args.row_status == nullptr);
}

}  // namespace

constinit const Op<mr_embedding_args, EmbeddingArgs> kEmbedding = {
    .name = "embedding",
    .known_flags = MR_EMBEDDING_SCALE,
    .flatten = flatten,
    .empty = empty,
    .rows = &KernelTable::embedding,
};

}  // namespace mr
