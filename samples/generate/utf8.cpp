#include "utf8.h"

#include <utf8proc.h>

#include <utility>

namespace generate {
namespace {

enum class Part { kValid, kInvalid, kCutShort };

struct Scan {
  Part part;
  std::size_t length;  // of the character, or of the maximal part that begins one
};

/// Looks at the character that starts at `at`. Table 3-7 of the Unicode Standard: the range of the
/// second byte depends on the first, those of the third and the fourth do not.
Scan scan(std::string_view bytes, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned first = byte(at);
  if (first < 0x80) return {Part::kValid, 1};
  if (first < 0xC2 || first > 0xF4) return {Part::kInvalid, 1};

  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  unsigned least = 0x80;
  unsigned most = 0xBF;
  if (first == 0xE0) least = 0xA0;  // shorter forms exist
  if (first == 0xED) most = 0x9F;   // surrogates
  if (first == 0xF0) least = 0x90;  // shorter forms exist
  if (first == 0xF4) most = 0x8F;   // beyond U+10FFFF
  for (std::size_t i = 1; i < length; ++i) {
    if (at + i == bytes.size()) return {Part::kCutShort, i};
    if (byte(at + i) < least || byte(at + i) > most) return {Part::kInvalid, i};
    least = 0x80;
    most = 0xBF;
  }
  return {Part::kValid, length};
}

}  // namespace

std::string to_valid_utf8(std::string_view bytes) {
  Utf8Assembler assembler;
  std::string text = assembler.push(bytes);
  text += assembler.finish();
  return text;
}

bool is_valid_utf8(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const Scan found = scan(bytes, at);
    if (found.part != Part::kValid) return false;
    at += found.length;
  }
  return true;
}

CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {(first & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (first < 0xF0) return {(first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F),
          4};
}

CodePoint code_point_before(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return code_point_at(text, at);
}

void append_utf8(char32_t code_point, std::string& text) {
  const auto tail = [&](int shift) {
    return static_cast<char>(0x80 | (code_point >> shift & 0x3F));
  };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += {static_cast<char>(0xC0 | code_point >> 6), tail(0)};
  } else if (code_point < 0x10000) {
    text += {static_cast<char>(0xE0 | code_point >> 12), tail(6), tail(0)};
  } else {
    text += {static_cast<char>(0xF0 | code_point >> 18), tail(12), tail(6), tail(0)};
  }
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_word(char32_t c) {
  const auto within = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  if (within(0x200C, 0x200D)) return true;  // the joiners
  // Circled and squared letters: symbols by category, yet alphabetic.
  if (within(0x24B6, 0x24E9) || within(0x1F130, 0x1F149) || within(0x1F150, 0x1F169) ||
      within(0x1F170, 0x1F189)) {
    return true;
  }
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return false;
  }
}

std::string Utf8Assembler::push(std::string_view bytes) {
  std::string joined = std::move(rest_);
  rest_.clear();
  joined += bytes;

  std::string text;
  text.reserve(joined.size());
  for (std::size_t at = 0; at < joined.size();) {
    const Scan found = scan(joined, at);
    const std::string_view part = std::string_view(joined).substr(at, found.length);
    if (found.part == Part::kCutShort) {
      rest_ = part;
      break;
    }
    text += found.part == Part::kValid ? part : kReplacement;
    at += found.length;
  }
  return text;
}

std::string Utf8Assembler::finish() {
  return std::exchange(rest_, {}).empty() ? std::string() : std::string(kReplacement);
}

}  // namespace generate
