// Byte-pair encoding: a word's characters, joined pair by pair in the order in which the pairs were
// learnt. Sennrich, Haddow, Birch: https://arxiv.org/abs/1508.07909.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace generate {

class JsonField;

/// Immutable, usable from any thread.
class Bpe {
 public:
  /// The member "model" of tokenizer.json. Throws Error for any model but BPE, for options that
  /// change its results and are not supported (dropout, affixes of subwords), for an id that is not
  /// unique, and for a merge whose parts or whole the vocabulary lacks.
  static Bpe parse(const JsonField& model);

  Bpe(Bpe&&) = default;  // token_of_ points into id_of_, whose entries a move leaves where they are
  Bpe(const Bpe&) = delete;

  /// Appends the ids of one word, which is valid UTF-8. Takes O(n log n) for n characters.
  ///
  /// A character that the vocabulary lacks becomes its bytes' tokens <0x00> to <0xFF> where the
  /// model has byte_fallback and all of them, else the unknown token, else, as the reference does
  /// it, nothing.
  void encode(std::string_view word, std::vector<std::int32_t>& ids) const;

  std::optional<std::int32_t> id_of(std::string_view token) const;
  /// nullptr where the vocabulary has no such id.
  const std::string* token(std::int32_t id) const;
  std::int32_t largest_id() const { return largest_id_; }  // -1 for an empty vocabulary

 private:
  struct TextHash {
    using is_transparent = void;  // look-ups without a std::string
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  struct Merge {
    std::int32_t rank;  // lower merges first
    std::int32_t id;    // of the joined token
  };
  struct Unknown {
    std::int32_t id;
    bool fused;  // a run of unknown characters is one token
  };

  Bpe() = default;
  void parse_vocab(const JsonField& vocab);
  void parse_merges(const JsonField& merges);
  void add_merge(const JsonField& merges, std::size_t index, std::string_view left,
                 std::string_view right);
  std::vector<std::int32_t> characters(std::string_view word) const;
  bool append_bytes(std::string_view character, std::vector<std::int32_t>& ids) const;
  const Merge* merge_of(std::int32_t left, std::int32_t right) const;
  void merge(const std::vector<std::int32_t>& characters, std::vector<std::int32_t>& ids) const;

  std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>> id_of_;
  std::unordered_map<std::int32_t, const std::string*> token_of_;  // points to the keys of id_of_
  std::unordered_map<std::uint64_t, Merge> merges_;                // by both ids
  std::array<std::int32_t, 256> byte_id_{};                        // -1: none, or no byte_fallback
  std::optional<Unknown> unknown_;
  std::int32_t largest_id_ = -1;
  bool ignores_merges_ = false;  // a word that is a token is that token, however it would merge
};

}  // namespace generate
