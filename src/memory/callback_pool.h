// The host application's own allocator: every request goes to it, nothing is cached, and what it
// gives is counted. Its functions are called without a lock.
#pragma once

#include <mutex>

#include "memory/address_index.h"
#include "memory/figures.h"
#include "memory/pool.h"
#include "memory/stream_fences.h"

namespace mr {

class CallbackPool final : public Pool {
 public:
  // The config holds both functions.
  CallbackPool(Backend& backend, int device, const mr_memory_config& config);
  // Returns live allocations, on no stream, once all streams have finished.
  ~CallbackPool() override;

  // Refused while the stream is capturing: each allocation is growth.
  Status allocate(StreamRef stream, uint64_t bytes, uint64_t alignment, uint32_t tag, void** out,
                  uint64_t* out_block = nullptr) override;
  // The stream given waits for the other streams that use the memory, so that it is free after that
  // stream as deallocate promises. CAPTURE_VIOLATION if there are others and one of all is
  // capturing.
  Status free(StreamRef stream, void* address) override;
  Status free_block(StreamRef stream, uint64_t block) override;
  Status use(StreamRef stream, void* address) override;
  Status trim(uint64_t target_bytes, uint64_t* out_reserved) override;
  Status set_limit(uint64_t limit_bytes) override;
  void retire(StreamRef stream) noexcept override;
  void stats(mr_memory_stats* out) override;
  void reset_peaks() override;
  void visit(mr_memory_visit_fn visit, void* user) override;
  void abandon() noexcept override;

 private:
  struct Loan {
    void* address = nullptr;
    Grant grant;
    Uses uses;
    Loan* next_in_bucket = nullptr;
  };

  Status admit(StreamRef stream, const Grant& grant);
  Status out_of_memory(const Grant& grant);
  Status join_users(Loan& loan, PoolStream& stream);
  void forget_uses(Loan& loan) noexcept;
  void deallocate(const Loan& loan, void* native) const;

  Backend& backend_;
  const int device_;
  const mr_allocate_fn allocate_;
  const mr_deallocate_fn deallocate_;
  void* const user_;

  std::mutex mutex_;  // guards all that follows
  uint64_t limit_;
  uint64_t in_flight_ = 0;  // asked for and not yet answered
  bool abandoned_ = false;
  Figures figures_;
  AddressIndex<Loan> loans_;
  StreamFences streams_;
};

}  // namespace mr
