// The CUDA kernel table, as its backend asks for it.
#pragma once

#include <span>

#include "kernel_api/kernel_table.h"

namespace mr {

const KernelTable& cuda_kernels();

// Every __global__ function of the table, for loading. May throw std::bad_alloc on the first call.
std::span<const void* const> cuda_kernel_functions();

}  // namespace mr
