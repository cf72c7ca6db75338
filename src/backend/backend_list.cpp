// The backends of this build: the only place that names them, and the only #if on one.
#include "backend/backend.h"
#include "backend/host/host_backend.h"
#if MR_WITH_CUDA
#include "backend/cuda/cuda_backend.h"
#endif

namespace mr {

std::span<Backend* const> backends() {
  static Backend* const list[] = {
#if MR_WITH_CUDA
    &cuda_backend(),
#endif
    &host_backend(),
  };
  return list;
}

}  // namespace mr
