// What tokenizer.json calls the decoder: from tokens back to text.
//
// It is built for streams. A model gives one token at a time, and a token may end in the middle of
// a character, or be a space that is dropped if nothing follows. Each step of a decoder therefore
// takes tokens one by one and passes on what no later token can change; decoding a whole list is
// the same walk with an end. So both give the same text.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace generate {

class JsonField;

/// A token's text on its way, or a part of it: steps that fuse tokens pass on one endless token in
/// parts. Valid UTF-8, so a part never ends inside a character.
struct Fragment {
  std::string text;
  bool opens_token;  // the first part of its token
};

/// One step. It holds the state of one stream.
class DecodeStep {
 public:
  virtual ~DecodeStep() = default;
  virtual void push(const Fragment& in, std::vector<Fragment>& out) = 0;
  /// No more tokens come: passes on what was held back.
  virtual void finish(std::vector<Fragment>& out) = 0;
};

/// The steps of one stream, chained.
class DecodeChain {
 public:
  explicit DecodeChain(std::vector<std::unique_ptr<DecodeStep>> steps) : steps_(std::move(steps)) {}

  std::string push(std::string_view token);
  std::string finish();

 private:
  std::string run(std::vector<Fragment> fragments, std::size_t first_step);

  std::vector<std::unique_ptr<DecodeStep>> steps_;
  std::size_t taken_ = 0;  // bytes pushed so far, which bound what may come out
};

/// A checked description of a decoder, from which streams are begun. Usable from any thread.
class TokenDecoder {
 public:
  /// Sequence, ByteLevel, ByteFallback, Fuse, Metaspace, Replace, Strip. Throws Error for any other
  /// type. Nothing (tokenizer.json says null) puts a space between tokens, as the reference does.
  static TokenDecoder parse(const std::optional<JsonField>& field);

  DecodeChain begin() const;

 private:
  using StepMaker = std::function<std::unique_ptr<DecodeStep>()>;

  template <class Step, class... Args>
  void add(const Args&... args);
  void add_described(const JsonField& field);
  void need_whole_tokens();

  std::vector<StepMaker> makers_;
  bool fused_ = false;  // the steps so far pass on one endless token
};

}  // namespace generate
