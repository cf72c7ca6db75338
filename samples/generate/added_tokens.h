// Tokens that are found in a text as they stand, before it is cut into words: the special ones,
// such as the end of a text, and words that a model was taught later.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "normalizer.h"

namespace generate {

class JsonField;

struct AddedToken {
  std::int32_t id{};
  std::string content;
  std::string matched;  // what is looked for: content, rewritten if `normalized`
  bool special{};       // left out of decoded text
  bool single_word{};   // only where no word character touches it
  bool lstrip{};        // takes the white space on its left along
  bool rstrip{};        // takes the white space on its right along
  bool normalized{};    // looked for after the normalizer has run, else before
};

/// Finds the longest of a set of texts at a place of another text.
class TextTrie {
 public:
  /// `text` is not empty. Of two equal texts the later counts.
  void add(std::string_view text, std::size_t value);

  struct Match {
    std::size_t length;
    std::size_t value;
  };
  /// The longest added text that begins at `at`. Takes as many steps as the texts have bytes in
  /// common with it.
  std::optional<Match> longest(std::string_view text, std::size_t at) const;

 private:
  std::vector<std::optional<std::size_t>> values_{std::nullopt};  // of each node; the root is 0
  std::unordered_map<std::uint64_t, std::size_t> edges_;          // node and byte -> node
};

class AddedTokens {
 public:
  /// The member "added_tokens" of tokenizer.json, which may be absent. Throws Error where two have
  /// the same content or id.
  static AddedTokens parse(const std::optional<JsonField>& list, const Normalizer& normalizer);

  /// A stretch of a text: a token, or what lies between tokens. Never empty, except for a token
  /// whose white space the one before it took.
  struct Part {
    std::size_t begin;
    std::size_t end;
    const AddedToken* token;  // nullptr between tokens
  };
  /// Cuts `text` at every token that is looked for before (`normalized` false) or after (true) the
  /// normalizer: leftmost first, of several at one place the longest.
  std::vector<Part> split(std::string_view text, bool normalized) const;

  const AddedToken* find(std::int32_t id) const;
  const AddedToken* find(std::string_view content) const;
  const std::vector<AddedToken>& all() const { return tokens_; }

 private:
  std::vector<AddedToken> tokens_;
  std::unordered_map<std::int32_t, std::size_t> by_id_;
  std::unordered_map<std::string, std::size_t> by_content_;
  TextTrie before_;
  TextTrie after_;
};

}  // namespace generate
