// Device memory of the host, mapped into ranges of addresses; see Backend::map().
#pragma once

#include <cstdint>

#include "core/result.h"

namespace mr {

Status host_reserve_range(uint64_t bytes, void** out);
void host_release_range(void* address, uint64_t bytes) noexcept;
// The memory reads as zeros.
Status host_map(void* address, uint64_t bytes);
void host_unmap(void* address, uint64_t bytes) noexcept;

}  // namespace mr
