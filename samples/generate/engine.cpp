#include "engine.h"

#include <algorithm>
#include <charconv>

#include "reader_error.h"

namespace generate {
namespace {

// Whether the device has a kernel for each operator of the forward pass, asked with the smallest
// arguments that each allows.
bool has_operators(const millrace::Context& context) {
  const millrace::Stream stream(context);
  const auto unplaced = [](mr_dtype dtype, const std::vector<std::int64_t>& shape) {
    return millrace::Tensor(static_cast<void*>(nullptr), dtype, shape);
  };
  const millrace::Tensor row = unplaced(MR_F32, {1, 8}), heads = unplaced(MR_F32, {1, 1, 8});
  const millrace::Tensor cache = unplaced(MR_F32, {1, 1, 1, 8}), index = unplaced(MR_I32, {1});
  try {
    auto norm = millrace::args<mr_rmsnorm_args>();
    norm.input = norm.output = row;
    stream.kernel(norm);
    auto post = millrace::args<mr_qkv_post_args>();
    post.q = post.q_output = heads;
    stream.kernel(post);
    auto gated = millrace::args<mr_gated_activation_args>();
    gated.gate = gated.up = gated.output = row;
    stream.kernel(gated);
    auto attention = millrace::args<mr_attention_args>();
    attention.q = attention.output = heads;
    attention.k = attention.v = cache;
    attention.cu_q = unplaced(MR_I32, {2});
    attention.kv_len = index;
    attention.block_table = unplaced(MR_I32, {1, 1});
    stream.kernel(attention);
    auto sample = millrace::args<mr_sample_args>();
    sample.logits = row;
    sample.seed = sample.rng_offset = unplaced(MR_U64, {1});
    sample.output = index;
    stream.kernel(sample);
  } catch (const millrace::Error& error) {
    if (error.code() == MR_UNSUPPORTED) return false;
    throw;
  }
  return true;
}

std::int64_t bounded_room(const ModelConfig& config, std::int64_t room) {
  return std::clamp<std::int64_t>(room, kPageSize, std::int64_t{config.context} * kMostSequences);
}

std::int32_t most_pages(const ModelConfig& config) {
  return (config.context + kPageSize - 1) / kPageSize;
}

}  // namespace

millrace::Context open_device(const std::string& device) {
  if (device == "host") return millrace::Context(MR_BACKEND_HOST);
  if (device == "auto") {
    for (const mr_device_info& info : millrace::devices()) {
      if (info.usable != MR_OK) continue;
      millrace::Context context(info.backend, nullptr, info.ordinal);
      if (has_operators(context)) return context;
    }
    return millrace::Context(MR_BACKEND_HOST);
  }
  const std::string_view prefix = "cuda:", text = device;
  std::int32_t ordinal = -1;
  if (text.substr(0, prefix.size()) == prefix) {
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + prefix.size(), end, ordinal);
    if (parsed.ec != std::errc() || parsed.ptr != end) ordinal = -1;
  }
  if (ordinal < 0) {
    throw Error(concat("--device is auto, host or cuda:N, not ", in_quotes(device)));
  }
  return millrace::Context(MR_BACKEND_CUDA, nullptr, ordinal);
}

mr_dtype parse_dtype(const std::string& name) {
  if (name == "f32") return MR_F32;
  if (name == "bf16") return MR_BF16;
  if (name == "f16") return MR_F16;
  throw Error(concat("--dtype is f32, bf16 or f16, not ", in_quotes(name)));
}

Engine::Engine(const std::filesystem::path& model, const std::string& device, mr_dtype dtype,
               std::int64_t room, std::int32_t max_outputs, const ModelWeights::Progress& progress)
    : config(load_model_config(model)),
      tokenizer(Tokenizer::load(model / "tokenizer.json")),
      settings(load_tokenizer_settings(model)),
      context(open_device(device)),
      stream(context),
      weights(stream, Checkpoint::open(model), config, dtype, progress),
      kv(stream, config, dtype, bounded_room(config, room)),
      batch(context, stream, kStepTokens, kMostSequences, most_pages(config)),
      decoder(stream, config, weights, kStepTokens, max_outputs) {}

}  // namespace generate
