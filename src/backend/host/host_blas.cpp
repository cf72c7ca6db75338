#include "backend/host/host_blas.h"

#include <dlfcn.h>

#include <cmath>
#include <map>
#include <memory>
#include <mutex>

namespace mr {
namespace {

// Best first.
constexpr const char* kKnown[] = {"libopenblas.so.0", "libblis.so.4", "libblas.so.3"};

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<HostBlas>> loaded;  // by path
  std::string last;                                         // the description of the last one used
  std::string tried;
};

// Never destroyed, as the libraries are never unloaded.
Registry& registry() {
  static auto* instance = new Registry;
  return *instance;
}

template <class F>
F* symbol(void* library, const char* name) {
  return reinterpret_cast<F*>(dlsym(library, name));
}

std::string version_of(void* library) {
  if (auto* config = symbol<const char*()>(library, "openblas_get_config")) return config();
  if (auto* version = symbol<const char*()>(library, "bli_info_get_version_str")) {
    return std::string("BLIS ") + version();
  }
  return "version unknown";
}

// A product with a known answer, in the layouts that multiply() uses: what answers to the name but
// works otherwise is not taken.
bool multiplies(HostBlas::Sgemm* sgemm) {
  const float a[] = {1, 2, 3, 4, 5, 6};   // columns of a 2 x 3 matrix
  const float b[] = {1, -1, 2, 0, 3, 1};  // columns of a 2 x 3 matrix, used transposed
  float c[] = {NAN, NAN, NAN, NAN};
  const int64_t two = 2, three = 3;
  const float one = 1, zero = 0;
  sgemm("N", "T", &two, &two, &three, &one, a, &two, b, &two, &zero, c, &two, 1, 1);
  return c[0] == 22 && c[1] == 28 && c[2] == 4 && c[3] == 4;
}

Status missing(const char* sentence, const std::string& detail) {
  return error(MR_DEPENDENCY_MISSING, sentence).about("host.blas").say(detail.c_str());
}

}  // namespace

// Called with the registry locked.
Status HostBlas::load(const char* file, int extra_flags, const HostBlas** out) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL | extra_flags);
  if (library == nullptr) {
    const char* reason = dlerror();
    return missing("the file cannot be loaded", reason != nullptr ? reason : file);
  }
  auto* sgemm = symbol<Sgemm>(library, "sgemm_");
  if (sgemm == nullptr) return missing("the library has no sgemm_", file);
  Dl_info info = {};
  const bool known =
      dladdr(reinterpret_cast<void*>(sgemm), &info) != 0 && info.dli_fname != nullptr;
  const std::string path = known ? info.dli_fname : file;
  std::unique_ptr<HostBlas>& entry = registry().loaded[path];
  if (entry == nullptr) {
    if (!multiplies(sgemm)) {
      registry().loaded.erase(path);
      return missing("the library's sgemm_ gives a wrong product", path);
    }
    entry.reset(new HostBlas(sgemm, path + " (" + version_of(library) + ")"));
  }
  registry().last = entry->description_;
  *out = entry.get();
  return {};
}

Status HostBlas::find(const std::string& wanted, const HostBlas** out) {
  std::lock_guard lock(registry().mutex);
  if (wanted != "auto") {
    registry().tried = wanted;
    return load(wanted.c_str(), 0, out);
  }
  registry().tried = "libopenblas.so.0, libblis.so.4, libblas.so.3";
  for (const int extra : {RTLD_NOLOAD, 0}) {
    for (const char* name : kKnown) {
      if (load(name, extra, out).ok()) return {};
    }
  }
  *out = nullptr;
  return {};
}

Status HostBlas::describe(std::string* out) {
  std::lock_guard lock(registry().mutex);
  if (!registry().last.empty()) return *out = registry().last, Status();
  const std::string& tried = registry().tried;
  return error(MR_DEPENDENCY_MISSING, "no BLAS is loaded")
      .about("blas")
      .say(tried.empty() ? "no context has asked for one" : ("tried " + tried).c_str());
}

void HostBlas::multiply(int64_t m, int64_t n, int64_t k, float alpha, const BlasMatrix& x,
                        const BlasMatrix& w, float beta, float* d, int64_t d_leading) const {
  // Fortran's matrices are stored by columns: a matrix by rows is its transpose. d^T = w^T x^T.
  sgemm_(w.transposed ? "T" : "N", x.transposed ? "T" : "N", &n, &m, &k, &alpha, w.data, &w.leading,
         x.data, &x.leading, &beta, d, &d_leading, 1, 1);
}

}  // namespace mr
