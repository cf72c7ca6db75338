// A device for tests of memory: streams are lists of work that the test advances by hand, memory is
// addresses with nothing behind them, and every touch is checked against every other.
//
// The check: two touches of the same bytes for different allocations must be ordered, by stream
// order, by an event and a wait, or by the host having seen the first finish. Order is kept as
// vector clocks (Mattern, Virtual Time and Global States of Distributed Systems, 1989), taken when
// work is enqueued, so a missing wait shows even if the work happens to run in a good order.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/backend.h"
#include "memory/memory_state.h"

namespace test {

using mr::CaptureInfo;
using mr::MemoryKind;
using mr::Status;
using mr::StreamRef;

// How much of each stream is ordered before a point; by stream number.
using Clock = std::vector<uint64_t>;

// How deep this thread is in calls of a fake: a backend does not throw, so tests that make
// allocations fail spare those.
extern thread_local int inside_fake;

class FakeBackend final : public mr::Backend {
 public:
  static constexpr uint64_t kPage = uint64_t{2} << 20;
  explicit FakeBackend(uint64_t capacity = uint64_t{1} << 30, bool paged = true);
  ~FakeBackend() override;

  // ---- For the test.
  StreamRef stream();  // a new one
  // Work on [address, address + bytes) for the allocation `life`; later allocations have greater
  // lives.
  void touch(StreamRef stream, void* address, uint64_t bytes, uint64_t life);
  void step(StreamRef stream, uint64_t count = 1);  // runs that much of the stream's work
  void run(StreamRef stream);                       // all of it, and what it waits for
  void run_all();
  bool idle(StreamRef stream);
  // From now on the stream is gone: using it is a hazard.
  void destroy(StreamRef stream);
  // What was done wrong, one line each, since the last call.
  std::vector<std::string> hazards();

  // The k-th call from now that can fail (the first is 1) fails with `code`; 0: none.
  void fail_call(uint64_t k, mr_status code = MR_DEVICE_ERROR);
  uint64_t calls() const { return calls_; }  // since fail_call()

  // Called at the start of reserve(), release() and synchronize_event(), without the fake's lock.
  std::function<void()> on_slow_call;

  uint64_t addresses = uint64_t{1} << 46;  // of which ranges can be had
  const bool paged;                        // whether memory comes in pieces that are mapped

  struct Counts {
    uint64_t ranges = 0;  // of addresses, which are no memory
    uint64_t reserves = 0, releases = 0, events = 0, records = 0, waits = 0, queries = 0;
    uint64_t synchronisations = 0, captures_asked = 0;
    // All but questions about capture.
    uint64_t driver() const {
      return reserves + releases + events + records + waits + queries + synchronisations;
    }
  };
  Counts counts;
  uint64_t held = 0;  // bytes reserved and not released
  uint64_t pinned_held = 0;
  uint64_t most_held = 0;
  uint64_t capacity;
  uint64_t others = 0;  // used by other programs

