// The inner part of the host's attention, compiled per processor level (see host_vector.h).
#pragma once

#include <cstdint>

#include "kernel_api/attention_args.h"

namespace mr::host {

// Rows of q that are worked on together, so that they share what is fetched of k and v.
inline constexpr int64_t kAttentionRows = 4;

// Items [begin, end): item i is the rows from (i % blocks) * kAttentionRows on and the kv head i /
// blocks with all its query heads, where blocks = ceil(rows / kAttentionRows) and rows =
// cu_q[batch].
//
// A row's bits depend on its own query and keys alone: keys are summed in blocks of 32 that start
// at multiples of 32 within the sequence, whatever other rows are worked on.
using AttentionItems = void(const AttentionArgs& args, int64_t begin, int64_t end);

namespace level1 {
AttentionItems attention_items;
}
namespace level3 {
AttentionItems attention_items;
}
namespace level4 {
AttentionItems attention_items;
}

}  // namespace mr::host
