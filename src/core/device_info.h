// Plain facts about one device. Fixed for the process; every cache that depends on them is per
// device.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/probe.h"
#include "millrace/status.h"

namespace mr {

struct DeviceInfo {
  uint32_t backend = MR_BACKEND_HOST;
  int32_t ordinal = 0;
  int32_t architecture = 0;  // CUDA: 10 * major + minor; host: x86-64 level, else 0
  int32_t multiprocessors = 1;
  mr_status usable = MR_OK;  // why a context would fail
  uint64_t memory_bytes = 0;
  uint64_t l2_bytes = 0;
  uint64_t shared_per_block = 0;
  int32_t max_threads_per_multiprocessor = 0;
  std::string name;
};

}  // namespace mr
