#include "pretokenizer.h"

#include <utility>

#include "byte_level.h"
#include "growth_limit.h"
#include "json_reader.h"
#include "pattern.h"
#include "reader_error.h"
#include "utf8.h"

namespace generate {
namespace {

// ---- Cutting ----------------------------------------------------------------------------------

/// What becomes of the matches (the delimiters) when a piece is cut.
enum class Matches { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

Matches parse_behavior(const JsonField& field) {
  const std::string& name = field.text();
  if (name == "Removed") return Matches::kRemoved;
  if (name == "Isolated") return Matches::kIsolated;
  if (name == "MergedWithPrevious") return Matches::kMergedWithPrevious;
  if (name == "MergedWithNext") return Matches::kMergedWithNext;
  if (name == "Contiguous") return Matches::kContiguous;
  field.fail("is no supported behavior");
}

struct Range {
  std::size_t begin;
  std::size_t end;
};

/// The ranges that stay, in order. A match joins its neighbour only where that is no match: of
/// several in a row, each but the one nearest stands alone.
std::vector<Range> cut(const std::vector<Segment>& segments, Matches matches) {
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const auto& [begin, end, is_match] = segments[i];
    const bool after_match = i > 0 && segments[i - 1].is_match;
    bool joins_previous = false;
    if (i > 0) {
      if (matches == Matches::kContiguous) joins_previous = is_match == after_match;
      if (matches == Matches::kMergedWithPrevious) joins_previous = is_match && !after_match;
      if (matches == Matches::kMergedWithNext) joins_previous = !is_match && after_match;
    }
    if (joins_previous) {
      ranges.back().end = end;
    } else if (!is_match || matches != Matches::kRemoved) {
      ranges.push_back({begin, end});
    }
  }
  return ranges;
}

struct Cutter {
  Pattern pattern;
  Matches matches;
  bool inverted = false;  // what lies between the matches counts as the match

  void operator()(std::vector<Piece>& pieces) const {
    std::vector<Piece> result;
    for (const Piece& piece : pieces) {
      std::vector<Segment> segments = pattern.segments(piece.text);
      if (inverted) {
        for (Segment& segment : segments) segment.is_match = !segment.is_match;
      }
      for (const auto& [begin, end] : cut(segments, matches)) {
        if (begin == end) continue;
        result.push_back({piece.text.substr(begin, end - begin), piece.at_start && begin == 0});
      }
    }
    pieces = std::move(result);
  }
};

PreTokenizer cutting(Cutter cutter) {
  return [cutter = std::move(cutter)](std::vector<Piece>& pieces, std::size_t) { cutter(pieces); };
}

PreTokenizer parse_split(const JsonField& field) {
  const auto invert = field.find("invert");
  return cutting({Pattern::parse(field.at("pattern")), parse_behavior(field.at("behavior")),
                  invert && invert->flag()});
}

/// Digits, which here are all of Unicode's numbers.
PreTokenizer parse_digits(const JsonField& field) {
  const bool individual = field.at("individual_digits").flag();
  return cutting(
      {Pattern::regex(R"(\p{N})"), individual ? Matches::kIsolated : Matches::kContiguous});
}

PreTokenizer parse_punctuation(const JsonField& field) {
  const auto behavior = field.find("behavior");
  // ASCII punctuation includes symbols, which \p{P} does not.
  return cutting({Pattern::regex(R"([!-/:-@\[-`{-~\p{P}])"),
                  behavior ? parse_behavior(*behavior) : Matches::kIsolated});
}

// ---- Cutting and rewriting --------------------------------------------------------------------

bool flag_or(const JsonField& field, std::string_view key, bool absent) {
  const auto flag = field.find(key);
  return flag ? flag->flag() : absent;
}

void check_total(const std::vector<Piece>& pieces, std::size_t limit) {
  std::size_t total = 0;
  for (const Piece& piece : pieces) total += piece.text.size();
  check_growth(total, limit);
}

PreTokenizer parse_byte_level(const JsonField& field) {
  // The expression of GPT-2: contractions, words, numbers, other signs, each with the space before
  // it, and then runs of space, which leave their last one to the word that follows.
  constexpr std::string_view kWords =
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  const bool prefixed = flag_or(field, "add_prefix_space", true);
  std::optional<Cutter> words;
  if (flag_or(field, "use_regex", true)) {
    words.emplace(Cutter{Pattern::regex(kWords), Matches::kIsolated});
  }
  return [prefixed, words = std::move(words)](std::vector<Piece>& pieces, std::size_t limit) {
    for (Piece& piece : pieces) {
      if (prefixed && !piece.text.starts_with(' ')) piece.text.insert(0, 1, ' ');
    }
    if (words) (*words)(pieces);
    for (Piece& piece : pieces) piece.text = to_byte_characters(piece.text);
    check_total(pieces, limit);
  };
}

enum class Prefix { kAlways, kFirst, kNever };

Prefix parse_prefix(const JsonField& field) {
  // An older spelling, which says only whether.
  if (!flag_or(field, "add_prefix_space", true)) return Prefix::kNever;
  const auto scheme = field.find("prepend_scheme");
  if (!scheme || scheme->text() == "always") return Prefix::kAlways;
  if (scheme->text() == "first") return Prefix::kFirst;
  if (scheme->text() == "never") return Prefix::kNever;
  scheme->fail("is no supported scheme");
}

/// SentencePiece's way: a visible mark instead of each space, and one before the first word.
PreTokenizer parse_metaspace(const JsonField& field) {
  const JsonField replacement = field.at("replacement");
  const std::string mark = replacement.text();
  if (mark.empty() || code_point_at(mark, 0).length != mark.size()) {
    replacement.fail("must be one character");
  }
  const Prefix prefix = parse_prefix(field);
  std::optional<Cutter> words;
  if (flag_or(field, "split", true)) {
    words.emplace(Cutter{Pattern::literal(mark), Matches::kMergedWithNext});
  }
  return [=, space = Pattern::literal(" ")](std::vector<Piece>& pieces, std::size_t limit) {
    for (Piece& piece : pieces) {
      piece.text = space.replace(piece.text, mark, limit);
      const bool wanted = prefix == Prefix::kAlways || (prefix == Prefix::kFirst && piece.at_start);
      if (wanted && !piece.text.starts_with(mark)) piece.text.insert(0, mark);
    }
    check_total(pieces, limit);
    if (words) (*words)(pieces);
  };
}

PreTokenizer parse_sequence(const JsonField& field) {
  std::vector<PreTokenizer> steps;
  const JsonField list = field.at("pretokenizers");
  for (std::size_t i = 0; i < list.size(); ++i)
    steps.push_back(parse_pretokenizer(list.element(i)));
  return [steps = std::move(steps)](std::vector<Piece>& pieces, std::size_t limit) {
    for (const PreTokenizer& step : steps) step(pieces, limit);
  };
}

}  // namespace

PreTokenizer parse_pretokenizer(const std::optional<JsonField>& field) {
  if (!field) return [](std::vector<Piece>&, std::size_t) {};
  const JsonField type = field->at("type");
  const std::string& name = type.text();
  if (name == "Sequence") return parse_sequence(*field);
  if (name == "ByteLevel") return parse_byte_level(*field);
  if (name == "Split") return parse_split(*field);
  if (name == "Metaspace") return parse_metaspace(*field);
  if (name == "Digits") return parse_digits(*field);
  if (name == "Punctuation") return parse_punctuation(*field);
  type.fail("is no supported pre-tokenizer");
}

}  // namespace generate
