// What tokenizer.json calls the pre-tokenizer: cutting a text into the words that byte-pair
// encoding then never joins.

#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace generate {

class JsonField;

/// A stretch of the text, never empty.
struct Piece {
  std::string text;
  bool at_start;  // begins where the whole text begins
};

/// Cuts and rewrites pieces. Throws Error where all of them together would be longer than `limit`
/// bytes (see growth_limit.h).
using PreTokenizer = std::function<void(std::vector<Piece>& pieces, std::size_t limit)>;

/// Sequence, ByteLevel, Split, Metaspace, Digits, Punctuation. Throws Error for any other type.
/// Nothing (tokenizer.json says null) leaves every piece whole.
PreTokenizer parse_pretokenizer(const std::optional<JsonField>& field);

}  // namespace generate
