// Many prompts through one engine: each step takes the next tokens of every sequence that is
// running.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine.h"

namespace generate {

struct SamplingOptions {
  float temperature = 0;  // 0: the most probable token
  std::int32_t top_k = 0;
  float top_p = 1;
  float min_p = 0;
  std::uint64_t seed = 0;
};

struct GenerationResult {
  std::int64_t prompt_tokens = 0;
  std::int64_t generated_tokens = 0;
  double seconds = 0;              // from the first step to the last token
  double first_token_seconds = 0;  // until the first token of the first prompt
  double decode_seconds = 0;       // of the steps that held no prompt tokens
  std::int64_t decode_tokens = 0;  // chosen in those steps
};

/// Receives a piece of the text of prompt `index`, in the order of the text; `last` with the final
/// piece, which may be empty.
using TextSink = std::function<void(std::size_t index, const std::string& text, bool last)>;

class Generation {
 public:
  Generation(Engine& engine, const SamplingOptions& sampling, std::int32_t max_tokens);

  /// The texts of all prompts. A prompt's draws depend on the seed and its index alone, not on the
  /// prompts beside it. Throws Error for a prompt that the context or the cache cannot hold.
  GenerationResult run(const std::vector<std::vector<std::int32_t>>& prompts, const TextSink& sink);

 private:
  struct Sequence {
    std::size_t index;
    std::vector<std::int32_t> pending;  // prompt tokens not yet run; then the token drawn last
    PageList pages;
    StreamDecoder text;
    std::int32_t generated = 0;
    std::uint64_t draws = 0;
  };

  void admit(const std::vector<std::vector<std::int32_t>>& prompts);
  bool fits(std::size_t tokens) const;
  void step(const TextSink& sink);
  std::vector<std::int32_t> draw(const millrace::Tensor& logits,
                                 const std::vector<Sequence*>& drawn);
  void take(Sequence& sequence, std::int32_t id, const TextSink& sink);
  bool ends(std::int32_t id) const;

  Engine& engine_;
  SamplingOptions sampling_;
  std::int32_t max_tokens_;
  millrace::Buffer
      parameters_;          // temperature, top_k, top_p, min_p: one value each, shared by stride 0
  millrace::Buffer state_;  // per row: seed and offset
  millrace::Buffer state_pinned_;
  millrace::Buffer ids_;
  millrace::Ring ring_;
  std::uint32_t slot_ = 0;

  std::vector<Sequence> running_;
  std::size_t next_prompt_ = 0;
  GenerationResult result_;
  double started_ = 0;
};

}  // namespace generate
