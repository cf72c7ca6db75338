#include <cstdio>
#include <cstring>

#include "api/guard.h"
#include "backend/backend.h"
#include "core/build_info.h"
#include "millrace/millrace.h"
#include "runtime/context_state.h"

using mr::Backend;
using mr::DeviceInfo;
using mr::Status;

namespace {

mr_device_info public_info(const DeviceInfo& device) {
  mr_device_info info = MR_DEVICE_INFO_INIT;
  info.backend = device.backend;
  info.ordinal = device.ordinal;
  info.architecture = device.architecture;
  info.multiprocessors = device.multiprocessors;
  info.usable = device.usable;
  info.memory_bytes = device.memory_bytes;
  info.l2_bytes = device.l2_bytes;
  info.shared_per_block = device.shared_per_block;
  std::snprintf(info.name, sizeof info.name, "%s", device.name.c_str());
  return info;
}

}  // namespace

mr_status mr_probe(mr_probe_info* out, mr_error* err) noexcept {
  return mr::api::guard(err, [&]() -> Status {
    MR_TRY(mr::api::check_out_struct(out, "out"));
    mr_probe_info info = MR_PROBE_INFO_INIT;
    info.version = mr_version();
    info.abi_version = mr_abi_version();
    info.cuda_status = MR_UNSUPPORTED;
    for (const Backend* backend : mr::backends()) {
      info.device_count += static_cast<uint32_t>(backend->devices().size());
      const mr::BuildInfo build = backend->build_info();
      if (backend->kind() != MR_BACKEND_CUDA) continue;
      info.cuda_runtime_version = build.runtime_version;
      info.cuda_driver_version = build.driver_version;
      info.cuda_driver_minimum = build.driver_minimum;
      info.cuda_status = backend->status().code;
      std::snprintf(info.cuda_architectures, sizeof info.cuda_architectures, "%s",
                    build.architectures);
    }
    std::snprintf(info.build, sizeof info.build, "%s", mr::kBuildText);
    mr::api::write_struct(info, out);
    return {};
  });
}

mr_status mr_device_query(uint32_t index, mr_device_info* out, mr_error* err) noexcept {
  return mr::api::guard(err, [&]() -> Status {
    MR_TRY(mr::api::check_out_struct(out, "out"));
    uint32_t first = 0;
    for (const Backend* backend : mr::backends()) {
      const auto devices = backend->devices();
      if (index - first < devices.size()) {
        mr::api::write_struct(public_info(devices[index - first]), out);
        return {};
      }
      first += static_cast<uint32_t>(devices.size());
    }
    return mr::invalid("index", "is beyond the last device", index, int64_t{first} - 1);
  });
}

mr_status mr_context_device(mr_context* context, mr_device_info* out, mr_error* err) noexcept {
  return mr::api::guard(err, [&]() -> Status {
    MR_TRY(mr::api::check_handle(context, mr::ObjectKind::kContext, "context"));
    MR_TRY(mr::api::check_out_struct(out, "out"));
    mr::api::write_struct(public_info(context->info()), out);
    return {};
  });
}

mr_status mr_dependency(const char* name, char* out, uint64_t capacity, uint64_t* out_length,
                        mr_error* err) noexcept {
  return mr::api::guard(err, [&]() -> Status {
    if (name == nullptr) return mr::invalid("name", "is NULL");
    for (const Backend* backend : mr::backends()) {
      std::string text;
      const Status status = backend->dependency(name, &text);
      if (status.ok()) return mr::api::write_text(text.c_str(), out, capacity, out_length);
      if (status.code != MR_INVALID_ARGUMENT) return status;
    }
    for (const char* known : {"cublaslt", "cudnn", "blas"}) {
      if (std::strcmp(name, known) != 0) continue;
      return mr::error(MR_DEPENDENCY_MISSING, "no backend of this build loads the library")
          .say(name);
    }
    return mr::invalid("name", "is none of cublaslt, cudnn and blas").say(name);
  });
}
