// Attention on the host: rows and kv heads spread over threads; see host_attention_kernel.cpp.
#include <algorithm>

#include "kernels/host/host_attention_kernel.h"
#include "kernels/host/host_kernels.h"
#include "kernels/host/host_rows.h"

namespace mr::host {
namespace {

// Keys that all rows look at together, before masks. The lengths are there to be read: a kernel
// runs in stream order.
double keys_in_all(const AttentionArgs& args) {
  double keys = 0.0;
  for (int64_t b = 0; b < args.batch; ++b) {
    const double queries = static_cast<double>(args.cu_q[(b + 1) * args.cu_q_stride]) -
                           static_cast<double>(args.cu_q[b * args.cu_q_stride]);
    const double length = args.paged
                              ? static_cast<double>(args.kv_len[b * args.kv_len_stride])
                              : static_cast<double>(args.cu_kv[(b + 1) * args.cu_kv_stride]) -
                                    static_cast<double>(args.cu_kv[b * args.cu_kv_stride]);
    keys += queries * length;
  }
  return keys;
}

template <AttentionItems* kItems>
void run(HostWorkers& workers, const AttentionArgs& args, void*, size_t) {
  const int64_t rows = std::min<int64_t>(args.cu_q[args.batch * args.cu_q_stride], args.total_q);
  if (rows <= 0) return;
  const int64_t items = (rows + kAttentionRows - 1) / kAttentionRows * args.kv_heads;
  // A key costs about a tenth of a nanosecond for each number of it, and something for its weight.
  const double key_ns = 4.0 + 0.1 * static_cast<double>(args.dim + args.v_dim);
  const double ns = keys_in_all(args) * static_cast<double>(args.q_heads) * key_ns;
  const double item_ns = std::clamp(ns / static_cast<double>(items), 100.0, 1e9);
  workers.parallel(items, grain(static_cast<int64_t>(item_ns)),
                   [&](int64_t begin, int64_t end) { kItems(args, begin, end); });
}

constexpr Kernel<AttentionArgs> kRows[] = {
#if defined(__x86_64__)
    {.name = "host_attention_v4",
     .arch_min = 4,
     .launch = launch<AttentionArgs, run<level4::attention_items>>},
    {.name = "host_attention_v3",
     .arch_min = 3,
     .launch = launch<AttentionArgs, run<level3::attention_items>>},
#endif
    {.name = "host_attention", .launch = launch<AttentionArgs, run<level1::attention_items>>},
};

}  // namespace

KernelList<AttentionArgs> attention() { return kRows; }

}  // namespace mr::host
