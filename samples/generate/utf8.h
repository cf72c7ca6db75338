// UTF-8: checking, repairing, and walking over code points.
//
// Every text inside the tokenizer is valid UTF-8. It becomes so at the border, by to_valid_utf8 or
// by the JSON parser, and no step breaks it; so the walks below need no checks.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace generate {

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// `bytes` with every maximal part that is not UTF-8 replaced by one U+FFFD: the practice that the
/// Unicode Standard recommends (chapter 3.9) and that Rust's lossy conversion follows.
std::string to_valid_utf8(std::string_view bytes);

bool is_valid_utf8(std::string_view bytes);

struct CodePoint {
  char32_t value;
  std::size_t length;  // bytes
};

/// The code point that starts at `at`, which is below text.size().
CodePoint code_point_at(std::string_view text, std::size_t at);

/// The code point that ends before `end`, which is above 0.
CodePoint code_point_before(std::string_view text, std::size_t end);

void append_utf8(char32_t code_point, std::string& text);

/// Unicode's White_Space property.
bool is_white_space(char32_t code_point);

/// What `\w` means to Unicode regular expressions: letters, marks, decimal digits, letter numbers,
/// connectors such as `_`, and the two joiners.
bool is_word(char32_t code_point);

/// Bytes in, whole characters out: keeps back a character whose last bytes are still to come.
class Utf8Assembler {
 public:
  /// The text that `bytes` complete, repaired as to_valid_utf8 does.
  std::string push(std::string_view bytes);
  /// What is left when no more bytes come: nothing, or one U+FFFD.
  std::string finish();

 private:
  std::string rest_;  // at most 3 bytes, the start of a character
};

}  // namespace generate
