// The allocator behind mr_memory: a stream-ordered pool over one device, or the host application's
// own allocator, with the statistics of memory.h.
//
// Knows streams only by their native handle and their id, which is unique for the process.
// Thread-safe. Callbacks, and calls that may wait for the device, are made without a lock that a
// hit of another thread, or the callback itself, could need. Nothing here throws.
#pragma once

#include <atomic>
#include <memory>

#include "backend/backend.h"
#include "core/object.h"
#include "millrace/memory.h"

namespace mr {

struct PoolStream;

// Where a stream's owner lets its memory keep what it knows of the stream, so that a call need not
// look for it. On any thread.
struct StreamSeat {
  std::atomic<PoolStream*> pool{nullptr};
  // Whether the application may capture the stream without a word to the library.
  std::atomic<bool> exposed{true};
  // How often the stream may have become part of a capture, and up to which of these times the
  // device has said since that it is in none.
  std::atomic<uint32_t> joined{0}, left{0};
  bool may_be_captured() const {
    return exposed.load(std::memory_order_relaxed) ||
           joined.load(std::memory_order_relaxed) != left.load(std::memory_order_relaxed);
  }
};

// A stream as memory sees it. id 0 with a null handle: no stream; the memory is idle before and
// after. The seat may be null: then calls are slower.
struct StreamRef {
  void* native = nullptr;
  uint64_t id = 0;
  StreamSeat* seat = nullptr;
};

class CachingPool;
class PinnedMemory;
class Pool;

// The backend and device that a config names. AUTO is the first backend with a usable first device;
// the host is last and always there.
Status choose_device(uint32_t backend, int32_t ordinal, Backend** out_backend, int* out_device);

}  // namespace mr

struct mr_memory final : mr::Object {
 public:
  static mr::Status create(const mr_memory_config& config, mr::Ref<mr_memory>* out);
  // On a backend that is already chosen, as a context does.
  static mr::Status create(mr::Backend& backend, int device, const mr_memory_config& config,
                           mr::Ref<mr_memory>* out);

  mr::Backend& backend() const { return *backend_; }
  int device() const { return device_; }

  // See the functions of the same names in memory.h. alignment 0 means 256.
  mr::Status allocate(mr::StreamRef stream, uint64_t bytes, uint64_t alignment, uint32_t tag,
                      void** out, uint64_t* out_block = nullptr);
  mr::Status free(mr::StreamRef stream, void* address);
  mr::Status free_block(mr::StreamRef stream, uint64_t block);
  // See CachingPool; for a memory of this process.
  void* allocate_cached(const mr::StreamRef& stream, uint64_t bytes, uint32_t tag,
                        uint64_t* out_block) noexcept;
  bool free_cached(const mr::StreamRef& stream, void* address) noexcept;
  bool free_block_cached(const mr::StreamRef& stream, uint64_t block) noexcept;
  mr::Status use(mr::StreamRef stream, void* address);
  mr::Status trim(uint64_t target_bytes, uint64_t* out_reserved);
  mr::Status set_limit(uint64_t limit_bytes);
  void stats(mr_memory_stats* out);
  void reset_peaks();
  void visit(mr_memory_visit_fn visit, void* user);

  // Pinned host memory; counted in stats.pinned. Blocking.
  mr::Status allocate_pinned(uint64_t bytes, void** out);
  void free_pinned(void* address);

  // The stream is about to go away and its work is done (or ordered before whatever comes next on
  // the device): its cached blocks become usable on any stream. Called once per stream.
  void retire(mr::StreamRef stream);

 private:
  mr_memory(mr::Backend& backend, int device);
  ~mr_memory() override;

  mr::Backend* backend_;
  int device_;
  std::unique_ptr<mr::Pool> pool_;
  mr::CachingPool* caching_ = nullptr;  // the same, where it is one
  std::unique_ptr<mr::PinnedMemory> pinned_;
};
