#include "memory/memory_state.h"

#include <bit>
#include <new>

#include "memory/caching_pool.h"
#include "memory/callback_pool.h"
#include "memory/pinned_memory.h"

namespace mr {
namespace {

constexpr uint64_t kMaxAlignment = uint64_t{2} << 20;

Status forked_memory() {
  return error(MR_FORKED, "the memory was made before fork()").about("memory");
}

// Runs `body`; when the host has no memory left, that is its outcome.
template <class Body>
Status guarded(Body&& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return error(MR_OUT_OF_HOST_MEMORY, "the host has no memory left for the bookkeeping");
  }
}

}  // namespace

Status choose_device(uint32_t wanted, int32_t ordinal, Backend** out_backend, int* out_device) {
  if (wanted > MR_BACKEND_CUDA) {
    return invalid("config.backend", "is unknown", wanted, MR_BACKEND_CUDA);
  }
  const bool any = wanted == MR_BACKEND_AUTO;
  for (Backend* backend : backends()) {
    if (!any && backend->kind() != wanted) continue;
    const auto devices = backend->devices();
    const Status status = backend->status();
    if (any && (!status.ok() || devices.empty() || devices.front().usable != MR_OK)) continue;
    MR_TRY(status);
    const int32_t index = any ? 0 : ordinal;
    if (index < 0 || static_cast<size_t>(index) >= devices.size()) {
      return error(MR_NO_DEVICE, "there is no such device")
          .about("config.ordinal")
          .got(index)
          .wanted(static_cast<int64_t>(devices.size()) - 1);
    }
    const mr_status usable = devices[static_cast<size_t>(index)].usable;
    if (usable != MR_OK) {
      return error(usable, "the library cannot work on this device")
          .about("config.ordinal")
          .got(index);
    }
    *out_backend = backend;
    *out_device = index;
    return {};
  }
  return unsupported("the library was built without this backend")
      .about("config.backend")
      .got(wanted);
}

}  // namespace mr

using mr::error;
using mr::Ref;
using mr::Status;
using mr::StreamRef;

mr_memory::mr_memory(mr::Backend& backend, int device)
    : Object(mr::ObjectKind::kMemory), backend_(&backend), device_(device) {}

mr_memory::~mr_memory() {
  if (!forked()) return;
  if (pool_ != nullptr) pool_->abandon();
  if (pinned_ != nullptr) pinned_->abandon();
}

Status mr_memory::create(const mr_memory_config& config, Ref<mr_memory>* out) {
  mr::Backend* backend = nullptr;
  int device = 0;
  MR_TRY(mr::choose_device(config.backend, config.ordinal, &backend, &device));
  MR_TRY(backend->open(device));
  return create(*backend, device, config, out);
}

Status mr_memory::create(mr::Backend& backend, int device, const mr_memory_config& config,
                         Ref<mr_memory>* out) {
  if ((config.flags & ~MR_MEMORY_LOCK_PER_STREAM) != 0) {
    return mr::invalid("config.flags", "holds unknown bits", config.flags,
                       MR_MEMORY_LOCK_PER_STREAM);
  }
  if ((config.allocate == nullptr) != (config.deallocate == nullptr)) {
    return mr::invalid("config.allocate", "needs config.deallocate, and the other way round");
  }
  return mr::guarded([&]() -> Status {
    auto memory = Ref<mr_memory>::take(new mr_memory(backend, device));
    if (config.allocate != nullptr) {
      memory->pool_ = std::make_unique<mr::CallbackPool>(backend, device, config);
    } else {
      using Books = mr::CachingPool::Books;
      const bool apart = (config.flags & MR_MEMORY_LOCK_PER_STREAM) != 0;
      auto caching = std::make_unique<mr::CachingPool>(backend, device, config.limit_bytes,
                                                       apart ? Books::kPerStream : Books::kShared);
      memory->caching_ = caching.get();
      memory->pool_ = std::move(caching);
    }
    memory->pinned_ = std::make_unique<mr::PinnedMemory>(backend, device, config);
    *out = std::move(memory);
    return {};
  });
}

