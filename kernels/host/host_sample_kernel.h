// The inner part of the host's sampler, compiled per processor level (see host_vector.h).
#pragma once

#include <cstdint>

#include "kernel_api/sample_args.h"

namespace mr::host {

// Draws rows [begin, end) and advances their rng_offset. Uses a few KiB of stack and no scratch:
// logits are read again for each step instead of being kept.
using SampleRows = void(const SampleArgs& args, int64_t begin, int64_t end);

namespace level1 {
SampleRows sample_rows;
}
namespace level3 {
SampleRows sample_rows;
}
namespace level4 {
SampleRows sample_rows;
}

}  // namespace mr::host
