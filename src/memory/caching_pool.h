// A stream-ordered cache over one device.
//
// Memory freed on a stream is reusable by that stream's later work at once: no event, no wait.
// Another stream gets it only behind a fence. What a stream frees and allocates again in the same
// size takes the short way, through the stream's front (caching_pool.cpp). Where a request is not
// met from there, from the stream's own free blocks or from idle ones, it climbs a ladder, cheapest
// step first:
//
//   1  freed memory whose fences have been reached meanwhile
//   2  more memory from the device, within the limit
//   3  memory that is still in use elsewhere, with a wait enqueued on the taker
//   4  idle memory goes back to the device to make room for what is asked for
//   5  queued work is waited for; then 1 and 4 again
//
// New memory comes before a wait (3), because a wait couples two streams that the caller kept
// apart.
#pragma once

#include <memory>
#include <mutex>

#include "memory/block_heap.h"
#include "memory/capture_tie.h"
#include "memory/figures.h"
#include "memory/pool.h"
#include "memory/stream_fences.h"

namespace mr {

class CachingPool final : public Pool {
 public:
  // Either one lock and one set of books for all streams, with exact peaks; or one of each for
  // every stream, so that threads on streams of their own do not meet, with peaks that are upper
  // bounds.
  enum class Books { kShared, kPerStream };
  CachingPool(Backend& backend, int device, uint64_t limit_bytes, Books books = Books::kShared);
  // Waits for queued work, then gives everything back, live allocations included.
  ~CachingPool() override;

  Status allocate(StreamRef stream, uint64_t bytes, uint64_t alignment, uint32_t tag, void** out,
                  uint64_t* out_block = nullptr) override;
  Status free(StreamRef stream, void* address) override;
  Status free_block(StreamRef stream, uint64_t block) override;

  // The short way for the same, with the default alignment; where it cannot be taken, null or
  // false, and nothing has happened. tag is known.
  void* allocate_cached(const StreamRef& stream, uint64_t bytes, uint32_t tag,
                        uint64_t* out_block) noexcept;
  bool free_cached(const StreamRef& stream, void* address) noexcept;
  bool free_block_cached(const StreamRef& stream, uint64_t block) noexcept;

  Status use(StreamRef stream, void* address) override;
  Status trim(uint64_t target_bytes, uint64_t* out_reserved) override;
  Status set_limit(uint64_t limit_bytes) override;
  void retire(StreamRef stream) noexcept override;
  void stats(mr_memory_stats* out) override;
  void reset_peaks() override;
  void visit(mr_memory_visit_fn visit, void* user) override;
  void abandon() noexcept override;

 private:
  friend struct PoolProbe;  // tests
  class Turn;
  struct Closing;

  struct Request {
    Grant grant;
    Shape shape;
    uint64_t stream_id = 0;
    PoolStream* stream = nullptr;
    bool refused = false;  // the device had no room
    uint32_t domain = 0;   // what it said
    int32_t native = 0;
  };

  // caching_pool.cpp
  template <class Find>
  bool free_short(const StreamRef& ref, Find&& find) noexcept;
  template <class Find>
  Status free_found(StreamRef ref, Find&& find);
  PoolStream* meet(StreamRef ref);
  Block* find(const Request& request);
  Block& hand_out(Block& block, const Request& request) noexcept;
  Block* live_at(const void* address) const noexcept;
  Block* live_block(uint64_t block) noexcept;
  void leave_live(Block& block) noexcept;
  void drain(PoolStream& stream) noexcept;
  void drain_all() noexcept;
  Figures& figures_of(const Block& block) noexcept;
  Status close(Block& block, PoolStream& stream);
  Status tie(Block& block, PoolStream& stream, Closing* closing);

  // caching_pool_report.cpp
  void describe_blocks(mr_memory_stats* out) const;

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
  Status allocate_slowly(Request* request, Block** out);
  Status climb(Turn& turn, Request* request, SetAside* aside, Block** out);
  Status borrow(const Request& request, Block** out);
  bool fits(const Block& pending, const Shape& shape) const;
  Block* pending_for(const Request& request, bool of_others) const;
  Block* take_back(const Request& request);
  Status donated_to(const Request& request, Block** out);
  Status trim_and_grow(Turn& turn, Request* request, SetAside* aside, Block** out);
  Status wait_for_work(Turn& turn);
  Status shrink(Turn& turn, uint64_t target_bytes);
  BlockHeap::Prospect prospect(bool after_waiting) const;
  bool makes_room(const Request& request, uint64_t releasable);
  Status out_of_memory(Turn& turn, const Request& request);

  // caching_pool_supply.cpp
  Status grow(Turn& turn, Request* request, SetAside* aside, Block** out);
  Status plan(Turn& turn, const Request& request, BlockHeap::Growth* out);
  Status supply(BlockHeap::Growth* growth) noexcept;
  void give_back(Turn& turn, uint64_t target_bytes) noexcept;
  void release(const std::vector<Piece>& pieces) noexcept;

  Backend& backend_;
  const int device_;
  // Held by whoever takes memory from the device or gives it back, so that hits of other threads
  // need not, and let go while queued work is waited for. Taken before mutex_; no callback needs
  // it.
  std::mutex slow_mutex_;
  // With the locks of all fronts, guards all that follows; let go around calls that may wait for
  // the device. A front's lock alone guards the front, its figures, and the blocks that its stream
  // owns and that are allocated or cached; and whoever holds one may read the map of addresses.
  std::mutex mutex_;
  SpinLock shared_lock_;  // the lock of all fronts, where they share one
  const Books books_;

  uint64_t limit_;
  bool paged_;
  bool abandoned_ = false;
  Figures figures_;
  uint64_t waits_ = 0;  // see mr_memory_stats
  uint64_t taken_over_ = 0;
  BlockHeap heap_;
  Chain<Block> pending_;
  StreamFences streams_;
  std::shared_ptr<TieInbox> inbox_;
};

// Holds all of the pool's locks; the figures are settled whenever they are let go.
class CachingPool::Turn {
 public:
  explicit Turn(CachingPool& pool) : pool_(pool) { enter(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { leave(); }
  // Runs `body` without the locks.
  template <class Body>
  auto pause(Body&& body) {
    struct Again {
      Turn& turn;
      ~Again() { turn.enter(); }
    };
    leave();
    const Again again{*this};
    return body();
  }

 private:
  void enter();
  void leave();
  CachingPool& pool_;
};

}  // namespace mr
