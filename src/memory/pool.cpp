#include "memory/pool.h"

#include <cinttypes>
#include <cstdio>

namespace mr {

Status out_of_memory(Backend& backend, int device, const Shortage& shortage) {
  char limit[32] = "none";
  if (shortage.limit != 0) std::snprintf(limit, sizeof limit, "%" PRIu64, shortage.limit);
  char text[sizeof Status::detail];
  uint64_t free = 0, total = 0;
  if (backend.memory_info(device, &free, &total).ok()) {
    std::snprintf(text, sizeof text,
                  "requested %" PRIu64 " bytes, reserved %" PRIu64
                  ", limit %s, free on the device %" PRIu64 " of %" PRIu64,
                  shortage.requested, shortage.reserved, limit, free, total);
  } else {
    std::snprintf(text, sizeof text,
                  "requested %" PRIu64 " bytes, reserved %" PRIu64
                  ", limit %s, free on the device "
                  "unknown",
                  shortage.requested, shortage.reserved, limit);
  }
  return error(MR_OUT_OF_DEVICE_MEMORY, "device memory is exhausted")
      .from(shortage.domain, shortage.native)
      .say(text);
}

Status not_allocated() {
  return invalid("address", "was not given out by this memory, or is free already");
}

}  // namespace mr
