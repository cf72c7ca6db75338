// What a kernel is handed and how it is listed: the seam between operators and kernels. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "core/device_info.h"
#include "core/dtype.h"
#include "core/result.h"

namespace mr {

// Libraries that a context has loaded for its kernels, and what they remember about shapes. Each
// backend has its own kind; a row knows which it is handed.
class Libraries {
 public:
  virtual ~Libraries() = default;
};

// What every launch gets besides its arguments.
struct Launch {
  void* stream = nullptr;  // the backend's native handle; on the host a HostQueue*
  const DeviceInfo* device = nullptr;
  void* scratch = nullptr;  // at least what the row's workspace() asked for, aligned to 256 bytes
  size_t scratch_bytes = 0;
  Libraries* libraries = nullptr;
};

// What a kernel occupies; zeros on the host.
struct Occupancy {
  int threads_per_block = 0;
  int registers_per_thread = 0;
  int blocks_per_multiprocessor = 0;
  size_t shared_bytes_per_block = 0;
  const char* limit = "";
};

inline constexpr int kAnyArch = std::numeric_limits<int>::max();

// One way to run an operator. An operator's rows stand best first; the last takes everything that
// the operator's checks let through.
template <class Args>
struct Kernel {
  const char* name;
  int arch_min = 0;
  int arch_max = kAnyArch;
  DTypeSet dtypes = kAllFloats;

  // nullptr if the row can serve the arguments, else the reason as a constant sentence. Data
  // pointers may be null (a query): they then count as aligned.
  const char* (*reject)(const DeviceInfo&, const Args&) = nullptr;

  // Scratch in bytes, from shapes and upper bounds only. nullptr: none.
  size_t (*workspace)(const DeviceInfo&, const Args&) = nullptr;

  // Loads and searches what the launch looks up. May block. nullptr: nothing to prepare.
  Status (*prepare)(const Launch&, const Args&) = nullptr;

  // What prepare() made for these arguments, for a plan to hold on to (matmul); null if nothing. It
  // lives as long as the libraries. nullptr: the row keeps nothing.
  const void* (*find_prepared)(const Launch&, const Args&) = nullptr;

  // Enqueues. There is at least one row or element to work on. Never waits or allocates.
  Status (*launch)(const Launch&, const Args&) = nullptr;

  // nullptr: zeros.
  Occupancy (*occupancy)(const DeviceInfo&, const Args&) = nullptr;
};

template <class Args>
using KernelList = std::span<const Kernel<Args>>;

}  // namespace mr
