// Rotary position embedding on the host. Each token's cosines and sines are computed once and serve
// all its heads.
#include "kernels/host/host_rope.h"

#include "kernels/host/host_kernels.h"

namespace mr::host {
namespace {

void run(HostWorkers& workers, const RopeArgs& args, void*, size_t) {
  visit_float(args.dtype, [&]<class T>(type_tag<T>) {
    workers.parallel(
        args.tokens, grain(rotation_ns(args.rope, args.heads)), [&](int64_t begin, int64_t end) {
          RopeAngles angles(args.rope);
          for (int64_t token = begin; token < end; ++token) {
            const int64_t position =
                position_at(args.positions, args.positions_dtype, args.positions_stride, token);
            rotate_heads(angles, position, args.heads, args.dim,
                         static_cast<const T*>(args.input.data) + token * args.input.token_stride,
                         args.input.head_stride,
                         static_cast<T*>(args.output.data) + token * args.output.token_stride,
                         args.output.head_stride);
          }
        });
  });
}

constexpr Kernel<RopeArgs> kRows[] = {
    {.name = "host_rope", .launch = launch<RopeArgs, run>},
};

}  // namespace

KernelList<RopeArgs> rope() { return kRows; }

}  // namespace mr::host
