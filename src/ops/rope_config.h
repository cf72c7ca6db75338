// The checks of mr_rope_config and its defaults, for the two operators that rotate.
#pragma once

#include "core/result.h"
#include "kernel_api/rope_args.h"

namespace mr {

// Heads of more than 65536 elements are no model's and refused, so that kernels count within a head
// in 32 bits. `name` is the tensor's.
Status check_head_dim(int64_t dim, const char* name);

// Checks what the chosen scaling uses, for heads of `dim` elements (checked before), and fills
// *out. Fields that the scaling does not use are ignored and keep RopeParams' defaults. Heads of no
// elements (dim 0) have nothing to rotate: any rotary_dim that is even will do.
Status rope_params(const mr_rope_config& config, int64_t dim, RopeParams* out);

}  // namespace mr
