#include "tokenizer.h"

#include <algorithm>
#include <utility>

#include "added_tokens.h"
#include "bpe.h"
#include "growth_limit.h"
#include "json_reader.h"
#include "mapped_file.h"
#include "normalizer.h"
#include "post_processor.h"
#include "pretokenizer.h"
#include "reader_error.h"
#include "utf8.h"

namespace generate {
namespace {

constexpr std::size_t kLongestText = std::size_t{16} << 20;

/// An added token may also stand in the vocabulary, but then under the same id; and no id may have
/// two meanings.
void check_ids(const JsonField& root, const AddedTokens& added, const Bpe& model) {
  for (const AddedToken& token : added.all()) {
    const auto id = model.id_of(token.content);
    if (id && *id != token.id) {
      root.at("added_tokens")
          .fail(concat(in_quotes(token.content), " has the id ", token.id,
                       ", but the vocabulary gives ", *id));
    }
    const std::string* const other = model.token(token.id);
    if (other != nullptr && *other != token.content) {
      root.at("added_tokens")
          .fail(concat(in_quotes(token.content), " has the id ", token.id,
                       ", which the vocabulary gives ", in_quotes(*other)));
    }
  }
}

}  // namespace

struct Tokenizer::Parts {
  Normalizer normalizer;
  AddedTokens added;
  PreTokenizer pretokenizer;
  Bpe model;
  PostProcessor post_processor;
  TokenDecoder decoder;

  /// Appends the ids of a text that holds no added token of the first kind.
  void encode_part(std::string text, bool at_start, std::size_t limit,
                   std::vector<std::int32_t>& ids) const {
    normalizer(text, limit);
    for (const auto& [begin, end, token] : added.split(text, true)) {
      if (token != nullptr) {
        ids.push_back(token->id);
        continue;
      }
      std::vector<Piece> pieces{{text.substr(begin, end - begin), at_start && begin == 0}};
      pretokenizer(pieces, limit);
      for (const Piece& piece : pieces) model.encode(piece.text, ids);
    }
  }

  /// What a decoder is given for an id; nothing for an id that has no token or is to be skipped.
  std::optional<std::string_view> token_text(std::int32_t id, bool skip_special) const {
    if (const AddedToken* const token = added.find(id)) {
      if (token->special && skip_special) return std::nullopt;
      return token->matched;
    }
    const std::string* const token = model.token(id);
    return token == nullptr ? std::nullopt : std::optional<std::string_view>(*token);
  }
};

Tokenizer Tokenizer::load(const std::filesystem::path& file) {
  return parse(MappedFile(file).text(), file.string());
}

Tokenizer Tokenizer::parse(std::string_view json, const std::string& file) {
  const JsonDocument document(json, file);
  const JsonField root = document.root();
  if (const auto version = root.find("version"); version && version->text() != "1.0") {
    version->fail("must be 1.0");
  }
  Normalizer normalizer = parse_normalizer(root.find("normalizer"));
  AddedTokens added = AddedTokens::parse(root.find("added_tokens"), normalizer);
  Bpe model = Bpe::parse(root.at("model"));
  check_ids(root, added, model);
  return Tokenizer(std::make_shared<const Parts>(Parts{
      std::move(normalizer),
      std::move(added),
      parse_pretokenizer(root.find("pre_tokenizer")),
      std::move(model),
      parse_post_processor(root.find("post_processor")),
      TokenDecoder::parse(root.find("decoder")),
  }));
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, bool add_special) const {
  if (text.size() > kLongestText) {
    throw Error(
        concat("the text to encode has ", text.size(), " bytes, the limit is ", kLongestText));
  }
  const std::string valid = to_valid_utf8(text);
  const std::size_t limit = growth_limit(valid.size());
  const PostProcessor& around = parts_->post_processor;

  std::vector<std::int32_t> ids;
  if (add_special) ids = around.before;
  for (const auto& [begin, end, token] : parts_->added.split(valid, false)) {
    if (token != nullptr) {
      ids.push_back(token->id);
    } else {
      parts_->encode_part(valid.substr(begin, end - begin), begin == 0, limit, ids);
    }
  }
  if (add_special) ids.insert(ids.end(), around.after.begin(), around.after.end());
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special) const {
  StreamDecoder stream(*this, skip_special);
  std::string text;
  for (const std::int32_t id : ids) text += stream.push(id);
  return text += stream.finish();
}

bool Tokenizer::adds_special() const { return !parts_->post_processor.adds_nothing(); }

std::optional<std::int32_t> Tokenizer::id_of(std::string_view token) const {
  if (const AddedToken* const added = parts_->added.find(token)) return added->id;
  return parts_->model.id_of(token);
}

bool Tokenizer::is_special(std::int32_t id) const {
  const AddedToken* const token = parts_->added.find(id);
  return token != nullptr && token->special;
}

std::int64_t Tokenizer::id_limit() const {
  std::int64_t largest = parts_->model.largest_id();
  for (const AddedToken& token : parts_->added.all()) {
    largest = std::max<std::int64_t>(largest, token.id);
  }
  return largest + 1;
}

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skip_special)
    : parts_(tokenizer.parts_), chain_(parts_->decoder.begin()), skip_special_(skip_special) {}

std::string StreamDecoder::push(std::int32_t id) {
  const auto token = parts_->token_text(id, skip_special_);
  return token ? chain_.push(*token) : std::string();
}

std::string StreamDecoder::finish() { return chain_.finish(); }

}  // namespace generate
