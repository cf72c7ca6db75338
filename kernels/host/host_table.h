// The host's kernel table, as its backend asks for it.
#pragma once

#include "kernel_api/kernel_table.h"

namespace mr {

const KernelTable& host_kernels();

}  // namespace mr
