// mr_qkv_post: the checks of rope.h, then the flat form.
#include <cmath>

#include "ops/check.h"
#include "ops/op_list.h"
#include "ops/rope_config.h"

namespace mr {
namespace {

// A part that is left out takes what belongs to it along; to give that anyway is a mistake.
Status refuse_strays(const mr_tensor& owner, const char* sentence,
                     std::initializer_list<std::pair<const mr_tensor*, const char*>> strays) {
  if (check::present(owner)) return {};
  for (const auto& [tensor, name] : strays) {
    if (check::present(*tensor)) return invalid(name, sentence);
  }
  return {};
}

// [tokens, heads, dim] with an inner stride of 1. Heads of no elements count as left out.
Status heads(const mr_tensor& tensor, const char* name, mr_dtype dtype, Purpose purpose,
             HeadView* out) {
  MR_TRY(check::tensor(tensor, name, purpose));
  MR_TRY(check::dtype(tensor, name, dtype));
  MR_TRY(check::rank(tensor, name, 3));
  MR_TRY(check::inner_stride_one(tensor, name));
  MR_TRY(check_head_dim(tensor.shape[2], name));
  *out = {tensor.data, tensor.shape[1] > 0 && tensor.shape[2] > 0, tensor.strides[0],
          tensor.strides[1]};
  return {};
}

// [heads, dim] like the heads it is added to.
Status bias(const mr_tensor& tensor, const char* name, const mr_tensor& like, Purpose purpose,
            HeadBias* out) {
  if (!check::present(tensor)) return {};
  MR_TRY(check::tensor(tensor, name, purpose));
  MR_TRY(check::dtype(tensor, name, like.dtype));
  MR_TRY(check::rank(tensor, name, 2));
  MR_TRY(check::extent(tensor, name, 0, like.shape[1]));
  MR_TRY(check::extent(tensor, name, 1, like.shape[2]));
  *out = {tensor.data, true, tensor.strides[0], tensor.strides[1]};
  return {};
}

Status norm(const mr_tensor& tensor, const char* name, const mr_tensor& like, Purpose purpose,
            mr_dtype* dtype, const void** data, int64_t* stride) {
  if (!check::present(tensor)) return {};
  MR_TRY(check::dtype(tensor, name, {like.dtype, MR_F32}));
  MR_TRY(check::vector(tensor, name, tensor.dtype, like.shape[2], purpose, data, stride));
  *dtype = tensor.dtype;
  return {};
}

// [pages, page_size, heads, dim], written at slots.
Status cache(const mr_tensor& tensor, const char* name, const mr_tensor& like, Purpose purpose,
             PagedView* out) {
  MR_TRY(check::output(tensor, name, purpose));
  MR_TRY(check::dtype(tensor, name, like.dtype));
  MR_TRY(check::rank(tensor, name, 4));
  MR_TRY(check::extent(tensor, name, 2, like.shape[1]));
  MR_TRY(check::extent(tensor, name, 3, like.shape[2]));
  MR_TRY(check::inner_stride_one(tensor, name));
  *out = {tensor.data, true, tensor.strides[0], tensor.strides[1], tensor.strides[2]};
  return {};
}

Status flatten_q(const mr_qkv_post_args& args, Purpose purpose, QkvPostArgs* out) {
  MR_TRY(refuse_strays(args.q, "is given without a q",
                       {{&args.q_bias, "args.q_bias"},
                        {&args.q_norm, "args.q_norm"},
                        {&args.q_output, "args.q_output"}}));
  if (!check::present(args.q)) return {};
  MR_TRY(heads(args.q, "args.q", args.q.dtype, purpose, &out->q));
  MR_TRY(check::output(args.q_output, "args.q_output", purpose));
  MR_TRY(heads(args.q_output, "args.q_output", args.q.dtype, purpose, &out->q_output));
  MR_TRY(check::same_shape(args.q_output, "args.q_output", args.q));
  MR_TRY(bias(args.q_bias, "args.q_bias", args.q, purpose, &out->q_bias));
  MR_TRY(norm(args.q_norm, "args.q_norm", args.q, purpose, &out->q_norm_dtype, &out->q_norm,
              &out->q_norm_stride));
  out->tokens = args.q.shape[0];
  out->q_heads = args.q.shape[1];
  return {};
}

Status flatten_kv(const mr_qkv_post_args& args, Purpose purpose, QkvPostArgs* out) {
  MR_TRY(refuse_strays(args.k, "is given without a k",
                       {{&args.v, "args.v"},
                        {&args.k_bias, "args.k_bias"},
                        {&args.v_bias, "args.v_bias"},
                        {&args.k_norm, "args.k_norm"},
                        {&args.slot, "args.slot"},
                        {&args.k_cache, "args.k_cache"},
                        {&args.v_cache, "args.v_cache"}}));
  if (!check::present(args.k)) return {};
  const mr_dtype dtype = check::present(args.q) ? args.q.dtype : args.k.dtype;
  MR_TRY(heads(args.k, "args.k", dtype, purpose, &out->k));
  MR_TRY(heads(args.v, "args.v", dtype, purpose, &out->v));
  if (check::present(args.q)) {
    MR_TRY(check::extent(args.k, "args.k", 0, args.q.shape[0]));
    MR_TRY(check::extent(args.k, "args.k", 2, args.q.shape[2]));
  }
  MR_TRY(check::extent(args.v, "args.v", 0, args.k.shape[0]));
  MR_TRY(check::extent(args.v, "args.v", 1, args.k.shape[1]));
  MR_TRY(bias(args.k_bias, "args.k_bias", args.k, purpose, &out->k_bias));
  MR_TRY(bias(args.v_bias, "args.v_bias", args.v, purpose, &out->v_bias));
  MR_TRY(norm(args.k_norm, "args.k_norm", args.k, purpose, &out->k_norm_dtype, &out->k_norm,
              &out->k_norm_stride));
  MR_TRY(cache(args.k_cache, "args.k_cache", args.k, purpose, &out->k_cache));
  MR_TRY(cache(args.v_cache, "args.v_cache", args.v, purpose, &out->v_cache));
  MR_TRY(check::extent(args.v_cache, "args.v_cache", 0, args.k_cache.shape[0]));
  MR_TRY(check::extent(args.v_cache, "args.v_cache", 1, args.k_cache.shape[1]));
  const void* slot = nullptr;
  MR_TRY(check::vector(args.slot, "args.slot", MR_I64, args.k.shape[0], purpose, &slot,
                       &out->slot_stride));
  out->slot = static_cast<const int64_t*>(slot);
  out->tokens = args.k.shape[0];
  out->kv_heads = args.k.shape[1];
  out->v_dim = static_cast<int32_t>(args.v.shape[2]);
  out->pages = args.k_cache.shape[0];
  out->page_size = args.k_cache.shape[1];
  return {};
}

Status flatten(const mr_qkv_post_args& args, Purpose purpose, QkvPostArgs* out) {
  const bool has_q = check::present(args.q);
  if (!has_q && !check::present(args.k)) return invalid("args.q", "is absent, and so is args.k");
  const mr_tensor& like = has_q ? args.q : args.k;
  MR_TRY(check::float_dtype(like, has_q ? "args.q" : "args.k"));
  out->dtype = like.dtype;
  MR_TRY(flatten_q(args, purpose, out));
  MR_TRY(flatten_kv(args, purpose, out));
  out->dim = static_cast<int32_t>(like.shape[2]);

  out->rotate = (args.flags & MR_QKV_POST_ROPE) != 0;
  if (out->rotate) {
    MR_TRY(check::tensor(args.positions, "args.positions", purpose));
    MR_TRY(check::dtype(args.positions, "args.positions", {MR_I32, MR_I64}));
    MR_TRY(check::vector(args.positions, "args.positions", args.positions.dtype, out->tokens,
                         purpose, &out->positions, &out->positions_stride));
    out->positions_dtype = args.positions.dtype;
    MR_TRY(rope_params(args.rope, out->dim, &out->rope));
  }
  out->weight_plus_one = (args.flags & MR_QKV_POST_WEIGHT_PLUS_ONE) != 0;
  if (!std::isfinite(args.epsilon) || args.epsilon < 0.0f) {
    return invalid("args.epsilon", "is negative or not finite");
  }
  out->epsilon = args.epsilon;
  if (args.reserved != 0) return invalid("args.reserved", "is not 0", args.reserved, 0);
  return check::row_status(args.row_status, "args.row_status", out->tokens, purpose,
                           &out->row_status, &out->row_status_stride);
}

// A token without elements still has a status.
bool empty(const QkvPostArgs& args) {
  return args.tokens == 0 ||
         (!args.q.present && !args.k.present && !args.v.present && args.row_status == nullptr);
}

}  // namespace

constinit const Op<mr_qkv_post_args, QkvPostArgs> kQkvPost = {
    .name = "qkv_post",
    .known_flags = MR_QKV_POST_ROPE | MR_QKV_POST_WEIGHT_PLUS_ONE,
    .flatten = flatten,
    .empty = empty,
    .rows = &KernelTable::qkv_post,
};

}  // namespace mr
