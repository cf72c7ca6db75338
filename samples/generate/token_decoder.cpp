#include "token_decoder.h"

#include <cstdint>
#include <utility>

#include "byte_level.h"
#include "growth_limit.h"
#include "json_reader.h"
#include "pattern.h"
#include "reader_error.h"
#include "utf8.h"

namespace generate {
namespace {

using Fragments = std::vector<Fragment>;

/// Without a decoder: tokens with a space between them.
class SpaceBetween final : public DecodeStep {
 public:
  void push(const Fragment& in, Fragments& out) override {
    out.push_back({std::exchange(first_, false) ? in.text : " " + in.text, in.opens_token});
  }
  void finish(Fragments&) override {}

 private:
  bool first_ = true;
};

class Fuse final : public DecodeStep {
 public:
  void push(const Fragment& in, Fragments& out) override {
    out.push_back({in.text, std::exchange(first_, false)});
  }
  void finish(Fragments&) override {}

 private:
  bool first_ = true;
};

/// Gathers the parts of each token, for steps that must see a token whole. After a step that fuses,
/// that is the whole text at its end.
class WholeTokens final : public DecodeStep {
 public:
  void push(const Fragment& in, Fragments& out) override {
    if (in.opens_token) finish(out);
    if (!held_) held_.emplace();
    *held_ += in.text;
  }
  void finish(Fragments& out) override {
    if (held_) out.push_back({*std::exchange(held_, std::nullopt), true});
  }

 private:
  std::optional<std::string> held_;
};

/// The bytes that a token's characters stand for. A token with any other character, such as an
/// added one, stands for itself. Fuses.
class ByteLevel final : public DecodeStep {
 public:
  void push(const Fragment& in, Fragments& out) override {
    pass(assembler_.push(from_byte_characters(in.text).value_or(in.text)), out);
  }
  void finish(Fragments& out) override { pass(assembler_.finish(), out); }

 private:
  void pass(std::string text, Fragments& out) {
    out.push_back({std::move(text), std::exchange(first_, false)});
  }

  Utf8Assembler assembler_;
  bool first_ = true;
};

/// Tokens such as <0x0A> are bytes. A run of them becomes one text where the whole run is UTF-8,
/// else one U+FFFD for each byte; so a run must end before any of it can pass.
class ByteFallback final : public DecodeStep {
 public:
  void push(const Fragment& in, Fragments& out) override {
    if (const auto byte = byte_of(in.text)) {
      run_ += *byte;
      return;
    }
    finish(out);
    out.push_back(in);
  }
  void finish(Fragments& out) override {
    const std::string run = std::exchange(run_, {});
    if (run.empty()) return;
    if (is_valid_utf8(run)) {
      out.push_back({run, true});
    } else {
      out.insert(out.end(), run.size(), {std::string(kReplacement), true});
    }
  }

 private:
  static std::optional<char> byte_of(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
    int byte = 0;
    for (const char c : token.substr(3, 2)) {
      const char low = static_cast<char>(c | 0x20);
      if (c >= '0' && c <= '9') {
        byte = byte * 16 + (c - '0');
      } else if (low >= 'a' && low <= 'f') {
        byte = byte * 16 + (low - 'a' + 10);
      } else {
        return std::nullopt;
      }
    }
    return static_cast<char>(byte);
  }

  std::string run_;
};

/// SentencePiece's marks become spaces again; those of the first token, where it was given one that
/// the text did not have, vanish.
class Metaspace final : public DecodeStep {
 public:
  Metaspace(char32_t mark, bool drops_first) : mark_(mark), drops_first_(drops_first) {}

  void push(const Fragment& in, Fragments& out) override {
    tokens_ += in.opens_token && tokens_ < 2;
    std::string text;
    for (std::size_t at = 0; at < in.text.size();) {
      const CodePoint c = code_point_at(in.text, at);
      if (c.value != mark_) {
        text += std::string_view(in.text).substr(at, c.length);
      } else if (tokens_ > 1 || !drops_first_) {
        text += ' ';
      }
      at += c.length;
    }
    out.push_back({std::move(text), in.opens_token});
  }
  void finish(Fragments&) override {}

 private:
  char32_t mark_;
  bool drops_first_;
  int tokens_ = 0;  // 0, 1, or 2 for more
};

class Replace final : public DecodeStep {
 public:
  Replace(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  void push(const Fragment& in, Fragments& out) override {
    out.push_back(
        {pattern_.replace(in.text, content_, growth_limit(in.text.size())), in.opens_token});
  }
  void finish(Fragments&) override {}

 private:
  Pattern pattern_;
  std::string content_;
};

/// Takes up to `start` of a character from each token's front and up to `stop` from its back.
class Strip final : public DecodeStep {
 public:
  Strip(char32_t content, std::int64_t start, std::int64_t stop)
      : content_(content), start_(start), stop_(stop) {}

