// Text to token ids and back, as a model directory's tokenizer.json describes.
//
// Supported is what the Llama, Mistral, Qwen2 and Qwen3 families use: byte-pair encoding in its
// byte-level and its SentencePiece style, with the components that normalizer.h, pretokenizer.h,
// post_processor.h and token_decoder.h list. The format has no specification: the behaviour of the
// reference, https://github.com/huggingface/tokenizers, is the standard that the tests compare
// with.
//
//   text -> added tokens cut out -> normalizer -> added tokens cut out -> pre-tokenizer -> BPE
//        -> post-processor -> ids

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "token_decoder.h"

namespace generate {

/// Immutable and cheap to copy; usable from any thread.
class Tokenizer {
 public:
  static Tokenizer load(const std::filesystem::path& file);
  /// From the text of a tokenizer.json. `file` opens every message. Throws Error for a component
  /// that is not supported; the members truncation and padding are for batches of documents and
  /// ignored.
  static Tokenizer parse(std::string_view json, const std::string& file = "tokenizer.json");

  /// The ids of `text`; with `add_special`, between those that the post-processor puts around it.
  /// Bytes that are not UTF-8 become U+FFFD first (see to_valid_utf8). The content of an added
  /// token that stands in the text becomes that token, special or not: text from a stranger can
  /// hold one. Throws Error for a text above 16 MiB.
  std::vector<std::int32_t> encode(std::string_view text, bool add_special) const;

  /// The text of `ids`, always valid UTF-8. Ids without a token are skipped, as the reference does:
  /// a model's vocabulary is often rounded up beyond its tokenizer's.
  std::string decode(std::span<const std::int32_t> ids, bool skip_special = true) const;

  /// Whether the post-processor puts any token around a text.
  bool adds_special() const;

  std::optional<std::int32_t> id_of(std::string_view token) const;
  bool is_special(std::int32_t id) const;
  /// One more than the largest id; a model's vocab_size is at least this.
  std::int64_t id_limit() const;

 private:
  friend class StreamDecoder;
  struct Parts;
  explicit Tokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  std::shared_ptr<const Parts> parts_;
};

/// Decodes ids as a model gives them. What the calls return, joined, is what Tokenizer::decode
/// gives for the same ids; and each return is whole characters that no later id can change.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = true);

  /// The text that became certain with this id; often nothing.
  std::string push(std::int32_t id);
  /// The text that was held back. No push may follow.
  std::string finish();

 private:
  std::shared_ptr<const Tokenizer::Parts> parts_;
  DecodeChain chain_;
  bool skip_special_;
};

}  // namespace generate
