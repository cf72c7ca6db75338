// How a pool takes memory from the device and gives it back.
#include <algorithm>
#include <new>

#include "memory/caching_pool.h"

namespace mr {
namespace {

// Address space is plentiful but not endless, and several pools of several devices share it: enough
// for the device's memory and for holes, halved until the driver has so much.
constexpr uint64_t kRangesPerDevice = 2;
constexpr uint64_t kSmallestRange = uint64_t{64} << 20;

}  // namespace

// More memory, with room to cut the request out of it. *out stays null if the limit or the device
// has no room.
Status CachingPool::grow(Turn& turn, Request* request, SetAside* aside, Block** out) {
  // Again where another thread took what the new memory was to extend.
  for (int attempt = 0; attempt < 4 && *out == nullptr; ++attempt) {
    BlockHeap::Growth growth;
    MR_TRY(plan(turn, *request, &growth));
    request->stream = streams_.find(request->stream_id);
    const uint64_t bytes = growth.bytes;
    if (bytes == 0) request->refused = true;
    if (bytes == 0) return {};
    if (limit_ != 0 && (bytes > limit_ || figures_.reserved() > limit_ - bytes)) return {};
    std::vector<Piece> pieces = growth.pieces;  // to be given back if the host has no memory
    const Status status = turn.pause([&] { return supply(&growth); });
    request->stream = streams_.find(request->stream_id);
    if (status.code == MR_OUT_OF_DEVICE_MEMORY || status.code == MR_OUT_OF_HOST_MEMORY) {
      request->refused = true;
      request->domain = status.domain;
      request->native = status.native;
      return {};
    }
    MR_TRY(status);
    growth.owner = request->stream;  // which may have gone and come back
    aside->give_back();
    std::copy(growth.pieces.begin(), growth.pieces.end(), pieces.begin());
    Block* block = nullptr;
    try {
      block = heap_.commit(&growth, request->shape);
    } catch (const std::bad_alloc&) {
      turn.pause([&] { return release(pieces), 0; });
      throw;
    }
    if (block == nullptr) {
      turn.pause([&] { return release(pieces), 0; });
      return error(MR_INTERNAL, "the device's memory lies outside of 48 bits of address space");
    }
    figures_.taken(bytes, pieces.size());
    *out = find(*request);
  }
  return {};
}

// growth->bytes stays 0 where there is no address space left.
Status CachingPool::plan(Turn& turn, const Request& request, BlockHeap::Growth* out) {
  if (paged_ && heap_.plan_growth(request.stream, request.shape, out)) return {};
  if (paged_) {
    uint64_t free = 0, total = 0;
    MR_TRY(backend_.memory_info(device_, &free, &total));
    // The device will never have so much; that is no sign that it lacks addresses.
    if (request.shape.bytes > total) return *out = {}, Status();
    const uint64_t least = std::max(kSmallestRange, request.shape.bytes + BlockHeap::kUnit);
    uint64_t bytes = std::max(total * kRangesPerDevice, least);
    void* address = nullptr;
    for (Status status; address == nullptr && bytes >= least; bytes /= 2) {
      bytes &= ~(BlockHeap::kUnit - 1);
      status = turn.pause([&] { return backend_.reserve_range(device_, bytes, &address); });
      if (status.ok()) break;
      if (status.code != MR_OUT_OF_DEVICE_MEMORY && status.code != MR_OUT_OF_HOST_MEMORY) {
        return status;
      }
    }
    if (address == nullptr) {
      // No address space: what there is from now on comes whole. Ranges that hold memory stay.
      if (heap_.has_ranges()) return *out = {}, Status();
      paged_ = false;
    } else {
      try {
        heap_.add_range(static_cast<char*>(address), bytes);
      } catch (const std::bad_alloc&) {
        backend_.release_range(device_, address, bytes);
        throw;
      }
      (void)heap_.plan_growth(streams_.find(request.stream_id), request.shape, out);
      return {};
    }
  }
  BlockHeap::plan_anywhere(request.stream, request.shape, out);
  return {};
}

// All pieces or none. Called without a lock.
Status CachingPool::supply(BlockHeap::Growth* growth) noexcept {
  if (!paged_) {
    void* address = nullptr;
    MR_TRY(backend_.reserve(device_, MemoryKind::kDevice, growth->bytes, &address));
    growth->address = static_cast<char*>(address);
    growth->pieces[0] = {growth->address, growth->bytes, 0};
    return {};
  }
  for (size_t i = 0; i < growth->pieces.size(); ++i) {
    Piece& piece = growth->pieces[i];
    const Status status = backend_.map(device_, piece.address, piece.bytes, &piece.handle);
    if (status.ok()) continue;
    for (size_t j = 0; j < i; ++j) {
      const Piece& done = growth->pieces[j];
      backend_.unmap(device_, done.address, done.bytes, done.handle);
    }
    return status;
  }
  return {};
}

void CachingPool::release(const std::vector<Piece>& pieces) noexcept {
  for (const Piece& piece : pieces) {
    if (paged_) {
      backend_.unmap(device_, piece.address, piece.bytes, piece.handle);
    } else {
      backend_.release(device_, MemoryKind::kDevice, piece.address, piece.bytes);
    }
  }
}

// Gives idle memory back, oldest first, until at most `target_bytes` are reserved.
void CachingPool::give_back(Turn& turn, uint64_t target_bytes) noexcept {
  if (figures_.reserved() <= target_bytes) return;
  std::vector<Piece> pieces;
  heap_.take_pieces(figures_.reserved() - target_bytes, &pieces);
  if (pieces.empty()) return;
  turn.pause([&] { return release(pieces), 0; });
  // Counted as reserved until now: the limit holds for what the device has not got back.
  for (const Piece& piece : pieces) figures_.returned(piece.bytes);
}

}  // namespace mr
