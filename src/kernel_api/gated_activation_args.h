// mr_gated_activation, checked and flat.
#pragma once

#include <cstdint>

#include "kernel_api/rows.h"
#include "millrace/tensor.h"

namespace mr {

struct GatedActivationArgs {
  mr_dtype dtype = MR_ABSENT;
  uint32_t activation = 0;  // MR_ACTIVATION_...
  RowSpace space;
  RowView gate;
  RowView up;
  RowView output;
};

}  // namespace mr
