// What a context on the host has loaded for its kernels.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"
#include "backend/host/host_blas.h"

namespace mr {

class HostLibraries final : public Libraries {
 public:
  explicit HostLibraries(const HostBlas* blas) : blas_(blas) {}
  const HostBlas* blas() const { return blas_; }  // null: none

 private:
  const HostBlas* blas_;
};

Status make_host_libraries(const BackendOptions& options, std::unique_ptr<Libraries>* out);

// What mr_dependency("blas") tells.
Status host_blas_dependency(std::string* out);

}  // namespace mr
