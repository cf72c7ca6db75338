// Launching a kernel and asking what one occupies. Plain C++: no device code.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernel_api/kernel.h"

namespace mr::cuda {

// The most blocks on grid.x. Kernels walk what is left in a loop, so that any count of rows works.
inline constexpr int64_t kMaxBlocks = 2147483647;

struct Grid {
  unsigned blocks = 1;
  unsigned threads = 1;
};

// Enough blocks for `items`, each block taking `per_block` at a time. items > 0.
inline Grid grid_for(int64_t items, int64_t per_block, int threads) {
  const int64_t blocks = (items - 1) / per_block + 1;
  return {static_cast<unsigned>(std::min(blocks, kMaxBlocks)), static_cast<unsigned>(threads)};
}

namespace detail {
Status launch_function(const Launch& at, const void* function, const Grid& grid, void** arguments);
}

// Enqueues `kernel` on the launch's stream; the result is that of this very launch.
template <class... Parameters>
Status launch(const Launch& at, void (*kernel)(Parameters...), const Grid& grid,
              std::type_identity_t<Parameters>... arguments) {
  void* addresses[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  return detail::launch_function(at, reinterpret_cast<const void*>(kernel), grid, addresses);
}

// Registers, shared memory and resident blocks of a kernel with blocks of `threads`; zeros if the
// driver does not say.
Occupancy occupancy_of(const DeviceInfo& device, const void* function, int threads);

template <class... Parameters>
Occupancy occupancy_of(const DeviceInfo& device, void (*kernel)(Parameters...), int threads) {
  return occupancy_of(device, reinterpret_cast<const void*>(kernel), threads);
}

// Whether `address` may be accessed `bytes` (a power of two) at a time. Null, in a query, may.
inline bool is_aligned(const void* address, int64_t bytes) {
  return (reinterpret_cast<uintptr_t>(address) & static_cast<uintptr_t>(bytes - 1)) == 0;
}

}  // namespace mr::cuda
