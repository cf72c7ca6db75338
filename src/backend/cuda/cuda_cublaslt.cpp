#include "backend/cuda/cuda_cublaslt.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdio>
#include <mutex>

namespace mr {
namespace {

constexpr const char* kSoname = "libcublasLt.so.13";

// What the process has loaded. Never unloaded: kernels of it may be in flight.
struct State {
  std::mutex mutex;  // while something is loaded; guards the strings
  CublasLt calls;
  std::atomic<bool> loaded{false};
  std::string path;
  std::string tried;
};

State& state() {
  static State* const it = new State;
  return *it;
}

const char* missing_symbol(void* library, CublasLt* out) {
  const char* missing = nullptr;
  const auto find = [&]<class Function>(const char* name, Function* call) {
    *call = reinterpret_cast<Function>(dlsym(library, name));
    if (*call == nullptr && missing == nullptr) missing = name;
  };
  find("cublasLtCreate", &out->create);
  find("cublasLtDestroy", &out->destroy);
  find("cublasLtGetVersion", &out->get_version);
  find("cublasLtGetStatusName", &out->get_status_name);
  find("cublasLtMatmul", &out->matmul);
  find("cublasLtMatmulAlgoGetHeuristic", &out->get_heuristic);
  find("cublasLtMatmulAlgoCheck", &out->check);
  find("cublasLtMatrixLayoutInit_internal", &out->layout_init);
  find("cublasLtMatrixLayoutSetAttribute", &out->layout_set);
  find("cublasLtMatmulDescInit_internal", &out->desc_init);
  find("cublasLtMatmulDescSetAttribute", &out->desc_set);
  find("cublasLtMatmulPreferenceInit_internal", &out->preference_init);
  find("cublasLtMatmulPreferenceSetAttribute", &out->preference_set);
  return missing;
}

std::string path_of(void* library) {
  struct link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name != nullptr) {
    return map->l_name;
  }
  return kSoname;
}

// "" if `library` can serve; else what is wrong with it, to be read behind its path.
std::string what_is_wrong(void* library, CublasLt* calls) {
  const char* missing = missing_symbol(library, calls);
  if (missing != nullptr) return std::string(" has no ") + missing;
  const size_t major = calls->get_version() / 10000;
  if (major == CUBLAS_VER_MAJOR) return {};
  return " is of version " + std::to_string(major) + ", and " + std::to_string(CUBLAS_VER_MAJOR) +
         " is needed";
}

// dlerror() of the last failure, which may be null.
const char* reason() {
  const char* text = dlerror();
  return text != nullptr ? text : "no reason given";
}

void* open_library(const std::string& path, std::string* tried) {
  void* library = dlopen(kSoname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library != nullptr) return library;
  const char* name = path.empty() ? kSoname : path.c_str();
  library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) *tried = reason();
  return library;
}

}  // namespace

Status load_cublaslt(const std::string& path, const CublasLt** out) {
  State& it = state();
  if (!it.loaded.load(std::memory_order_acquire)) {
    std::lock_guard lock(it.mutex);
    if (!it.loaded.load(std::memory_order_relaxed)) {
      std::string tried;
      void* library = open_library(path, &tried);
      CublasLt calls;
      if (library != nullptr) {
        const std::string wrong = what_is_wrong(library, &calls);
        if (!wrong.empty()) {
          tried = path_of(library) + wrong;
          dlclose(library);
          library = nullptr;
        }
      }
      if (library == nullptr) {
        it.tried = tried;
        return error(MR_DEPENDENCY_MISSING, "cuBLASLt 13 cannot be loaded").say(tried.c_str());
      }
      it.path = path_of(library);
      it.calls = calls;
      it.loaded.store(true, std::memory_order_release);
    }
  }
  *out = &it.calls;
  return {};
}

Status describe_cublaslt(std::string* out) {
  State& it = state();
  std::lock_guard lock(it.mutex);
  if (!it.loaded.load(std::memory_order_relaxed)) {
    return error(MR_DEPENDENCY_MISSING, "cuBLASLt is not loaded").say(it.tried.c_str());
  }
  // 130100 is 13.1.0.
  const size_t version = it.calls.get_version();
  char text[64];
  std::snprintf(text, sizeof text, " (cuBLASLt %zu.%zu.%zu)", version / 10000, version / 100 % 100,
                version % 100);
  *out = it.path + text;
  return {};
}

Status cublaslt_status(const CublasLt& library, cublasStatus_t result, const char* sentence) {
  mr_status code = MR_DEVICE_ERROR;
  if (result == CUBLAS_STATUS_ALLOC_FAILED) code = MR_OUT_OF_DEVICE_MEMORY;
  if (result == CUBLAS_STATUS_ARCH_MISMATCH) code = MR_NO_KERNEL_IMAGE;
  return error(code, sentence)
      .from(MR_DOMAIN_CUBLASLT, static_cast<int32_t>(result))
      .say(library.get_status_name(result));
}

}  // namespace mr
