#include "json_reader.h"

#include <cmath>
#include <unordered_set>
#include <vector>

namespace generate {
namespace {

constexpr std::size_t kDeepest = 64;

/// Watches the parse and ends it by an exception where the text goes beyond what is allowed.
class Watch {
 public:
  bool operator()(int, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (keys_.size() == kDeepest) {
        throw Error(concat("nested deeper than ", kDeepest, " levels"));
      }
      keys_.emplace_back();
    } else if (event == Event::object_end || event == Event::array_end) {
      keys_.pop_back();
    } else if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) {
        throw Error(concat("member ", in_quotes(key), " occurs twice in one object"));
      }
    }
    return true;
  }

 private:
  std::vector<std::unordered_set<std::string>> keys_;  // of each open object, outermost first
};

Json parse(std::string_view text, const std::string& file) {
  try {
    return Json::parse(text.begin(), text.end(), Watch());
  } catch (const Json::exception& e) {
    // The library's text opens with its own error code in brackets, and may quote the input.
    std::string_view reason = e.what();
    if (const auto end = reason.find("] "); end != reason.npos) reason.remove_prefix(end + 2);
    throw Error(concat(file, ": is not valid JSON: ", printable(reason, 240)));
  } catch (const Error& e) {
    throw Error(concat(file, ": ", e.what()));
  }
}

/// A scalar as it stands in the file, a container by its kind.
std::string shown(const Json& value) {
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  if (value.is_array()) return concat("[", value.size(), " elements]");
  if (value.is_object()) return concat("{", value.size(), " members}");
  return value.dump();
}

}  // namespace

JsonDocument::JsonDocument(std::string_view text, std::string file)
    : file_(std::move(file)), root_(parse(text, file_)) {}

JsonField JsonDocument::root() const { return {root_, file_, ""}; }

std::optional<JsonField> JsonField::find(std::string_view key) const {
  const Json& members = raw_object();
  const auto found = members.find(key);
  if (found == members.end() || found->is_null()) return std::nullopt;
  return JsonField(*found, *file_, path_.empty() ? std::string(key) : concat(path_, ".", key));
}

JsonField JsonField::at(std::string_view key) const {
  auto field = find(key);
  if (!field) fail(concat("member ", in_quotes(key), " is missing"));
  return *std::move(field);
}

std::size_t JsonField::size() const {
  if (!value_->is_array()) fail("must be an array");
  return value_->size();
}

JsonField JsonField::element(std::size_t index) const {
  if (index >= size()) fail(concat("has no element ", index));
  return {(*value_)[index], *file_, concat(path_, "[", index, "]")};
}

std::int64_t JsonField::integer(std::int64_t least, std::int64_t most) const {
  const auto limits = [&] { return concat("must be an integer from ", least, " to ", most); };
  if (!value_->is_number_integer()) fail(limits());
  if (value_->is_number_unsigned() && value_->get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
    fail(limits());
  }
  const auto number = value_->get<std::int64_t>();
  if (number < least || number > most) fail(limits());
  return number;
}

double JsonField::number(double least, double most) const {
  const double number = value_->is_number() ? value_->get<double>() : std::nan("");
  // Written so that a NaN fails.
  if (!(number >= least && number <= most)) {
    fail(concat("must be a number from ", least, " to ", most));
  }
  return number;
}

bool JsonField::flag() const {
  if (!value_->is_boolean()) fail("must be true or false");
  return value_->get<bool>();
}

const std::string& JsonField::text() const {
  if (!value_->is_string()) fail("must be a string");
  return value_->get_ref<const std::string&>();
}

const Json& JsonField::raw_object() const {
  if (!value_->is_object()) fail("must be an object");
  return *value_;
}

void JsonField::fail(std::string_view complaint) const {
  const std::string place = path_.empty() ? "" : concat(printable(path_), " = ");
  throw Error(concat(*file_, ": ", place, shown(*value_), ": ", complaint));
}

}  // namespace generate
