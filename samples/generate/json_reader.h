// JSON with addresses: every value knows its file and its path, so that a check made anywhere can
// say which field was wrong, what it held, and what was allowed.
//
// Stricter than JSON itself where a lax reading hides a damaged or hostile file: no member may
// occur twice in an object, and nesting ends at a fixed depth.

#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "reader_error.h"

namespace generate {

using Json = nlohmann::json;

class JsonField;

/// A parsed text. Its fields point into it, so it must outlive them.
class JsonDocument {
 public:
  /// Throws Error for text that is not JSON, not UTF-8, nested deeper than 64, or holds a member
  /// twice. `file` opens every message.
  JsonDocument(std::string_view text, std::string file);

  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  JsonField root() const;
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  Json root_;
};

/// One value of a document. Cheap to copy.
class JsonField {
 public:
  JsonField(const Json& value, const std::string& file, std::string path)
      : value_(&value), file_(&file), path_(std::move(path)) {}

  /// The member, or nothing where it is absent or null. This value must be an object.
  std::optional<JsonField> find(std::string_view key) const;
  /// The member, which must be there and not be null.
  JsonField at(std::string_view key) const;

  /// The number of elements. This value must be an array.
  std::size_t size() const;
  JsonField element(std::size_t index) const;

  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  /// A finite number in [least, most].
  double number(double least, double most) const;
  bool flag() const;
  const std::string& text() const;

  bool is_array() const { return value_->is_array(); }
  bool is_object() const { return value_->is_object(); }
  bool is_text() const { return value_->is_string(); }

  /// The value itself, for loops over so many members that an address for each would cost too much.
  const Json& raw() const { return *value_; }
  /// The same, after a check that it is an object.
  const Json& raw_object() const;

  /// Throws Error: "file: path = value: complaint".
  [[noreturn]] void fail(std::string_view complaint) const;

 private:
  const Json* value_;
  const std::string* file_;
  std::string path_;  // empty for the root
};

}  // namespace generate
