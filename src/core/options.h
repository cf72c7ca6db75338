// The options of a context: one table of names, legal values and defaults; see context.h.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "core/result.h"

namespace mr {

enum class Option : uint32_t {
  kHostStreams,
  kHostThreads,
  kHostBlas,
  kDeterminism,
  kForceKernel,
  kFallback,
  kSynchronous,
  kLibraryCublasLt,
  kCount,
};

enum class Determinism : uint32_t { kFast, kRunToRun, kBatchInvariant };

// Values are text, checked when set; what enqueue reads is kept decoded and read without a lock.
class Options {
 public:
  // Defaults, then the environment (MR_HOST_STREAMS ...), then `text` ("name=value;..."; may be
  // NULL).
  Status load(const char* text);
  // After the context is made: refuses those fixed at creation.
  Status set(const char* name, const char* value);
  Status get(const char* name, std::string* out) const;

  std::string text(Option option) const;
  Determinism determinism() const { return determinism_.load(std::memory_order_relaxed); }
  bool synchronous() const { return synchronous_.load(std::memory_order_relaxed); }
  bool fallback_is_error() const { return fallback_is_error_.load(std::memory_order_relaxed); }
  // True if a kernel is forced; `name` must hold 64 bytes.
  bool forced_kernel(char* name) const;

 private:
  Status assign(const char* name, size_t name_length, const char* value, size_t value_length,
                bool creating);
  void decode();

  mutable std::mutex mutex_;
  std::array<std::string, static_cast<size_t>(Option::kCount)> values_;
  std::atomic<Determinism> determinism_{Determinism::kFast};
  std::atomic<bool> synchronous_{false};
  std::atomic<bool> fallback_is_error_{false};
  std::atomic<bool> forced_{false};
};

}  // namespace mr
