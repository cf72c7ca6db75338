#include "normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "growth_limit.h"
#include "json_reader.h"
#include "pattern.h"
#include "reader_error.h"
#include "utf8.h"

namespace generate {
namespace {

// ---- Unicode normalization --------------------------------------------------------------------

using CodePoints = std::vector<utf8proc_int32_t>;

/// Every character decomposed in full; `options` says whether compatibility mappings count.
CodePoints decompose(const std::string& text, utf8proc_option_t options) {
  constexpr std::size_t kLongest = 32;  // Unicode promises at most 18
  CodePoints points;
  points.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    at += c.length;
    utf8proc_int32_t part[kLongest];
    int last_boundclass = UTF8PROC_BOUNDCLASS_START;
    const utf8proc_ssize_t count = utf8proc_decompose_char(
        static_cast<utf8proc_int32_t>(c.value), part, kLongest,
        static_cast<utf8proc_option_t>(options | UTF8PROC_DECOMPOSE), &last_boundclass);
    if (count < 0 || count > static_cast<utf8proc_ssize_t>(kLongest)) {
      throw Error(concat("Unicode normalization: ", utf8proc_errmsg(count)));
    }
    points.insert(points.end(), part, part + count);
  }
  return points;
}

/// Canonical ordering: each run of combining marks sorted by class, marks of one class as they
/// were. utf8proc_map sorts by exchanging neighbours, which is quadratic in the length of a run.
void order_marks(CodePoints& points) {
  const auto mark_class = [](utf8proc_int32_t c) {
    return utf8proc_get_property(c)->combining_class;
  };
  const auto is_mark = [&](utf8proc_int32_t c) { return mark_class(c) != 0; };
  for (auto begin = points.begin(); begin != points.end();) {
    begin = std::find_if(begin, points.end(), is_mark);
    const auto end = std::find_if_not(begin, points.end(), is_mark);
    std::stable_sort(begin, end, [&](utf8proc_int32_t a, utf8proc_int32_t b) {
      return mark_class(a) < mark_class(b);
    });
    begin = end;
  }
}

void compose(CodePoints& points) {
  const utf8proc_ssize_t count =
      utf8proc_normalize_utf32(points.data(), std::ssize(points),
                               static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  if (count < 0) throw Error(concat("Unicode normalization: ", utf8proc_errmsg(count)));
  points.resize(static_cast<std::size_t>(count));
}

Normalizer unicode_form(utf8proc_option_t options, bool composed) {
  return [=](std::string& text, std::size_t limit) {
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    if (std::all_of(text.begin(), text.end(), is_ascii)) return;
    CodePoints points = decompose(text, options);
    order_marks(points);
    if (composed) compose(points);
    text.clear();
    for (const utf8proc_int32_t c : points) append_utf8(static_cast<char32_t>(c), text);
    check_growth(text.size(), limit);
  };
}

// ---- The others -------------------------------------------------------------------------------

/// Character by character, as Unicode's full mapping has it: U+0130 alone becomes two characters.
void lowercase(std::string& text, std::size_t limit) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    at += c.length;
    if (c.value == 0x130) {
      result += "i\xCC\x87";
    } else {
      append_utf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c.value))),
                  result);
    }
  }
  text = std::move(result);
  check_growth(text.size(), limit);
}

Normalizer parse_replace(const JsonField& field) {
  return
      [pattern = Pattern::parse(field.at("pattern")), content = field.at("content").text()](
          std::string& text, std::size_t limit) { text = pattern.replace(text, content, limit); };
}

Normalizer parse_prepend(const JsonField& field) {
  return [prefix = field.at("prepend").text()](std::string& text, std::size_t limit) {
    if (text.empty()) return;
    text.insert(0, prefix);
    check_growth(text.size(), limit);
  };
}

Normalizer parse_sequence(const JsonField& field) {
  std::vector<Normalizer> steps;
  const JsonField list = field.at("normalizers");
  for (std::size_t i = 0; i < list.size(); ++i) steps.push_back(parse_normalizer(list.element(i)));
  return [steps = std::move(steps)](std::string& text, std::size_t limit) {
    for (const Normalizer& step : steps) step(text, limit);
  };
}

}  // namespace

Normalizer parse_normalizer(const std::optional<JsonField>& field) {
  if (!field) return [](std::string&, std::size_t) {};
  const JsonField type = field->at("type");
  const std::string& name = type.text();
  if (name == "Sequence") return parse_sequence(*field);
  if (name == "NFC") return unicode_form(UTF8PROC_STABLE, true);
  if (name == "NFD") return unicode_form(UTF8PROC_STABLE, false);
  if (name == "NFKC") return unicode_form(UTF8PROC_COMPAT, true);
  if (name == "NFKD") return unicode_form(UTF8PROC_COMPAT, false);
  if (name == "Lowercase") return lowercase;
  if (name == "Replace") return parse_replace(*field);
  if (name == "Prepend") return parse_prepend(*field);
  type.fail("is no supported normalizer");
}

}  // namespace generate
