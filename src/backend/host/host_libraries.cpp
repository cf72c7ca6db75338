#include "backend/host/host_libraries.h"

namespace mr {

Status make_host_libraries(const BackendOptions& options, std::unique_ptr<Libraries>* out) {
  const HostBlas* blas = nullptr;
  if (options.host_blas != "off") MR_TRY(HostBlas::find(options.host_blas, &blas));
  *out = std::make_unique<HostLibraries>(blas);
  return {};
}

Status host_blas_dependency(std::string* out) { return HostBlas::describe(out); }

}  // namespace mr
