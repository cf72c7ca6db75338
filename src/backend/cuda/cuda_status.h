// What CUDA answers, as a Status. The driver's codes and the runtime's share one numbering wherever
// both have the code, so that one mapping serves both.
#pragma once

#include "core/result.h"

namespace mr {

// The status of a failed call. `sentence` says what was attempted; CUDA's own name and text for the
// code go into the detail. MR_DEVICE_LOST for a fault after which the context answers nothing else.
Status cuda_status(int code, const char* sentence);

inline Status cuda_check(int code, const char* sentence) {
  if (code == 0) return {};
  return cuda_status(code, sentence);
}

// For destructors and other places that cannot report: true where the call succeeded, or where it
// could not because the driver is gone already (the process ends, or a fork), which counts as done.
bool cuda_done(int code);

}  // namespace mr