  void push(const Fragment& in, Fragments& out) override {
    if (in.opens_token) {
      to_take_ = start_;
      held_ = 0;  // the token before this one has ended: these were at its back
    }
    std::string text;
    for (std::size_t at = 0; at < in.text.size();) {
      const CodePoint c = code_point_at(in.text, at);
      at += c.length;
      if (c.value == content_ && to_take_ > 0) {
        --to_take_;
      } else if (c.value == content_ && held_ < stop_) {
        ++held_;
        to_take_ = 0;
      } else {
        // Of a run of `content` the last stay held; which of them makes no difference.
        for (; c.value != content_ && held_ > 0; --held_) append_utf8(content_, text);
        append_utf8(c.value, text);
        to_take_ = 0;
      }
    }
    out.push_back({std::move(text), in.opens_token});
  }
  void finish(Fragments&) override { held_ = 0; }

 private:
  char32_t content_;
  std::int64_t start_;
  std::int64_t stop_;
  std::int64_t to_take_ = 0;  // still at the front, which may give so many more
  std::int64_t held_ = 0;     // at the back, unless something follows
};

char32_t parse_character(const JsonField& field) {
  const std::string& text = field.text();
  if (text.empty() || code_point_at(text, 0).length != text.size())
    field.fail("must be one character");
  return code_point_at(text, 0).value;
}

bool is_one_character(std::string_view text) {
  return !text.empty() && code_point_at(text, 0).length == text.size();
}

/// Whether the pre-tokenizer of the same description puts a mark before the first word.
bool puts_first_mark(const JsonField& field) {
  const auto prefixed = field.find("add_prefix_space");
  if (prefixed && !prefixed->flag()) return false;
  const auto scheme = field.find("prepend_scheme");
  return !scheme || scheme->text() != "never";
}

}  // namespace

// ---- DecodeChain ------------------------------------------------------------------------------

std::string DecodeChain::push(std::string_view token) {
  taken_ += token.size();
  return run({{std::string(token), true}}, 0);
}

std::string DecodeChain::finish() {
  std::string text;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Fragments held;
    steps_[i]->finish(held);
    text += run(std::move(held), i + 1);
  }
  return text;
}

std::string DecodeChain::run(Fragments fragments, std::size_t first_step) {
  std::string text;
  for (std::size_t i = first_step; i < steps_.size(); ++i) {
    Fragments out;
    std::size_t size = 0;
    for (const Fragment& fragment : fragments) steps_[i]->push(fragment, out);
    for (const Fragment& fragment : out) size += fragment.text.size();
    check_growth(size, growth_limit(taken_));
    fragments = std::move(out);
  }
  for (const Fragment& fragment : fragments) text += fragment.text;
  return text;
}

// ---- TokenDecoder -----------------------------------------------------------------------------

TokenDecoder TokenDecoder::parse(const std::optional<JsonField>& field) {
  TokenDecoder decoder;
  if (field) {
    decoder.add_described(*field);
  } else {
    decoder.add<SpaceBetween>();
  }
  return decoder;
}

DecodeChain TokenDecoder::begin() const {
  std::vector<std::unique_ptr<DecodeStep>> steps;
  for (const StepMaker& make : makers_) steps.push_back(make());
  return DecodeChain(std::move(steps));
}

template <class Step, class... Args>
void TokenDecoder::add(const Args&... args) {
  makers_.push_back([args...] { return std::make_unique<Step>(args...); });
}

void TokenDecoder::need_whole_tokens() {
  if (std::exchange(fused_, false)) add<WholeTokens>();
}

void TokenDecoder::add_described(const JsonField& field) {
  const JsonField type = field.at("type");
  const std::string& name = type.text();
  if (name == "Sequence") {
    const JsonField list = field.at("decoders");
    for (std::size_t i = 0; i < list.size(); ++i) add_described(list.element(i));
  } else if (name == "ByteLevel") {
    need_whole_tokens();
    add<ByteLevel>();
    fused_ = true;
  } else if (name == "ByteFallback") {
    need_whole_tokens();
    add<ByteFallback>();
  } else if (name == "Fuse") {
    add<Fuse>();
    fused_ = true;
  } else if (name == "Metaspace") {
    add<Metaspace>(parse_character(field.at("replacement")), puts_first_mark(field));
  } else if (name == "Replace") {
    const Pattern pattern = Pattern::parse(field.at("pattern"));
    // A part of a token holds whole characters, but perhaps only half of a longer pattern.
    if (!is_one_character(pattern.literal_text())) need_whole_tokens();
    add<Replace>(pattern, field.at("content").text());
  } else if (name == "Strip") {
    constexpr std::int64_t kMost = 1 << 20;
    add<Strip>(parse_character(field.at("content")), field.at("start").integer(0, kMost),
               field.at("stop").integer(0, kMost));
  } else {
    type.fail("is no supported decoder");
  }
}

}  // namespace generate
