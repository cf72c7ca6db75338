#include "bpe.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "json_reader.h"
#include "reader_error.h"
#include "utf8.h"

namespace generate {
namespace {

constexpr std::uint64_t kLargestId = (std::uint64_t{1} << 31) - 2;

bool flag_or_false(const JsonField& model, std::string_view key) {
  const auto flag = model.find(key);
  return flag && flag->flag();
}

/// Options of the format that no supported family uses.
void refuse_unsupported(const JsonField& model) {
  const auto type = model.find("type");  // files of the first versions name none
  if (type && type->text() != "BPE") type->fail("is no supported model; supported is BPE");
  if (const auto dropout = model.find("dropout"); dropout && dropout->number(0, 1) != 0) {
    dropout->fail("must be null or 0: it makes encoding random");
  }
  for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const auto affix = model.find(key);
    if (affix && !affix->text().empty()) affix->fail("is not supported");
  }
}

std::string byte_token(unsigned byte) {
  constexpr char kHex[] = "0123456789ABCDEF";
  return {'<', '0', 'x', kHex[byte >> 4], kHex[byte & 15], '>'};
}

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

}  // namespace

// ---- Reading ----------------------------------------------------------------------------------

Bpe Bpe::parse(const JsonField& model) {
  refuse_unsupported(model);
  Bpe bpe;
  bpe.parse_vocab(model.at("vocab"));
  bpe.parse_merges(model.at("merges"));
  bpe.ignores_merges_ = flag_or_false(model, "ignore_merges");

  bpe.byte_id_.fill(-1);
  if (flag_or_false(model, "byte_fallback")) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      bpe.byte_id_[byte] = bpe.id_of(byte_token(byte)).value_or(-1);
    }
  }
  if (const auto token = model.find("unk_token")) {
    const auto id = bpe.id_of(token->text());
    if (!id) token->fail("is not in the vocabulary");
    bpe.unknown_ = Unknown{*id, flag_or_false(model, "fuse_unk")};
  }
  return bpe;
}

void Bpe::parse_vocab(const JsonField& vocab) {
  const Json& members = vocab.raw_object();
  id_of_.reserve(members.size());
  token_of_.reserve(members.size());
  for (const auto& [token, value] : members.items()) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kLargestId) {
      vocab.fail(
          concat("the id of ", in_quotes(token), " must be an integer from 0 to ", kLargestId));
    }
    const auto id = value.get<std::int32_t>();
    const auto entry = id_of_.emplace(token, id).first;
    if (const auto [other, is_new] = token_of_.emplace(id, &entry->first); !is_new) {
      vocab.fail(
          concat(in_quotes(token), " and ", in_quotes(*other->second), " both have the id ", id));
    }
    largest_id_ = std::max(largest_id_, id);
  }
}

/// Each is "left right", or ["left", "right"] where a part may hold a space.
void Bpe::parse_merges(const JsonField& merges) {
  const std::size_t count = merges.size();
  if (count > kLargestId) merges.fail(concat("must have at most ", kLargestId, " elements"));
  merges_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Json& entry = merges.raw()[i];
    if (entry.is_string()) {
      const std::string_view text = entry.get_ref<const std::string&>();
      const auto space = text.find(' ');
      if (space == text.npos || text.find(' ', space + 1) != text.npos) {
        merges.element(i).fail("must be two texts with one space between them");
      }
      add_merge(merges, i, text.substr(0, space), text.substr(space + 1));
    } else if (entry.is_array() && entry.size() == 2 && entry[0].is_string() &&
               entry[1].is_string()) {
      add_merge(merges, i, entry[0].get_ref<const std::string&>(),
                entry[1].get_ref<const std::string&>());
    } else {
      merges.element(i).fail("must be a pair of texts");
    }
  }
}

void Bpe::add_merge(const JsonField& merges, std::size_t index, std::string_view left,
                    std::string_view right) {
  const auto id = [&](std::string_view token) {
    const auto found = id_of(token);
    if (!found) merges.element(index).fail(concat(in_quotes(token), " is not in the vocabulary"));
    return *found;
  };
  const std::int32_t left_id = id(left);
  const std::int32_t right_id = id(right);
  std::string joined(left);
  joined += right;
  // Of a pair that occurs twice the later rank counts, as in the reference.
  merges_[pair_key(left_id, right_id)] = {static_cast<std::int32_t>(index), id(joined)};
}

