// The streams that a memory has met, and the points in them that freed memory waits for.
//
// Everything here is called under the pool's lock, but for finish().
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "memory/block_heap.h"
#include "memory/memory_state.h"
#include "memory/spin_lock.h"

namespace mr {

// A point in a stream: an event recorded there.
struct Fence {
  void* event = nullptr;
  PoolStream* stream = nullptr;
  uint32_t holders = 0;  // at 0 the fence and its event are reused
  bool reached = false;
  Fence* earlier = nullptr;  // Chain: outstanding fences of the stream in order, or spare ones
  Fence* later = nullptr;
};

// Blocks that a stream freed and allocates again, without the pool's lock; on cache lines of its
// own.
struct alignas(128) StreamFront {
  SpinLock own_lock;
  SpinLock* lock = nullptr;  // its own, or one that all streams share
  FreeBins<Block> cached;
  Figures own_figures;
  Figures* figures = nullptr;  // as with the lock
};

// Never freed while the pool lives, since a StreamSeat may still point at one: reused.
struct PoolStream {
  StreamFront front;
  const void* pool = nullptr;  // that it belongs to
  uint64_t id = 0;
  void* native = nullptr;
  // It went away while it was captured, so nothing could be learnt about its work: what it cached
  // stays untouched until the same stream is met again.
  bool gone = false;
  Chain<Fence> fences;  // recorded, held, and not known to be reached
  OwnedBins free;       // free blocks that it owns
};

class StreamFences {
 public:
  StreamFences(Backend& backend, int device) : backend_(backend), device_(device) {}
  ~StreamFences();
  // In a forked child: the events are the parent's.
  void abandon() { abandoned_ = true; }

  // Null for id 0. *out_fresh (may be null) says whether it was not known. Throws std::bad_alloc.
  PoolStream* meet(StreamRef stream, bool* out_fresh = nullptr);
  PoolStream* find(uint64_t id) const;
  Status capture(const PoolStream& stream, CaptureInfo* out) const;

  // A fence behind all that is enqueued on the stream so far, held once. *out becomes null if the
  // stream is being captured, which nothing may be recorded into, or is gone. Throws
  // std::bad_alloc.
  Status mark(PoolStream& stream, Fence** out);
  // Work enqueued on the stream from now on comes after the fence.
  Status wait(const PoolStream& stream, const Fence& fence);
  void hold(Fence& fence) noexcept { ++fence.holders; }
  void release(Fence& fence) noexcept;

  // Finds out which fences are reached, asking for the oldest of each stream until one is not.
  // *out_any is set if any was; it is written even on failure.
  Status poll(bool* out_any);
  // The last outstanding fence of each stream, held for the caller: where they are reached, all
  // are.
  void last_fences(std::vector<Fence*>* out);
  // Waits for a fence that is held. Needs no lock.
  Status finish(const Fence& fence) const;

  // What must be waited for when a stream goes away: *out is null if all its work is done, else a
  // fence held once. False if the stream is being captured, when neither can be said.
  bool last_point(PoolStream& stream, Fence** out) noexcept;
  // The stream's work so far is what `point` says; from then on it is not known any more.
  void replace(Uses* uses, PoolStream& stream, Fence* point) noexcept;
  void drop(PoolStream& stream) noexcept;
  // Waits for every stream that is still there, and every fence: before memory goes back unseen.
  void quiesce() noexcept;

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [id, stream] : streams_) visit(std::as_const(*stream));
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (auto& [id, stream] : streams_) visit(*stream);
  }

 private:
  Fence* spare();
  void unlink(Fence& fence) noexcept;
  void forget_left() noexcept;

  Backend& backend_;
  const int device_;
  bool abandoned_ = false;
  std::unordered_map<uint64_t, std::unique_ptr<PoolStream>> streams_;
  std::vector<std::unique_ptr<PoolStream>> leaving_;  // dropped, with fences outstanding
  std::vector<std::unique_ptr<PoolStream>> spare_streams_;
  std::vector<std::unique_ptr<Fence>> all_;
  Chain<Fence> spare_;
  size_t outstanding_ = 0;
};

}  // namespace mr
