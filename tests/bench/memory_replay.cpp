// Replays traces of allocations and says what they cost: how much is reserved for what was asked
// for, how often the device is called, and the time of one operation on the host.
//
//   memory_replay [--supplier host|fake|fake-whole|cuda:N] [--model T1]... [--trace FILE]...
//                 [--rmm-log FILE]... [--seed N] [--repeat N] [--json FILE]
//   memory_replay --model T3 --seed 9 --write FILE
//
// Without a model or file: all models. Memory is never touched, so a host needs little of its own.
// The first repeat, which takes memory from the device, is timed apart from the others.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "memory/caching_pool.h"
#include "memory/fake_backend.h"
#include "millrace/millrace.h"
#include "support/memory_trace_file.h"
#include "support/memory_traces.h"

namespace {

using test::MemoryTrace;
using test::TraceScript;

struct Options {
  std::string supplier = "fake";
  std::vector<std::string> models, traces, rmm_logs;
  uint32_t seed = 0;  // 0: the models' own
  int repeats = 11;
  std::string json, write;
};

struct Named {
  std::string name;
  double goal = 0;  // 0: none
  MemoryTrace trace;
};

struct Result {
  uint64_t operations = 0;
  uint32_t streams = 0;
  uint64_t requested = 0, reserved = 0;  // peaks
  double first = 0;                      // nanoseconds an operation, of the first repeat
  std::vector<double> others;            // of the others, sorted
  std::vector<uint64_t> driver_calls;    // of each repeat
  double ratio() const { return static_cast<double>(reserved) / static_cast<double>(requested); }
  uint64_t all_calls() const {
    uint64_t sum = 0;
    for (const uint64_t calls : driver_calls) sum += calls;
    return sum;
  }
};

// ---- Suppliers ----------------------------------------------------------------------------------

void require(mr_status status, const mr_error& err) {
  if (status != MR_OK)
    throw std::runtime_error(std::string(mr_status_name(status)) + ": " + err.text);
}

// The pool over a device that is not there, with streams as the library makes them, and the short
// way first, as mr_memory_allocate() and mr_memory_free() go.
class FakeSupplier {
 public:
  FakeSupplier(uint32_t streams, bool paged)
      : device_(uint64_t{4} << 40, paged), pool_(device_, 0, 0) {
    for (uint32_t i = 0; i < streams; ++i) {
      streams_.push_back(device_.stream());
      streams_.back().seat->exposed.store(false);
    }
  }
  void* allocate(uint32_t stream, uint64_t bytes) {
    void* out = pool_.allocate_cached(streams_[stream], bytes, MR_TAG_OTHER, nullptr);
    if (out != nullptr) return out;
    const mr::Status status = pool_.allocate(streams_[stream], bytes, 256, MR_TAG_OTHER, &out);
    if (!status.ok()) throw std::runtime_error(std::string(status.sentence));
    return out;
  }
  void free(uint32_t stream, void* address) {
    if (pool_.free_cached(streams_[stream], address)) return;
    const mr::Status status = pool_.free(streams_[stream], address);
    if (!status.ok()) throw std::runtime_error(std::string(status.sentence));
  }
  mr_memory_stats stats() {
    mr_memory_stats out = MR_MEMORY_STATS_INIT;
    pool_.stats(&out);
    return out;
  }
  // Events and waits too.
  uint64_t driver_calls() { return device_.counts.driver(); }

 private:
  test::FakeBackend device_;
  mr::CachingPool pool_;
  std::vector<mr::StreamRef> streams_;
};

// A real device, through the C interface.
class DeviceSupplier {
 public:
  DeviceSupplier(uint32_t streams, uint32_t backend, int32_t ordinal) {
    mr_context_config config = MR_CONTEXT_CONFIG_INIT;
    config.backend = backend;
    config.ordinal = ordinal;
    require(mr_context_create(&config, &context_, &err_), err_);
    memory_ = mr_context_memory(context_);
    streams_.resize(streams);
    // Their scratch comes out of the same memory, so it should hardly count.
    mr_stream_config stream_config = MR_STREAM_CONFIG_INIT;
    stream_config.workspace_bytes = 256;
    for (mr_stream*& stream : streams_) {
      require(mr_stream_create(context_, &stream_config, &stream, &err_), err_);
    }
    calls_before_ = driver_calls();
  }
  DeviceSupplier(const DeviceSupplier&) = delete;
  DeviceSupplier& operator=(const DeviceSupplier&) = delete;
  ~DeviceSupplier() {
    for (mr_stream* stream : streams_) mr_stream_release(stream);
    mr_context_release(context_);
  }
  void* allocate(uint32_t stream, uint64_t bytes) {
    void* out = nullptr;
    const mr_status status =
        mr_memory_allocate(memory_, streams_[stream], bytes, 0, MR_TAG_OTHER, &out, &err_);
    if (status != MR_OK) require(status, err_);
    return out;
  }
  void free(uint32_t stream, void* address) {
    const mr_status status = mr_memory_free(memory_, streams_[stream], address, &err_);
    if (status != MR_OK) require(status, err_);
  }
  mr_memory_stats stats() {
    mr_memory_stats out = MR_MEMORY_STATS_INIT;
    require(mr_memory_get_stats(memory_, &out, &err_), err_);
    return out;
  }
  uint64_t driver_calls() {
    const mr_memory_stats now = stats();
    return now.driver_allocations + now.driver_frees - calls_before_;
  }

