// How this copy of the library was built.
#pragma once

#include <cstdint>

namespace mr {

#if defined(__clang__)
#define MR_COMPILER_TEXT "clang " __clang_version__
#else
#define MR_COMPILER_TEXT "gcc " __VERSION__
#endif
#if defined(NDEBUG)
inline constexpr const char kBuildText[] = MR_COMPILER_TEXT ", release";
#else
inline constexpr const char kBuildText[] = MR_COMPILER_TEXT ", debug";
#endif
#undef MR_COMPILER_TEXT

// What a backend was compiled against and found; zeros where it does not apply.
struct BuildInfo {
  uint32_t runtime_version = 0;
  uint32_t driver_version = 0;
  uint32_t driver_minimum = 0;
  const char* architectures = "";
};

}  // namespace mr
