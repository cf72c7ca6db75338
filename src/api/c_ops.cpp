// The operators: each exported function converts its arguments and hands them to the operator's
// entry.
#include "api/guard.h"
#include "millrace/millrace.h"
#include "ops/op_list.h"

namespace {

using mr::Op;
using mr::Status;
using mr::api::guard;

// Checks the stream, reads the arguments, and goes on with `next(stream, args)`.
template <class Public, class Next>
mr_status call(mr_stream* stream, const Public* args, mr_error* err, Next&& next) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(mr::api::check_handle(stream, mr::ObjectKind::kStream, "stream"));
    Public own;
    MR_TRY(mr::api::read_struct(args, "args", &own));
    return next(*stream, own);
  });
}

template <class Public, class Flat>
mr_status run(const Op<Public, Flat>& op, mr_stream* stream, const Public* args,
              mr_error* err) noexcept {
  return call(stream, args, err,
              [&](mr_stream& s, const Public& own) { return mr::run(op, s, own); });
}

template <class Public, class Flat>
mr_status prepare(const Op<Public, Flat>& op, mr_stream* stream, const Public* args,
                  mr_error* err) noexcept {
  return call(stream, args, err,
              [&](mr_stream& s, const Public& own) { return mr::prepare(op, s, own); });
}

template <class Public, class Flat>
mr_status workspace(const Op<Public, Flat>& op, mr_stream* stream, const Public* args,
                    uint64_t* out_bytes, mr_error* err) noexcept {
  return call(stream, args, err, [&](mr_stream& s, const Public& own) {
    return mr::workspace(op, s, own, out_bytes);
  });
}

template <class Public, class Flat>
mr_status kernel(const Op<Public, Flat>& op, mr_stream* stream, const Public* args,
                 mr_kernel_info* out, mr_error* err) noexcept {
  return call(stream, args, err, [&](mr_stream& s, const Public& own) -> Status {
    MR_TRY(mr::api::check_out_struct(out, "out"));
    mr_kernel_info info = MR_KERNEL_INFO_INIT;
    MR_TRY(mr::kernel(op, s, own, &info));
    mr::api::write_struct(info, out);
    return {};
  });
}

}  // namespace

mr_status mr_embedding(mr_stream* stream, const mr_embedding_args* args, mr_error* err) noexcept {
  return run(mr::kEmbedding, stream, args, err);
}
mr_status mr_embedding_prepare(mr_stream* stream, const mr_embedding_args* args,
                               mr_error* err) noexcept {
  return prepare(mr::kEmbedding, stream, args, err);
}
mr_status mr_embedding_workspace(mr_stream* stream, const mr_embedding_args* args,
                                 uint64_t* out_bytes, mr_error* err) noexcept {
  return workspace(mr::kEmbedding, stream, args, out_bytes, err);
}
mr_status mr_embedding_kernel(mr_stream* stream, const mr_embedding_args* args, mr_kernel_info* out,
                              mr_error* err) noexcept {
  return kernel(mr::kEmbedding, stream, args, out, err);
}

mr_status mr_rmsnorm(mr_stream* stream, const mr_rmsnorm_args* args, mr_error* err) noexcept {
  return run(mr::kRmsNorm, stream, args, err);
}
mr_status mr_rmsnorm_prepare(mr_stream* stream, const mr_rmsnorm_args* args,
                             mr_error* err) noexcept {
  return prepare(mr::kRmsNorm, stream, args, err);
}
mr_status mr_rmsnorm_workspace(mr_stream* stream, const mr_rmsnorm_args* args, uint64_t* out_bytes,
                               mr_error* err) noexcept {
  return workspace(mr::kRmsNorm, stream, args, out_bytes, err);
}
mr_status mr_rmsnorm_kernel(mr_stream* stream, const mr_rmsnorm_args* args, mr_kernel_info* out,
                            mr_error* err) noexcept {
  return kernel(mr::kRmsNorm, stream, args, out, err);
}

mr_status mr_add(mr_stream* stream, const mr_add_args* args, mr_error* err) noexcept {
  return run(mr::kAdd, stream, args, err);
}
mr_status mr_add_prepare(mr_stream* stream, const mr_add_args* args, mr_error* err) noexcept {
  return prepare(mr::kAdd, stream, args, err);
}
mr_status mr_add_workspace(mr_stream* stream, const mr_add_args* args, uint64_t* out_bytes,
                           mr_error* err) noexcept {
  return workspace(mr::kAdd, stream, args, out_bytes, err);
}
mr_status mr_add_kernel(mr_stream* stream, const mr_add_args* args, mr_kernel_info* out,
                        mr_error* err) noexcept {
  return kernel(mr::kAdd, stream, args, out, err);
}

mr_status mr_gated_activation(mr_stream* stream, const mr_gated_activation_args* args,
                              mr_error* err) noexcept {
  return run(mr::kGatedActivation, stream, args, err);
}
mr_status mr_gated_activation_prepare(mr_stream* stream, const mr_gated_activation_args* args,
                                      mr_error* err) noexcept {
  return prepare(mr::kGatedActivation, stream, args, err);
}
mr_status mr_gated_activation_workspace(mr_stream* stream, const mr_gated_activation_args* args,
                                        uint64_t* out_bytes, mr_error* err) noexcept {
  return workspace(mr::kGatedActivation, stream, args, out_bytes, err);
}
mr_status mr_gated_activation_kernel(mr_stream* stream, const mr_gated_activation_args* args,
                                     mr_kernel_info* out, mr_error* err) noexcept {
  return kernel(mr::kGatedActivation, stream, args, out, err);
}

