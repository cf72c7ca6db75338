// The forward pass of a Llama-like decoder, through the library's operators alone.

#pragma once

#include <cstdint>

#include <millrace.hpp>

#include "model_config.h"
#include "model_weights.h"
#include "paged_kv.h"
#include "step_batch.h"

namespace generate {

class Decoder {
 public:
  /// `max_tokens` bounds the tokens of one step, `max_outputs` those whose logits are wanted.
  Decoder(const millrace::Stream& stream, const ModelConfig& config, const ModelWeights& weights,
          std::int32_t max_tokens, std::int32_t max_outputs);

  /// Enqueues one step: appends the tokens to the cache, and gives the logits, [outputs, vocab]
  /// F32, valid until the next step.
  millrace::Tensor forward(const StepTensors& step, const PagedKv& kv);

 private:
  millrace::Tensor rows(const millrace::Tensor& of, std::int64_t count) const {
    return of.slice(0, 0, count);
  }
  millrace::Tensor scratch(std::int64_t rows, std::int64_t width, mr_dtype dtype);
  void normalise(const millrace::Tensor& input, const millrace::Tensor& weight,
                 const millrace::Tensor& residual, const millrace::Tensor& output) const;
  void multiply(const millrace::Tensor& x, const millrace::Tensor& w, const millrace::Tensor& bias,
                const millrace::Tensor& d) const;
  void attend(std::int32_t layer, const StepTensors& step, const PagedKv& kv,
              const millrace::Tensor& qkv, const millrace::Tensor& output) const;
  void feed_forward(const LayerWeights& weights, std::int64_t tokens) const;

  millrace::Stream stream_;
  const ModelConfig& config_;
  const ModelWeights& weights_;
  mr_rope_config rope_;
  std::vector<millrace::Buffer> buffers_;
  millrace::Tensor residual_;   // [max_tokens, hidden]: the running sum
  millrace::Tensor normal_;     // [max_tokens, hidden]
  millrace::Tensor branch_;     // [max_tokens, hidden]: what a branch adds to the sum
  millrace::Tensor qkv_;        // [max_tokens, (heads + 2 kv_heads) head_dim]
  millrace::Tensor attention_;  // [max_tokens, heads head_dim]
  millrace::Tensor gate_up_;    // [max_tokens, 2 intermediate]
  millrace::Tensor gated_;      // [max_tokens, intermediate]
  millrace::Tensor last_;       // [max_outputs, hidden]
  millrace::Tensor logits_;     // [max_outputs, vocab] F32
};

}  // namespace generate
