// The host's kernels: one list per operator, each defined in host_<op>.cpp.
#pragma once

#include "kernel_api/host_queue.h"
#include "kernel_api/kernel_table.h"

namespace mr::host {

KernelList<EmbeddingArgs> embedding();
KernelList<RmsNormArgs> rmsnorm();
KernelList<AddArgs> add();
KernelList<GatedActivationArgs> gated_activation();
KernelList<RopeArgs> rope();
KernelList<QkvPostArgs> qkv_post();
KernelList<AttentionArgs> attention();
KernelList<MatmulArgs> matmul();
KernelList<ArgmaxArgs> argmax();
KernelList<SampleArgs> sample();

// A row's launch function from its body.
template <class Args, void (*kRun)(HostWorkers&, const Args&, void* scratch, size_t scratch_bytes)>
Status launch(const Launch& launch, const Args& args) {
  return host_launch<Args, kRun>(launch.stream, args, launch.scratch, launch.scratch_bytes);
}

}  // namespace mr::host
