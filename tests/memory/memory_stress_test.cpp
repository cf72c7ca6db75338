// Random calls against a model, with the fake device looking on; and threads.
#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

#include "memory/pool_fixture.h"

using namespace test;

namespace {

// One random program on one pool. The model knows what is live, and keeps the rules of memory.h:
// work on another stream than the memory's own is declared, and ordered by the caller.
class Program {
 public:
  Program(uint32_t seed, uint64_t limit, bool paged = true, Books books = Books::kShared)
      : f_(limit, 512 * kMiB, paged, books), random_(seed) {
    for (StreamRef& stream : streams_) stream = f_.device.stream();
  }

  // Returns a hash of all addresses handed out.
  uint64_t run(int operations) {
    for (int i = 0; i < operations; ++i) {
      act();
      if (i % 64 == 0) check_figures();
      if (i % 512 == 0) f_.verify();
    }
    if (capturing_ >= 0) end_capture();
    for (const Graph& graph : graphs_) drop(graph);
    for (const Live& live : live_) f_.give(live.owner, live.piece);
    f_.verify();
    CHECK(f_.trim() == 0);
    CHECK(f_.device.held == 0);
    const mr_memory_stats stats = f_.stats();
    CHECK(stats.frees == stats.allocations);
    CHECK(stats.driver_frees == stats.driver_allocations);
    CHECK(stats.active.current == 0);
    return hash_;
  }
  mr_memory_stats stats() { return f_.stats(); }

 private:
  struct Live {
    Piece piece;
    StreamRef owner;
    uint64_t alignment;
  };
  struct Graph {
    void* native;
    StreamRef stream;
  };

  // As memory.h says: 1/64 classes above 16 KiB, and nothing below 32 KiB that is aligned so far.
  static uint64_t rounded(uint64_t bytes, uint64_t alignment) {
    uint64_t step = 256;
    while (step * 64 * 2 < bytes) step *= 2;
    const uint64_t up = (bytes + step - 1) / step * step;
    return up + alignment - 256 <= 32 * kKiB ? up : std::max(up, 32 * kKiB);
  }

  uint64_t pick(uint64_t below) { return random_() % below; }
  bool is_capturing(StreamRef stream) const {
    return capturing_ >= 0 && stream.id == streams_[capturing_].id;
  }
  StreamRef any_stream() { return streams_[pick(kStreams)]; }
  StreamRef quiet_stream() {
    StreamRef stream;
    do stream = any_stream();
    while (is_capturing(stream));
    return stream;
  }

  void act() {
    const uint64_t dice = pick(1000);
    if (dice < 380) return allocate();
    if (dice < 600) return work();
    if (dice < 900) return give_one();
    if (dice < 960) return f_.device.step(any_stream(), 1 + pick(8));
    if (dice < 970) return graph();
    if (dice < 980) return retire();
    if (dice < 990) {
      f_.trim(pick(64) * kMiB);
      return;
    }
    if (dice < 995) {
      REQUIRE(f_.pool.set_limit((16 + pick(48)) * kMiB).ok());
      return;
    }
    f_.pool.reset_peaks();
  }

  uint64_t size() {
    switch (pick(8)) {
      case 0:
        return 1 + pick(8 * kMiB);
      case 1:
        return 1 + pick(2 * kMiB);
      case 2:
        return kMiB;
      default:
        return 1 + pick(64 * kKiB);
    }
  }

  void allocate() {
    const StreamRef stream = pick(8) == 0 ? StreamRef{} : any_stream();
    Piece piece;
    const uint64_t alignment = pick(4) == 0 ? uint64_t{256} << pick(14) : 256;
    const Status status = f_.try_take(stream, size(), &piece, alignment);
    if (!status.ok()) {
      CHECK((status.code == MR_OUT_OF_DEVICE_MEMORY ||
             (status.code == MR_CAPTURE_VIOLATION && is_capturing(stream))));
      if (status.code == MR_OUT_OF_DEVICE_MEMORY) give_some();
      return;
    }
    const auto address = reinterpret_cast<uintptr_t>(piece.address);
    CHECK(address % alignment == 0);
    hash_ = (hash_ ^ address) * 0x100000001b3u;  // FNV-1a
    // What was allocated on no stream belongs to one from here on.
    const StreamRef owner = stream.id != 0 ? stream : quiet_stream();
    if (stream.id == 0) f_.use(owner, piece);
    f_.work(owner, piece);
    live_.push_back({piece, owner, alignment});
    requested_ += piece.bytes;
    allocated_ += rounded(piece.bytes, alignment);
  }

