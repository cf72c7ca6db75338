// The event behind mr_event.
#pragma once

#include <atomic>

#include "runtime/stream_state.h"

struct mr_event final : mr::Object {
 public:
  static mr::Status create(mr_context& context, bool timing, mr::Ref<mr_event>* out);
  static mr::Status wrap(mr_context& context, void* native, mr::Ref<mr_event>* out);

  mr_context& context() const { return *context_; }
  void* native() const { return native_; }

  mr::Status record(mr_stream& stream, bool external);
  // The same behind work that is enqueued already and cannot be taken back: where the host has no
  // memory for the record, the work is waited for instead.
  mr::Status record_behind(mr_stream& stream, bool external);
  mr::Status query(bool* out_done);
  mr::Status synchronize();
  mr::Status elapsed_to(mr_event& stop, float* out_milliseconds);
  // Work enqueued on `stream` from now on starts after the latest record.
  mr::Status hold(mr_stream& stream);

 private:
  mr_event() : Object(mr::ObjectKind::kEvent) {}
  ~mr_event() override;
  mr::Status check_outside() const;

  // Where the latest record was made: inside a capture it only orders work within that graph, so it
  // is awaited as a part of it; elsewhere a capturing stream awaits it as an external event.
  // Whether there was one at all is the device's business: through the native handle the host
  // application records too.
  mr::Ref<mr_context> context_;
  void* native_ = nullptr;
  bool owned_ = false;
  bool timing_ = false;
  std::atomic<bool> recorded_here_{false};  // by this object
  std::atomic<uint64_t> capture_id_{
      0};  // 0: recorded outside of a capture, or as an external event
};
