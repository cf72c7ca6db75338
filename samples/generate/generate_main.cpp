// generate: continues texts with a language model, through the library's C interface alone.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "engine.h"
#include "generate_options.h"
#include "generation.h"
#include "progress_bar.h"
#include "reader_error.h"
#include "scoring.h"

namespace {

using namespace generate;

/// Prints texts in the order of their prompts: the first that is not finished as it comes, later
/// ones when their turn comes. With several prompts each text ends with a line break.
class OrderedOutput {
 public:
  explicit OrderedOutput(std::size_t prompts) : texts_(prompts) {}

  void operator()(std::size_t index, const std::string& text, bool last) {
    texts_[index].waiting += text;
    texts_[index].finished = last;
    while (next_ < texts_.size()) {
      Text& current = texts_[next_];
      std::cout << current.waiting << std::flush;
      current.waiting.clear();
      if (!current.finished) return;
      std::cout << '\n' << std::flush;
      ++next_;
    }
  }

 private:
  struct Text {
    std::string waiting;
    bool finished = false;
  };
  std::vector<Text> texts_;
  std::size_t next_ = 0;
};

std::vector<std::string> lines_of(std::istream& input) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(input, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

double mebibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

void print_stats(const Engine& engine, const GenerationResult& result) {
  const mr_memory_stats memory = engine.context.memory().stats();
  std::fprintf(stderr, "device           %s\n", engine.context.device().name);
  std::fprintf(stderr, "tokens           %lld prompt, %lld generated in %.3f s\n",
               static_cast<long long>(result.prompt_tokens),
               static_cast<long long>(result.generated_tokens), result.seconds);
  std::fprintf(stderr, "first token      %.1f ms\n", result.first_token_seconds * 1e3);
  if (result.decode_tokens > 0) {
    std::fprintf(stderr, "decode           %.1f tokens/s\n",
                 static_cast<double>(result.decode_tokens) / result.decode_seconds);
  }
  std::fprintf(stderr, "memory           %.1f MiB allocated, %.1f MiB reserved, %.1f MiB peak\n",
               mebibytes(memory.allocated.current), mebibytes(memory.reserved.current),
               mebibytes(memory.allocated.peak));
}

ModelWeights::Progress progress_on(ProgressBar& bar) {
  return [&bar](std::size_t done, std::size_t total) { bar.update(done, total); };
}

int score(const GenerateOptions& options) {
  std::ifstream file(options.score, std::ios::binary);
  if (!file) throw Error(concat("cannot read ", in_quotes(options.score.string())));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ProgressBar bar("loading");
  const ModelConfig config = load_model_config(options.model);
  Engine engine(options.model, options.device, parse_dtype(options.dtype), config.context,
                kStepTokens, progress_on(bar));
  bar.clear();
  const Score result = score_text(engine, engine.encode(text));
  std::printf("%.6f\n", result.mean_nll);
  if (options.stats) {
    std::fprintf(stderr, "tokens scored    %lld\n", static_cast<long long>(result.tokens));
  }
  return 0;
}

int run(GenerateOptions options) {
  if (!options.score.empty()) return score(options);
  if (options.prompts.empty()) options.prompts = lines_of(std::cin);
  if (options.prompts.empty()) throw Error("no prompt was given");

  // The tokenizer tells how much room the cache needs, before the weights are loaded.
  const ModelConfig config = load_model_config(options.model);
  const Tokenizer tokenizer = Tokenizer::load(options.model / "tokenizer.json");
  const TokenizerSettings settings = load_tokenizer_settings(options.model);
  std::vector<std::vector<std::int32_t>> prompts;
  std::int64_t room = 0;
  for (const std::string& prompt : options.prompts) {
    prompts.push_back(encode_prompt(tokenizer, config, settings, prompt));
    room += static_cast<std::int64_t>(prompts.back().size()) + options.max_tokens + kPageSize;
  }
  ProgressBar bar("loading");
  Engine engine(options.model, options.device, parse_dtype(options.dtype), room, kMostSequences,
                progress_on(bar));
  bar.clear();
  Generation generation(engine, options.sampling, options.max_tokens);
  OrderedOutput output(prompts.size());
  const GenerationResult result = generation.run(
      prompts,
      [&](std::size_t index, const std::string& text, bool last) { output(index, text, last); });
  if (options.stats) print_stats(engine, result);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int status = 0;
  std::optional<GenerateOptions> options = parse_options(argc, argv, &status);
  if (!options) return status;
  try {
    return run(std::move(*options));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "generate: %s\n", error.what());
    return 1;
  }
}
