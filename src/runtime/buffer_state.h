// The buffer behind mr_buffer: memory that is freed in its stream's order.
#pragma once

#include <mutex>
#include <vector>

#include "runtime/stream_state.h"

struct mr_buffer final : mr::Object {
 public:
  static mr::Status create(mr_stream& stream, uint64_t bytes, uint32_t kind, uint32_t tag,
                           mr::Ref<mr_buffer>* out);

  void* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  bool is_pinned() const { return kind_ == MR_MEMORY_PINNED; }
  mr_context& context() const { return stream_->context(); }
  mr::Status use(mr_stream& stream);

 private:
  mr_buffer() : Object(mr::ObjectKind::kBuffer) {}
  ~mr_buffer() override;
  void free_device_memory() noexcept;

  mr::Ref<mr_stream> stream_;
  void* data_ = nullptr;
  uint64_t bytes_ = 0;
  uint32_t kind_ = MR_MEMORY_DEVICE;
  std::mutex mutex_;
  std::vector<mr::Ref<mr_stream>> users_;  // keeps the streams of use() alive until the free
};
