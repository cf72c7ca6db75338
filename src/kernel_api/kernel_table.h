// One list of kernels per operator: all that the rest of the library sees of a backend's
// arithmetic.
#pragma once

#include "kernel_api/add_args.h"
#include "kernel_api/argmax_args.h"
#include "kernel_api/attention_args.h"
#include "kernel_api/embedding_args.h"
#include "kernel_api/gated_activation_args.h"
#include "kernel_api/kernel.h"
#include "kernel_api/matmul_args.h"
#include "kernel_api/qkv_post_args.h"
#include "kernel_api/rmsnorm_args.h"
#include "kernel_api/rope_args.h"
#include "kernel_api/sample_args.h"

namespace mr {

struct KernelTable {
  KernelList<EmbeddingArgs> embedding;
  KernelList<RmsNormArgs> rmsnorm;
  KernelList<AddArgs> add;
  KernelList<GatedActivationArgs> gated_activation;
  KernelList<RopeArgs> rope;
  KernelList<QkvPostArgs> qkv_post;
  KernelList<AttentionArgs> attention;
  KernelList<MatmulArgs> matmul;
  KernelList<ArgmaxArgs> argmax;
  KernelList<SampleArgs> sample;
};

}  // namespace mr
