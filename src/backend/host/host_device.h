// What the machine's processor is.
#pragma once

#include "core/device_info.h"

namespace mr {

DeviceInfo host_device();

// Bytes of memory that a program could still get, and that the machine has.
void host_memory(uint64_t* out_available, uint64_t* out_total);

}  // namespace mr
