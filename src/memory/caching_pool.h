// A stream-ordered cache over one device.
//
// Memory freed on a stream is reusable by that stream's later work at once: no event, no wait.
// Another stream gets it only behind a fence. Where a request is not met from the stream's own free
// blocks or from idle ones, it climbs a ladder, cheapest step first:
//
//   1  freed memory whose fences have been reached meanwhile
//   2  a new segment from the device, within the limit
//   3  memory that is still in use elsewhere, with a wait enqueued on the taker
//   4  idle segments go back to the device to make room for a new one
//   5  queued work is waited for; then 1 and 4 again
//
// New memory comes before a wait (3), because a wait couples two streams that the caller kept
// apart.
#pragma once

#include <memory>
#include <mutex>

#include "memory/address_index.h"
#include "memory/block.h"
#include "memory/capture_tie.h"
#include "memory/figures.h"
#include "memory/pool.h"
#include "memory/stream_fences.h"

namespace mr {

class CachingPool final : public Pool {
 public:
  CachingPool(Backend& backend, int device, uint64_t limit_bytes);
  // Waits for queued work, then gives everything back, live allocations included.
  ~CachingPool() override;

  Status allocate(StreamRef stream, uint64_t bytes, uint64_t alignment, uint32_t tag,
                  void** out) override;
  Status free(StreamRef stream, void* address) override;
  Status use(StreamRef stream, void* address) override;
  Status trim(uint64_t target_bytes, uint64_t* out_reserved) override;
  Status set_limit(uint64_t limit_bytes) override;
  void retire(StreamRef stream) noexcept override;
  void stats(mr_memory_stats* out) override;
  void reset_peaks() override;
  void abandon() noexcept override;

 private:
  friend struct PoolProbe;  // tests
  class Turn;
  struct Closing;

  struct Request {
    Grant grant;
    uint64_t alignment = kGranule;
    uint64_t segment_bytes = 0;  // a new segment for it
    bool small = false;
    bool any_segment = false;  // look in segments of the other size too
    uint64_t stream_id = 0;
    PoolStream* stream = nullptr;
    bool refused = false;  // the device had no segment
    uint32_t domain = 0;   // what it said
    int32_t native = 0;
  };

  // What waiting or giving back could yield.
  struct Prospect {
    uint64_t releasable = 0;   // bytes in segments without a block in use
    uint64_t longest_run = 0;  // largest range without a block in use
  };

  // caching_pool.cpp
  static bool plan(uint64_t bytes, uint64_t alignment, uint32_t tag, Request* out);
  Block* find(const Request& request) const;
  void* hand_out(Block& block, const Request& request) noexcept;
  Block& split(Block& block, uint64_t bytes) noexcept;
  Block& make_free(Block& block, PoolStream* owner) noexcept;
  void absorb(Block& block, Block& after) noexcept;
  FreeBlocks& list_of(const Block& block) noexcept;
  Status close(Block& block, PoolStream& stream);
  Status tie(Block& block, PoolStream& stream, Closing* closing);

  // caching_pool_pending.cpp
  void make_pending(Block& block, PoolStream* owner, bool active) noexcept;
  void leave_pending(Block& block) noexcept;
  void drop_fences(Block& block) noexcept;
  void drop_reached(Block& block) noexcept;
  bool settled(const Block& block) const;
  void free_if_settled(Block& block) noexcept;
  void collect_ties() noexcept;
  Status poll();
  Status fence_late();
  Status fence_owned(PoolStream& stream);
  void take_over(PoolStream& stream, Fence* point) noexcept;

  // caching_pool_ladder.cpp
  Status allocate_slowly(Request* request, void** out);
  Status climb(Turn& turn, Request* request, SetAside* aside, Block** out);
  Status grow(Turn& turn, Request* request, SetAside* aside, Block** out);
  Status borrow(const Request& request, Block** out);
  Block* pending_for(const Request& request, bool of_others) const;
  Status donated_to(const Request& request, Block** out);
  Status trim_and_grow(Turn& turn, Request* request, SetAside* aside, Block** out);
  Status wait_for_work(Turn& turn);
  Status shrink(Turn& turn, uint64_t target_bytes);
  void give_back(Turn& turn, uint64_t target_bytes) noexcept;
  Prospect prospect(bool after_waiting) const;
  bool makes_room(const Request& request, uint64_t releasable);
  Status out_of_memory(Turn& turn, const Request& request);

  Backend& backend_;
  const int device_;
  // Held by whoever takes memory from the device, gives it back or waits for it, so that hits of
  // other threads need not. Taken before mutex_; no callback needs it.
  std::mutex slow_mutex_;
  std::mutex mutex_;  // guards all that follows; let go around calls that may wait for the device

  uint64_t limit_;
  bool abandoned_ = false;
  Figures figures_;
  BlockStore store_;
  Chain<Segment> segments_;
  AddressIndex<Block> live_;  // allocated blocks
  FreeBlocks idle_;           // free blocks without an owner
  Chain<Block> pending_;
  StreamFences streams_;
  std::shared_ptr<TieInbox> inbox_;
};

// Holds the pool's lock; the figures are settled whenever it is let go.
class CachingPool::Turn {
 public:
  explicit Turn(CachingPool& pool) : pool_(pool), lock_(pool.mutex_) {}
  ~Turn() { pool_.figures_.settle(); }
  // Runs `body` without the lock.
  template <class Body>
  auto pause(Body&& body) {
    struct Relock {
      std::unique_lock<std::mutex>& lock;
      ~Relock() { lock.lock(); }
    };
    pool_.figures_.settle();
    lock_.unlock();
    const Relock relock{lock_};
    return body();
  }

 private:
  CachingPool& pool_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace mr
