#include "added_tokens.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "growth_limit.h"
#include "json_reader.h"
#include "reader_error.h"
#include "utf8.h"

namespace generate {
namespace {

bool flag_or_false(const JsonField& field, std::string_view key) {
  const auto flag = field.find(key);
  return flag && flag->flag();
}

AddedToken parse_token(const JsonField& field, const Normalizer& normalizer) {
  constexpr std::int64_t kLargestId = std::numeric_limits<std::int32_t>::max() - 1;
  AddedToken token;
  token.id = static_cast<std::int32_t>(field.at("id").integer(0, kLargestId));
  token.content = field.at("content").text();
  token.special = flag_or_false(field, "special");
  token.single_word = flag_or_false(field, "single_word");
  token.lstrip = flag_or_false(field, "lstrip");
  token.rstrip = flag_or_false(field, "rstrip");
  const auto normalized = field.find("normalized");
  token.normalized = normalized ? normalized->flag() : !token.special;
  token.matched = token.content;
  if (token.normalized) normalizer(token.matched, growth_limit(token.content.size()));
  return token;
}

bool touches_word(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin > 0 && is_word(code_point_before(text, begin).value)) ||
         (end < text.size() && is_word(code_point_at(text, end).value));
}

/// Moves `begin` left over white space, but not below `least`.
std::size_t strip_left(std::string_view text, std::size_t begin, std::size_t least) {
  while (begin > least) {
    const CodePoint c = code_point_before(text, begin);
    if (!is_white_space(c.value)) break;
    begin -= c.length;
  }
  return begin;
}

std::uint64_t edge(std::size_t node, char byte) {
  return std::uint64_t{node} << 8 | static_cast<unsigned char>(byte);
}

std::size_t strip_right(std::string_view text, std::size_t end) {
  while (end < text.size()) {
    const CodePoint c = code_point_at(text, end);
    if (!is_white_space(c.value)) break;
    end += c.length;
  }
  return end;
}

}  // namespace

// ---- TextTrie ---------------------------------------------------------------------------------

void TextTrie::add(std::string_view text, std::size_t value) {
  std::size_t node = 0;
  for (const char byte : text) {
    const auto [found, is_new] = edges_.emplace(edge(node, byte), values_.size());
    if (is_new) values_.emplace_back();
    node = found->second;
  }
  values_[node] = value;
}

std::optional<TextTrie::Match> TextTrie::longest(std::string_view text, std::size_t at) const {
  std::optional<Match> best;
  std::size_t node = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    const auto found = edges_.find(edge(node, text[i]));
    if (found == edges_.end()) break;
    node = found->second;
    if (values_[node]) best = Match{i + 1 - at, *values_[node]};
  }
  return best;
}

// ---- AddedTokens ------------------------------------------------------------------------------

AddedTokens AddedTokens::parse(const std::optional<JsonField>& list, const Normalizer& normalizer) {
  AddedTokens result;
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    const JsonField field = list->element(i);
    AddedToken token = parse_token(field, normalizer);
    if (token.content.empty()) continue;  // as in the reference, which could never find it
    const std::size_t index = result.tokens_.size();
    if (!result.by_id_.emplace(token.id, index).second) field.fail("has the id of another");
    if (!result.by_content_.emplace(token.content, index).second) {
      field.fail("has the content of another");
    }
    if (!token.matched.empty()) {
      (token.normalized ? result.after_ : result.before_).add(token.matched, index);
    }
    result.tokens_.push_back(std::move(token));
  }
  return result;
}

std::vector<AddedTokens::Part> AddedTokens::split(std::string_view text, bool normalized) const {
  const TextTrie& trie = normalized ? after_ : before_;
  std::vector<Part> parts;
  std::size_t done = 0;  // end of the last part
  for (std::size_t at = 0; at < text.size();) {
    const auto match = trie.longest(text, at);
    if (!match) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[match->value];
    std::size_t begin = std::max(at, done);
    std::size_t end = at + match->length;
    at = end;
    if (token.single_word && touches_word(text, end - match->length, end)) continue;
    if (token.lstrip) begin = strip_left(text, begin, done);
    if (token.rstrip) end = strip_right(text, end);
    end = std::max(end, begin);
    if (done < begin) parts.push_back({done, begin, nullptr});
    parts.push_back({begin, end, &token});
    done = end;
  }
  if (done < text.size()) parts.push_back({done, text.size(), nullptr});
  return parts;
}

const AddedToken* AddedTokens::find(std::int32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto found = by_content_.find(std::string(content));
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

}  // namespace generate