void* mr_memory::allocate_cached(const StreamRef& stream, uint64_t bytes, uint32_t tag,
                                 uint64_t* out_block) noexcept {
  if (caching_ == nullptr || tag >= MR_TAG_COUNT) return nullptr;
  return caching_->allocate_cached(stream, bytes, tag, out_block);
}

bool mr_memory::free_cached(const StreamRef& stream, void* address) noexcept {
  return caching_ != nullptr && caching_->free_cached(stream, address);
}

bool mr_memory::free_block_cached(const StreamRef& stream, uint64_t block) noexcept {
  return caching_ != nullptr && caching_->free_block_cached(stream, block);
}

Status mr_memory::allocate(StreamRef stream, uint64_t bytes, uint64_t alignment, uint32_t tag,
                           void** out, uint64_t* out_block) {
  if (forked()) return mr::forked_memory();
  if (tag >= MR_TAG_COUNT) return mr::invalid("tag", "is unknown", tag, MR_TAG_COUNT - 1);
  if (alignment != 0 && (!std::has_single_bit(alignment) || alignment > mr::kMaxAlignment)) {
    return mr::invalid("alignment", "is not a power of two up to 2 MiB")
        .say(std::to_string(alignment).c_str());
  }
  if (bytes == 0) {
    if (out_block != nullptr) *out_block = 0;
    return *out = nullptr, Status();
  }
  return mr::guarded([&] {
    return pool_->allocate(stream, bytes, std::max(alignment, mr::kGranule), tag, out, out_block);
  });
}

Status mr_memory::free_block(StreamRef stream, uint64_t block) {
  if (forked()) return mr::forked_memory();
  if (block == 0) return {};
  return mr::guarded([&] { return pool_->free_block(stream, block); });
}

Status mr_memory::free(StreamRef stream, void* address) {
  if (forked()) return mr::forked_memory();
  if (address == nullptr) return {};
  return mr::guarded([&] { return pool_->free(stream, address); });
}

Status mr_memory::use(StreamRef stream, void* address) {
  if (forked()) return mr::forked_memory();
  if (address == nullptr) return {};
  return mr::guarded([&] { return pool_->use(stream, address); });
}

Status mr_memory::trim(uint64_t target_bytes, uint64_t* out_reserved) {
  if (forked()) return mr::forked_memory();
  return mr::guarded([&] {
    uint64_t reserved = 0;
    MR_TRY(pool_->trim(target_bytes, &reserved));
    if (out_reserved != nullptr) *out_reserved = reserved;
    return Status();
  });
}

Status mr_memory::set_limit(uint64_t limit_bytes) {
  if (forked()) return mr::forked_memory();
  return mr::guarded([&] { return pool_->set_limit(limit_bytes); });
}

void mr_memory::stats(mr_memory_stats* out) {
  if (forked()) return;
  pool_->stats(out);
  out->pinned = pinned_->counter();
  uint64_t free = 0, total = 0;
  if (!backend_->memory_info(device_, &free, &total).ok()) return;
  out->device_free = free;
  out->device_total = total;
  const uint64_t explained = free + out->reserved.current;
  out->external = total > explained ? total - explained : 0;
}

void mr_memory::visit(mr_memory_visit_fn see, void* user) {
  if (!forked()) pool_->visit(see, user);
}

void mr_memory::reset_peaks() {
  if (forked()) return;
  pool_->reset_peaks();
  pinned_->reset_peak();
}

Status mr_memory::allocate_pinned(uint64_t bytes, void** out) {
  if (forked()) return mr::forked_memory();
  if (bytes == 0) return *out = nullptr, Status();
  return mr::guarded([&] { return pinned_->allocate(bytes, out); });
}

void mr_memory::free_pinned(void* address) {
  if (forked() || address == nullptr) return;
  pinned_->free(address);
}

void mr_memory::retire(StreamRef stream) {
  if (!forked()) pool_->retire(stream);
}
