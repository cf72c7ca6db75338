// The calls that most programs make all the time: allocate on a hit, free, use. The short way takes
// one lock, the stream's front's; the long way takes all.
#include "memory/caching_pool.h"

namespace mr {

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

CachingPool::CachingPool(Backend& backend, int device, uint64_t limit_bytes, Books books)
    : backend_(backend),
      device_(device),
      books_(books),
      limit_(limit_bytes),
      paged_(backend.page_bytes(device) != 0),
      streams_(backend, device),
      inbox_(std::make_shared<TieInbox>()) {}

CachingPool::~CachingPool() {
  inbox_->close();
  if (abandoned_) return;
  streams_.quiesce();
  for (const Segment* at = heap_.segments().first(); at != nullptr; at = at->later) {
    release(at->pieces);
  }
  for (const auto& [address, bytes] : heap_.ranges()) {
    backend_.release_range(device_, address, bytes);
  }
}

void CachingPool::abandon() noexcept {
  abandoned_ = true;
  streams_.abandon();
}

void CachingPool::Turn::enter() {
  pool_.mutex_.lock();
  if (pool_.books_ == Books::kShared) return pool_.shared_lock_.lock();
  pool_.streams_.for_each([](PoolStream& stream) { stream.front.lock->lock(); });
}

void CachingPool::Turn::leave() {
  pool_.figures_.settle();
  if (pool_.books_ == Books::kShared) {
    pool_.shared_lock_.unlock();
  } else {
    pool_.streams_.for_each([](PoolStream& stream) {
      stream.front.figures->settle();
      stream.front.lock->unlock();
    });
  }
  pool_.mutex_.unlock();
}

// ---- The short way ------------------------------------------------------------------------------

namespace {

// Larger blocks always go back to the heap: set aside unmerged, a few of them would keep what lives
// long from finding its place.
constexpr uint64_t kMostCached = uint64_t{16} << 20;

// 0 is no block.
uint64_t name_of(const Block& block) {
  return uint64_t{block.generation} << 32 | (uint64_t{block.index} + 1);
}

PoolStream* seated(const StreamRef& ref) {
  return ref.seat != nullptr ? ref.seat->pool.load(std::memory_order_acquire) : nullptr;
}

}  // namespace

// A block of this very size that the stream has freed before.
void* CachingPool::allocate_cached(const StreamRef& ref, uint64_t bytes, uint32_t tag,
                                   uint64_t* out_block) noexcept {
  PoolStream* stream = seated(ref);
  if (stream == nullptr || stream->pool != this) return nullptr;
  if (bytes - 1 >= kMostCached) return nullptr;
  const uint64_t rounded = round_to_class(bytes);
  StreamFront& front = stream->front;
  const std::lock_guard lock(*front.lock);
  if (stream->id != ref.id) return nullptr;  // it serves another stream by now
  Block* block = front.cached.pop(class_of(rounded));
  if (block == nullptr) return nullptr;
  block->state = BlockState::kAllocated;
  block->active = true;
  ++block->generation;
  block->grant = {bytes, block->bytes, tag};
  front.figures->taken_back(block->grant);
  if (out_block != nullptr) *out_block = name_of(*block);
  return block->address;
}

// `find` gives the allocated block that is meant, or null; it is called under a front's lock or
// all.
template <class Find>
bool CachingPool::free_short(const StreamRef& ref, Find&& find) noexcept {
  PoolStream* stream = seated(ref);
  if (stream == nullptr || stream->pool != this) return false;
  StreamFront& front = stream->front;
  const std::lock_guard lock(*front.lock);
  if (stream->id != ref.id) return false;
  Block* block = find();
  if (block == nullptr || block->bytes > kMostCached) return false;
  if (block->uses.owner != stream || !block->uses.none_but_owner()) return false;
  block->state = BlockState::kCached;
  block->active = false;
  front.cached.insert(*block);
  front.figures->put_aside(block->grant);
  return true;
}

bool CachingPool::free_cached(const StreamRef& ref, void* address) noexcept {
  if (ref.seat == nullptr || ref.seat->may_be_captured()) return false;
  return free_short(ref, [this, address] { return live_at(address); });
}

bool CachingPool::free_block_cached(const StreamRef& ref, uint64_t block) noexcept {
  if (ref.seat == nullptr || ref.seat->may_be_captured()) return false;
  return free_short(ref, [this, block] { return live_block(block); });
}

// ---- The long way -------------------------------------------------------------------------------

Status CachingPool::allocate(StreamRef ref, uint64_t bytes, uint64_t alignment, uint32_t tag,
                             void** out, uint64_t* out_block) {
  Request request;
  request.stream_id = ref.id;
  const bool possible = BlockHeap::shape(bytes, alignment, &request.shape);
  request.grant = {bytes, request.shape.bytes, tag};
  Block* block = nullptr;
  {
    Turn turn(*this);
    if (!possible) return out_of_memory(turn, request);
    collect_ties();
    request.stream = meet(ref);
    // What is set aside may merge to what is asked for.
    if (request.stream != nullptr) drain(*request.stream);
    block = find(request);
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
      if (block == nullptr) block = take_back(request);
    }
    if (block != nullptr) {
      block = &heap_.claim(*block, request.stream, request.shape);
      heap_.prepare(*block, request.shape);
      block = &hand_out(*block, request);
    }
  }
  if (block == nullptr) MR_TRY(allocate_slowly(&request, &block));
  if (out_block != nullptr) *out_block = name_of(*block);
  *out = block->address;
  return {};
}

