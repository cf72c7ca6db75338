// What tokenizer.json calls the normalizer: rewriting of a text before it is cut into words.

#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace generate {

class JsonField;

/// Rewrites `text` in place, valid UTF-8 before and after. Throws Error where the result would be
/// longer than `limit` bytes (see growth_limit.h).
using Normalizer = std::function<void(std::string& text, std::size_t limit)>;

/// Sequence, NFC, NFD, NFKC, NFKD, Lowercase, Replace, Prepend. Throws Error for any other type.
/// Nothing (tokenizer.json says null) leaves every text as it is.
Normalizer parse_normalizer(const std::optional<JsonField>& field);

}  // namespace generate
