// The host's native stream: a queue that runs its work inline, on a thread of its own, or records
// it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "backend/host/host_capture.h"
#include "backend/host/host_event.h"
#include "core/result.h"

namespace mr {

class HostStream final : public HostQueue {
 public:
  HostStream(HostWorkers& workers, bool deferred);
  ~HostStream() override;  // waits

  uint64_t id() const { return id_; }
  Status submit(const HostTask& task) override;

  Status record(const std::shared_ptr<HostEvent>& event, bool external);
  Status wait(const std::shared_ptr<HostEvent>& event, bool external);
  Status launch(const std::shared_ptr<HostGraph>& graph);
  bool done();
  void drain();

  std::shared_ptr<HostCapture> capture() const;
  Status begin_capture();
  Status end_capture(std::shared_ptr<HostGraph>* out);
  Status retain_in_capture(void* object, void (*drop)(void*));

 private:
  template <class Work>
  void enqueue(Work work);
  void serve();
  // False if the capture has ended meanwhile.
  bool join(const std::shared_ptr<HostCapture>& capture, const HostClock& clock);
  static void set_members_free(HostCapture& capture);  // which is locked
  // Appends to the capture's list on behalf of this stream.
  Status add_node(HostCapture& capture, HostNode node);

  HostWorkers& workers_;
  const uint64_t id_;

  // Only looked at by callers of this stream; the lock is for members that another stream's
  // end_capture sets free.
  mutable std::mutex capture_mutex_;
  std::shared_ptr<HostCapture> capture_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool running_ = false;
  bool closing_ = false;
  std::thread thread_;  // joinable: deferred
};

}  // namespace mr
