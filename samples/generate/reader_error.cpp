#include "reader_error.h"

namespace generate {

std::string printable(std::string_view value, std::size_t longest) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (const char c : value.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      text += c;
    } else {
      text += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  if (value.size() > longest) text += "...";
  return text;
}

std::string in_quotes(std::string_view value) { return concat("'", printable(value), "'"); }

}  // namespace generate
