// The regular expressions of tokenizer.json are written for Oniguruma in its Ruby syntax; PCRE2
// runs them here. Most of a pattern means the same to both. This translates what does not, and
// refuses what it cannot, so that no pattern silently splits text at other places than the
// tokenizer's author saw.

#pragma once

#include <string>
#include <string_view>

namespace generate {

/// The same pattern for PCRE2 with the options UTF, UCP and MULTILINE and newlines that are LF
/// alone. `pattern` is valid UTF-8. Throws Error with the reason for a construct whose meaning
/// would change.
///
/// What differs, after Oniguruma's doc/RE and pcre2pattern(3):
///   \s \S    Unicode White_Space; PCRE2 adds U+180E
///   \w \W    letters, marks, Nd, Pc; PCRE2 leaves out marks and most connectors
///   \h \H    a hexadecimal digit; to PCRE2 horizontal space
///   \v       U+000B; to PCRE2 vertical space
///   \uHHHH   a code point; unknown to PCRE2
///   {,n}     {0,n}; to PCRE2 a literal
///   ^ $      at every line; so the option MULTILINE
std::string to_pcre2(std::string_view pattern);

}  // namespace generate
