// What a context on a CUDA device has loaded for its kernels, and what it remembers of matmul
// shapes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "backend/cuda/cuda_cublaslt.h"
#include "kernel_api/kernel.h"

namespace mr {

// All that a choice of algorithm depends on, as numbers; the matmul row says which.
struct MatmulKey {
  std::array<int64_t, 21> words = {};
  bool operator==(const MatmulKey&) const = default;
};

struct MatmulKeyHash {
  size_t operator()(const MatmulKey& key) const;
};

// What was found for a key. Immutable once kept.
struct PreparedMatmul {
  MatmulKey key;
  cublasLtMatmulAlgo_t algorithm = {};
  size_t workspace_bytes = 0;
  int64_t m_low = 0;  // the algorithm was accepted for m_low <= m <= m_high
  int64_t m_high = 0;
};

class CudaLibraries final : public Libraries {
 public:
  // cublaslt_path: the file that the context's options name, or "".
  CudaLibraries(int device, std::string cublaslt_path);
  ~CudaLibraries() override;
  CudaLibraries(const CudaLibraries&) = delete;
  CudaLibraries& operator=(const CudaLibraries&) = delete;

  // Loads the library and makes this context's handle on the first call; blocking. The device's
  // context must be current. Where no file was named and the system has none, that is no failure:
  // cublaslt() stays null and cublaslt_missing() is true.
  Status open_cublaslt();
  // Null before open_cublaslt() has succeeded.
  const CublasLt* cublaslt() const { return cublaslt_.load(std::memory_order_acquire); }
  cublasLtHandle_t cublaslt_handle() const { return handle_; }
  bool cublaslt_missing() const { return missing_.load(std::memory_order_acquire); }

  // A look-up holds a shared lock for the length of one probe. What is found lives as long as this.
  const PreparedMatmul* find(const MatmulKey& key) const;
  // Keeps the first that is given for a key.
  const PreparedMatmul* keep(const PreparedMatmul& prepared);

  // Keys for which cuBLASLt was found to have no algorithm. Asking costs one load while there are
  // none.
  bool any_refused() const { return any_refused_.load(std::memory_order_acquire); }
  bool is_refused(const MatmulKey& key) const;
  void refuse(const MatmulKey& key);

 private:
  const int device_;
  const std::string cublaslt_path_;
  std::mutex open_mutex_;
  std::atomic<const CublasLt*> cublaslt_{nullptr};
  std::atomic<bool> missing_{false};
  cublasLtHandle_t handle_ = nullptr;
  mutable std::shared_mutex matmuls_mutex_;
  std::unordered_map<MatmulKey, std::unique_ptr<const PreparedMatmul>, MatmulKeyHash> matmuls_;
  std::unordered_set<MatmulKey, MatmulKeyHash> refused_;
  std::atomic<bool> any_refused_{false};
};

}  // namespace mr