std::optional<std::int32_t> Bpe::id_of(std::string_view token) const {
  const auto found = id_of_.find(token);
  return found == id_of_.end() ? std::nullopt : std::optional(found->second);
}

const std::string* Bpe::token(std::int32_t id) const {
  const auto found = token_of_.find(id);
  return found == token_of_.end() ? nullptr : found->second;
}

// ---- Encoding ---------------------------------------------------------------------------------

void Bpe::encode(std::string_view word, std::vector<std::int32_t>& ids) const {
  if (word.empty()) return;
  if (ignores_merges_) {
    if (const auto id = id_of(word)) {
      ids.push_back(*id);
      return;
    }
  }
  merge(characters(word), ids);
}

std::vector<std::int32_t> Bpe::characters(std::string_view word) const {
  std::vector<std::int32_t> ids;
  ids.reserve(word.size());
  bool after_unknown = false;
  for (std::size_t at = 0; at < word.size();) {
    const std::string_view character = word.substr(at, code_point_at(word, at).length);
    at += character.size();
    if (const auto id = id_of(character)) {
      ids.push_back(*id);
      after_unknown = false;
    } else if (append_bytes(character, ids)) {
      after_unknown = false;
    } else if (unknown_) {
      if (!(unknown_->fused && after_unknown)) ids.push_back(unknown_->id);
      after_unknown = true;
    }
  }
  return ids;
}

bool Bpe::append_bytes(std::string_view character, std::vector<std::int32_t>& ids) const {
  const auto id = [this](char c) { return byte_id_[static_cast<unsigned char>(c)]; };
  if (std::any_of(character.begin(), character.end(), [&](char c) { return id(c) < 0; }))
    return false;
  for (const char c : character) ids.push_back(id(c));
  return true;
}

const Bpe::Merge* Bpe::merge_of(std::int32_t left, std::int32_t right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

/// The symbols form a linked list over their positions; a queue holds the merges that were possible
/// when they were entered, the lowest rank first, of equal ranks the leftmost. Each merge removes
/// one symbol and enters at most two, so the queue sees O(n) entries.
void Bpe::merge(const std::vector<std::int32_t>& characters, std::vector<std::int32_t>& ids) const {
  struct Symbol {
    std::int32_t id;  // -1: joined to the one on its left
    std::ptrdiff_t previous;
    std::ptrdiff_t next;  // the end: the number of symbols
  };
  struct Candidate {
    std::int32_t rank;
    std::int32_t id;
    std::ptrdiff_t left;
    bool operator<(const Candidate& other) const {  // the queue's top is its greatest
      return std::pair(rank, left) > std::pair(other.rank, other.left);
    }
  };
  const std::ptrdiff_t count = std::ssize(characters);
  std::vector<Symbol> symbols;
  symbols.reserve(characters.size());
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    symbols.push_back({characters[static_cast<std::size_t>(i)], i - 1, i + 1});
  }
  const auto at = [&](std::ptrdiff_t i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };

  std::priority_queue<Candidate> queue;
  const auto enter = [&](std::ptrdiff_t left) {
    if (left < 0 || at(left).next == count) return;
    const Merge* const found = merge_of(at(left).id, at(at(left).next).id);
    if (found != nullptr) queue.push({found->rank, found->id, left});
  };
  for (std::ptrdiff_t i = 0; i < count; ++i) enter(i);

  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Symbol& left = at(top.left);
    if (left.id < 0 || left.next == count) continue;
    Symbol& right = at(left.next);
    // Either symbol may have changed since. What counts, as in the reference, is what they make
    // now.
    const Merge* const now = merge_of(left.id, right.id);
    if (now == nullptr || now->id != top.id) continue;

    left.id = top.id;
    left.next = right.next;
    right.id = -1;
    if (left.next != count) at(left.next).previous = top.left;
    enter(left.previous);
    enter(top.left);
  }
  for (const Symbol& symbol : symbols) {
    if (symbol.id >= 0) ids.push_back(symbol.id);
  }
}

}  // namespace generate