Status CachingPool::free(StreamRef ref, void* address) {
  return free_found(ref, [this, address] { return live_at(address); });
}

Status CachingPool::free_block(StreamRef ref, uint64_t block) {
  return free_found(ref, [this, block] { return live_block(block); });
}

template <class Find>
Status CachingPool::free_found(StreamRef ref, Find&& find) {
  bool known_free = false;  // of captures
  if (ref.seat != nullptr) {
    // The device is asked only where a capture may have begun without anybody here being told.
    const uint32_t joined = ref.seat->joined.load(std::memory_order_relaxed);
    CaptureInfo info;
    if (ref.seat->may_be_captured()) {
      MR_TRY(backend_.capture_info(device_, ref.native, &info));
    }
    if (info.state == CaptureState::kNone) {
      ref.seat->left.store(joined, std::memory_order_relaxed);
      known_free = true;
      if (free_short(ref, find)) return {};
    }
  }
  Turn turn(*this);
  Block* block = find();
  if (block == nullptr) return not_allocated();
  PoolStream* stream = meet(ref);
  const bool alone = known_free && block->uses.owner == stream && block->uses.none_but_owner();
  if (stream != nullptr && !alone) return close(*block, *stream);
  // The stream's own, and too large for its front; or, without a stream, known to be idle by the
  // caller, whoever used it.
  leave_live(*block);
  figures_of(*block).finished(block->bytes);
  block->uses.users.clear();
  drop_fences(*block);
  heap_.make_free(*block, stream);
  return {};
}

// ---- With all locks -----------------------------------------------------------------------------

PoolStream* CachingPool::meet(StreamRef ref) {
  bool fresh = false;
  PoolStream* stream = streams_.meet(ref, &fresh);
  if (stream == nullptr) return nullptr;
  if (fresh) {
    StreamFront& front = stream->front;
    stream->pool = this;
    const bool shared = books_ == Books::kShared;
    front.lock = shared ? &shared_lock_ : &front.own_lock;
    front.figures = shared ? &figures_ : &front.own_figures;
    if (!shared) front.lock->lock();  // as all others are
  }
  if (ref.seat != nullptr) ref.seat->pool.store(stream, std::memory_order_release);
  return stream;
}

// What may be handed out without further ado.
Block* CachingPool::find(const Request& request) {
  Block* block = request.stream != nullptr ? heap_.find(request.stream, request.shape) : nullptr;
  return block != nullptr ? block : heap_.find(nullptr, request.shape);
}

// The heap is prepared for it.
Block& CachingPool::hand_out(Block& block, const Request& request) noexcept {
  Block& taken = heap_.take(block, request.shape);
  taken.uses.owner = request.stream;
  taken.active = true;
  taken.grant = request.grant;
  figures_of(taken).granted(request.grant);
  return taken;
}

Block* CachingPool::live_at(const void* address) const noexcept {
  Block* block = heap_.find_address(address);
  const bool live =
      block != nullptr && block->address == address && block->state == BlockState::kAllocated;
  return live ? block : nullptr;
}

Block* CachingPool::live_block(uint64_t name) noexcept {
  Block* block = heap_.at_index(static_cast<uint32_t>(name) - 1);
  const bool live =
      block != nullptr && block->state == BlockState::kAllocated && block->generation == name >> 32;
  return live ? block : nullptr;
}

// It was allocated, and will be free or pending.
void CachingPool::leave_live(Block& block) noexcept {
  heap_.forget_address(block);
  figures_of(block).freed(block.grant);
}

// What a block counts in follows its owner, so that every set of books adds up.
Figures& CachingPool::figures_of(const Block& block) noexcept {
  return block.uses.owner != nullptr ? *block.uses.owner->front.figures : figures_;
}

void CachingPool::drain(PoolStream& stream) noexcept {
  while (Block* block = stream.front.cached.any()) {
    stream.front.cached.remove(*block);
    heap_.forget_address(*block);
    heap_.make_free(*block, &stream);
  }
}

void CachingPool::drain_all() noexcept {
  streams_.for_each([this](PoolStream& stream) { drain(stream); });
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

  leave_live(block);
  Figures& figures = figures_of(block);
  drop_reached(block);
  users.swap(closing.late);
  fences.insert(fences.end(), closing.fences.begin(), closing.fences.end());
  block.ties = static_cast<uint32_t>(closing.ties.size());
  closing.fences.clear();
  closing.ties.clear();
  figures.finished(block.bytes);
  if (settled(block)) {
    heap_.make_free(block, &stream);
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
  Block* block = live_at(address);
  if (block == nullptr) return not_allocated();
  PoolStream* stream = meet(ref);
  if (stream == nullptr || stream == block->uses.owner) return {};
  if (!contains(block->uses.users, stream)) block->uses.users.push_back(stream);
  return {};
}

}  // namespace mr
