// The calls that most programs make all the time: allocate on a hit, free, use.
#include "memory/caching_pool.h"

#include "core/checked.h"

namespace mr {
namespace {

constexpr uint64_t kSegmentUnit = uint64_t{2} << 20;
constexpr uint64_t kSmallLimit = uint64_t{1}
                                 << 20;  // larger requests get segments of their own size

}  // namespace

// What a free has asked for so far; undone unless it is committed.
struct CachingPool::Closing {
  explicit Closing(StreamFences& fences_of) : streams(fences_of) {}
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;
  ~Closing() {
    for (Fence* fence : fences) streams.release(*fence);
    for (CaptureTie* tie : ties) tie->block = nullptr;
  }
  StreamFences& streams;
  std::vector<Fence*> fences;
  std::vector<PoolStream*> late;
  std::vector<CaptureTie*> ties;
};

CachingPool::CachingPool(Backend& backend, int device, uint64_t limit_bytes)
    : backend_(backend),
      device_(device),
      limit_(limit_bytes),
      streams_(backend, device),
      inbox_(std::make_shared<TieInbox>()) {}

CachingPool::~CachingPool() {
  inbox_->close();
  if (!abandoned_) streams_.quiesce();
  while (Segment* segment = segments_.first()) {
    segments_.remove(*segment);
    if (!abandoned_) {
      backend_.release(device_, MemoryKind::kDevice, segment->address, segment->bytes);
    }
    delete segment;
  }
}

void CachingPool::abandon() noexcept {
  abandoned_ = true;
  streams_.abandon();
}

// False where the sizes leave 64 bits: no device has that much.
bool CachingPool::plan(uint64_t bytes, uint64_t alignment, uint32_t tag, Request* out) {
  uint64_t rounded = 0, need = 0;
  out->grant.requested = bytes;
  if (!checked_round_up(bytes, kGranule, &rounded)) return false;
  // A segment is aligned to the granule only, so a stricter request may have to skip some of it.
  if (!checked_add(rounded, alignment - kGranule, &need)) return false;
  out->small = need <= kSmallLimit;
  out->segment_bytes = kSegmentUnit;
  if (!out->small && !checked_round_up(need, kSegmentUnit, &out->segment_bytes)) return false;
  out->grant = {bytes, rounded, tag};
  out->alignment = alignment;
  return true;
}

Status CachingPool::allocate(StreamRef stream, uint64_t bytes, uint64_t alignment, uint32_t tag,
                             void** out) {
  Request request;
  request.stream_id = stream.id;
  const bool possible = plan(bytes, alignment, tag, &request);
  {
    Turn turn(*this);
    if (!possible) return out_of_memory(turn, request);
    collect_ties();
    request.stream = streams_.meet(stream);
    store_.prepare(2);
    Block* block = find(request);
    if (block == nullptr) {
      if (request.stream != nullptr) {
        CaptureInfo capture;
        MR_TRY(streams_.capture(*request.stream, &capture));
        if (capture.state != CaptureState::kNone) {
          return error(
                     MR_CAPTURE_VIOLATION,
                     "no cached memory fits, and more cannot be had while the stream is capturing")
              .about("stream");
        }
      }
      MR_TRY(poll());
      block = find(request);
    }
    if (block != nullptr) return *out = hand_out(*block, request), Status();
  }
  return allocate_slowly(&request, out);
}

// What may be handed out without further ado.
Block* CachingPool::find(const Request& request) const {
  const uint64_t bytes = request.grant.bytes;
  for (const bool small : {request.small, !request.small}) {
    if (small != request.small && !request.any_segment) break;
    Block* block = nullptr;
    if (request.stream != nullptr) {
      block = request.stream->cached.best(small, bytes, request.alignment);
    }
    if (block == nullptr) block = idle_.best(small, bytes, request.alignment);
    if (block != nullptr) return block;
  }
  return nullptr;
}

// Cuts the request out of a free block. What is left before and behind keeps the block's owner. The
// store holds two blocks.
void* CachingPool::hand_out(Block& block, const Request& request) noexcept {
  FreeBlocks& list = list_of(block);
  list.remove(block);
  Block* taken = &block;
  if (const uint64_t gap = gap_to(block.address, request.alignment); gap > 0) {
    taken = &split(block, gap);
    list.insert(block);
  }
  if (taken->bytes > request.grant.bytes) list.insert(split(*taken, request.grant.bytes));
  taken->state = BlockState::kAllocated;
  taken->uses.owner = request.stream;
  taken->active = true;
  taken->grant = request.grant;
  live_.insert(*taken);
  figures_.granted(request.grant);
  return taken->address;
}

// Shortens the block to `bytes` and returns the rest, which is in no list.
Block& CachingPool::split(Block& block, uint64_t bytes) noexcept {
  Block& rest = *store_.get();
  rest.address = block.address + bytes;
  rest.bytes = block.bytes - bytes;
  rest.segment = block.segment;
  rest.before = &block;
  rest.after = block.after;
  rest.state = block.state;
  rest.active = false;
  rest.uses.owner = block.uses.owner;
  if (rest.after != nullptr) rest.after->before = &rest;
  block.bytes = bytes;
  block.after = &rest;
  return rest;
}

FreeBlocks& CachingPool::list_of(const Block& block) noexcept {
  return block.uses.owner != nullptr ? block.uses.owner->cached : idle_;
}

// Puts a block that is in no list among the free ones, merged with its free neighbours.
Block& CachingPool::make_free(Block& block, PoolStream* owner) noexcept {
  block.state = BlockState::kFree;
  block.active = false;
  block.uses.owner = owner;
  const auto merges = [owner](const Block* other) {
    return other != nullptr && other->state == BlockState::kFree && other->uses.owner == owner;
  };
  FreeBlocks& list = list_of(block);
  if (merges(block.after)) {
    list.remove(*block.after);
    absorb(block, *block.after);
  }
  Block* whole = &block;
  if (merges(block.before)) {
    whole = block.before;
    list.remove(*whole);
    absorb(*whole, block);
  }
  list.insert(*whole);
  return *whole;
}

void CachingPool::absorb(Block& block, Block& after) noexcept {
  block.bytes += after.bytes;
  block.after = after.after;
  if (block.after != nullptr) block.after->before = &block;
  store_.put(after);
}

Status CachingPool::free(StreamRef ref, void* address) {
  Turn turn(*this);
  Block* block = live_.find(address);
  if (block == nullptr) return not_allocated();
  PoolStream* stream = streams_.meet(ref);
  if (stream != nullptr) return close(*block, *stream);
  // The caller knows it to be idle, whoever used it.
  live_.remove(*block);
  figures_.freed(block->grant);
  figures_.finished(block->bytes);
  block->uses.users.clear();
  drop_fences(*block);
  make_free(*block, nullptr);
  return {};
}

// Frees a block in the order of `stream`. Work of other streams is fenced now; of one that is
// capturing later, because nothing may be recorded there, and what the capture may have recorded
// about the block ties it to the graph. One that is gone is fenced if it comes back.
Status CachingPool::close(Block& block, PoolStream& stream) {
  std::vector<PoolStream*>& users = block.uses.users;
  CaptureInfo capture;
  MR_TRY(streams_.capture(stream, &capture));
  PoolStream* const owner = block.uses.owner;
  if (owner != nullptr && owner != &stream && !contains(users, owner)) users.push_back(owner);
  Closing closing(streams_);
  if (!users.empty()) {
    closing.fences.reserve(users.size());
    closing.late.reserve(users.size());
  }
  for (PoolStream* user : users) {
    if (user == &stream) continue;
    Fence* fence = nullptr;
    MR_TRY(streams_.mark(*user, &fence));
    if (fence != nullptr) {
      closing.fences.push_back(fence);
    } else {
      MR_TRY(tie(block, *user, &closing));
      closing.late.push_back(user);
    }
  }
  if (capture.state == CaptureState::kActive) MR_TRY(tie(block, stream, &closing));
  std::vector<Fence*>& fences = block.uses.fences;
  fences.reserve(fences.size() + closing.fences.size());

  live_.remove(block);
  figures_.freed(block.grant);
  drop_reached(block);
  users.swap(closing.late);
  fences.insert(fences.end(), closing.fences.begin(), closing.fences.end());
  block.ties = static_cast<uint32_t>(closing.ties.size());
  closing.fences.clear();
  closing.ties.clear();
  if (settled(block)) {
    figures_.finished(block.bytes);
    make_free(block, &stream);
  } else {
    make_pending(block, &stream, true);
  }
  return {};
}

// Holds the block for the graph that the stream is recording. Where the capture has failed there
// will be none; where it has just ended, on its own thread, the block was freed after it.
Status CachingPool::tie(Block& block, PoolStream& stream, Closing* closing) {
  if (stream.gone) return {};
  CaptureInfo before, after;
  MR_TRY(streams_.capture(stream, &before));
  if (before.state != CaptureState::kActive) return {};
  closing->ties.reserve(closing->ties.size() + 1);
  auto tie = std::make_unique<CaptureTie>();
  tie->inbox = inbox_;
  tie->block = &block;
  const Status status =
      backend_.retain_in_capture(device_, stream.native, tie.get(), &CaptureTie::drop);
  if (!status.ok()) {
    MR_TRY(streams_.capture(stream, &after));
    const bool ended = after.state != CaptureState::kActive || after.id != before.id;
    return ended ? Status() : status;
  }
  closing->ties.push_back(tie.release());
  return {};
}

Status CachingPool::use(StreamRef ref, void* address) {
  Turn turn(*this);
  Block* block = live_.find(address);
  if (block == nullptr) return not_allocated();
  PoolStream* stream = streams_.meet(ref);
  if (stream == nullptr || stream == block->uses.owner) return {};
  if (!contains(block->uses.users, stream)) block->uses.users.push_back(stream);
  return {};
}

void CachingPool::stats(mr_memory_stats* out) {
  Turn turn(*this);
  // Freed memory whose work has finished is not active any more. A device that cannot say so is
  // lost, which the next call that can fail reports.
  (void)poll();
  figures_.settle();
  const uint32_t struct_size = out->struct_size;
  *out = figures_.read();
  out->struct_size = struct_size;
  out->limit_bytes = limit_;
}

void CachingPool::reset_peaks() {
  Turn turn(*this);
  figures_.settle();
  figures_.reset_peaks();
}

}  // namespace mr