 private:
  mr_context* context_ = nullptr;
  mr_memory* memory_ = nullptr;
  std::vector<mr_stream*> streams_;
  uint64_t calls_before_ = 0;
  mr_error err_ = {};
};

// ---- Measuring ----------------------------------------------------------------------------------

template <class Supplier>
void replay(Supplier& supplier, const TraceScript& script, std::vector<void*>* slots) {
  for (const TraceScript::Step& step : script.steps) {
    void*& slot = (*slots)[step.slot];
    if (step.bytes != 0) {
      slot = supplier.allocate(step.stream, step.bytes);
    } else {
      supplier.free(step.stream, slot);
    }
  }
}

template <class Supplier>
Result measure(Supplier& supplier, const TraceScript& script, int repeats) {
  Result result;
  result.operations = script.steps.size();
  result.streams = script.streams;
  std::vector<void*> slots(script.slots);
  for (int i = 0; i < repeats; ++i) {
    const uint64_t calls = supplier.driver_calls();
    const auto start = std::chrono::steady_clock::now();
    replay(supplier, script, &slots);
    const std::chrono::duration<double, std::nano> elapsed =
        std::chrono::steady_clock::now() - start;
    const double each = elapsed.count() / static_cast<double>(result.operations);
    i == 0 ? void(result.first = each) : result.others.push_back(each);
    result.driver_calls.push_back(supplier.driver_calls() - calls);
  }
  std::sort(result.others.begin(), result.others.end());
  const mr_memory_stats stats = supplier.stats();
  result.requested = stats.requested.peak;
  result.reserved = stats.reserved.peak;
  return result;
}

// Of "cuda:N"; -1 if it is none.
int32_t cuda_ordinal(const std::string& supplier) {
  if (supplier.compare(0, 5, "cuda:") != 0) return -1;
  int32_t ordinal = -1;
  const char* const end = supplier.data() + supplier.size();
  const auto parsed = std::from_chars(supplier.data() + 5, end, ordinal);
  return parsed.ec == std::errc() && parsed.ptr == end ? ordinal : -1;
}

Result measure_on(const std::string& supplier, const TraceScript& script, int repeats) {
  if (supplier == "fake" || supplier == "fake-whole") {
    FakeSupplier fake(script.streams, supplier == "fake");
    return measure(fake, script, repeats);
  }
  const int32_t ordinal = cuda_ordinal(supplier);
  DeviceSupplier device(script.streams, ordinal >= 0 ? MR_BACKEND_CUDA : MR_BACKEND_HOST,
                        std::max(ordinal, 0));
  return measure(device, script, repeats);
}

// ---- Input and output ---------------------------------------------------------------------------

Named read_file(const std::string& path, std::string (*read)(std::istream& in, MemoryTrace* out)) {
  Named named;
  named.name = path;
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + " cannot be opened");
  const std::string wrong = read(in, &named.trace);
  if (!wrong.empty()) throw std::runtime_error(path + ": " + wrong);
  if (named.trace.empty()) throw std::runtime_error(path + ": there is no operation in it");
  return named;
}

// A model is in several rows where it has several seeds.
std::vector<Named> inputs(const Options& options) {
  std::vector<Named> out;
  for (const std::string& path : options.traces) out.push_back(read_file(path, test::read_trace));
  for (const std::string& path : options.rmm_logs) {
    out.push_back(read_file(path, test::read_rmm_log));
  }
  const bool all = options.models.empty() && out.empty();
  for (test::TraceModel model : test::trace_models()) {
    const bool asked = std::count(options.models.begin(), options.models.end(), model.name) != 0;
    if (!all && !asked) continue;
    if (options.seed != 0 && model.seed != 0) model.seed = options.seed;
    if (!out.empty() && out.back().name == model.title()) continue;
    out.push_back({model.title(), model.goal, model.make(model.seed)});
  }
  return out;
}

