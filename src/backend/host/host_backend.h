// The host as a device: always there, and the reference for every other.
#pragma once

#include "backend/backend.h"

namespace mr {

Backend& host_backend();

}  // namespace mr
