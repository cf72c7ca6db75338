// Dispatch: walk an operator's kernels, best first, and take the first that fits.
#pragma once

#include <cstdio>
#include <cstring>

#include "kernel_api/kernel.h"

namespace mr {

// What the caller's options allow.
struct Preference {
  const char* forced = nullptr;    // only this kernel
  bool fallback_is_error = false;  // only the first, unless one is forced
};

template <class Args>
struct Choice {
  const Kernel<Args>* kernel = nullptr;
  char refused[384];  // "name: reason; ..." of those passed over

  Choice() { refused[0] = '\0'; }  // not the whole text: this is made for every call
};

inline void add_reason(char (&out)[384], const char* name, const char* reason) {
  const size_t used = std::strlen(out);
  std::snprintf(out + used, sizeof out - used, "%s%s: %s", used > 0 ? "; " : "", name, reason);
}

template <class Args>
const char* reason_against(const DeviceInfo& device, const Kernel<Args>& row, const Args& args,
                           const Preference& preference) {
  if (preference.forced != nullptr && std::strcmp(preference.forced, row.name) != 0) {
    return "the option force_kernel names another";
  }
  if (device.architecture < row.arch_min || device.architecture > row.arch_max) {
    return "the device's architecture is outside the kernel's range";
  }
  if (!row.dtypes.has(args.dtype)) return "the kernel has no code for this dtype";
  return row.reject != nullptr ? row.reject(device, args) : nullptr;
}

// Reasons cost formatting, so they are gathered only where someone will read them: on failure, and
// for the _kernel query.
template <class Args>
Choice<Args> choose(const DeviceInfo& device, KernelList<Args> rows, const Args& args,
                    const Preference& preference, bool explain) {
  Choice<Args> choice;
  for (const Kernel<Args>& row : rows) {
    const char* reason = reason_against(device, row, args, preference);
    if (reason == nullptr) {
      choice.kernel = &row;
      break;
    }
    if (explain) add_reason(choice.refused, row.name, reason);
    // Where a kernel is forced, it is the best that the caller wants.
    if (preference.fallback_is_error && preference.forced == nullptr) break;
  }
  return choice;
}

}  // namespace mr
