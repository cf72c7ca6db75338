// The byte-level alphabet of GPT-2: every byte has a printable character of its own, so that a
// vocabulary of texts can spell any sequence of bytes.
//
// Bytes that print in Latin-1 stand for themselves; the other 68 become U+0100 onwards, in order.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace generate {

/// Each byte as its character: at most twice as long.
std::string to_byte_characters(std::string_view bytes);

/// The bytes again; nothing where a character stands for no byte.
std::optional<std::string> from_byte_characters(std::string_view text);

}  // namespace generate
