// Whatever the texts of config.json and generation_config.json (here with a zero byte between
// them), parse_model_config either throws Error or returns what its header promises.

#include "model_config.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "reader_error.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

void check_promises(const generate::ModelConfig& config) {
  check(config.vocab_size > 0 && config.hidden_size > 0 && config.intermediate_size > 0);
  check(config.layers > 0 && config.context > 0 && config.rms_norm_eps > 0);
  check(config.heads > 0 && config.kv_heads > 0 && config.heads % config.kv_heads == 0);
  check(config.head_dim > 0 && config.head_dim <= 256 && config.head_dim % 2 == 0);
  check(config.windows.size() == static_cast<std::size_t>(config.layers));
  for (const std::int32_t window : config.windows) check(window >= 0);
  for (const std::int32_t id : config.eos_ids) check(id >= 0 && id < config.vocab_size);
  if (config.bos_id) check(*config.bos_id >= 0 && *config.bos_id < config.vocab_size);
  check(config.rope.theta > 0 && config.rope.factor > 0 && config.rope.original_context > 0);
  check(std::isfinite(config.rope.attention_factor) && config.rope.attention_factor > 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto zero = input.find('\0');
  std::optional<std::string_view> generation;
  if (zero != input.npos) generation = input.substr(zero + 1);
  try {
    check_promises(generate::parse_model_config(input.substr(0, zero), generation));
  } catch (const generate::Error& e) {
    check(e.what()[0] != '\0');
  }
  return 0;
}
