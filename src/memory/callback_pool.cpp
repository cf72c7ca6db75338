#include "memory/callback_pool.h"

#include <algorithm>
#include <memory>
#include <new>

#include "core/checked.h"

namespace mr {

CallbackPool::CallbackPool(Backend& backend, int device, const mr_memory_config& config)
    : backend_(backend),
      device_(device),
      allocate_(config.allocate),
      deallocate_(config.deallocate),
      user_(config.user),
      limit_(config.limit_bytes),
      streams_(backend, device) {}

CallbackPool::~CallbackPool() {
  if (!abandoned_) streams_.quiesce();
  loans_.for_each([this](Loan& loan) {
    if (!abandoned_) deallocate(loan, nullptr);
    delete &loan;
  });
}

void CallbackPool::abandon() noexcept {
  abandoned_ = true;
  streams_.abandon();
}

void CallbackPool::deallocate(const Loan& loan, void* native) const {
  deallocate_(user_, loan.address, loan.grant.bytes, MR_MEMORY_DEVICE, device_, native);
}

Status CallbackPool::out_of_memory(const Grant& grant) {
  figures_.out_of_memory();
  return mr::out_of_memory(backend_, device_, {grant.requested, figures_.reserved(), limit_, 0, 0});
}

// Sets the bytes aside under the limit.
Status CallbackPool::admit(StreamRef ref, const Grant& grant) {
  if (PoolStream* stream = streams_.meet(ref); stream != nullptr) {
    CaptureInfo capture;
    MR_TRY(streams_.capture(*stream, &capture));
    if (capture.state != CaptureState::kNone) {
      return error(MR_CAPTURE_VIOLATION, "memory cannot be had while the stream is capturing")
          .about("stream");
    }
  }
  uint64_t held = 0;
  if (!checked_add(figures_.reserved() + in_flight_, grant.bytes, &held) ||
      (limit_ != 0 && held > limit_)) {
    return out_of_memory(grant);
  }
  in_flight_ += grant.bytes;
  return {};
}

Status CallbackPool::allocate(StreamRef ref, uint64_t bytes, uint64_t alignment, uint32_t tag,
                              void** out, uint64_t* out_block) {
  auto loan = std::make_unique<Loan>();
  loan->grant = {bytes, bytes, tag};
  {
    std::lock_guard lock(mutex_);
    if (!checked_round_up(bytes, kGranule, &loan->grant.bytes)) return out_of_memory(loan->grant);
    MR_TRY(admit(ref, loan->grant));
  }
  loan->address =
      allocate_(user_, loan->grant.bytes, alignment, MR_MEMORY_DEVICE, device_, ref.native);
  const bool aligned = gap_to(static_cast<const char*>(loan->address), alignment) == 0;
  if (!aligned) deallocate(*loan, ref.native);

  std::lock_guard lock(mutex_);
  in_flight_ -= loan->grant.bytes;
  if (loan->address == nullptr) return out_of_memory(loan->grant);
  if (!aligned) {
    return invalid("config.allocate", "returned an address that is not aligned as asked");
  }
  loan->uses.owner = streams_.find(ref.id);
  figures_.taken(loan->grant.bytes, 1);
  figures_.granted(loan->grant);
  figures_.settle();
  *out = loan->address;
  if (out_block != nullptr) *out_block = reinterpret_cast<uintptr_t>(loan->address);
  loans_.insert(*loan.release());
  return {};
}

Status CallbackPool::free_block(StreamRef ref, uint64_t block) {
  return free(ref, reinterpret_cast<void*>(static_cast<uintptr_t>(block)));
}

Status CallbackPool::free(StreamRef ref, void* address) {
  std::unique_ptr<Loan> loan;
  {
    std::lock_guard lock(mutex_);
    Loan* found = loans_.find(address);
    if (found == nullptr) return not_allocated();
    PoolStream* stream = streams_.meet(ref);
    if (stream != nullptr) MR_TRY(join_users(*found, *stream));
    forget_uses(*found);
    loans_.remove(*found);
    loan.reset(found);
  }
  deallocate(*loan, ref.native);
  // Counted until the host application has it back: the limit holds for what it has given.
  std::lock_guard lock(mutex_);
  figures_.freed(loan->grant);
  figures_.finished(loan->grant.bytes);
  figures_.returned(loan->grant.bytes);
  figures_.settle();
  return {};
}

// Makes the stream wait for all others that work with the memory. Waits that were enqueued before
// one failed do no harm.
Status CallbackPool::join_users(Loan& loan, PoolStream& stream) {
  std::vector<PoolStream*>& users = loan.uses.users;
  PoolStream* const owner = loan.uses.owner;
  if (owner != nullptr && owner != &stream && !contains(users, owner)) users.push_back(owner);
  const auto is_other = [&](const PoolStream* user) { return user != &stream; };
  if (std::none_of(users.begin(), users.end(), is_other) && loan.uses.fences.empty()) return {};
  const Status violation =
      error(MR_CAPTURE_VIOLATION, "other streams use the memory, and one of them is capturing")
          .about("stream");
  CaptureInfo capture;
  MR_TRY(streams_.capture(stream, &capture));
  if (capture.state != CaptureState::kNone) return violation;
  for (const Fence* fence : loan.uses.fences) MR_TRY(streams_.wait(stream, *fence));
  for (PoolStream* user : users) {
    if (user == &stream) continue;
    Fence* fence = nullptr;
    MR_TRY(streams_.mark(*user, &fence));
    if (fence == nullptr) return violation;
    const Status status = streams_.wait(stream, *fence);
    streams_.release(*fence);
    MR_TRY(status);
  }
  return {};
}

void CallbackPool::forget_uses(Loan& loan) noexcept {
  for (Fence* fence : loan.uses.fences) streams_.release(*fence);
  loan.uses = {};
}

Status CallbackPool::use(StreamRef ref, void* address) {
  std::lock_guard lock(mutex_);
  Loan* loan = loans_.find(address);
  if (loan == nullptr) return not_allocated();
  PoolStream* stream = streams_.meet(ref);
  std::vector<PoolStream*>& users = loan->uses.users;
  if (stream == nullptr || stream == loan->uses.owner) return {};
  if (!contains(users, stream)) users.push_back(stream);
  return {};
}

// Nothing is cached, so there is nothing to give back.
Status CallbackPool::trim(uint64_t, uint64_t* out_reserved) {
  std::lock_guard lock(mutex_);
  *out_reserved = figures_.reserved();
  return {};
}

Status CallbackPool::set_limit(uint64_t limit_bytes) {
  std::lock_guard lock(mutex_);
  limit_ = limit_bytes;
  return {};
}

void CallbackPool::retire(StreamRef ref) noexcept {
  std::lock_guard lock(mutex_);
  PoolStream* stream = streams_.find(ref.id);
  if (stream == nullptr) return;
  stream->gone = false;
  Fence* point = nullptr;
  if (!streams_.last_point(*stream, &point)) {
    stream->gone = true;
    return;
  }
  if (point != nullptr) {
    try {
      loans_.for_each([](Loan& loan) { loan.uses.fences.reserve(loan.uses.fences.size() + 1); });
    } catch (const std::bad_alloc&) {
      // No room to note the fence everywhere, so it is waited for instead.
      (void)streams_.finish(*point);
      streams_.release(*point);
      point = nullptr;
    }
  }
  loans_.for_each([&](Loan& loan) { streams_.replace(&loan.uses, *stream, point); });
  if (point != nullptr) streams_.release(*point);
  streams_.drop(*stream);
}

void CallbackPool::stats(mr_memory_stats* out) {
  std::lock_guard lock(mutex_);
  figures_.settle();
  const uint32_t struct_size = out->struct_size;
  *out = figures_.read();
  out->struct_size = struct_size;
  out->limit_bytes = limit_;
}

void CallbackPool::visit(mr_memory_visit_fn see, void* user) {
  std::lock_guard lock(mutex_);
  loans_.for_each([&](Loan& loan) {
    mr_memory_block out = MR_MEMORY_BLOCK_INIT;
    out.address = out.segment_address = loan.address;
    out.bytes = out.segment_bytes = loan.grant.bytes;
    out.requested = loan.grant.requested;
    out.stream = loan.uses.owner != nullptr ? loan.uses.owner->id : 0;
    out.state = MR_BLOCK_ALLOCATED;
    out.tag = loan.grant.tag;
    see(user, &out);
  });
}

void CallbackPool::reset_peaks() {
  std::lock_guard lock(mutex_);
  figures_.reset_peaks();
}

}  // namespace mr
