#include "runtime/stream_state.h"

#include <new>
#include <utility>

#include "runtime/graph_state.h"

using mr::CaptureInfo;
using mr::CaptureState;
using mr::Ref;
using mr::Status;
using mr::StreamRef;

namespace {

constexpr int kHopper = 90;
constexpr uint64_t kHopperScratch = uint64_t{32} << 20;
constexpr uint64_t kScratch = uint64_t{4} << 20;

uint64_t default_scratch(const mr::DeviceInfo& info) {
  return info.backend == MR_BACKEND_CUDA && info.architecture >= kHopper ? kHopperScratch
                                                                         : kScratch;
}

Status check_config(const mr_stream_config& config) {
  if ((config.flags & ~MR_STREAM_ALLOW_DEFAULT) != 0) {
    return mr::invalid("config.flags", "holds unknown bits", config.flags, MR_STREAM_ALLOW_DEFAULT);
  }
  if (config.reserved != 0) return mr::invalid("config.reserved", "is not 0", config.reserved, 0);
  return {};
}

// What a captured graph holds for as long as it lives.
struct Lease {
  Ref<mr::ScratchReserve> reserve;
  void* address = nullptr;
  ~Lease() {
    if (address != nullptr) reserve->give_back(address);
  }
};

// May run on a driver's thread, where the device must not be called.
void drop_lease(void* object) {
  auto* lease = static_cast<Lease*>(object);
  lease->reserve->give_back(std::exchange(lease->address, nullptr));
  lease->reserve.give()->release_later();
  delete lease;
}

}  // namespace

Status mr_stream::set_up(mr_context& context, const mr_stream_config& config) {
  context_ = Ref<mr_context>::share(&context);
  id_ = context.backend().stream_id(context.device(), native_);
  own_scratch_bytes_ =
      config.workspace_bytes != 0 ? config.workspace_bytes : default_scratch(context.info());
  MR_TRY(context.memory().allocate({}, own_scratch_bytes_, 256, MR_TAG_WORKSPACE, &own_scratch_));
  if (context.backend().kind() != MR_BACKEND_HOST) {
    staging_ = std::make_unique<mr::StagingPool>(context.memory(), native_);
    MR_TRY(staging_->open());
  }
  context.add_stream(this);
  listed_ = true;
  return {};
}

Status mr_stream::create(mr_context& context, const mr_stream_config& config, Ref<mr_stream>* out) {
  Object::release_due();
  MR_TRY(context.check_alive());
  MR_TRY(check_config(config));
  auto stream = Ref<mr_stream>::take(new mr_stream);
  MR_TRY(context.backend().make_stream(context.device(), context.backend_options(), config.priority,
                                       &stream->native_));
  stream->owned_ = true;
  stream->seat_.exposed.store(false, std::memory_order_relaxed);
  stream->context_ = Ref<mr_context>::share(&context);  // so that a failure below drops the stream
  MR_TRY(stream->set_up(context, config));
  *out = std::move(stream);
  return {};
}

Status mr_stream::wrap(mr_context& context, void* native, const mr_stream_config& config,
                       Ref<mr_stream>* out) {
  Object::release_due();
  MR_TRY(context.check_alive());
  MR_TRY(check_config(config));
  const bool allow_default = (config.flags & MR_STREAM_ALLOW_DEFAULT) != 0;
  MR_TRY(context.backend().adopt_stream(context.device(), native, allow_default));
  auto stream = Ref<mr_stream>::take(new mr_stream);
  stream->native_ = native;
  MR_TRY(stream->set_up(context, config));
  *out = std::move(stream);
  return {};
}

mr_stream::~mr_stream() {
  if (!context_) return;
  if (listed_) context_->remove_stream(this);
  if (capture_pool_ != nullptr) capture_pool_->release();
  if (forked()) {
    if (staging_ != nullptr) staging_->abandon();
    return;
  }
  mr::Backend& backend = context_->backend();
  const StreamRef here = ref();
  if (owned_) (void)context_->watch(backend.synchronize_stream(context_->device(), native_));
  staging_.reset();
  if (own_scratch_ != nullptr) {
    (void)context_->memory().free(owned_ ? StreamRef{} : here, own_scratch_);
  }
  if (id_ != 0) context_->memory().retire(here);
  if (owned_) backend.drop_stream(context_->device(), native_);
}

Status mr_stream::set_workspace(void* address, uint64_t bytes) {
  MR_TRY(context_->check_alive());
  if ((address == nullptr) != (bytes == 0)) {
    return mr::invalid("bytes", "does not fit the address: both or neither are zero",
                       static_cast<int64_t>(bytes));
  }
  const auto offset = static_cast<int64_t>(reinterpret_cast<uintptr_t>(address) % 256);
  if (offset != 0) {
    return mr::error(MR_MISALIGNED, "is not a multiple of 256").about("address").got(offset);
  }
  user_scratch_ = address;
  user_scratch_bytes_ = bytes;
  return {};
}

Status mr_stream::reserve_capture(uint64_t bytes) {
  Object::release_due();
  MR_TRY(context_->check_alive());
  if (!capture_reserve_) {
    MR_TRY(mr::ScratchReserve::create(context_->memory(), &capture_reserve_));
  }
  return capture_reserve_->grow(bytes);
}

