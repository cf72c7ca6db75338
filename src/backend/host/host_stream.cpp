#include "backend/host/host_stream.h"

#include <algorithm>
#include <cstring>

namespace mr {
namespace {

std::atomic<uint64_t> next_stream_id{1};
std::atomic<uint64_t> next_capture_id{1};

void run_task(const HostTask& task, HostWorkers& workers) {
  task.run(workers, task.args, task.scratch, task.scratch_bytes);
}

void merge(HostClock& into, const HostClock& from) {
  for (const auto& [stream, count] : from) into[stream] = std::max(into[stream], count);
}

// Of the records and waits only the first have numbers. The latest go first, so that each is the
// latest of its event when it is withdrawn.
void withdraw_records(const HostGraph& graph, const std::vector<uint64_t>& numbers) {
  size_t next = 0;
  auto node = graph.nodes.begin();
  for (; next < numbers.size(); ++node) next += node->kind != HostNode::Kind::kTask ? 1 : 0;
  while (node != graph.nodes.begin()) {
    --node;
    if (node->kind == HostNode::Kind::kTask) continue;
    --next;
    if (node->kind == HostNode::Kind::kRecord) node->event->withdraw(numbers[next]);
  }
}

Status capture_ended() {
  return error(MR_CAPTURE_VIOLATION, "the capture was ended on another thread meanwhile")
      .about("stream");
}

}  // namespace

HostNode copy_task(const HostTask& task) {
  HostNode node;
  node.task = task;
  node.bytes = std::make_unique<std::byte[]>(task.args_bytes);
  std::memcpy(node.bytes.get(), task.args, task.args_bytes);
  node.task.args = node.bytes.get();
  return node;
}

HostStream::HostStream(HostWorkers& workers, bool deferred)
    : workers_(workers), id_(next_stream_id.fetch_add(1, std::memory_order_relaxed)) {
  if (deferred) thread_ = std::thread([this] { serve(); });
}

// A capture cannot end any more without the stream that began it: the streams that joined are let
// go.
HostStream::~HostStream() {
  if (const auto recording = capture()) {
    std::lock_guard lock(recording->mutex);
    recording->broken = true;
    recording->members.erase(this);
    if (recording->origin == this) set_members_free(*recording);
  }
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

// The thread of a deferred stream: everything that was enqueued before the stream closes still
// runs.
void HostStream::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    running_ = true;
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
    running_ = false;
    changed_.notify_all();
  }
}

// Throws std::bad_alloc with nothing enqueued.
template <class Work>
void HostStream::enqueue(Work work) {
  if (!thread_.joinable()) return work();
  std::function<void()> held(std::move(work));
  std::lock_guard lock(mutex_);
  queue_.push_back(std::move(held));
  changed_.notify_all();
}

bool HostStream::done() {
  std::lock_guard lock(mutex_);
  return queue_.empty() && !running_;
}

void HostStream::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !running_; });
}

Status HostStream::submit(const HostTask& task) {
  if (auto recording = capture()) return add_node(*recording, copy_task(task));
  if (!thread_.joinable()) return run_task(task, workers_), Status();
  enqueue([this, node = std::make_shared<HostNode>(copy_task(task))] {
    run_task(node->task, workers_);
  });
  return {};
}

Status HostStream::record(const std::shared_ptr<HostEvent>& event, bool external) {
  if (const auto recording = capture()) {
    if (external) {
      HostNode node;
      node.kind = HostNode::Kind::kRecord;
      node.event = event;
      MR_TRY(add_node(*recording, std::move(node)));
      event->mark_outside();  // each replay records it anew
      return {};
    }
    // Within the graph the event is only a mark in this stream's order.
    std::lock_guard lock(recording->mutex);
    if (recording->ended) return capture_ended();
    event->mark_inside(recording, recording->members[this]);
    return {};
  }
  const uint64_t number = event->issue();
  try {
    enqueue([event, number] { event->reach(number); });
  } catch (...) {
    event->withdraw(number);
    throw;
  }
  return {};
}