mr_status mr_rope(mr_stream* stream, const mr_rope_args* args, mr_error* err) noexcept {
  return run(mr::kRope, stream, args, err);
}
mr_status mr_rope_prepare(mr_stream* stream, const mr_rope_args* args, mr_error* err) noexcept {
  return prepare(mr::kRope, stream, args, err);
}
mr_status mr_rope_workspace(mr_stream* stream, const mr_rope_args* args, uint64_t* out_bytes,
                            mr_error* err) noexcept {
  return workspace(mr::kRope, stream, args, out_bytes, err);
}
mr_status mr_rope_kernel(mr_stream* stream, const mr_rope_args* args, mr_kernel_info* out,
                         mr_error* err) noexcept {
  return kernel(mr::kRope, stream, args, out, err);
}

mr_status mr_qkv_post(mr_stream* stream, const mr_qkv_post_args* args, mr_error* err) noexcept {
  return run(mr::kQkvPost, stream, args, err);
}
mr_status mr_qkv_post_prepare(mr_stream* stream, const mr_qkv_post_args* args,
                              mr_error* err) noexcept {
  return prepare(mr::kQkvPost, stream, args, err);
}
mr_status mr_qkv_post_workspace(mr_stream* stream, const mr_qkv_post_args* args,
                                uint64_t* out_bytes, mr_error* err) noexcept {
  return workspace(mr::kQkvPost, stream, args, out_bytes, err);
}
mr_status mr_qkv_post_kernel(mr_stream* stream, const mr_qkv_post_args* args, mr_kernel_info* out,
                             mr_error* err) noexcept {
  return kernel(mr::kQkvPost, stream, args, out, err);
}

mr_status mr_attention(mr_stream* stream, const mr_attention_args* args, mr_error* err) noexcept {
  return run(mr::kAttention, stream, args, err);
}
mr_status mr_attention_prepare(mr_stream* stream, const mr_attention_args* args,
                               mr_error* err) noexcept {
  return prepare(mr::kAttention, stream, args, err);
}
mr_status mr_attention_workspace(mr_stream* stream, const mr_attention_args* args,
                                 uint64_t* out_bytes, mr_error* err) noexcept {
  return workspace(mr::kAttention, stream, args, out_bytes, err);
}
mr_status mr_attention_kernel(mr_stream* stream, const mr_attention_args* args, mr_kernel_info* out,
                              mr_error* err) noexcept {
  return kernel(mr::kAttention, stream, args, out, err);
}

mr_status mr_matmul(mr_stream* stream, const mr_matmul_args* args, mr_error* err) noexcept {
  return run(mr::kMatmul, stream, args, err);
}
mr_status mr_matmul_prepare(mr_stream* stream, const mr_matmul_args* args, mr_error* err) noexcept {
  return prepare(mr::kMatmul, stream, args, err);
}
mr_status mr_matmul_workspace(mr_stream* stream, const mr_matmul_args* args, uint64_t* out_bytes,
                              mr_error* err) noexcept {
  return workspace(mr::kMatmul, stream, args, out_bytes, err);
}
mr_status mr_matmul_kernel(mr_stream* stream, const mr_matmul_args* args, mr_kernel_info* out,
                           mr_error* err) noexcept {
  return kernel(mr::kMatmul, stream, args, out, err);
}

mr_status mr_argmax(mr_stream* stream, const mr_argmax_args* args, mr_error* err) noexcept {
  return run(mr::kArgmax, stream, args, err);
}
mr_status mr_argmax_prepare(mr_stream* stream, const mr_argmax_args* args, mr_error* err) noexcept {
  return prepare(mr::kArgmax, stream, args, err);
}
mr_status mr_argmax_workspace(mr_stream* stream, const mr_argmax_args* args, uint64_t* out_bytes,
                              mr_error* err) noexcept {
  return workspace(mr::kArgmax, stream, args, out_bytes, err);
}
mr_status mr_argmax_kernel(mr_stream* stream, const mr_argmax_args* args, mr_kernel_info* out,
                           mr_error* err) noexcept {
  return kernel(mr::kArgmax, stream, args, out, err);
}

mr_status mr_sample(mr_stream* stream, const mr_sample_args* args, mr_error* err) noexcept {
  return run(mr::kSample, stream, args, err);
}
mr_status mr_sample_prepare(mr_stream* stream, const mr_sample_args* args, mr_error* err) noexcept {
  return prepare(mr::kSample, stream, args, err);
}
mr_status mr_sample_workspace(mr_stream* stream, const mr_sample_args* args, uint64_t* out_bytes,
                              mr_error* err) noexcept {
  return workspace(mr::kSample, stream, args, out_bytes, err);
}
mr_status mr_sample_kernel(mr_stream* stream, const mr_sample_args* args, mr_kernel_info* out,
                           mr_error* err) noexcept {
  return kernel(mr::kSample, stream, args, out, err);
}
