// A checkpoint's weights on a device, in the layout that the forward pass reads.

#pragma once

#include <functional>
#include <vector>

#include <millrace.hpp>

#include "checkpoint.h"
#include "model_config.h"

namespace generate {

/// One decoder layer. Projections that read the same input are stacked into one matrix, so that
/// they are one product: qkv is q over k over v, gate_up is gate over up. Absent tensors are left
/// out.
struct LayerWeights {
  millrace::Tensor input_norm;  // [hidden]
  millrace::Tensor qkv;         // [(heads + 2 kv_heads) head_dim, hidden]
  millrace::Tensor qkv_bias;
  millrace::Tensor q_norm;  // [head_dim]
  millrace::Tensor k_norm;
  millrace::Tensor output;  // [hidden, heads head_dim]
  millrace::Tensor output_bias;
  millrace::Tensor mlp_norm;  // [hidden]
  millrace::Tensor gate_up;   // [2 intermediate, hidden]
  millrace::Tensor gate_up_bias;
  millrace::Tensor down;  // [hidden, intermediate]
  millrace::Tensor down_bias;
};

/// All weights, in one dtype. They live as long as this object.
class ModelWeights {
 public:
  /// Called with the bytes of the checkpoint read so far and in total.
  using Progress = std::function<void(std::size_t done, std::size_t total)>;

  /// Converts to `dtype` (MR_F32, MR_BF16, MR_F16) on the way. Throws Error for a tensor that is
  /// missing or has another shape, millrace::Error when memory runs out.
  ModelWeights(const millrace::Stream& stream, const Checkpoint& checkpoint,
               const ModelConfig& config, mr_dtype dtype, const Progress& progress);

  mr_dtype dtype() const { return dtype_; }
  const millrace::Tensor& embedding() const { return embedding_; }    // [vocab, hidden]
  const millrace::Tensor& final_norm() const { return final_norm_; }  // [hidden]
  const millrace::Tensor& head() const { return head_; }              // [vocab, hidden]
  const LayerWeights& layer(std::int32_t index) const {
    return layers_[static_cast<std::size_t>(index)];
  }

 private:
  class Loader;

  mr_dtype dtype_;
  std::vector<millrace::Buffer> buffers_;
  millrace::Tensor embedding_;
  millrace::Tensor final_norm_;
  millrace::Tensor head_;
  std::vector<LayerWeights> layers_;
};

}  // namespace generate