Status HostStream::wait(const std::shared_ptr<HostEvent>& event, bool external) {
  const auto recording = capture();
  std::shared_ptr<HostCapture> other;
  HostClock clock;
  HostMark mark = event->mark(&other, &clock);
  if (mark == HostMark::kInCapture && recording != nullptr && recording != other) {
    std::lock_guard lock(recording->mutex);
    recording->broken = true;
    return error(MR_CAPTURE_VIOLATION, "the event belongs to another capture").about("event");
  }
  if (mark == HostMark::kInCapture) {
    if (join(other, clock)) return {};
    mark = HostMark::kInEndedCapture;
  }
  if (mark == HostMark::kInEndedCapture) {
    return error(
               MR_CAPTURE_VIOLATION,
               "the event was last recorded inside a capture that has ended; see MR_EVENT_EXTERNAL")
        .about("event");
  }
  if (recording != nullptr) {
    if (event->latest() == 0 && !external) return {};  // never recorded
    if (!external) {
      std::lock_guard lock(recording->mutex);
      recording->broken = true;
      return error(MR_CAPTURE_VIOLATION, "the event was recorded outside of the capture")
          .about("event");
    }
    HostNode node;
    node.kind = HostNode::Kind::kWait;
    node.event = event;
    return add_node(*recording, std::move(node));
  }
  const uint64_t number = event->latest();
  enqueue([event, number] { event->wait(number); });
  return {};
}

// Events outside of the graph are numbered when the graph is launched, so that whoever waits for
// one after the launch waits for this replay.
Status HostStream::launch(const std::shared_ptr<HostGraph>& graph) {
  auto numbers = std::make_shared<std::vector<uint64_t>>();
  numbers->reserve(graph->nodes.size());
  std::function<void()> replay = [this, graph, numbers] {
    const uint64_t* number = numbers->data();
    for (const HostNode& node : graph->nodes) {
      switch (node.kind) {
        case HostNode::Kind::kTask:
          run_task(node.task, workers_);
          break;
        case HostNode::Kind::kRecord:
          node.event->reach(*number++);
          break;
        case HostNode::Kind::kWait:
          node.event->wait(*number++);
          break;
      }
    }
  };
  try {
    for (const HostNode& node : graph->nodes) {
      if (node.kind == HostNode::Kind::kRecord) numbers->push_back(node.event->issue());
      if (node.kind == HostNode::Kind::kWait) numbers->push_back(node.event->latest());
    }
    enqueue(std::move(replay));
  } catch (...) {
    withdraw_records(*graph, *numbers);
    throw;
  }
  return {};
}

// ---- Capture ------------------------------------------------------------------------------------

std::shared_ptr<HostCapture> HostStream::capture() const {
  std::lock_guard lock(capture_mutex_);
  return capture_;
}

Status HostStream::add_node(HostCapture& recording, HostNode node) {
  std::lock_guard lock(recording.mutex);
  if (recording.ended) return capture_ended();
  recording.graph->nodes.push_back(std::move(node));
  ++recording.members[this][this];
  return {};
}

bool HostStream::join(const std::shared_ptr<HostCapture>& recording, const HostClock& clock) {
  std::lock_guard lock(recording->mutex);
  if (recording->ended) return false;
  HostClock& own = recording->members[this];
  merge(own, clock);
  own[this];
  std::lock_guard member_lock(capture_mutex_);
  capture_ = recording;
  return true;
}

void HostStream::set_members_free(HostCapture& recording) {
  recording.ended = true;
  for (const auto& [member, clock] : recording.members) {
    std::lock_guard lock(member->capture_mutex_);
    member->capture_.reset();
  }
}

Status HostStream::begin_capture() {
  auto recording =
      std::make_shared<HostCapture>(next_capture_id.fetch_add(1, std::memory_order_relaxed), this);
  recording->members[this][this] = 0;
  std::lock_guard lock(capture_mutex_);
  capture_ = std::move(recording);
  return {};
}

Status HostStream::end_capture(std::shared_ptr<HostGraph>* out) {
  const auto recording = capture();
  if (recording == nullptr) {
    return error(MR_CAPTURE_VIOLATION, "the stream is not being captured").about("stream");
  }
  std::lock_guard lock(recording->mutex);
  if (recording->ended) return capture_ended();
  if (recording->origin != this) {
    recording->broken = true;
    return error(MR_CAPTURE_VIOLATION, "the capture was begun on another stream").about("stream");
  }
  bool joined = true;
  const HostClock& seen = recording->members[this];
  for (auto& [member, clock] : recording->members) {
    const auto at = seen.find(member);
    joined = joined && at != seen.end() && at->second == clock[member];
  }
  set_members_free(*recording);
  if (recording->broken) {
    return error(MR_CAPTURE_VIOLATION, "a call during the capture was illegal").about("stream");
  }
  if (!joined) {
    return error(MR_CAPTURE_VIOLATION, "a stream that joined the capture was not waited for again")
        .about("stream");
  }
  *out = std::move(recording->graph);
  return {};
}

// May race with the end of the capture on the stream's own thread.
Status HostStream::retain_in_capture(void* object, void (*drop)(void*)) {
  const auto recording = capture();
  if (recording == nullptr) return capture_ended();
  std::lock_guard lock(recording->mutex);
  if (recording->ended) return capture_ended();
  recording->graph->kept.emplace_back(object, drop);
  return {};
}

}  // namespace mr
