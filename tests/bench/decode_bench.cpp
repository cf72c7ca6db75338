// Decode of the default model on the host: tokens per second for each dtype and batch, the median
// of several runs, as a table and, with a file as argument, as JSON with the conditions.
//
//   decode_bench [results.json]

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine.h"
#include "generation.h"

namespace {

using namespace generate;

constexpr int kRuns = 7;
constexpr std::int32_t kTokens = 256;
constexpr char kPrompt[] = "Once upon a time there was a";
constexpr char kGolden[] = " great many persons";  // how the greedy text begins in every dtype

struct Row {
  std::string dtype;
  int batch;
  double median;  // tokens per second, all sequences together
  double lowest;
  double highest;
  bool correct;
};

Row measure(const std::string& dtype, int batch) {
  Engine engine(MILLRACE_STORYTELLER, "host", parse_dtype(dtype), 32 * 512, kMostSequences,
                nullptr);
  const std::vector<std::vector<std::int32_t>> prompts(static_cast<std::size_t>(batch),
                                                       engine.encode(kPrompt));
  Row row{dtype, batch, 0, 0, 0, true};
  std::vector<double> rates;
  for (int run = 0; run <= kRuns; ++run) {  // the first warms up
    std::vector<std::string> texts(prompts.size());
    Generation generation(engine, {}, kTokens);
    const GenerationResult result = generation.run(
        prompts, [&](std::size_t index, const std::string& text, bool) { texts[index] += text; });
    for (const std::string& text : texts) {
      row.correct = row.correct && text.compare(0, sizeof kGolden - 1, kGolden) == 0;
    }
    if (run > 0) rates.push_back(static_cast<double>(result.decode_tokens) / result.decode_seconds);
  }
  std::sort(rates.begin(), rates.end());
  row.lowest = rates.front();
  row.median = rates[rates.size() / 2];
  row.highest = rates.back();
  return row;
}

nlohmann::json conditions() {
  mr_probe_info probe = millrace::probe();
  const millrace::Context context(MR_BACKEND_HOST);
  const mr_device_info device = context.device();
  return {{"device", device.name},
          {"hardware_threads", device.multiprocessors},
          {"architecture", "x86-64-v" + std::to_string(device.architecture)},
          {"library", probe.version},
          {"build", probe.build},
          {"model", "storyteller, 2.6 M parameters"},
          {"prompt_tokens", 10},
          {"generated_tokens", kTokens},
          {"statistic", "median of 7 runs after 1 of warm-up, wall clock over decode steps"},
          {"included", "forward pass, sampling, reading the id back, detokenising"},
          {"check", "the greedy text begins as the golden one"}};
}

}  // namespace

int main(int argc, char** argv) {
  nlohmann::json out = {{"benchmark", "decode"}, {"conditions", conditions()}, {"rows", {}}};
  std::printf("%s\n", out["conditions"].dump(1).c_str());
  std::printf("dtype  batch   tokens/s (lowest, highest)   text\n");
  bool correct = true;
  for (const char* dtype : {"f32", "bf16", "f16"}) {
    for (const int batch : {1, 4, 16}) {
      const Row row = measure(dtype, batch);
      std::printf("%-5s  %5d   %8.0f (%.0f, %.0f)   %s\n", dtype, batch, row.median, row.lowest,
                  row.highest, row.correct ? "right" : "WRONG");
      std::fflush(stdout);
      out["rows"].push_back({{"dtype", row.dtype},
                             {"batch", row.batch},
                             {"tokens_per_second", row.median},
                             {"lowest", row.lowest},
                             {"highest", row.highest},
                             {"correct", row.correct}});
      correct = correct && row.correct;
    }
  }
  if (argc > 1) std::ofstream(argv[1]) << out.dump(1) << '\n';
  return correct ? 0 : 1;
}
