// The stream behind mr_stream: a native queue with the scratch that operators on it use.
//
// Scratch, best first: what the caller set; while capturing, a lease from the capture's pool or the
// stream's reserve; else the stream's own. One caller at a time, so nothing here is locked except
// what the context reads to describe a fault.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "runtime/context_state.h"
#include "runtime/scratch_reserve.h"
#include "runtime/staging_pool.h"

struct mr_stream final : mr::Object {
 public:
  static mr::Status create(mr_context& context, const mr_stream_config& config,
                           mr::Ref<mr_stream>* out);
  static mr::Status wrap(mr_context& context, void* native, const mr_stream_config& config,
                         mr::Ref<mr_stream>* out);

  mr_context& context() const { return *context_; }
  void* native() const { return native_; }
  uint64_t id() const { return id_; }  // unique for the process, never reused
  mr::StreamRef ref() { return {native_, id_, &seat_}; }
  // From now on the application may capture the stream without a word to the library.
  void expose() { seat_.exposed.store(true, std::memory_order_relaxed); }
  // It may have become part of a capture.
  void may_have_joined() { seat_.joined.fetch_add(1, std::memory_order_relaxed); }

  // Scratch of at least `bytes` for a call that is about to be enqueued; no allocation.
  mr::Status scratch(uint64_t bytes, void** out);
  mr::Status set_workspace(void* address, uint64_t bytes);
  mr::Status reserve_capture(uint64_t bytes);

  mr::Status is_capturing(bool* out) const;
  mr::Status begin_capture(mr_graph_pool* pool);
  // *out_pool receives the pool that the capture used, if any. The stream leaves its capture in any
  // case.
  mr::Status end_capture(void** out_native_graph, mr::Ref<mr_graph_pool>* out_pool);
  void abandon_capture() noexcept;  // ends it and throws the graph away
  // Passes a status through; where a call was illegal because the stream is being captured, the
  // capture gives no graph: the program believes in work that the graph does not hold.
  mr::Status noted(mr::Status status);
  void spoil_capture();

  mr::Status synchronize();
  mr::Status query(bool* out_done);
  mr::Status copy(void* to, const void* from, uint64_t bytes, uint32_t direction);
  mr::Status fill(void* to, uint32_t value, uint64_t bytes);
  mr::Status upload(void* to_device, const void* from_host, uint64_t bytes);
  mr::Status download(void* to_host, const void* from_device, uint64_t bytes);

  // What an operator calls around its launch: before it, to be named in a fault's text, and to be
  // refused where the option `synchronous` meets a capture; after it, to wait where the option asks
  // for that.
  mr::Status before_enqueue(const char* operator_name);
  mr::Status after_enqueue();

  static constexpr uint32_t kRecent = 4;
  // For the context's fault text.
  std::atomic<const char*> recent_[kRecent] = {};
  uint32_t next_recent_ = 0;
  // The capture that spoil_capture() met last. Read by the context, on behalf of the stream that
  // ends it.
  std::atomic<uint64_t> spoiled_capture_{0};
  mr_stream* next_in_context_ = nullptr;
  mr_stream* previous_in_context_ = nullptr;

 private:
  mr_stream() : Object(mr::ObjectKind::kStream) {}
  ~mr_stream() override;
  mr::Status set_up(mr_context& context, const mr_stream_config& config);
  mr::Status lease(uint64_t capture_id, uint64_t bytes, void** out);

  mr::Ref<mr_context> context_;
  void* native_ = nullptr;
  bool owned_ = false;
  bool listed_ = false;  // in the context's list
  uint64_t id_ = 0;
  mr::StreamSeat seat_;

  void* own_scratch_ = nullptr;
  uint64_t own_scratch_bytes_ = 0;
  void* user_scratch_ = nullptr;
  uint64_t user_scratch_bytes_ = 0;

  mr::Ref<mr::ScratchReserve> capture_reserve_;
  mr_graph_pool* capture_pool_ =
      nullptr;                    // one reference, of the capture that begin_capture() began
  uint64_t pool_capture_id_ = 0;  // that capture
  uint64_t capture_id_ = 0;       // the capture that the lease below belongs to
  void* lease_ = nullptr;
  uint64_t lease_bytes_ = 0;

  std::unique_ptr<mr::StagingPool> staging_;  // made at creation where the backend is not the host
};
