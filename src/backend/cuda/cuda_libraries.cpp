#include "backend/cuda/cuda_libraries.h"

#include <utility>

#include "backend/cuda/cuda_device.h"

namespace mr {

// FNV-1a over the words (Fowler, Noll, Vo), with a last mix because the low bits choose the bucket.
size_t MatmulKeyHash::operator()(const MatmulKey& key) const {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const int64_t word : key.words) {
    hash ^= static_cast<uint64_t>(word);
    hash *= 0x100000001b3u;
    hash ^= hash >> 29;
  }
  return static_cast<size_t>(hash);
}

CudaLibraries::CudaLibraries(int device, std::string cublaslt_path)
    : device_(device), cublaslt_path_(std::move(cublaslt_path)) {}

CudaLibraries::~CudaLibraries() {
  const CublasLt* library = cublaslt();
  if (library == nullptr) return;
  const CudaScope scope(device_);
  if (!scope.ok()) return;  // the driver is gone, or this is a forked child: nothing may be touched
  const CudaRelaxedCapture relaxed;
  // Fails only after a fault of the device, which is reported elsewhere.
  static_cast<void>(library->destroy(handle_));
}

Status CudaLibraries::open_cublaslt() {
  std::lock_guard lock(open_mutex_);
  if (cublaslt() != nullptr) return {};
  const CublasLt* library = nullptr;
  if (const Status loaded = load_cublaslt(cublaslt_path_, &library); !loaded.ok()) {
    if (!cublaslt_path_.empty()) return loaded;
    missing_.store(true, std::memory_order_release);
    return {};
  }
  const CudaRelaxedCapture relaxed;
  cublasLtHandle_t handle = nullptr;
  const cublasStatus_t result = library->create(&handle);
  if (result != CUBLAS_STATUS_SUCCESS) {
    return cublaslt_status(*library, result, "cuBLASLt cannot be initialised");
  }
  handle_ = handle;
  cublaslt_.store(library, std::memory_order_release);
  return {};
}

const PreparedMatmul* CudaLibraries::find(const MatmulKey& key) const {
  std::shared_lock lock(matmuls_mutex_);
  const auto at = matmuls_.find(key);
  return at != matmuls_.end() ? at->second.get() : nullptr;
}

const PreparedMatmul* CudaLibraries::keep(const PreparedMatmul& prepared) {
  auto copy = std::make_unique<const PreparedMatmul>(prepared);
  std::unique_lock lock(matmuls_mutex_);
  return matmuls_.try_emplace(prepared.key, std::move(copy)).first->second.get();
}

bool CudaLibraries::is_refused(const MatmulKey& key) const {
  std::shared_lock lock(matmuls_mutex_);
  return refused_.contains(key);
}

void CudaLibraries::refuse(const MatmulKey& key) {
  std::unique_lock lock(matmuls_mutex_);
  refused_.insert(key);
  any_refused_.store(true, std::memory_order_release);
}

}  // namespace mr
