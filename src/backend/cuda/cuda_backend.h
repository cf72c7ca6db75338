// The CUDA backend: memory, streams, events and graphs through the driver.
#pragma once

#include "backend/backend.h"

namespace mr {

// Made on first use, never destroyed. Asking for it touches no driver; asking it for anything does.
Backend& cuda_backend();

}  // namespace mr
