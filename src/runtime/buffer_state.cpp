#include "runtime/buffer_state.h"

using mr::Ref;
using mr::Status;

Status mr_buffer::create(mr_stream& stream, uint64_t bytes, uint32_t kind, uint32_t tag,
                         Ref<mr_buffer>* out) {
  mr_context& context = stream.context();
  MR_TRY(context.check_alive());
  if (kind > MR_MEMORY_PINNED) return mr::invalid("kind", "is unknown", kind, MR_MEMORY_PINNED);
  if (tag >= MR_TAG_COUNT) return mr::invalid("tag", "is unknown", tag, MR_TAG_COUNT - 1);
  auto buffer = Ref<mr_buffer>::take(new mr_buffer);
  buffer->stream_ = Ref<mr_stream>::share(&stream);
  buffer->kind_ = kind;
  buffer->bytes_ = bytes;
  if (bytes > 0 && kind == MR_MEMORY_PINNED) {
    MR_TRY(context.memory().allocate_pinned(bytes, &buffer->data_));
  } else if (bytes > 0) {
    mr_memory& memory = context.memory();
    buffer->data_ = memory.allocate_cached(stream.ref(), bytes, tag, nullptr);
    if (buffer->data_ == nullptr) {
      MR_TRY(context.watch(memory.allocate(stream.ref(), bytes, 0, tag, &buffer->data_)));
    }
  }
  *out = std::move(buffer);
  return {};
}

mr_buffer::~mr_buffer() {
  if (data_ == nullptr || forked()) return;
  if (is_pinned()) {
    context().memory().free_pinned(data_);
  } else {
    free_device_memory();
  }
}

// Where the host has no memory to note which work the memory must wait for, that work is waited for
// here.
void mr_buffer::free_device_memory() noexcept {
  mr_memory& memory = context().memory();
  if (memory.free_cached(stream_->ref(), data_)) return;
  const Status freed = memory.free(stream_->ref(), data_);
  if (freed.code != MR_OUT_OF_HOST_MEMORY) return;
  bool idle = stream_->synchronize().ok();
  for (const Ref<mr_stream>& user : users_) idle = user->synchronize().ok() && idle;
  // What a capture may have recorded stays allocated until the memory goes.
  if (idle) (void)memory.free({}, data_);
}

Status mr_buffer::use(mr_stream& stream) {
  MR_TRY(context().check_alive());
  if (&stream.context() != &context()) {
    return mr::invalid("stream", "belongs to another context than the buffer");
  }
  if (kind_ != MR_MEMORY_DEVICE) return mr::invalid("buffer", "is not device memory");
  if (data_ == nullptr || &stream == stream_.get()) return {};
  std::lock_guard lock(mutex_);
  for (const Ref<mr_stream>& user : users_) {
    if (user.get() == &stream) return {};
  }
  users_.reserve(users_.size() + 1);
  MR_TRY(context().memory().use(stream.ref(), data_));
  users_.push_back(Ref<mr_stream>::share(&stream));
  return {};
}
