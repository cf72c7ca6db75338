#include "memory/fake_backend.h"

#include <algorithm>

namespace test {
namespace {

void join(Clock* into, const Clock& from) {
  if (into->size() < from.size()) into->resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) (*into)[i] = std::max((*into)[i], from[i]);
}

}  // namespace

thread_local int inside_fake = 0;

FakeBackend::FakeBackend(uint64_t bytes, bool with_pages) : paged(with_pages), capacity(bytes) {
  info_.backend = MR_BACKEND_CUDA;
  info_.memory_bytes = bytes;
  info_.name = "fake";
  streams_.push_back(std::make_unique<Stream>());  // the host
}

FakeBackend::~FakeBackend() {
  for (const auto& stream : streams_) {
    if (stream->graph == nullptr) continue;  // a capture that nobody ended
    for (auto& [object, drop] : stream->graph->kept) drop(object);
  }
  for (Event* event : events_) delete event;
}

// ---- Order --------------------------------------------------------------------------------------

StreamRef FakeBackend::stream() {
  void* native = nullptr;
  (void)make_stream(0, {}, 0, &native);
  return {native, stream_id(0, native), &static_cast<Stream*>(native)->seat};
}

FakeBackend::Stream& FakeBackend::known(void* native, const char* what) {
  auto* stream = static_cast<Stream*>(native);
  if (stream->dead) hazard(std::string(what) + " on a stream that is gone");
  return *stream;
}

uint64_t FakeBackend::enqueue(Stream& stream, Point waits_for) {
  join(&stream.clock, host_);
  stream.work.push_back(waits_for);
  if (stream.clock.size() <= stream.number) stream.clock.resize(stream.number + 1);
  return stream.clock[stream.number] = ++stream.enqueued;
}

bool FakeBackend::covers(const Clock& clock, Point point) {
  return point.stream < clock.size() && clock[point.stream] >= point.position;
}

bool FakeBackend::reached(Point point) const {
  return streams_[point.stream]->executed >= point.position;
}

void FakeBackend::host_saw(const Clock& clock) { join(&host_, clock); }

void FakeBackend::run_until(uint64_t number, uint64_t position) {
  Stream& stream = *streams_[number];
  while (stream.executed < position && !stream.work.empty()) {
    const Point needs = stream.work.front();
    run_until(needs.stream, needs.position);
    stream.work.pop_front();
    ++stream.executed;
  }
}

void FakeBackend::step(StreamRef ref, uint64_t count) {
  const Entry entry(*this);
  Stream& stream = *static_cast<Stream*>(ref.native);
  for (; count > 0 && !stream.work.empty() && reached(stream.work.front()); --count) {
    stream.work.pop_front();
    ++stream.executed;
  }
}

void FakeBackend::run(StreamRef ref) {
  const Entry entry(*this);
  const Stream& stream = *static_cast<Stream*>(ref.native);
  run_until(stream.number, stream.enqueued);
}

void FakeBackend::run_all() {
  const Entry entry(*this);
  for (const auto& stream : streams_) run_until(stream->number, stream->enqueued);
}

bool FakeBackend::idle(StreamRef ref) {
  const Entry entry(*this);
  return static_cast<Stream*>(ref.native)->work.empty();
}

void FakeBackend::destroy(StreamRef ref) {
  const Entry entry(*this);
  static_cast<Stream*>(ref.native)->dead = true;
}

// ---- The check ----------------------------------------------------------------------------------

void FakeBackend::hazard(const std::string& text) { hazards_.push_back(text); }

std::vector<std::string> FakeBackend::hazards() {
  const Entry entry(*this);
  return std::exchange(hazards_, {});
}

void FakeBackend::touch(StreamRef ref, void* address, uint64_t bytes, uint64_t life) {
  const Entry entry(*this);
  Stream& stream = known(ref.native, "work");
  if (stream.capture.state != mr::CaptureState::kNone) {
    stream.graph->touches.push_back({address, bytes, life});
  } else {
    enqueue(stream, {});
    access(stream, {address, bytes, life});
  }
}

