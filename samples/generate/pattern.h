// Patterns of tokenizer.json: a literal text or a regular expression.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace generate {

class JsonField;

/// A stretch of a text, which a pattern matched or not.
struct Segment {
  std::size_t begin;
  std::size_t end;
  bool is_match;
};

/// Cheap to copy, immutable, usable from any thread.
class Pattern {
 public:
  /// Throws Error for an empty text.
  static Pattern literal(std::string text);
  /// Throws Error for what regex_dialect.h refuses, or what is no regular expression.
  static Pattern regex(std::string_view expression);
  /// {"String": "..."} or {"Regex": "..."}.
  static Pattern parse(const JsonField& field);

  /// Cuts the whole of `text`, valid UTF-8, into stretches that match and stretches between them,
  /// in order. A match may be empty; it then still separates its neighbours.
  ///
  /// Takes linear time for a sane expression. For any other, the number of steps per match is
  /// limited (see match_limit in pattern.cpp), and beyond it Error is thrown: no file can make this
  /// hang.
  std::vector<Segment> segments(std::string_view text) const;

  /// `text` with every match replaced by `content` as it stands. Throws Error where the result
  /// would be longer than `limit` bytes.
  std::string replace(std::string_view text, std::string_view content, std::size_t limit) const;

  /// The literal text, or empty for a regular expression.
  const std::string& literal_text() const { return literal_; }

 private:
  struct Regex;  // a compiled PCRE2 expression

  std::string literal_;
  std::shared_ptr<const Regex> regex_;  // null for a literal
};

}  // namespace generate
