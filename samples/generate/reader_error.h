// The one exception of the readers.
//
// Whatever a file or a text holds, a reader either returns a checked value or throws Error with one
// sentence that names the file, the field and the value. std::bad_alloc is the only other
// exception.

#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace generate {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The parts, printed one after the other.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

/// `value` fit for a message: cut after `longest` bytes, and every byte that is not printable ASCII
/// written as \xNN, so that a hostile file cannot write to the reader's terminal.
std::string printable(std::string_view value, std::size_t longest = 80);

/// The same, in quotes.
std::string in_quotes(std::string_view value);

}  // namespace generate