// By the stream's latest work.
void FakeBackend::access(Stream& stream, const Touch& touch) {
  const auto begin = reinterpret_cast<uintptr_t>(touch.address), end = begin + touch.bytes;
  const auto range = ranges_.upper_bound(begin);
  const bool within =
      range != ranges_.begin() && begin < std::prev(range)->first + std::prev(range)->second;
  for (uintptr_t at = begin; within && at < end;) {
    const auto after = mapped_.upper_bound(at);
    const uint64_t until =
        after != mapped_.begin() ? std::prev(after)->first + std::prev(after)->second.bytes : 0;
    if (until <= at) {
      hazard("memory is touched that is not mapped");
      break;
    }
    at = until;
  }
  for (uint64_t page = begin / kPage; page * kPage < end; ++page) {
    std::vector<Access>& accesses = pages_[page];
    const uint64_t from = std::max<uint64_t>(begin, page * kPage);
    const uint64_t to = std::min<uint64_t>(end, (page + 1) * kPage);
    std::erase_if(accesses, [&](const Access& old) {
      if (old.end <= from || to <= old.begin) return false;
      if (old.life > touch.life) hazard("memory touched after it was given to another allocation");
      const bool ordered = covers(stream.clock, old.point);
      if (!ordered && old.life != touch.life) hazard("memory reused while another stream uses it");
      return ordered && from <= old.begin && old.end <= to;
    });
    accesses.push_back({from, to, touch.life, {stream.number, stream.enqueued}});
  }
}

// ---- Failure ------------------------------------------------------------------------------------

void FakeBackend::fail_call(uint64_t k, mr_status code) {
  const Entry entry(*this);
  calls_ = 0;
  fail_at_ = k;
  failure_ = code;
}

Status FakeBackend::count() {
  if (++calls_ == fail_at_) return mr::error(failure_, "the test made this call fail");
  return {};
}

// ---- What the fake has not ----------------------------------------------------------------------

Status FakeBackend::make_libraries(int, const mr::BackendOptions&,
                                   std::unique_ptr<mr::Libraries>*) {
  return mr::unsupported("the fake has no libraries");
}

Status FakeBackend::dependency(const char*, std::string*) const {
  return mr::error(MR_DEPENDENCY_MISSING, "the fake needs no libraries");
}

// ---- Streams and events -------------------------------------------------------------------------

Status FakeBackend::make_stream(int, const mr::BackendOptions&, int, void** out) {
  const Entry entry(*this);
  auto stream = std::make_unique<Stream>();
  stream->number = streams_.size();
  *out = stream.get();
  streams_.push_back(std::move(stream));
  return {};
}

void FakeBackend::drop_stream(int, void* native) noexcept {
  const Entry entry(*this);
  static_cast<Stream*>(native)->dead = true;
}

uint64_t FakeBackend::stream_id(int, void* native) {
  return 1000 + static_cast<Stream*>(native)->number;
}

// A question or a wait that a real capture would not survive.
bool FakeBackend::spoil_capture(Stream& stream, const char* what) {
  if (stream.capture.state == mr::CaptureState::kNone) return false;
  stream.capture.state = mr::CaptureState::kInvalidated;
  hazard(std::string(what) + " while the stream is capturing");
  return true;
}

Status FakeBackend::query_stream(int, void* native, bool* out_done) {
  const Entry entry(*this);
  ++counts.queries;
  MR_TRY(count());
  Stream& stream = known(native, "query");
  if (spoil_capture(stream, "query")) return mr::error(MR_CAPTURE_VIOLATION, "capturing");
  *out_done = stream.work.empty();
  if (*out_done) host_saw(stream.clock);
  return {};
}

Status FakeBackend::synchronize_stream(int, void* native) {
  const Entry entry(*this);
  ++counts.synchronisations;
  MR_TRY(count());
  Stream& stream = known(native, "synchronize");
  if (spoil_capture(stream, "synchronize")) return mr::error(MR_CAPTURE_VIOLATION, "capturing");
  run_until(stream.number, stream.enqueued);
  host_saw(stream.clock);
  return {};
}

Status FakeBackend::copy(int, void*, void*, const void*, size_t, mr::CopyDirection) {
  return mr::unsupported("the fake does not copy");
}
Status FakeBackend::fill(int, void*, void*, uint8_t, size_t) {
  return mr::unsupported("the fake does not fill");
}

