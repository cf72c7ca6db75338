#include "regex_dialect.h"

#include <cstddef>

#include "reader_error.h"

namespace generate {
namespace {

constexpr std::string_view kWordClass = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Reads the pattern once from left to right and writes its translation.
class Translation {
 public:
  explicit Translation(std::string_view pattern) : pattern_(pattern) {}

  std::string run() {
    while (!done()) {
      switch (const char c = take()) {
        case '\\':
          escape(false);
          break;
        case '[':
          bracket();
          break;
        case '(':
          group();
          break;
        case '{':
          interval();
          break;
        default:
          out_ += c;
      }
    }
    return std::move(out_);
  }

 private:
  bool done() const { return at_ == pattern_.size(); }
  char take() { return pattern_[at_++]; }
  std::string_view rest() const { return pattern_.substr(at_); }
  bool accept(std::string_view text) {
    if (!rest().starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(concat("regular expression ", in_quotes(pattern_), " at byte ", at_, ": ", what,
                       " is not supported"));
  }

  /// A class given by its members, outside or inside brackets.
  void members(std::string_view set, bool negated, bool in_bracket) {
    if (!in_bracket) {
      out_ += concat(negated ? "[^" : "[", set, "]");
    } else if (!negated) {
      out_ += set;
    } else {
      refuse("a negated shorthand inside brackets");
    }
  }

  /// After a backslash.
  void escape(bool in_bracket) {
    if (done()) refuse("a backslash at the end");
    const char c = take();
    switch (c) {
      case 's':
        out_ += R"(\p{White_Space})";
        return;
      case 'S':
        out_ += R"(\P{White_Space})";
        return;
      case 'w':
        members(kWordClass, false, in_bracket);
        return;
      case 'W':
        members(kWordClass, true, in_bracket);
        return;
      case 'h':
        members("0-9A-Fa-f", false, in_bracket);
        return;
      case 'H':
        members("0-9A-Fa-f", true, in_bracket);
        return;
      case 'v':
        out_ += R"(\x0B)";
        return;
      case 'u':
        code_point();
        return;
      case 'x':
        hexadecimal();
        return;
      default:
        break;
    }
    // The same in both: digits and properties, control characters; outside brackets the ends of the
    // text and back-references.
    constexpr std::string_view kSame = "dDpPtnrfae";
    constexpr std::string_view kSameOutside = "AzZ123456789";
    const bool is_same =
        kSame.find(c) != kSame.npos || (!in_bracket && kSameOutside.find(c) != kSameOutside.npos);
    if (!is_same && (is_letter(c) || is_digit(c))) refuse(concat("the escape \\", c));
    out_ += '\\';
    out_ += c;
    if (c == 'p' || c == 'P') braces();
  }

  /// The name or number in braces after an escape, which is no interval.
  void braces() {
    if (!rest().starts_with('{')) return;
    const auto end = rest().find('}');
    if (end == std::string_view::npos) refuse("a brace without its end");
    out_ += rest().substr(0, end + 1);
    at_ += end + 1;
  }

  /// After "\u": exactly four hexadecimal digits.
  void code_point() {
    const std::string_view digits = rest().substr(0, 4);
    if (digits.size() < 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos) {
      refuse("\\u without four hexadecimal digits");
    }
    out_ += concat("\\x{", digits, "}");
    at_ += 4;
  }

  /// After "\x": two digits are a byte to Oniguruma, which is the same only for ASCII.
  void hexadecimal() {
    out_ += "\\x";
    if (!rest().starts_with('{') && !done() && is_hex(rest()[0]) && rest().size() > 1 &&
        is_hex(rest()[1]) && rest()[0] > '7') {
      refuse("\\x with a byte above 7F");
    }
    braces();
  }

  /// After "[".
  void bracket() {
    out_ += '[';
    if (accept("^")) out_ += '^';
    if (rest().starts_with(']')) refuse("an empty class");
    while (!done()) {
      if (rest().starts_with("&&")) refuse("an intersection of classes");
      const char c = take();
      if (c == '\\') {
        escape(true);
      } else if (c == '[') {
        if (!rest().starts_with(':')) refuse("a class inside a class");
        out_ += c;
      } else {
        out_ += c;
        if (c == ']' && !closes_name()) return;
      }
    }
    refuse("a class without its end");
  }

  /// Whether the bracket just written ends a name such as [:alpha:].
  bool closes_name() const {
    const std::string_view written = std::string_view(out_).substr(0, out_.size() - 1);
    if (!written.ends_with(':')) return false;
    const auto open = written.rfind("[:");
    return open != written.npos && open + 2 < written.size() &&
           written.find_first_of("]\\", open) == written.npos;
  }

  /// After "(".
  void group() {
    out_ += '(';
    if (rest().starts_with('*')) refuse("a verb");
    if (!rest().starts_with('?')) return;
    for (const std::string_view kind :
         {"?:", "?=", "?!", "?<=", "?<!", "?>", "?i:", "?-i:", "?i)", "?-i)"}) {
      if (accept(kind)) {
        out_ += kind;
        return;
      }
    }
    refuse("this kind of group");
  }

  /// After "{": a quantifier, or a brace that stands for itself.
  void interval() {
    const auto digits = [this] {
      const std::size_t begin = at_;
      while (!done() && is_digit(rest()[0])) ++at_;
      return pattern_.substr(begin, at_ - begin);
    };
    const std::size_t begin = at_;
    const std::string_view least = digits();
    const bool is_range = accept(",");
    const std::string_view most = is_range ? digits() : least;
    if ((least.empty() && most.empty()) || !accept("}")) {
      at_ = begin;
      out_ += "\\{";
      return;
    }
    out_ +=
        concat("{", least.empty() ? "0" : least, is_range ? "," : "", is_range ? most : "", "}");
    if (rest().starts_with('+')) refuse("'+' after an interval");
    if (!is_range && rest().starts_with('?')) refuse("'?' after an exact count");
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string to_pcre2(std::string_view pattern) { return Translation(pattern).run(); }

}  // namespace generate
