// Makes operator new fail. Programs that link failing_new.cpp have it replaced throughout.
#pragma once

#include <cstdint>

namespace test {

// Counts down with each allocation of this thread outside of fake backends; at 0 it fails, once.
// Negative: off.
extern thread_local int64_t allocations_left;

}  // namespace test
