#include "decoder.h"

#include <cmath>

namespace generate {
namespace {

mr_rope_config rope_of(const ModelConfig& config) {
  mr_rope_config rope = MR_ROPE_CONFIG_INIT;
  const RopeConfig& from = config.rope;
  switch (from.scaling) {
    case RopeScaling::kNone:
      rope.scaling = MR_ROPE_SCALING_NONE;
      break;
    case RopeScaling::kLinear:
      rope.scaling = MR_ROPE_SCALING_LINEAR;
      break;
    case RopeScaling::kNtk:
      rope.scaling = MR_ROPE_SCALING_NTK;
      break;
    case RopeScaling::kYarn:
      rope.scaling = MR_ROPE_SCALING_YARN;
      break;
    case RopeScaling::kLlama3:
      rope.scaling = MR_ROPE_SCALING_LLAMA3;
      break;
  }
  rope.pairing = MR_ROPE_NEOX;  // as the Hugging Face layout of these families stores q and k
  rope.theta = static_cast<float>(from.theta);
  rope.factor = static_cast<float>(from.factor);
  rope.original_max_position = from.original_context;
  rope.low_freq_factor = static_cast<float>(from.low_freq_factor);
  rope.high_freq_factor = static_cast<float>(from.high_freq_factor);
  rope.beta_fast = static_cast<float>(from.beta_fast);
  rope.beta_slow = static_cast<float>(from.beta_slow);
  rope.attention_factor = static_cast<float>(from.attention_factor);
  return rope;
}

std::uint32_t activation_of(const ModelConfig& config) {
  switch (config.activation) {
    case Activation::kGelu:
      return MR_ACTIVATION_GELU_ERF;
    case Activation::kGeluTanh:
      return MR_ACTIVATION_GELU_TANH;
    case Activation::kSilu:
      break;
  }
  return MR_ACTIVATION_SILU;
}

}  // namespace

Decoder::Decoder(const millrace::Stream& stream, const ModelConfig& config,
                 const ModelWeights& weights, std::int32_t max_tokens, std::int32_t max_outputs)
    : stream_(stream), config_(config), weights_(weights), rope_(rope_of(config)) {
  const std::int64_t hidden = config.hidden_size, head = config.head_dim;
  const std::int64_t inner = config.intermediate_size;
  const mr_dtype dtype = weights.dtype();
  residual_ = scratch(max_tokens, hidden, dtype);
  normal_ = scratch(max_tokens, hidden, dtype);
  branch_ = scratch(max_tokens, hidden, dtype);
  qkv_ = scratch(max_tokens, (config.heads + 2 * std::int64_t{config.kv_heads}) * head, dtype);
  attention_ = scratch(max_tokens, config.heads * head, dtype);
  gate_up_ = scratch(max_tokens, 2 * inner, dtype);
  gated_ = scratch(max_tokens, inner, dtype);
  last_ = scratch(max_outputs, hidden, dtype);
  logits_ = scratch(max_outputs, config.vocab_size, MR_F32);
}

millrace::Tensor Decoder::scratch(std::int64_t count, std::int64_t width, mr_dtype dtype) {
  const auto bytes = static_cast<std::uint64_t>(count * width * millrace::item_bytes(dtype));
  buffers_.emplace_back(stream_, bytes, MR_TAG_ACTIVATIONS);
  return buffers_.back().tensor(dtype, {count, width});
}

// Adds `input` to the running sum where `residual` is present, and normalises the sum.
void Decoder::normalise(const millrace::Tensor& input, const millrace::Tensor& weight,
                        const millrace::Tensor& residual, const millrace::Tensor& output) const {
  auto norm = millrace::args<mr_rmsnorm_args>();
  norm.input = input;
  norm.residual = norm.residual_output = residual;
  norm.weight = weight;
  norm.output = output;
  norm.epsilon = static_cast<float>(config_.rms_norm_eps);
  stream_.run(norm);
}

void Decoder::multiply(const millrace::Tensor& x, const millrace::Tensor& w,
                       const millrace::Tensor& bias, const millrace::Tensor& d) const {
  auto product = millrace::args<mr_matmul_args>();
  product.x = x;
  product.w = w;
  product.bias = bias;
  product.d = d;
  stream_.run(product);
}

void Decoder::attend(std::int32_t layer, const StepTensors& step, const PagedKv& kv,
                     const millrace::Tensor& qkv, const millrace::Tensor& output) const {
  const LayerWeights& weights = weights_.layer(layer);
  const std::int64_t tokens = qkv.size(0), head = config_.head_dim;
  const std::int64_t heads = config_.heads, kv_heads = config_.kv_heads;
  const millrace::Tensor packed = qkv.reshape({tokens, heads + 2 * kv_heads, head});
  const millrace::Tensor q = packed.slice(1, 0, heads);

  auto post = millrace::args<mr_qkv_post_args>();
  post.flags = MR_QKV_POST_ROPE;
  post.q = post.q_output = q;
  post.k = packed.slice(1, heads, heads + kv_heads);
  post.v = packed.slice(1, heads + kv_heads, heads + 2 * kv_heads);
  post.q_norm = weights.q_norm;
  post.k_norm = weights.k_norm;
  post.positions = step.positions;
  post.slot = step.slot;
  post.k_cache = kv.keys(layer);
  post.v_cache = kv.values(layer);
  post.rope = rope_;
  post.epsilon = static_cast<float>(config_.rms_norm_eps);
  stream_.run(post);

  auto attention = millrace::args<mr_attention_args>();
  attention.flags = MR_ATTENTION_CAUSAL;
  attention.q = q;
  attention.k = kv.keys(layer);
  attention.v = kv.values(layer);
  attention.cu_q = step.cu_q;
  attention.kv_len = step.kv_len;
  attention.block_table = step.block_table;
  attention.output = output.reshape({tokens, heads, head});
  attention.scale = 1.0f / std::sqrt(static_cast<float>(head));
  const std::int32_t window = config_.windows[static_cast<std::size_t>(layer)];
  if (window > 0) {
    attention.flags |= MR_ATTENTION_WINDOW;
    attention.window_left = window - 1;
    attention.window_right = -1;
  }
  stream_.run(attention);
}

void Decoder::feed_forward(const LayerWeights& weights, std::int64_t tokens) const {
  const std::int64_t inner = config_.intermediate_size;
  const millrace::Tensor gate_up = rows(gate_up_, tokens);
  multiply(rows(normal_, tokens), weights.gate_up, weights.gate_up_bias, gate_up);
  auto gated = millrace::args<mr_gated_activation_args>();
  gated.gate = gate_up.slice(1, 0, inner);
  gated.up = gate_up.slice(1, inner, 2 * inner);
  gated.output = rows(gated_, tokens);
  gated.activation = activation_of(config_);
  stream_.run(gated);
  multiply(rows(gated_, tokens), weights.down, weights.down_bias, rows(branch_, tokens));
}

millrace::Tensor Decoder::forward(const StepTensors& step, const PagedKv& kv) {
  const std::int64_t tokens = step.ids.size(0), outputs = step.output_rows.size(0);
  const millrace::Tensor residual = rows(residual_, tokens), normal = rows(normal_, tokens);
  const millrace::Tensor branch = rows(branch_, tokens), qkv = rows(qkv_, tokens);
  const millrace::Tensor attention = rows(attention_, tokens);
  const millrace::Tensor none;

  auto embed = millrace::args<mr_embedding_args>();
  embed.ids = step.ids;
  embed.table = weights_.embedding();
  embed.output = residual;
  stream_.run(embed);
  for (std::int32_t layer = 0; layer < config_.layers; ++layer) {
    const LayerWeights& weights = weights_.layer(layer);
    // The first layer normalises the embeddings; later ones first add the branch before them.
    normalise(layer == 0 ? residual : branch, weights.input_norm, layer == 0 ? none : residual,
              normal);
    multiply(normal, weights.qkv, weights.qkv_bias, qkv);
    attend(layer, step, kv, qkv, attention);
    multiply(attention, weights.output, weights.output_bias, branch);
    normalise(branch, weights.mlp_norm, residual, normal);
    feed_forward(weights, tokens);
  }
  normalise(branch, weights_.final_norm(), residual, normal);

  // The rows whose logits are wanted, gathered: a table lookup by row.
  auto gather = millrace::args<mr_embedding_args>();
  gather.ids = step.output_rows;
  gather.table = normal;
  gather.output = rows(last_, outputs);
  stream_.run(gather);
  const millrace::Tensor logits = rows(logits_, outputs);
  multiply(rows(last_, outputs), weights_.head(), none, logits);
  return logits;
}

}  // namespace generate
