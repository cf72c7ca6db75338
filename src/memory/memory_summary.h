// The figures of a memory as a page of text.
#pragma once

#include <string>

#include "millrace/memory.h"

namespace mr {

// `device` is the device's name. Throws std::bad_alloc.
std::string memory_summary(const mr_memory_stats& stats, const std::string& device);

}  // namespace mr
