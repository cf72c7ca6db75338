#include "post_processor.h"

#include <limits>

#include "json_reader.h"
#include "reader_error.h"

namespace generate {
namespace {

using Ids = std::vector<std::int32_t>;

/// The ids that the template's table "special_tokens" gives for a name.
Ids special_ids(const JsonField& special_tokens, const JsonField& name) {
  const auto entry = special_tokens.find(name.text());
  if (!entry) name.fail("is not among special_tokens");
  const JsonField list = entry->at("ids");
  Ids ids;
  for (std::size_t i = 0; i < list.size(); ++i) {
    ids.push_back(static_cast<std::int32_t>(
        list.element(i).integer(0, std::numeric_limits<std::int32_t>::max() - 1)));
  }
  return ids;
}

PostProcessor parse_template(const JsonField& field) {
  PostProcessor result;
  const JsonField pieces = field.at("single");
  bool text_seen = false;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const JsonField piece = pieces.element(i);
    if (const auto sequence = piece.find("Sequence")) {
      if (text_seen) piece.fail("would repeat the text");
      if (sequence->at("id").text() != "A") sequence->fail("must be the sequence A");
      text_seen = true;
      continue;
    }
    const Ids ids = special_ids(field.at("special_tokens"), piece.at("SpecialToken").at("id"));
    Ids& side = text_seen ? result.after : result.before;
    side.insert(side.end(), ids.begin(), ids.end());
  }
  if (!text_seen) pieces.fail("leaves out the text");
  return result;
}

/// Each step wraps what the ones before it made.
PostProcessor parse_sequence(const JsonField& field) {
  PostProcessor result;
  const JsonField list = field.at("processors");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const PostProcessor step = parse_post_processor(list.element(i));
    result.before.insert(result.before.begin(), step.before.begin(), step.before.end());
    result.after.insert(result.after.end(), step.after.begin(), step.after.end());
  }
  return result;
}

}  // namespace

PostProcessor parse_post_processor(const std::optional<JsonField>& field) {
  if (!field) return {};
  const JsonField type = field->at("type");
  if (type.text() == "ByteLevel") return {};
  if (type.text() == "TemplateProcessing") return parse_template(*field);
  if (type.text() == "Sequence") return parse_sequence(*field);
  type.fail("is no supported post-processor");
}

}  // namespace generate
