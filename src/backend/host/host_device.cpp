#include "backend/host/host_device.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace mr {
namespace {

#if defined(__x86_64__)

// The x86-64 level of the System V ABI's list, by the instruction sets that set each level apart;
// the compiler's own test includes the operating system's support for the wide registers.
int32_t architecture() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt")) return 1;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  constexpr uint32_t kF16c = 1u << 29;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2") ||
      __get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kF16c) == 0) {
    return 2;
  }
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl")) {
    return 3;
  }
  return 4;
}

std::string processor() {
  char text[49] = {};
  uint32_t* words = reinterpret_cast<uint32_t*>(text);
  for (uint32_t leaf = 0; leaf < 3; ++leaf, words += 4) {
    if (__get_cpuid(0x80000002u + leaf, words, words + 1, words + 2, words + 3) == 0) {
      return "x86-64 processor";
    }
  }
  const std::string name = text;
  const size_t first = name.find_first_not_of(' ');
  return first == std::string::npos ? "x86-64 processor" : name.substr(first);
}

#else

int32_t architecture() { return 0; }
std::string processor() { return "host processor"; }

#endif

}  // namespace

void host_memory(uint64_t* out_available, uint64_t* out_total) {
  const auto page = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
  *out_total = page * static_cast<uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
  *out_available = page * static_cast<uint64_t>(std::max(0L, sysconf(_SC_AVPHYS_PAGES)));
  // Linux counts caches that it would give up as available too.
  std::FILE* file = std::fopen("/proc/meminfo", "re");
  if (file == nullptr) return;
  char line[128];
  unsigned long long kibibytes = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "MemAvailable: %llu kB", &kibibytes) == 1) {
      *out_available = kibibytes * 1024;
      break;
    }
  }
  std::fclose(file);
}

DeviceInfo host_device() {
  DeviceInfo info;
  info.backend = MR_BACKEND_HOST;
  info.architecture = architecture();
  info.multiprocessors = std::max(1, static_cast<int32_t>(std::thread::hardware_concurrency()));
  uint64_t available = 0;
  host_memory(&available, &info.memory_bytes);
  info.l2_bytes = static_cast<uint64_t>(std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE)));
  info.name = processor();
  return info;
}

}  // namespace mr
