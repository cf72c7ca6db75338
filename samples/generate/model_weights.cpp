#include "model_weights.h"

#include <string>

#include "number_format.h"

namespace generate {

namespace {

// Most rows of a matrix that are converted and uploaded at once: what bounds the host memory taken.
constexpr std::size_t kPieceBytes = std::size_t{16} << 20;

}  // namespace

class ModelWeights::Loader {
 public:
  Loader(ModelWeights& weights, const millrace::Stream& stream, const Checkpoint& checkpoint,
         const Progress& progress)
      : weights_(weights), stream_(stream), checkpoint_(checkpoint), progress_(progress) {}

  /// The tensors of these names, each [rows, columns] (or [rows] with columns 0), one over the
  /// other.
  millrace::Tensor stack(const std::vector<std::pair<std::string, std::int64_t>>& parts,
                         std::int64_t columns) {
    const mr_dtype dtype = weights_.dtype_;
    std::int64_t rows = 0;
    for (const auto& part : parts) rows += part.second;
    std::vector<std::int64_t> shape = {rows};
    if (columns > 0) shape.push_back(columns);
    const millrace::Tensor unplaced(static_cast<void*>(nullptr), dtype, shape);
    weights_.buffers_.emplace_back(stream_, static_cast<std::uint64_t>(unplaced.bytes()),
                                   MR_TAG_WEIGHTS);
    const millrace::Buffer& buffer = weights_.buffers_.back();
    std::byte* to = buffer.data_as<std::byte>();
    for (const auto& [name, part_rows] : parts) {
      const TensorView& view = columns > 0 ? checkpoint_.weight(name, {part_rows, columns})
                                           : checkpoint_.weight(name, {part_rows});
      to = upload(view, to);
    }
    return buffer.tensor(dtype, shape);
  }

  millrace::Tensor vector(const std::string& name, std::int64_t length) {
    return stack({{name, length}}, 0);
  }

 private:
  // Returns the address behind what was written.
  std::byte* upload(const TensorView& view, std::byte* to) {
    const auto from_size = static_cast<std::size_t>(dtype_bits(view.dtype) / 8);
    const auto to_size = static_cast<std::size_t>(millrace::item_bytes(weights_.dtype_));
    const std::size_t count = view.size / from_size;
    const std::size_t step = kPieceBytes / to_size;
    for (std::size_t done = 0; done < count; done += step) {
      const std::size_t piece = std::min(step, count - done);
      staging_.resize(piece * to_size);
      convert_numbers(view.data + done * from_size, view.dtype, piece, staging_.data(),
                      weights_.dtype_);
      stream_.upload(to, staging_.data(), staging_.size());
      to += staging_.size();
      read_ += piece * from_size;
      if (progress_) progress_(read_, checkpoint_.data_bytes());
    }
    return to;
  }

  ModelWeights& weights_;
  const millrace::Stream& stream_;
  const Checkpoint& checkpoint_;
  const Progress& progress_;
  std::vector<std::byte> staging_;
  std::size_t read_ = 0;
};

ModelWeights::ModelWeights(const millrace::Stream& stream, const Checkpoint& checkpoint,
                           const ModelConfig& config, mr_dtype dtype, const Progress& progress)
    : dtype_(dtype) {
  Loader loader(*this, stream, checkpoint, progress);
  const std::int64_t hidden = config.hidden_size, inner = config.intermediate_size;
  const std::int64_t q_rows = std::int64_t{config.heads} * config.head_dim;
  const std::int64_t kv_rows = std::int64_t{config.kv_heads} * config.head_dim;

  embedding_ = loader.stack({{"model.embed_tokens.weight", config.vocab_size}}, hidden);
  final_norm_ = loader.vector("model.norm.weight", hidden);
  head_ = config.tied_embeddings ? embedding_
                                 : loader.stack({{"lm_head.weight", config.vocab_size}}, hidden);
  for (std::int32_t i = 0; i < config.layers; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    const std::string attention = layer + "self_attn.", mlp = layer + "mlp.";
    LayerWeights weights;
    weights.input_norm = loader.vector(layer + "input_layernorm.weight", hidden);
    weights.qkv = loader.stack({{attention + "q_proj.weight", q_rows},
                                {attention + "k_proj.weight", kv_rows},
                                {attention + "v_proj.weight", kv_rows}},
                               hidden);
    if (config.qkv_bias) {
      weights.qkv_bias = loader.stack({{attention + "q_proj.bias", q_rows},
                                       {attention + "k_proj.bias", kv_rows},
                                       {attention + "v_proj.bias", kv_rows}},
                                      0);
    }
    if (config.qk_norm) {
      weights.q_norm = loader.vector(attention + "q_norm.weight", config.head_dim);
      weights.k_norm = loader.vector(attention + "k_norm.weight", config.head_dim);
    }
    weights.output = loader.stack({{attention + "o_proj.weight", hidden}}, q_rows);
    if (config.output_bias) weights.output_bias = loader.vector(attention + "o_proj.bias", hidden);
    weights.mlp_norm = loader.vector(layer + "post_attention_layernorm.weight", hidden);
    weights.gate_up =
        loader.stack({{mlp + "gate_proj.weight", inner}, {mlp + "up_proj.weight", inner}}, hidden);
    weights.down = loader.stack({{mlp + "down_proj.weight", hidden}}, inner);
    if (config.mlp_bias) {
      weights.gate_up_bias =
          loader.stack({{mlp + "gate_proj.bias", inner}, {mlp + "up_proj.bias", inner}}, 0);
      weights.down_bias = loader.vector(mlp + "down_proj.bias", hidden);
    }
    layers_.push_back(weights);
  }
}

}  // namespace generate