  // ---- Backend.
  uint32_t kind() const override { return MR_BACKEND_CUDA; }
  const char* name() const override { return "fake"; }
  Status status() const override { return {}; }
  std::span<const mr::DeviceInfo> devices() const override { return {&info_, 1}; }
  const mr::KernelTable& kernels() const override { return kernels_; }
  Status dependency(const char*, std::string*) const override;
  Status open(int) override { return {}; }
  Status make_libraries(int, const mr::BackendOptions&, std::unique_ptr<mr::Libraries>*) override;
  Status reserve(int, MemoryKind kind, size_t bytes, void** out) override;
  void release(int, MemoryKind kind, void* address, size_t bytes) noexcept override;
  uint64_t page_bytes(int) const override { return paged ? kPage : 0; }
  Status reserve_range(int, uint64_t bytes, void** out) override;
  void release_range(int, void* address, uint64_t bytes) noexcept override;
  Status map(int, void* address, uint64_t bytes, uint64_t* out_handle) override;
  void unmap(int, void* address, uint64_t bytes, uint64_t handle) noexcept override;
  Status memory_info(int, uint64_t* out_free, uint64_t* out_total) override;
  bool is_pinned(int, const void*) override { return true; }
  Status make_stream(int, const mr::BackendOptions&, int, void** out) override;
  Status adopt_stream(int, void*, bool) override { return {}; }
  void drop_stream(int, void* native) noexcept override;
  uint64_t stream_id(int, void* native) override;
  Status query_stream(int, void* native, bool* out_done) override;
  Status synchronize_stream(int, void* native) override;
  Status copy(int, void*, void*, const void*, size_t, mr::CopyDirection) override;
  Status fill(int, void*, void*, uint8_t, size_t) override;
  Status make_event(int, bool timing, void** out) override;
  void drop_event(int, void* native) noexcept override;
  Status record_event(int, void* event, void* stream, bool external) override;
  Status wait_event(int, void* stream, void* event, bool external) override;
  Status query_event(int, void* event, bool* out_done) override;
  Status synchronize_event(int, void* event) override;
  Status elapsed(int, void*, void*, float*) override;
  Status capture_info(int, void* stream, CaptureInfo* out) override;
  Status begin_capture(int, void* stream) override;
  Status end_capture(int, void* stream, void** out_graph) override;
  Status retain_in_capture(int, void* stream, void* object, void (*drop)(void*)) override;
  Status launch_graph(int, void* graph, void* stream) override;
  void drop_graph(int, void* graph) noexcept override;

 private:
  struct Touch {
    void* address;
    uint64_t bytes, life;
  };
  struct Graph {
    std::vector<Touch> touches;
    std::vector<std::pair<void*, void (*)(void*)>> kept;
  };
  struct Point {  // so much of that stream
    uint64_t stream = 0, position = 0;
  };
  struct Stream {
    uint64_t number = 0;  // index into streams_ and clocks; 0 is the host
    Clock clock;
    std::deque<Point> work;  // each piece with what it waits for (position 0: nothing)
    uint64_t enqueued = 0, executed = 0;
    CaptureInfo capture;
    std::unique_ptr<Graph> graph;
    bool dead = false;
    mr::StreamSeat seat;
  };
  struct Event {
    Clock clock;
    Point point;
  };
  struct Access {
    uint64_t begin, end, life;
    Point point;
  };

  // Each call holds one.
  struct Entry {
    explicit Entry(FakeBackend& fake) : lock(fake.mutex_) { ++inside_fake; }
    ~Entry() { --inside_fake; }
    std::lock_guard<std::recursive_mutex> lock;
  };

  Status take(uint64_t bytes, uint64_t* sum);
  void check_unused(void* address, uint64_t bytes);
  Status count();
  Stream& known(void* native, const char* what);
  uint64_t enqueue(Stream& stream, Point waits_for);
  void run_until(uint64_t number, uint64_t position);
  bool reached(Point point) const;
  void host_saw(const Clock& clock);
  void access(Stream& stream, const Touch& touch);
  static bool covers(const Clock& clock, Point point);
  void hazard(const std::string& text);
  bool spoil_capture(Stream& stream, const char* what);

  mr::DeviceInfo info_;
  mr::KernelTable kernels_;
  std::recursive_mutex mutex_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::set<Event*> events_;
  Clock host_;
  std::unordered_map<uint64_t, std::vector<Access>> pages_;  // of 2 MiB
  std::vector<std::string> hazards_;
  uint64_t next_address_ = 0x700000000100;
  uint64_t next_handle_ = 1;
  std::map<uint64_t, uint64_t> ranges_;  // by address: bytes
  struct Mapping {
    uint64_t bytes, handle;
  };
  std::map<uint64_t, Mapping> mapped_;  // by address
  uint64_t next_capture_ = 1;
  uint64_t calls_ = 0, fail_at_ = 0;
  mr_status failure_ = MR_DEVICE_ERROR;
};

}  // namespace test
