// The host's native event.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/host/host_capture.h"
#include "core/result.h"

namespace mr {

// Where the latest record lies.
enum class HostMark { kOutside, kInCapture, kInEndedCapture };

// Records are numbered as they are enqueued. Each is reached on its own: of two records on
// different streams the later may be reached first, and whoever waits for the earlier still waits.
// Shared by its owner and by the queued work that records or awaits it.
class HostEvent {
 public:
  explicit HostEvent(bool timing) : timing_(timing) { open_.reserve(4); }

  // A record was enqueued: its number. Throws std::bad_alloc with nothing changed.
  uint64_t issue();
  void withdraw(uint64_t number);  // the record could not be enqueued after all
  uint64_t latest() const;         // 0: never recorded, which is reached
  void reach(uint64_t number);     // a stream passed record `number`
  void wait(uint64_t number);
  bool reached(uint64_t number) const;
  Status elapsed_to(const HostEvent& stop, float* out_milliseconds) const;

  // The latest record lies within this capture, behind what the clock says; or outside of any.
  void mark_inside(const std::shared_ptr<HostCapture>& capture, HostClock clock);
  void mark_outside();
  HostMark mark(std::shared_ptr<HostCapture>* capture, HostClock* clock) const;

 private:
  bool is_open(uint64_t number) const;

  const bool timing_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t issued_ = 0;
  std::vector<uint64_t> open_;  // issued and not reached; few
  uint64_t timed_ = 0;          // the record that when_ belongs to
  std::chrono::steady_clock::time_point when_;
  bool marked_ = false;
  std::weak_ptr<HostCapture> capture_;
  HostClock clock_;
};

// What the void* of the ABI points to.
struct HostEventHandle {
  std::shared_ptr<HostEvent> event;
};

}  // namespace mr