nlohmann::json conditions(const Options& options) {
  mr_error err;
  mr_probe_info probe = MR_PROBE_INFO_INIT;
  require(mr_probe(&probe, &err), err);
  std::string device = "none: " + options.supplier;
  for (uint32_t i = 0; i < probe.device_count; ++i) {
    mr_device_info info = MR_DEVICE_INFO_INIT;
    require(mr_device_query(i, &info, &err), err);
    const bool host = info.backend == MR_BACKEND_HOST;
    if (options.supplier == (host ? "host" : "cuda:" + std::to_string(info.ordinal))) {
      device = info.name;
    }
  }
  return {{"supplier", options.supplier},
          {"device", device},
          {"library", probe.version},
          {"build", probe.build},
          {"repeats", options.repeats},
          {"seed", options.seed == 0 ? "the models' own" : std::to_string(options.seed)},
          {"statistic", "median of all repeats but the first, wall clock over the whole trace"},
          {"included", "allocate and free, figures on, freed by address; no device work"},
          {"driver_calls", options.supplier.compare(0, 4, "fake") == 0
                               ? "that take or give memory, and on events and streams"
                               : "that take or give memory"}};
}

nlohmann::json row_of(const Named& named, const Result& result) {
  nlohmann::json row = {{"trace", named.name},
                        {"operations", result.operations},
                        {"streams", result.streams},
                        {"peak_requested", result.requested},
                        {"peak_reserved", result.reserved},
                        {"ratio", result.ratio()},
                        {"driver_calls", result.driver_calls},
                        {"first_ns", result.first}};
  if (named.goal != 0) row["goal"] = named.goal;
  if (!result.others.empty()) {
    row["median_ns"] = result.others[result.others.size() / 2];
    row["lowest_ns"] = result.others.front();
    row["highest_ns"] = result.others.back();
  }
  return row;
}

void print(const Named& named, const Result& result) {
  constexpr double kMiB = 1 << 20;
  std::printf("%-20s %10.1f %10.1f %7.3f %7llu %6llu %9.1f", named.name.c_str(),
              static_cast<double>(result.requested) / kMiB,
              static_cast<double>(result.reserved) / kMiB, result.ratio(),
              static_cast<unsigned long long>(result.all_calls()),
              static_cast<unsigned long long>(result.driver_calls.back()), result.first);
  if (!result.others.empty()) {
    std::printf(" %9.1f (%.1f to %.1f)", result.others[result.others.size() / 2],
                result.others.front(), result.others.back());
  }
  std::printf("%s\n", named.goal != 0 && result.ratio() > named.goal ? "  above the goal" : "");
  std::fflush(stdout);
}

void run(const Options& options) {
  const std::vector<Named> traces = inputs(options);
  if (!options.write.empty()) {
    if (traces.size() != 1) throw std::runtime_error("--write takes one trace");
    std::ofstream out(options.write);
    out << "# " << traces[0].name << '\n';
    test::write_trace(out, traces[0].trace);
    if (!out.flush()) throw std::runtime_error(options.write + " cannot be written");
    return;
  }
  nlohmann::json out = {{"benchmark", "memory_replay"}, {"conditions", conditions(options)}};
  std::printf("%s\n", out["conditions"].dump(1).c_str());
  std::printf("%-20s %10s %10s %7s %7s %6s %9s %9s\n", "trace", "requested", "reserved", "ratio",
              "calls", "last", "first ns", "ns");
  for (const Named& named : traces) {
    const Result result =
        measure_on(options.supplier, test::script_of(named.trace), options.repeats);
    print(named, result);
    out["rows"].push_back(row_of(named, result));
  }
  if (options.json.empty()) return;
  std::ofstream file(options.json);
  file << out.dump(1) << '\n';
  if (!file.flush()) throw std::runtime_error(options.json + " cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Replays traces of allocations through the allocator.");
  std::vector<std::string> names;
  for (const test::TraceModel& model : test::trace_models()) names.push_back(model.name);
  app.add_option("--supplier", options.supplier,
                 "host, fake (memory by pages), fake-whole (memory as it comes) or cuda:N")
      ->check([](const std::string& text) -> std::string {
        if (text == "host" || text == "fake" || text == "fake-whole") return "";
        return cuda_ordinal(text) >= 0 ? "" : "not host, fake, fake-whole or cuda:N";
      })
      ->capture_default_str();
  app.add_option("--model", options.models, "A model of a trace; repeatable")
      ->check(CLI::IsMember(names));
  app.add_option("--trace", options.traces, "A file with a trace; repeatable");
  app.add_option("--rmm-log", options.rmm_logs, "A log of RMM, as CSV; repeatable");
  app.add_option("--seed", options.seed, "Of the models that have one; 0: each with its own");
  app.add_option("--repeat", options.repeats, "How often each is replayed")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--json", options.json, "File for the results and their conditions");
  app.add_option("--write", options.write, "Write the trace to this file instead");
  try {
    app.parse(argc, argv);
    run(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "memory_replay: %s\n", error.what());
    return 1;
  }
  return 0;
}
