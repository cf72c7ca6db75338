#include "backend/host/host_event.h"

#include <algorithm>

namespace mr {

bool HostEvent::is_open(uint64_t number) const {
  return std::find(open_.begin(), open_.end(), number) != open_.end();
}

uint64_t HostEvent::issue() {
  std::lock_guard lock(mutex_);
  open_.push_back(issued_ + 1);
  marked_ = false;
  return ++issued_;
}

void HostEvent::withdraw(uint64_t number) {
  std::lock_guard lock(mutex_);
  std::erase(open_, number);
  if (issued_ == number) --issued_;
  changed_.notify_all();
}

uint64_t HostEvent::latest() const {
  std::lock_guard lock(mutex_);
  return issued_;
}

void HostEvent::reach(uint64_t number) {
  std::lock_guard lock(mutex_);
  std::erase(open_, number);
  if (timing_ && number > timed_) {
    timed_ = number;
    when_ = std::chrono::steady_clock::now();
  }
  changed_.notify_all();
}

void HostEvent::wait(uint64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !is_open(number); });
}

bool HostEvent::reached(uint64_t number) const {
  std::lock_guard lock(mutex_);
  return !is_open(number);
}

Status HostEvent::elapsed_to(const HostEvent& stop, float* out_milliseconds) const {
  if (!timing_) return invalid("start", "was made without MR_EVENT_TIMING");
  if (!stop.timing_) return invalid("stop", "was made without MR_EVENT_TIMING");
  std::chrono::steady_clock::time_point from, to;
  for (const HostEvent* event : {this, &stop}) {
    std::lock_guard lock(event->mutex_);
    if (event->issued_ == 0) {
      return invalid(event == this ? "start" : "stop", "was never recorded");
    }
    if (event->is_open(event->issued_)) {
      return error(MR_NOT_READY, "an event is not reached yet");
    }
    (event == this ? from : to) = event->when_;
  }
  if (this == &stop) to = from;
  *out_milliseconds = std::chrono::duration<float, std::milli>(to - from).count();
  return {};
}

void HostEvent::mark_inside(const std::shared_ptr<HostCapture>& capture, HostClock clock) {
  std::lock_guard lock(mutex_);
  marked_ = true;
  capture_ = capture;
  clock_ = std::move(clock);
}

void HostEvent::mark_outside() {
  std::lock_guard lock(mutex_);
  marked_ = false;
}

HostMark HostEvent::mark(std::shared_ptr<HostCapture>* capture, HostClock* clock) const {
  std::lock_guard lock(mutex_);
  if (!marked_) return HostMark::kOutside;
  *capture = capture_.lock();
  if (*capture == nullptr) return HostMark::kInEndedCapture;
  *clock = clock_;
  return HostMark::kInCapture;
}

}  // namespace mr
