#include "core/options.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace mr {
namespace {

struct Row {
  const char* name;
  const char* initial;
  const char* legal;  // "a|b|c"; "#lo..hi" a range of whole numbers; "*" any text below 64 bytes;
                      // "/" any text
  bool fixed;         // only at creation
};

// In the order of Option.
constexpr Row kRows[] = {
    {"host.streams", "inline", "inline|deferred", true},
    {"host.threads", "0", "#0..1024", true},
    {"host.blas", "auto", "/", true},
    {"determinism", "fast", "fast|run-to-run|batch-invariant", false},
    {"force_kernel", "", "*", false},
    {"fallback", "allow", "allow|error", false},
    {"synchronous", "off", "off|on", false},
    {"library.cublaslt", "", "/", true},
};
static_assert(std::size(kRows) == static_cast<size_t>(Option::kCount));

bool is_legal(const Row& row, std::string_view value) {
  const std::string_view legal = row.legal;
  if (legal == "*") return value.size() < 64;
  if (legal == "/") return value.size() < 4096;
  if (legal.front() == '#') {
    const size_t dots = legal.find("..");
    int low = 0, high = 0, given = 0;
    std::from_chars(legal.data() + 1, legal.data() + dots, low);
    std::from_chars(legal.data() + dots + 2, legal.data() + legal.size(), high);
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), given);
    return code == std::errc() && end == value.data() + value.size() && given >= low &&
           given <= high;
  }
  for (size_t start = 0; start <= legal.size();) {
    const size_t stop = std::min(legal.find('|', start), legal.size());
    if (legal.substr(start, stop - start) == value) return true;
    start = stop + 1;
  }
  return false;
}

// For an error's text.
const char* legal_text(const Row& row) {
  const std::string_view legal = row.legal;
  if (legal == "*") return "any text below 64 bytes";
  if (legal == "/") return "any text below 4096 bytes";
  return legal.front() == '#' ? row.legal + 1 : row.legal;
}

std::string environment_name(const Row& row) {
  std::string name = "MR_";
  for (const char* c = row.name; *c != '\0'; ++c) {
    name += *c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
  }
  return name;
}

}  // namespace

Status Options::load(const char* text) {
  for (size_t i = 0; i < std::size(kRows); ++i) values_[i] = kRows[i].initial;
  for (const Row& row : kRows) {
    const char* value = std::getenv(environment_name(row).c_str());
    if (value == nullptr) continue;
    MR_TRY(assign(row.name, std::strlen(row.name), value, std::strlen(value), true));
  }
  while (text != nullptr && *text != '\0') {
    const char* stop = std::strchr(text, ';');
    const size_t length = stop != nullptr ? static_cast<size_t>(stop - text) : std::strlen(text);
    if (length > 0) {
      const char* equals = static_cast<const char*>(std::memchr(text, '=', length));
      if (equals == nullptr) {
        return invalid("config.options", "an entry is not name=value").say(text);
      }
      const size_t name_length = static_cast<size_t>(equals - text);
      MR_TRY(assign(text, name_length, equals + 1, length - name_length - 1, true));
    }
    text = stop != nullptr ? stop + 1 : text + length;
  }
  decode();
  return {};
}

Status Options::set(const char* name, const char* value) {
  if (name == nullptr) return invalid("name", "is NULL");
  if (value == nullptr) return invalid("value", "is NULL");
  std::lock_guard lock(mutex_);
  MR_TRY(assign(name, std::strlen(name), value, std::strlen(value), false));
  decode();
  return {};
}

Status Options::get(const char* name, std::string* out) const {
  if (name == nullptr) return invalid("name", "is NULL");
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (std::strcmp(kRows[i].name, name) == 0) return *out = values_[i], Status();
  }
  return invalid("name", "is not an option").say(name);
}

std::string Options::text(Option option) const {
  std::lock_guard lock(mutex_);
  return values_[static_cast<size_t>(option)];
}

bool Options::forced_kernel(char* name) const {
  if (!forced_.load(std::memory_order_relaxed)) return false;
  std::lock_guard lock(mutex_);
  const std::string& value = values_[static_cast<size_t>(Option::kForceKernel)];
  std::memcpy(name, value.c_str(), value.size() + 1);
  return !value.empty();
}

Status Options::assign(const char* name, size_t name_length, const char* value, size_t value_length,
                       bool creating) {
  const std::string_view wanted(name, name_length), text(value, value_length);
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (wanted != kRows[i].name) continue;
    if (kRows[i].fixed && !creating) {
      return invalid("name", "the option is fixed when the context is made").say(kRows[i].name);
    }
    if (!is_legal(kRows[i], text)) {
      char detail[200];
      std::snprintf(detail, sizeof detail, "%s=%.*s, legal: %s", kRows[i].name,
                    static_cast<int>(std::min<size_t>(value_length, 64)), value,
                    legal_text(kRows[i]));
      return invalid("value", "is not legal for the option").say(detail);
    }
    values_[i] = text;
    return {};
  }
  const std::string unknown(wanted.substr(0, 100));
  return invalid("name", "is not an option").say(unknown.c_str());
}

void Options::decode() {
  const auto value = [this](Option option) -> const std::string& {
    return values_[static_cast<size_t>(option)];
  };
  const std::string& level = value(Option::kDeterminism);
  determinism_ = level == "fast"         ? Determinism::kFast
                 : level == "run-to-run" ? Determinism::kRunToRun
                                         : Determinism::kBatchInvariant;
  synchronous_ = value(Option::kSynchronous) == "on";
  fallback_is_error_ = value(Option::kFallback) == "error";
  forced_ = !value(Option::kForceKernel).empty();
}

}  // namespace mr
