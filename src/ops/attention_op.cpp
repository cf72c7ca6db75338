// mr_attention: the checks of attention.h, then the flat form.
#include <algorithm>

#include "ops/check.h"
#include "ops/op_list.h"

namespace mr {
namespace {

constexpr int64_t kMaxDim = 256;

Status check_dim(int64_t dim, const char* name) {
  if (dim < 1) return invalid(name, "has a head dimension below 1", dim, 1);
  if (dim > kMaxDim) return invalid(name, "has a head dimension that is too large", dim, kMaxDim);
  return {};
}

// q and output: [total_q, q_heads, dim].
Status check_queries(const mr_attention_args& args, Purpose purpose, AttentionArgs* out) {
  MR_TRY(check::tensor(args.q, "args.q", purpose));
  MR_TRY(check::float_dtype(args.q, "args.q"));
  MR_TRY(check::rank(args.q, "args.q", 3));
  MR_TRY(check::inner_stride_one(args.q, "args.q"));
  MR_TRY(check_dim(args.q.shape[2], "args.q"));
  out->dtype = args.q.dtype;
  out->total_q = args.q.shape[0];
  out->q_heads = args.q.shape[1];
  out->dim = static_cast<int32_t>(args.q.shape[2]);
  out->q = {args.q.data, true, args.q.strides[0], args.q.strides[1]};
  return {};
}

Status check_output(const mr_attention_args& args, Purpose purpose, AttentionArgs* out) {
  MR_TRY(check::output(args.output, "args.output", purpose));
  MR_TRY(check::dtype(args.output, "args.output", out->dtype));
  MR_TRY(check::rank(args.output, "args.output", 3));
  MR_TRY(check::inner_stride_one(args.output, "args.output"));
  MR_TRY(check::extent(args.output, "args.output", 0, out->total_q));
  MR_TRY(check::extent(args.output, "args.output", 1, out->q_heads));
  MR_TRY(check::extent(args.output, "args.output", 2, out->v_dim));
  out->output = {args.output.data, true, args.output.strides[0], args.output.strides[1]};
  return {};
}

PagedView cache_view(const mr_tensor& tensor) {
  const int32_t token = tensor.rank - 3;
  return {tensor.data, true, token > 0 ? tensor.strides[0] : 0, tensor.strides[token],
          tensor.strides[token + 1]};
}

// k and v: [pages, page_size, kv_heads, dim] or [total_kv, kv_heads, dim].
Status check_cache(const mr_attention_args& args, Purpose purpose, AttentionArgs* out) {
  const mr_tensor& k = args.k;
  const mr_tensor& v = args.v;
  MR_TRY(check::tensor(k, "args.k", purpose));
  MR_TRY(check::dtype(k, "args.k", out->dtype));
  MR_TRY(check::rank(k, "args.k", 3, 4));
  MR_TRY(check::inner_stride_one(k, "args.k"));
  MR_TRY(check::extent(k, "args.k", k.rank - 1, out->dim));
  MR_TRY(check::tensor(v, "args.v", purpose));
  MR_TRY(check::dtype(v, "args.v", out->dtype));
  MR_TRY(check::rank(v, "args.v", k.rank));
  MR_TRY(check::inner_stride_one(v, "args.v"));
  for (int32_t d = 0; d < k.rank - 1; ++d) MR_TRY(check::extent(v, "args.v", d, k.shape[d]));
  MR_TRY(check_dim(v.shape[v.rank - 1], "args.v"));
  out->paged = k.rank == 4;
  out->kv_heads = k.shape[k.rank - 2];
  out->v_dim = static_cast<int32_t>(v.shape[v.rank - 1]);
  if (out->kv_heads < 1) return invalid("args.k", "has no heads", out->kv_heads, 1);
  if (out->q_heads % out->kv_heads != 0) {
    return invalid("args.q", "has heads that are no multiple of k's", out->q_heads, out->kv_heads);
  }
  out->k = cache_view(k);
  out->v = cache_view(v);
  return {};
}

Status check_ragged(const mr_attention_args& args, Purpose purpose, AttentionArgs* out) {
  if (check::present(args.kv_len)) {
    return invalid("args.kv_len", "is present, but k is contiguous: it has cu_kv instead");
  }
  if (check::present(args.block_table)) {
    return invalid("args.block_table", "is present, but k is contiguous: it has no pages");
  }
  const void* cu_kv = nullptr;
  MR_TRY(check::vector(args.cu_kv, "args.cu_kv", MR_I32, out->batch + 1, purpose, &cu_kv,
                       &out->cu_kv_stride));
  out->cu_kv = static_cast<const int32_t*>(cu_kv);
  out->total_kv = args.k.shape[0];
  out->max_kv = args.max_kv > 0 ? args.max_kv : out->total_kv;
  return {};
}

Status check_paged(const mr_attention_args& args, Purpose purpose, AttentionArgs* out) {
  if (check::present(args.cu_kv)) {
    return invalid("args.cu_kv", "is present, but k is paged: it has kv_len instead");
  }
  const void* kv_len = nullptr;
  MR_TRY(check::vector(args.kv_len, "args.kv_len", MR_I32, out->batch, purpose, &kv_len,
                       &out->kv_len_stride));
  const mr_tensor& table = args.block_table;
  MR_TRY(check::tensor(table, "args.block_table", purpose));
  MR_TRY(check::dtype(table, "args.block_table", MR_I32));
  MR_TRY(check::rank(table, "args.block_table", 2));
  MR_TRY(check::extent(table, "args.block_table", 0, out->batch));
  out->kv_len = static_cast<const int32_t*>(kv_len);
  out->block_table = static_cast<const int32_t*>(table.data);
  out->block_table_row_stride = table.strides[0];
  out->block_table_stride = table.strides[1];
  out->pages = args.k.shape[0];
  out->page_size = args.k.shape[1];
  out->max_pages = table.shape[1];
  if (out->page_size < 1) return invalid("args.k", "has pages without tokens", out->page_size, 1);
  // kv_len is 32 bits wide, so a larger product bounds nothing.
  const int64_t most =
      out->max_pages > INT32_MAX / out->page_size ? INT32_MAX : out->max_pages * out->page_size;
  out->max_kv = args.max_kv > 0 ? args.max_kv : most;
  return {};
}

Status check_lse(const mr_attention_args& args, Purpose purpose, AttentionArgs* out) {
  if (!check::present(args.lse)) return {};
  MR_TRY(check::output(args.lse, "args.lse", purpose));
  MR_TRY(check::dtype(args.lse, "args.lse", MR_F32));
  MR_TRY(check::rank(args.lse, "args.lse", 2));
  MR_TRY(check::extent(args.lse, "args.lse", 0, out->total_q));
  MR_TRY(check::extent(args.lse, "args.lse", 1, out->q_heads));
  out->lse = static_cast<float*>(args.lse.data);
  out->lse_row_stride = args.lse.strides[0];
  out->lse_stride = args.lse.strides[1];
  return {};
}

Status check_scalars(const mr_attention_args& args, AttentionArgs* out) {
  if (args.reserved != 0) return invalid("args.reserved", "is not 0", args.reserved, 0);
  if (args.max_q < 0) return invalid("args.max_q", "is negative", args.max_q, 0);
  if (args.max_kv < 0) return invalid("args.max_kv", "is negative", args.max_kv, 0);
  out->scale = args.scale;
  out->causal = (args.flags & MR_ATTENTION_CAUSAL) != 0;
  if ((args.flags & MR_ATTENTION_WINDOW) == 0) return {};
  if (args.window_left < -1)
    return invalid("args.window_left", "is below -1", args.window_left, -1);
  if (args.window_right < -1) {
    return invalid("args.window_right", "is below -1", args.window_right, -1);
  }
  out->window_left = args.window_left;
  out->window_right = args.window_right;
  return {};
}

Status flatten(const mr_attention_args& args, Purpose purpose, AttentionArgs* out) {
  MR_TRY(check_scalars(args, out));
  MR_TRY(check_queries(args, purpose, out));
  MR_TRY(check_cache(args, purpose, out));
  MR_TRY(check_output(args, purpose, out));
  MR_TRY(check::tensor(args.cu_q, "args.cu_q", purpose));
  MR_TRY(check::dtype(args.cu_q, "args.cu_q", MR_I32));
  MR_TRY(check::rank(args.cu_q, "args.cu_q", 1));
  if (args.cu_q.shape[0] < 1) return invalid("args.cu_q", "has no entries", 0, 1);
  out->batch = args.cu_q.shape[0] - 1;
  out->cu_q = static_cast<const int32_t*>(args.cu_q.data);
  out->cu_q_stride = args.cu_q.strides[0];
  MR_TRY(out->paged ? check_paged(args, purpose, out) : check_ragged(args, purpose, out));
  out->max_q = args.max_q > 0 ? args.max_q : out->total_q;
  MR_TRY(check_lse(args, purpose, out));
  return check::row_status(args.row_status, "args.row_status", out->total_q, purpose,
                           &out->row_status, &out->row_status_stride);
}

bool empty(const AttentionArgs& args) {
  return args.total_q == 0 || args.batch == 0 || args.q_heads == 0;
}

}  // namespace

constinit const Op<mr_attention_args, AttentionArgs> kAttention = {
    .name = "attention",
    .known_flags = MR_ATTENTION_CAUSAL | MR_ATTENTION_WINDOW,
    .flatten = flatten,
    .empty = empty,
    .rows = &KernelTable::attention,
};

}  // namespace mr
