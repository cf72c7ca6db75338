// What tokenizer.json calls the post-processor: the special tokens around an encoded text.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace generate {

class JsonField;

struct PostProcessor {
  std::vector<std::int32_t> before;
  std::vector<std::int32_t> after;

  bool adds_nothing() const { return before.empty() && after.empty(); }
};

/// TemplateProcessing (its template for one text), ByteLevel (which adds nothing), and Sequences of
/// them. Throws Error for any other type. Nothing (tokenizer.json says null) adds nothing.
PostProcessor parse_post_processor(const std::optional<JsonField>& field);

}  // namespace generate
