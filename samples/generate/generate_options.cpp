#include "generate_options.h"

#include <CLI/CLI.hpp>
#include <limits>

#ifndef MILLRACE_DEFAULT_MODEL
#define MILLRACE_DEFAULT_MODEL ""
#endif

namespace generate {

std::optional<GenerateOptions> parse_options(int argc, char** argv, int* status) {
  GenerateOptions options;
  options.model = MILLRACE_DEFAULT_MODEL;
  std::vector<std::string> bare;
  CLI::App app(
      "Continues texts with a language model of the Llama, Mistral, Qwen2 or Qwen3 family.");
  app.add_option("prompt", bare, "Text to continue; several are continued together");
  app.add_option("--prompt", options.prompts,
                 "The same, repeatable. Without any prompt: one a line on standard input")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--model", options.model, "Directory of a Hugging Face checkpoint")
      ->capture_default_str();
  app.add_option("--max-tokens", options.max_tokens, "Most tokens to add to a text")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  app.add_option("--temperature", options.sampling.temperature,
                 "0 takes the most probable token; 1 draws as the model says")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  app.add_option("--top-k", options.sampling.top_k, "Draw from the k most probable tokens; 0: all")
      ->check(CLI::Range(0, std::numeric_limits<std::int32_t>::max()))
      ->capture_default_str();
  app.add_option("--top-p", options.sampling.top_p, "Draw from the most probable share p; 1: all")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--min-p", options.sampling.min_p,
                 "Draw from tokens of at least this share of the largest probability; 0: all")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--seed", options.sampling.seed, "Same seed, same text")->capture_default_str();
  app.add_option("--dtype", options.dtype, "Of weights and activations")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->capture_default_str();
  app.add_option("--device", options.device, "auto, host or cuda:N")->capture_default_str();
  app.add_option("--score", options.score,
                 "Print the mean negative log-likelihood of a text file instead");
  app.add_flag("--stats", options.stats, "Print speed and memory on standard error at the end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    *status = app.exit(error);
    return std::nullopt;
  }
  options.prompts.insert(options.prompts.begin(), bare.begin(), bare.end());
  if (options.model.empty()) {
    std::fprintf(stderr, "generate: --model names no directory\n");
    *status = 2;
    return std::nullopt;
  }
  return options;
}

}  // namespace generate
