#include "core/result.h"
#include "millrace/millrace.h"

uint32_t mr_version(void) noexcept {
  return MR_VERSION_MAJOR * 10000u + MR_VERSION_MINOR * 100u + MR_VERSION_PATCH;
}

uint32_t mr_abi_version(void) noexcept { return MR_ABI_MAJOR * 65536u + MR_ABI_MINOR; }

const char* mr_status_name(mr_status status) noexcept { return mr::status_name(status); }

const char* mr_status_text(mr_status status) noexcept { return mr::status_text(status); }
