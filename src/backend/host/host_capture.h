// A capture on the host: the list of work that one or more streams record, and the graph it
// becomes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "kernel_api/host_queue.h"

namespace mr {

class HostEvent;
class HostStream;

// How much of each stream's recorded work is ordered before a point.
using HostClock = std::map<const HostStream*, uint64_t>;

// A piece of work with its argument bytes.
struct HostNode {
  enum class Kind { kTask, kRecord, kWait };
  Kind kind = Kind::kTask;
  HostTask task{};
  std::unique_ptr<std::byte[]> bytes;  // what task.args points to
  std::shared_ptr<HostEvent> event;    // kRecord, kWait: an event outside of the graph
};

// Copies the task and its arguments.
HostNode copy_task(const HostTask& task);

// The recorded list. Its order is the order of the calls, which respects every order that streams
// and events gave: running it front to back is one legal execution.
class HostGraph {
 public:
  std::vector<HostNode> nodes;
  std::vector<std::pair<void*, void (*)(void*)>> kept;  // dropped with the graph
  ~HostGraph() {
    for (auto& [object, drop] : kept) drop(object);
  }
};

// A capture in progress. Streams that wait for an event recorded within it join it, as on CUDA, and
// must be waited for again before it ends. One caller at a time for each stream; the lock is for
// streams of different threads in one capture.
class HostCapture {
 public:
  HostCapture(uint64_t number, const HostStream* begun_on) : id(number), origin(begun_on) {}
  const uint64_t id;
  const HostStream* const origin;

  std::mutex mutex;
  std::shared_ptr<HostGraph> graph = std::make_shared<HostGraph>();
  std::map<HostStream*, HostClock> members;
  bool broken = false;  // an illegal call was made; the end reports it
  bool ended = false;   // nothing may be added any more
};

}  // namespace mr
