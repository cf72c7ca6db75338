#include "api/guard.h"
#include "memory/memory_summary.h"
#include "millrace/millrace.h"
#include "runtime/buffer_state.h"

using mr::ObjectKind;
using mr::Status;
using mr::StreamRef;
using mr::api::guard;

namespace {

Status check_memory(const mr_memory* memory) {
  return mr::api::check_handle(memory, ObjectKind::kMemory, "memory");
}

// What is illegal while the stream is being captured spoils the capture.
Status noted(mr_stream* stream, Status status) {
  return stream != nullptr ? stream->noted(status) : status;
}

// A nullable stream, whose context must use this memory: no other memory hears of the stream's end,
// and a block must not wait for a stream that is gone.
Status to_ref(mr_memory* memory, mr_stream* stream, StreamRef* out) {
  if (stream == nullptr) return *out = {}, Status();
  MR_TRY(mr::api::check_handle(stream, ObjectKind::kStream, "stream"));
  if (&stream->context().memory() != memory) {
    return mr::invalid("stream", "belongs to a context that uses another memory");
  }
  MR_TRY(stream->context().check_alive());
  *out = stream->ref();
  return {};
}

// Whether the short way may be tried: nothing about the handles needs a word. Everything else, each
// error included, goes the long way.
bool is_plain(const mr_memory* memory, const mr_stream* stream) noexcept {
  return memory != nullptr && stream != nullptr && memory->kind() == ObjectKind::kMemory &&
         stream->kind() == ObjectKind::kStream && &stream->context().memory() == memory &&
         stream->context().is_alive();
}

Status allocate(mr_memory* memory, mr_stream* stream, uint64_t bytes, uint64_t alignment,
                uint32_t tag, void** out, uint64_t* out_block) {
  MR_TRY(check_memory(memory));
  MR_TRY(mr::api::check_out(out, "out"));
  StreamRef ref;
  MR_TRY(to_ref(memory, stream, &ref));
  void* address = nullptr;
  uint64_t block = 0;
  MR_TRY(noted(stream, memory->allocate(ref, bytes, alignment, tag, &address, &block)));
  *out = address;
  if (out_block != nullptr) *out_block = block;
  return {};
}

}  // namespace

mr_status mr_memory_create(const mr_memory_config* config, mr_memory** out,
                           mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(mr::api::check_out(out, "out"));
    mr_memory_config own;
    MR_TRY(mr::api::read_struct(config, "config", &own));
    mr::Ref<mr_memory> memory;
    MR_TRY(mr_memory::create(own, &memory));
    *out = memory.give();
    return {};
  });
}

void mr_memory_retain(mr_memory* memory) noexcept { mr::api::retain(memory, ObjectKind::kMemory); }

void mr_memory_release(mr_memory* memory) noexcept {
  mr::api::release(memory, ObjectKind::kMemory);
}

mr_status mr_memory_allocate(mr_memory* memory, mr_stream* stream, uint64_t bytes,
                             uint64_t alignment, uint32_t tag, void** out, mr_error* err) noexcept {
  if (is_plain(memory, stream) && alignment == 0 && out != nullptr) {
    if (void* hit = memory->allocate_cached(stream->ref(), bytes, tag, nullptr); hit != nullptr) {
      return *out = hit, MR_OK;
    }
  }
  return guard(err, [&] { return allocate(memory, stream, bytes, alignment, tag, out, nullptr); });
}

mr_status mr_memory_allocate_block(mr_memory* memory, mr_stream* stream, uint64_t bytes,
                                   uint64_t alignment, uint32_t tag, mr_block* out_block,
                                   void** out, mr_error* err) noexcept {
  if (is_plain(memory, stream) && alignment == 0 && out != nullptr && out_block != nullptr) {
    if (void* hit = memory->allocate_cached(stream->ref(), bytes, tag, out_block); hit != nullptr) {
      return *out = hit, MR_OK;
    }
  }
  return guard(err, [&]() -> Status {
    MR_TRY(mr::api::check_out(out_block, "out_block"));
    return allocate(memory, stream, bytes, alignment, tag, out, out_block);
  });
}