  void work() {
    if (live_.empty()) return;
    const Live& live = live_[pick(live_.size())];
    const StreamRef other = any_stream();
    if (other.id != live.owner.id && !is_capturing(other) && !is_capturing(live.owner)) {
      f_.order(live.owner, other);
      f_.use(other, live.piece);
      f_.work(other, live.piece);
    } else {
      f_.work(live.owner, live.piece);
    }
  }

  void give_one() {
    if (live_.empty()) return;
    const size_t at = pick(live_.size());
    const Live live = live_[at];
    live_[at] = live_.back();
    live_.pop_back();
    requested_ -= live.piece.bytes;
    allocated_ -= rounded(live.piece.bytes, live.alignment);
    const uint64_t how = pick(16);
    if (how == 0 && capturing_ < 0) {  // known to be idle
      for (const StreamRef& stream : streams_) f_.finish(stream);
      f_.give({}, live.piece);
    } else {
      f_.give(how < 4 ? any_stream() : live.owner, live.piece);
    }
    CHECK(f_.pool.free(live.owner, live.piece.address).code == MR_INVALID_ARGUMENT);
  }
  void give_some() {
    for (int i = 0; i < 8; ++i) give_one();
  }

  void graph() {
    if (capturing_ >= 0) return end_capture();
    if (graphs_.size() >= 2) {
      drop(graphs_.front());
      graphs_.erase(graphs_.begin());
      return;
    }
    capturing_ = static_cast<int>(pick(kStreams));
    REQUIRE(f_.device.begin_capture(0, streams_[capturing_].native).ok());
  }
  // What the graph uses is launched once more only by graphs whose memory was freed within; so the
  // model launches at once, while all of it is surely valid.
  void end_capture() {
    const StreamRef stream = streams_[capturing_];
    capturing_ = -1;
    Graph graph{nullptr, stream};
    REQUIRE(f_.device.end_capture(0, stream.native, &graph.native).ok());
    REQUIRE(f_.device.launch_graph(0, graph.native, stream.native).ok());
    graphs_.push_back(graph);
  }
  // A graph goes away when its launches have finished.
  void drop(const Graph& graph) {
    for (const StreamRef& stream : streams_) {
      if (!is_capturing(stream)) f_.finish(stream);
    }
    f_.device.drop_graph(0, graph.native);
  }

  void retire() {
    const size_t at = pick(kStreams);
    const StreamRef old = streams_[at];
    if (is_capturing(old)) return;
    f_.pool.retire(old);
    const StreamRef fresh = f_.device.stream();
    f_.order(old, fresh);
    f_.device.destroy(old);
    streams_[at] = fresh;
    for (Live& live : live_) {
      if (live.owner.id != old.id) continue;
      live.owner = fresh;
      f_.use(fresh, live.piece);
    }
    // A graph of that stream may still run there.
    f_.device.run_all();
  }

  void check_figures() {
    const mr_memory_stats stats = f_.stats();
    CHECK(stats.requested.current == requested_);
    CHECK(stats.allocated.current == allocated_);
    CHECK(stats.allocations - stats.frees == live_.size());
    CHECK(stats.reserved.current == f_.device.held);
    CHECK(stats.driver_allocations == f_.device.counts.reserves - refused());
  }
  uint64_t refused() const { return 0; }  // the device is larger than any limit here

  static constexpr size_t kStreams = 4;
  PoolFixture f_;
  std::mt19937 random_;
  StreamRef streams_[kStreams];
  int capturing_ = -1;
  std::vector<Graph> graphs_;
  std::vector<Live> live_;
  uint64_t requested_ = 0, allocated_ = 0;
  uint64_t hash_ = 0xcbf29ce484222325u;
};

}  // namespace

