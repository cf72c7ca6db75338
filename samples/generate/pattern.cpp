#include "pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstdint>

#include "growth_limit.h"
#include "json_reader.h"
#include "reader_error.h"
#include "regex_dialect.h"
#include "utf8.h"

namespace generate {
namespace {

template <auto kFree>
struct FreeWith {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Code = std::unique_ptr<pcre2_code, FreeWith<pcre2_code_free>>;
using CompileContext = std::unique_ptr<pcre2_compile_context, FreeWith<pcre2_compile_context_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, FreeWith<pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, FreeWith<pcre2_match_data_free>>;

std::string message(int code) {
  char text[256] = "";
  pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(text), sizeof text);
  return text;
}

template <class T>
T checked(T object) {
  if (object == nullptr) throw std::bad_alloc();
  return object;
}

Code compile(std::string_view expression) {
  constexpr std::size_t kLongestPattern = 16 * 1024;
  const CompileContext context = checked(CompileContext(pcre2_compile_context_create(nullptr)));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_max_pattern_length(context.get(), kLongestPattern);

  const std::string translated = to_pcre2(expression);
  int code = 0;
  PCRE2_SIZE offset = 0;
  Code compiled(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                              &code, &offset, context.get()));
  if (compiled == nullptr) {
    throw Error(concat("regular expression ", in_quotes(expression), ": ", message(code),
                       " at byte ", offset, " of its translation"));
  }
  return compiled;
}

/// Backtracking steps that one match may take. The expressions in use need at most a few for each
/// character of the longest run; nested repetitions need a number that is exponential in it.
std::uint32_t match_limit(std::size_t length) {
  constexpr std::size_t kLeast = 100'000;
  constexpr std::size_t kPerByte = 16;
  constexpr std::size_t kMost = 1'000'000'000;
  return static_cast<std::uint32_t>(kLeast + kPerByte * std::min(length, kMost / kPerByte));
}

std::vector<Segment> literal_segments(std::string_view text, std::string_view literal) {
  std::vector<Segment> segments;
  std::size_t done = 0;
  for (auto at = text.find(literal); at != text.npos; at = text.find(literal, done)) {
    if (done != at) segments.push_back({done, at, false});
    done = at + literal.size();
    segments.push_back({at, done, true});
  }
  if (done != text.size()) segments.push_back({done, text.size(), false});
  return segments;
}

}  // namespace

struct Pattern::Regex {
  std::string expression;
  Code code;

  /// The next match at or after `from`; false where there is none.
  bool next(std::string_view text, std::size_t from, const MatchContext& context,
            const MatchData& data) const {
    // Checking the text again for each match would make the whole quadratic.
    const int count = pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                  text.size(), from, PCRE2_NO_UTF_CHECK, data.get(), context.get());
    if (count == PCRE2_ERROR_NOMATCH) return false;
    if (count < 0) {
      throw Error(concat("regular expression ", in_quotes(expression), " on a text of ",
                         text.size(), " bytes: ", message(count)));
    }
    return true;
  }

  std::vector<Segment> segments(std::string_view text) const {
    constexpr std::uint32_t kMostHeapKib = 64 * 1024;
    const MatchContext context = checked(MatchContext(pcre2_match_context_create(nullptr)));
    pcre2_set_match_limit(context.get(), match_limit(text.size()));
    pcre2_set_heap_limit(context.get(), kMostHeapKib);
    const MatchData data = checked(MatchData(pcre2_match_data_create(1, nullptr)));

    std::vector<Segment> segments;
    std::size_t done = 0;  // end of the last segment
    std::size_t from = 0;  // where the search goes on
    while (from <= text.size() && next(text, from, context, data)) {
      const PCRE2_SIZE* const found = pcre2_get_ovector_pointer(data.get());
      const std::size_t begin = found[0];
      const std::size_t end = found[1];
      // An empty match right behind another match would be found for ever: step over a character.
      if (begin == end && begin == done && !segments.empty()) {
        from = end == text.size() ? end + 1 : end + code_point_at(text, end).length;
        continue;
      }
      if (done != begin) segments.push_back({done, begin, false});
      segments.push_back({begin, end, true});
      done = from = end;
    }
    if (done != text.size()) segments.push_back({done, text.size(), false});
    return segments;
  }
};

Pattern Pattern::literal(std::string text) {
  if (text.empty()) throw Error("an empty text cannot be a pattern");
  Pattern pattern;
  pattern.literal_ = std::move(text);
  return pattern;
}

Pattern Pattern::regex(std::string_view expression) {
  Pattern pattern;
  pattern.regex_ = std::make_shared<Regex>(Regex{std::string(expression), compile(expression)});
  return pattern;
}

Pattern Pattern::parse(const JsonField& field) {
  const auto text = field.find("String");
  const auto expression = field.find("Regex");
  if (!text && !expression) field.fail("must have the member String or Regex");
  const std::string& value = text ? text->text() : expression->text();
  try {
    return text ? literal(value) : regex(value);
  } catch (const Error& e) {
    field.fail(e.what());
  }
}

std::vector<Segment> Pattern::segments(std::string_view text) const {
  return regex_ ? regex_->segments(text) : literal_segments(text, literal_);
}

std::string Pattern::replace(std::string_view text, std::string_view content,
                             std::size_t limit) const {
  std::string result;
  for (const auto& [begin, end, is_match] : segments(text)) {
    result += is_match ? content : text.substr(begin, end - begin);
    check_growth(result.size(), limit);
  }
  return result;
}

}  // namespace generate
