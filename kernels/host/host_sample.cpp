// Sampling on the host: rows spread over threads; see host_sample_kernel.cpp.
#include "kernels/host/host_kernels.h"
#include "kernels/host/host_rows.h"
#include "kernels/host/host_sample_kernel.h"

namespace mr::host {
namespace {

template <SampleRows* kSample>
void run(HostWorkers& workers, const SampleArgs& args, void*, size_t) {
  const bool filters = args.top_k != nullptr || args.top_p != nullptr;
  const int64_t row_ns = args.vocab / 1024 * (filters ? 16000 : 4000) + 2000;
  workers.parallel(args.rows, grain(row_ns),
                   [&](int64_t begin, int64_t end) { kSample(args, begin, end); });
}

constexpr Kernel<SampleArgs> kRows[] = {
#if defined(__x86_64__)
    {.name = "host_sample_v4",
     .arch_min = 4,
     .launch = launch<SampleArgs, run<level4::sample_rows>>},
    {.name = "host_sample_v3",
     .arch_min = 3,
     .launch = launch<SampleArgs, run<level3::sample_rows>>},
#endif
    {.name = "host_sample", .launch = launch<SampleArgs, run<level1::sample_rows>>},
};

}  // namespace

KernelList<SampleArgs> sample() { return kRows; }

}  // namespace mr::host
