#include "byte_level.h"

#include <array>
#include <cstdint>

#include "utf8.h"

namespace generate {
namespace {

struct Alphabet {
  std::array<char32_t, 256> character{};
  std::array<std::int16_t, 512> byte{};  // -1 where no byte has the character

  constexpr Alphabet() {
    byte.fill(-1);
    char32_t next = 256;
    for (char32_t b = 0; b < 256; ++b) {
      const bool prints = (b >= '!' && b <= '~') || (b >= 0xA1 && b != 0xAD);
      character[b] = prints ? b : next++;
      byte[character[b]] = static_cast<std::int16_t>(b);
    }
  }
};
constexpr Alphabet kAlphabet;

}  // namespace

std::string to_byte_characters(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) append_utf8(kAlphabet.character[static_cast<unsigned char>(c)], text);
  return text;
}

std::optional<std::string> from_byte_characters(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    at += c.length;
    if (c.value >= kAlphabet.byte.size() || kAlphabet.byte[c.value] < 0) return std::nullopt;
    bytes += static_cast<char>(kAlphabet.byte[c.value]);
  }
  return bytes;
}

}  // namespace generate