TEST_CASE("random calls keep every promise") {
  const struct {
    uint32_t seed;
    uint64_t limit;
    int operations;
    bool paged;
    Books books;
  } rows[] = {{1, 48 * kMiB, 100000, true, Books::kShared},
              {2, 16 * kMiB, 40000, true, Books::kPerStream},
              {3, 64 * kMiB, 40000, true, Books::kPerStream},
              {4, 48 * kMiB, 40000, false, Books::kShared},
              {5, 16 * kMiB, 40000, false, Books::kPerStream}};
  // MR_STRESS asks for more: so many operations in all, on ever new seeds.
  const char* more = std::getenv("MR_STRESS");
  const long long all = more != nullptr ? std::atoll(more) : 1;
  long long done = 0;
  for (uint32_t round = 0; done < all; ++round) {
    for (const auto& row : rows) {
      const uint32_t seed = row.seed + 100 * round;
      CAPTURE(seed);
      Program program(seed, row.limit, row.paged, row.books);
      program.run(row.operations);
      CHECK(program.stats().out_of_memory > 0);
      CHECK(program.stats().retries > 0);
      done += row.operations;
    }
  }
}

TEST_CASE("the same calls give the same addresses") {
  const uint64_t first = Program(7, 32 * kMiB).run(5000);
  CHECK(Program(7, 32 * kMiB).run(5000) == first);
  CHECK(Program(8, 32 * kMiB).run(5000) != first);
}

TEST_CASE("threads, each with a stream of its own, share one pool") {
  constexpr int kThreads = 4;
  constexpr int kRounds = 3000;
  Books books = Books::kShared;
  SUBCASE("with shared books") {}
  SUBCASE("with books per stream") { books = Books::kPerStream; }
  PoolFixture f(24 * kMiB, 1024 * kMiB, true, books);
  StreamRef streams[kThreads];
  for (StreamRef& stream : streams) stream = f.device.stream();
  std::mutex mutex;
  std::vector<Piece> shared;  // freed by whoever comes by
  std::atomic<uint64_t> lives{0};
  std::atomic<int> failures{0}, refusals{0};

  const auto body = [&](int index) {
    const StreamRef own = streams[index];
    std::mt19937 random(static_cast<uint32_t>(index) + 1);
    std::vector<Piece> pieces;
    for (int i = 0; i < kRounds; ++i) {
      Piece piece{nullptr, 1 + random() % (i % 16 == 0 ? 2 * kMiB : 32 * kKiB), 0};
      const auto tag = static_cast<uint32_t>(random() % MR_TAG_COUNT);
      const Status status = allocate(f.pool, own, piece.bytes, 256, tag, &piece.address);
      if (status.ok()) {
        piece.life = ++lives;
        f.work(own, piece);
        pieces.push_back(piece);
      } else if (status.code == MR_OUT_OF_DEVICE_MEMORY) {
        ++refusals;
      } else {
        ++failures;
      }
      while (pieces.size() > (status.ok() ? 12u : 2u)) {
        if (random() % 8 == 0) {
          std::lock_guard lock(mutex);
          shared.push_back(pieces.back());
        } else if (!f.pool.free(own, pieces.back().address).ok()) {
          ++failures;
        }
        pieces.pop_back();
      }
      Piece found;
      {
        std::lock_guard lock(mutex);
        if (!shared.empty()) {
          found = shared.back();
          shared.pop_back();
        }
      }
      if (found.address != nullptr && !f.pool.free(own, found.address).ok()) ++failures;
      if (i % 64 == 0 && !mr::PoolProbe::check_stats(stats_of(f.pool)).empty()) ++failures;
      uint64_t reserved = 0;
      if (i % 512 == 0 && !f.pool.trim(8 * kMiB, &reserved).ok()) ++failures;
      f.device.step(own, random() % 3);
    }
    for (const Piece& piece : pieces) failures += !f.pool.free(own, piece.address).ok();
    f.pool.retire(own);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
  for (const Piece& piece : shared) f.give({}, piece);
  CHECK(failures == 0);
  CHECK(f.device.most_held <= 24 * kMiB);
  f.device.run_all();
  f.verify();
  CHECK(f.trim() == 0);
}
