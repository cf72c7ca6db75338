// What tests of the host's streams share: tasks that note that they ran, and gates that hold a
// stream up for as long as the test wants.
#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backend/host/host_stream.h"
#include "backend/host/host_workers.h"

namespace test {

// A door that is closed until open() is called.
class Gate {
 public:
  ~Gate() { open(); }
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  // Until somebody stands before the door.
  void wait_for_arrival() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return arrived_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int arrived_ = 0;
};

// The names of the tasks that ran, in the order in which they did.
class Diary {
 public:
  void note(char name) {
    std::lock_guard lock(mutex_);
    text_ += name;
    threads_.push_back(std::this_thread::get_id());
  }
  std::string text() const {
    std::lock_guard lock(mutex_);
    return text_;
  }
  std::vector<std::thread::id> threads() const {
    std::lock_guard lock(mutex_);
    return threads_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
  std::vector<std::thread::id> threads_;
};

inline mr::HostWorkers& one_worker() { return *mr::HostPool::shared(1); }

struct NoteArgs {
  Diary* diary;
  char name;
};

inline mr::Status note(mr::HostStream& stream, Diary& diary, char name) {
  NoteArgs args = {&diary, name};
  const mr::HostTask task = {[](mr::HostWorkers&, const void* bytes, void*, size_t) {
                               const auto* own = static_cast<const NoteArgs*>(bytes);
                               own->diary->note(own->name);
                             },
                             &args, sizeof args, nullptr, 0};
  const mr::Status status = stream.submit(task);
  args = {nullptr, '?'};  // the queue must hold a copy
  return status;
}

inline mr::Status pass(mr::HostStream& stream, Gate& gate) {
  Gate* const args = &gate;
  const mr::HostTask task = {[](mr::HostWorkers&, const void* bytes, void*, size_t) {
                               (*static_cast<Gate* const*>(bytes))->pass();
                             },
                             &args, sizeof args, nullptr, 0};
  return stream.submit(task);
}

using Event = std::shared_ptr<mr::HostEvent>;
inline Event make_event(bool timing = false) { return std::make_shared<mr::HostEvent>(timing); }

}  // namespace test