Status FakeBackend::make_event(int, bool, void** out) {
  const Entry entry(*this);
  ++counts.events;
  MR_TRY(count());
  auto event = std::make_unique<Event>();
  events_.insert(event.get());
  *out = event.release();
  return {};
}

void FakeBackend::drop_event(int, void* native) noexcept {
  const Entry entry(*this);
  auto* event = static_cast<Event*>(native);
  if (events_.erase(event) == 0) return hazard("an event was dropped twice");
  delete event;
}

Status FakeBackend::record_event(int, void* native, void* stream_native, bool) {
  const Entry entry(*this);
  ++counts.records;
  MR_TRY(count());
  Stream& stream = known(stream_native, "record");
  if (spoil_capture(stream, "record")) return mr::error(MR_CAPTURE_VIOLATION, "capturing");
  auto* event = static_cast<Event*>(native);
  const uint64_t position = enqueue(stream, {});
  event->clock = stream.clock;
  event->point = {stream.number, position};
  return {};
}

Status FakeBackend::wait_event(int, void* stream_native, void* native, bool) {
  const Entry entry(*this);
  ++counts.waits;
  MR_TRY(count());
  Stream& stream = known(stream_native, "wait");
  if (spoil_capture(stream, "wait")) return mr::error(MR_CAPTURE_VIOLATION, "capturing");
  const auto* event = static_cast<const Event*>(native);
  enqueue(stream, event->point);
  join(&stream.clock, event->clock);
  return {};
}

Status FakeBackend::query_event(int, void* native, bool* out_done) {
  const Entry entry(*this);
  ++counts.queries;
  MR_TRY(count());
  const auto* event = static_cast<const Event*>(native);
  *out_done = reached(event->point);
  if (*out_done) host_saw(event->clock);
  return {};
}

Status FakeBackend::synchronize_event(int, void* native) {
  if (on_slow_call) on_slow_call();
  const Entry entry(*this);
  ++counts.synchronisations;
  MR_TRY(count());
  const auto* event = static_cast<const Event*>(native);
  run_until(event->point.stream, event->point.position);
  host_saw(event->clock);
  return {};
}

Status FakeBackend::elapsed(int, void*, void*, float*) {
  return mr::unsupported("the fake has no time");
}

// ---- Graphs -------------------------------------------------------------------------------------

Status FakeBackend::capture_info(int, void* native, CaptureInfo* out) {
  const Entry entry(*this);
  ++counts.captures_asked;
  MR_TRY(count());
  *out = known(native, "capture_info").capture;
  return {};
}

Status FakeBackend::begin_capture(int, void* native) {
  const Entry entry(*this);
  Stream& stream = known(native, "begin_capture");
  stream.capture = {mr::CaptureState::kActive, next_capture_++};
  stream.graph = std::make_unique<Graph>();
  return {};
}

Status FakeBackend::end_capture(int, void* native, void** out_graph) {
  std::unique_ptr<Graph> graph;
  bool good = false;
  {
    const Entry entry(*this);
    Stream& stream = known(native, "end_capture");
    good = stream.capture.state == mr::CaptureState::kActive;
    stream.capture = {};
    graph = std::move(stream.graph);
  }
  if (good) return *out_graph = graph.release(), Status();
  for (auto& [object, drop] : graph->kept) drop(object);
  return mr::error(MR_CAPTURE_VIOLATION, "the capture was spoilt");
}

Status FakeBackend::retain_in_capture(int, void* native, void* object, void (*drop)(void*)) {
  const Entry entry(*this);
  MR_TRY(count());
  Stream& stream = known(native, "retain_in_capture");
  if (stream.capture.state != mr::CaptureState::kActive) {
    return mr::error(MR_CAPTURE_VIOLATION, "no capture to keep it in");
  }
  stream.graph->kept.emplace_back(object, drop);
  return {};
}

Status FakeBackend::launch_graph(int, void* graph, void* native) {
  const Entry entry(*this);
  Stream& stream = known(native, "launch");
  enqueue(stream, {});
  for (const Touch& touch : static_cast<Graph*>(graph)->touches) access(stream, touch);
  return {};
}

void FakeBackend::drop_graph(int, void* native) noexcept {
  const std::unique_ptr<Graph> graph(static_cast<Graph*>(native));
  for (auto& [object, drop] : graph->kept) drop(object);
}

}  // namespace test
