// Regular expressions of Oniguruma's Ruby syntax: what is translated, what is refused, what
// matches.

#include "regex_dialect.h"

#include "pattern.h"
#include "readers_test_support.h"

using generate::Pattern;
using generate::to_pcre2;
using readers_test::contains;
using readers_test::error_of;

namespace {

/// The text cut by the expression, each match in brackets.
std::string cut(const char* expression, std::string_view text) {
  std::string result;
  for (const auto& [begin, end, is_match] : Pattern::regex(expression).segments(text)) {
    const std::string part(text.substr(begin, end - begin));
    result += is_match ? "[" + part + "]" : part;
  }
  return result;
}

}  // namespace

TEST_CASE("regex dialect: what means the same stays as it is") {
  for (const char* same :
       {R"(a|b*?c+)", R"(\p{L}+\P{N})", R"([^\r\n\p{L}]?)", R"((?i:'s)|(?:x))", R"(a{1,3}?)",
        R"(a{2})", R"((?=a)(?!b)(?<=c)(?<!d)(?>e))", R"([[:alpha:]x])", R"(\[\]\{\}\\)",
        R"(\x41\x{2581})", R"(^a.$)", R"([a-z\-])", R"((a)\1)", R"(a{1,})"}) {
    CHECK(to_pcre2(same) == same);
  }
}

TEST_CASE("regex dialect: what means something else is translated") {
  CHECK(to_pcre2(R"(\s\S[\s])") == R"(\p{White_Space}\P{White_Space}[\p{White_Space}])");
  CHECK(to_pcre2(R"([^\s\S])") == R"([^\p{White_Space}\P{White_Space}])");
  CHECK(to_pcre2(R"(\w[\w])") ==
        R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}][\p{Alphabetic}\p{M}\p{Nd}\p{Pc}])");
  CHECK(to_pcre2(R"(\W)") == R"([^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}])");
  CHECK(to_pcre2(R"(\h\H\v\u2581)") == R"([0-9A-Fa-f][^0-9A-Fa-f]\x0B\x{2581})");
  CHECK(to_pcre2("a{,3}") == "a{0,3}");
  CHECK(to_pcre2("a{x}") == "a\\{x}");
}

TEST_CASE("regex dialect: what cannot be translated is refused with its reason") {
  const auto refused = [](const char* expression, const char* reason) {
    CAPTURE(expression);
    CHECK(contains(error_of([&] { to_pcre2(expression); }), reason));
  };
  refused("[a&&b]", "an intersection of classes");
  refused("[a[b]]", "a class inside a class");
  refused("[\\W]", "a negated shorthand inside brackets");
  refused("[]a]", "an empty class");
  refused("[a", "a class without its end");
  refused("\\", "a backslash at the end");
  refused("\\b", "the escape \\b");
  refused("\\Qa\\E", "the escape \\Q");
  refused("\\R", "the escape \\R");
  refused("\\0", "the escape \\0");
  refused("\\xE2", "\\x with a byte above 7F");
  refused("\\u12", "\\u without four hexadecimal digits");
  refused("\\p{L", "a brace without its end");
  refused("(?m:a)", "this kind of group");
  refused("(?<name>a)", "this kind of group");
  refused("(*ACCEPT)", "a verb");
  refused("a{1,3}+", "'+' after an interval");
  refused("a{3}?", "'?' after an exact count");
}

TEST_CASE("regex dialect: white space and words follow Unicode") {
  CHECK(cut("\\s+", "a\u00a0\u2003b\u180ec\u0085") == "a[\u00a0\u2003]b\u180ec[\u0085]");
  CHECK(cut("\\w+", "e\u0301_\u203f 7\u00bd") == "[e\u0301_\u203f] [7]\u00bd");
  CHECK(cut("^a", "a\na") == "[a]\n[a]");
  CHECK(cut(".", "\n\r") == "\n[\r]");
}

TEST_CASE("pattern: empty matches separate and end") {
  CHECK(cut("x*", "axb") == "[]a[x]b[]");
  CHECK(cut("(?=b)", "abb") == "a[]b[]b");
  CHECK(cut("$", "é") == "é[]");
  CHECK(cut("a", "") == "");
}

TEST_CASE("pattern: what is no expression is an error") {
  CHECK(contains(error_of([] { Pattern::regex("(a"); }), "missing closing parenthesis"));
  CHECK(contains(error_of([] { Pattern::regex("\\p{Nonsense}"); }), "unknown property"));
  CHECK(contains(error_of([] { Pattern::regex(std::string(20'000, 'a')); }), "regular expression"));
  CHECK(contains(error_of([] { Pattern::literal(""); }), "an empty text"));
}

TEST_CASE("pattern: literals replace what they match and no more") {
  const Pattern pattern = Pattern::literal("aa");
  CHECK(pattern.replace("aaaba", "x", 100) == "xaba");
  CHECK(contains(error_of([&] { pattern.replace("aa", "long", 3); }),
                 "4 bytes long, the limit is 3"));
}
