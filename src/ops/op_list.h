// Every operator, once. Each is defined in <op>_op.cpp.
#pragma once

#include "millrace/attention.h"
#include "millrace/elementwise.h"
#include "millrace/embedding.h"
#include "millrace/matmul.h"
#include "millrace/norm.h"
#include "millrace/rope.h"
#include "millrace/sampling.h"
#include "ops/dispatch.h"

namespace mr {

extern const Op<mr_embedding_args, EmbeddingArgs> kEmbedding;
extern const Op<mr_rmsnorm_args, RmsNormArgs> kRmsNorm;
extern const Op<mr_add_args, AddArgs> kAdd;
extern const Op<mr_gated_activation_args, GatedActivationArgs> kGatedActivation;
extern const Op<mr_rope_args, RopeArgs> kRope;
extern const Op<mr_qkv_post_args, QkvPostArgs> kQkvPost;
extern const Op<mr_attention_args, AttentionArgs> kAttention;
extern const Op<mr_matmul_args, MatmulArgs> kMatmul;
extern const Op<mr_argmax_args, ArgmaxArgs> kArgmax;
extern const Op<mr_sample_args, SampleArgs> kSample;

}  // namespace mr
