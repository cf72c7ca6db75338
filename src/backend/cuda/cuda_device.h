// The CUDA devices of this machine, and the guards that every call on one stands in.
#pragma once

#include <span>

#include "backend/cuda/cuda_driver.h"
#include "core/device_info.h"

namespace mr {

// Machine code and PTX that were compiled in, as mr_probe_info spells it: "80 90a 120+ptx".
const char* cuda_architectures();

// Whether a library built for `list` has code for a device of `architecture` (10 * major + minor).
// Machine code for X.Y runs on X.Z with Z >= Y; code with the suffix `a` on that one architecture
// only; PTX is compiled by the driver for anything from X.Y up.
bool cuda_architectures_serve(const char* list, int architecture);

// Listed once, by attribute queries: no context is made. Empty unless cuda_device_status() is OK.
std::span<const DeviceInfo> cuda_devices();
// As cuda_driver_status(), or what went wrong while listing.
const Status& cuda_device_status();

// The device's primary context, the one that the CUDA runtime of the host application works in.
// Made on the first call; never given back, so that nothing of ours ends a context of the host's.
CUresult cuda_primary_context(int device, CUcontext* out);

// Makes the device's primary context current for a scope, unless it is already, and then puts back
// what was current before, be it nothing.
class CudaScope {
 public:
  explicit CudaScope(int device);
  ~CudaScope();
  CudaScope(const CudaScope&) = delete;
  CudaScope& operator=(const CudaScope&) = delete;

  bool ok() const { return result_ == CUDA_SUCCESS; }
  Status status() const;

 private:
  CUresult result_;
  bool pushed_ = false;
};

// Calls that are "potentially unsafe" while some thread captures in CUDA's global mode (allocation,
// queries, waits on other streams) would break that capture; in a relaxed scope they do not. The
// thread's mode is put back afterwards.
class CudaRelaxedCapture {
 public:
  CudaRelaxedCapture();
  ~CudaRelaxedCapture();
  CudaRelaxedCapture(const CudaRelaxedCapture&) = delete;
  CudaRelaxedCapture& operator=(const CudaRelaxedCapture&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool exchanged_;
};

}  // namespace mr