Status mr_stream::scratch(uint64_t bytes, void** out) {
  if (user_scratch_ == nullptr) {
    CaptureInfo capture;
    MR_TRY(
        context_->watch(context_->backend().capture_info(context_->device(), native_, &capture)));
    if (capture.state == CaptureState::kActive) {
      const bool from_pool = capture_pool_ != nullptr && pool_capture_id_ == capture.id;
      return from_pool ? capture_pool_->lease(bytes, out) : lease(capture.id, bytes, out);
    }
  }
  void* const address = user_scratch_ != nullptr ? user_scratch_ : own_scratch_;
  const uint64_t limit = user_scratch_ != nullptr ? user_scratch_bytes_ : own_scratch_bytes_;
  if (bytes > limit) {
    return mr::error(MR_WORKSPACE_TOO_SMALL, "the stream's scratch is smaller than the call needs")
        .about("stream")
        .got(static_cast<int64_t>(bytes))
        .wanted(static_cast<int64_t>(limit));
  }
  *out = address;
  return {};
}

// One lease per capture serves the calls of this stream in turn; a call that needs more takes
// another, and the first stays with the graph, whose earlier nodes use it.
Status mr_stream::lease(uint64_t capture_id, uint64_t bytes, void** out) {
  if (capture_id_ == capture_id && lease_bytes_ >= bytes) return *out = lease_, Status();
  if (!capture_reserve_) {
    return mr::error(
               MR_WORKSPACE_TOO_SMALL,
               "the stream has no capture reserve; see mr_stream_reserve_capture(); bytes needed")
        .about("stream")
        .got(static_cast<int64_t>(bytes));
  }
  auto held = std::make_unique<Lease>();
  held->reserve = capture_reserve_;
  MR_TRY(capture_reserve_->lease(bytes, &held->address));
  MR_TRY(context_->watch(
      context_->backend().retain_in_capture(context_->device(), native_, held.get(), drop_lease)));
  capture_id_ = capture_id;
  lease_ = held.release()->address;
  lease_bytes_ = bytes;
  return *out = lease_, Status();
}

Status mr_stream::is_capturing(bool* out) const {
  CaptureInfo capture;
  MR_TRY(context_->check_alive());
  MR_TRY(context_->watch(context_->backend().capture_info(context_->device(), native_, &capture)));
  *out = capture.state != CaptureState::kNone;
  return {};
}

Status mr_stream::begin_capture(mr_graph_pool* pool) {
  Object::release_due();
  bool capturing = false;
  MR_TRY(is_capturing(&capturing));
  if (capturing) {
    return noted(
        mr::error(MR_CAPTURE_VIOLATION, "the stream is being captured already").about("stream"));
  }
  may_have_joined();
  MR_TRY(context_->watch(context_->backend().begin_capture(context_->device(), native_)));
  CaptureInfo capture;
  MR_TRY(context_->watch(context_->backend().capture_info(context_->device(), native_, &capture)));
  if (pool != nullptr) pool->retain();
  if (capture_pool_ != nullptr) capture_pool_->release();  // its capture was ended behind our back
  capture_pool_ = pool;
  pool_capture_id_ = capture.id;
  return {};
}

Status mr_stream::end_capture(void** out_native_graph, Ref<mr_graph_pool>* out_pool) {
  CaptureInfo capture;
  MR_TRY(context_->check_alive());
  MR_TRY(context_->watch(context_->backend().capture_info(context_->device(), native_, &capture)));
  if (capture.state == CaptureState::kNone) {
    return mr::error(MR_CAPTURE_VIOLATION, "the stream is not being captured").about("stream");
  }
  auto pool = Ref<mr_graph_pool>::take(std::exchange(capture_pool_, nullptr));
  capture_id_ = 0;
  lease_bytes_ = 0;
  void* graph = nullptr;
  MR_TRY(
      noted(context_->watch(context_->backend().end_capture(context_->device(), native_, &graph))));
  if (capture.state == CaptureState::kActive && context_->is_spoiled(capture.id)) {
    context_->backend().drop_graph(context_->device(), graph);
    Object::release_due();
    return mr::error(MR_CAPTURE_VIOLATION, "a call during the capture was illegal").about("stream");
  }
  *out_native_graph = graph;
  *out_pool = std::move(pool);
  return {};
}

void mr_stream::abandon_capture() noexcept {
  if (capture_pool_ != nullptr) std::exchange(capture_pool_, nullptr)->release();
  capture_id_ = 0;
  lease_bytes_ = 0;
  void* graph = nullptr;
  try {
    if (!context_->backend().end_capture(context_->device(), native_, &graph).ok()) return;
  } catch (const std::bad_alloc&) {
    return;  // the capture is left, and its graph gone
  }
  context_->backend().drop_graph(context_->device(), graph);
}

void mr_stream::spoil_capture() {
  CaptureInfo capture;
  const Status status = context_->backend().capture_info(context_->device(), native_, &capture);
  if (status.ok() && capture.state == CaptureState::kActive) spoiled_capture_ = capture.id;
}

Status mr_stream::noted(Status status) {
  if (status.code == MR_CAPTURE_VIOLATION) spoil_capture();
  return status;
}

Status mr_stream::before_enqueue(const char* operator_name) {
  if (context_->options().synchronous()) {
    bool capturing = false;
    MR_TRY(is_capturing(&capturing));
    if (capturing) {
      return noted(mr::error(MR_CAPTURE_VIOLATION, "the option synchronous forbids capturing")
                       .about("stream"));
    }
  }
  recent_[next_recent_++ % kRecent].store(operator_name, std::memory_order_relaxed);
  return {};
}

Status mr_stream::after_enqueue() {
  return context_->options().synchronous() ? synchronize() : Status();
}

Status mr_stream::query(bool* out_done) {
  bool capturing = false;
  MR_TRY(is_capturing(&capturing));
  if (capturing) {
    return noted(
        mr::error(MR_CAPTURE_VIOLATION, "a capturing stream has no work that could be done")
            .about("stream"));
  }
  return context_->watch(context_->backend().query_stream(context_->device(), native_, out_done));
}