mr_status mr_memory_free(mr_memory* memory, mr_stream* stream, void* address,
                         mr_error* err) noexcept {
  if (is_plain(memory, stream) && memory->free_cached(stream->ref(), address)) return MR_OK;
  return guard(err, [&]() -> Status {
    MR_TRY(check_memory(memory));
    StreamRef ref;
    MR_TRY(to_ref(memory, stream, &ref));
    return noted(stream, memory->free(ref, address));
  });
}

mr_status mr_memory_free_block(mr_memory* memory, mr_stream* stream, mr_block block,
                               mr_error* err) noexcept {
  if (is_plain(memory, stream) && memory->free_block_cached(stream->ref(), block)) return MR_OK;
  return guard(err, [&]() -> Status {
    MR_TRY(check_memory(memory));
    StreamRef ref;
    MR_TRY(to_ref(memory, stream, &ref));
    return noted(stream, memory->free_block(ref, block));
  });
}

mr_status mr_memory_use(mr_memory* memory, mr_stream* stream, void* address,
                        mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_memory(memory));
    MR_TRY(mr::api::check_out(stream, "stream"));
    StreamRef ref;
    MR_TRY(to_ref(memory, stream, &ref));
    return memory->use(ref, address);
  });
}

mr_status mr_memory_trim(mr_memory* memory, uint64_t target_bytes, uint64_t* out_reserved,
                         mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_memory(memory));
    uint64_t reserved = 0;
    MR_TRY(memory->trim(target_bytes, &reserved));
    if (out_reserved != nullptr) *out_reserved = reserved;
    return {};
  });
}

mr_status mr_memory_set_limit(mr_memory* memory, uint64_t limit_bytes, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_memory(memory));
    return memory->set_limit(limit_bytes);
  });
}

mr_status mr_memory_get_stats(mr_memory* memory, mr_memory_stats* out, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_memory(memory));
    MR_TRY(mr::api::check_out_struct(out, "out"));
    mr_memory_stats stats = {};
    memory->stats(&stats);
    mr::api::write_struct(stats, out);
    return {};
  });
}

mr_status mr_memory_reset_peaks(mr_memory* memory, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_memory(memory));
    memory->reset_peaks();
    return {};
  });
}

mr_status mr_memory_summary(mr_memory* memory, char* out, uint64_t capacity, uint64_t* out_length,
                            mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_memory(memory));
    mr_memory_stats stats = MR_MEMORY_STATS_INIT;
    memory->stats(&stats);
    const auto& device = memory->backend().devices()[static_cast<size_t>(memory->device())];
    const std::string text = mr::memory_summary(stats, device.name);
    return mr::api::write_text(text.c_str(), out, capacity, out_length);
  });
}

mr_status mr_memory_visit(mr_memory* memory, mr_memory_visit_fn visit, void* user,
                          mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_memory(memory));
    if (visit == nullptr) return mr::invalid("visit", "is NULL");
    memory->visit(visit, user);
    return {};
  });
}

// ---- Buffers ------------------------------------------------------------------------------------

mr_status mr_buffer_create(mr_stream* stream, uint64_t bytes, uint32_t kind, uint32_t tag,
                           mr_buffer** out, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(mr::api::check_handle(stream, ObjectKind::kStream, "stream"));
    MR_TRY(mr::api::check_out(out, "out"));
    mr::Ref<mr_buffer> buffer;
    MR_TRY(noted(stream, mr_buffer::create(*stream, bytes, kind, tag, &buffer)));
    *out = buffer.give();
    return {};
  });
}

void mr_buffer_retain(mr_buffer* buffer) noexcept { mr::api::retain(buffer, ObjectKind::kBuffer); }

void mr_buffer_release(mr_buffer* buffer) noexcept {
  mr::api::release(buffer, ObjectKind::kBuffer);
}

void* mr_buffer_data(mr_buffer* buffer) noexcept {
  return buffer != nullptr && buffer->kind() == ObjectKind::kBuffer ? buffer->data() : nullptr;
}

uint64_t mr_buffer_bytes(mr_buffer* buffer) noexcept {
  return buffer != nullptr && buffer->kind() == ObjectKind::kBuffer ? buffer->bytes() : 0;
}

mr_status mr_buffer_use(mr_buffer* buffer, mr_stream* stream, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(mr::api::check_handle(buffer, ObjectKind::kBuffer, "buffer"));
    MR_TRY(mr::api::check_handle(stream, ObjectKind::kStream, "stream"));
    return buffer->use(*stream);
  });
}
