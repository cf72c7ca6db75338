#include "prompt_encoder.h"

#include "json_reader.h"
#include "mapped_file.h"
#include "reader_error.h"

namespace generate {

TokenizerSettings parse_tokenizer_settings(std::string_view json, const std::string& file) {
  const JsonDocument document(json, file);
  TokenizerSettings settings;
  if (const auto flag = document.root().find("add_bos_token"))
    settings.add_bos_token = flag->flag();
  return settings;
}

TokenizerSettings load_tokenizer_settings(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "tokenizer_config.json";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  return parse_tokenizer_settings(MappedFile(path).text(), path.string());
}

std::optional<std::int32_t> missing_bos(const Tokenizer& tokenizer, const ModelConfig& config,
                                        const TokenizerSettings& settings) {
  if (tokenizer.adds_special() || !settings.add_bos_token.value_or(true)) return std::nullopt;
  return config.bos_id;
}

std::vector<std::int32_t> encode_prompt(const Tokenizer& tokenizer, const ModelConfig& config,
                                        const TokenizerSettings& settings, std::string_view text) {
  std::vector<std::int32_t> ids = tokenizer.encode(text, true);
  const auto bos = missing_bos(tokenizer, config, settings);
  if (bos && (ids.empty() || ids.front() != *bos)) ids.insert(ids.begin(), *bos);
  for (const std::int32_t id : ids) {
    if (id >= config.vocab_size) {
      throw Error(concat("the tokenizer gives the id ", id,
                         ", but config.json: vocab_size = ", config.vocab_size));
    }
  }
  return ids;
}

}  // namespace generate
