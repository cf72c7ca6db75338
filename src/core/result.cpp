#include "core/result.h"

#include <cstdio>
#include <cstring>

namespace mr {
namespace {

struct StatusText {
  mr_status code;
  const char* name;
  const char* text;
};

constexpr StatusText kTexts[] = {
    {MR_OK, "MR_OK", "success"},
    {MR_INVALID_ARGUMENT, "MR_INVALID_ARGUMENT", "an argument is outside its documented range"},
    {MR_UNSUPPORTED, "MR_UNSUPPORTED", "no kernel or feature here serves this valid request"},
    {MR_MISALIGNED, "MR_MISALIGNED", "an address is not a multiple of its element's size"},
    {MR_WORKSPACE_TOO_SMALL, "MR_WORKSPACE_TOO_SMALL",
     "the scratch is smaller than the call needs"},
    {MR_NOT_PREPARED, "MR_NOT_PREPARED", "the call needs its prepare function or a plan first"},
    {MR_CAPTURE_VIOLATION, "MR_CAPTURE_VIOLATION",
     "not legal in the stream's present capture state"},
    {MR_VERSION_MISMATCH, "MR_VERSION_MISMATCH", "no version satisfies both sides"},
    {MR_NOT_READY, "MR_NOT_READY", "the queried work is not finished"},
    {MR_OUT_OF_HOST_MEMORY, "MR_OUT_OF_HOST_MEMORY", "host memory is exhausted"},
    {MR_OUT_OF_DEVICE_MEMORY, "MR_OUT_OF_DEVICE_MEMORY", "device memory is exhausted"},
    {MR_NO_DRIVER, "MR_NO_DRIVER", "no device driver is installed"},
    {MR_DRIVER_TOO_OLD, "MR_DRIVER_TOO_OLD", "the device driver is older than the library needs"},
    {MR_NO_DEVICE, "MR_NO_DEVICE", "there is no such device"},
    {MR_NO_KERNEL_IMAGE, "MR_NO_KERNEL_IMAGE", "the library holds no code for this device"},
    {MR_DEPENDENCY_MISSING, "MR_DEPENDENCY_MISSING", "a library needed here cannot be loaded"},
    {MR_DEVICE_ERROR, "MR_DEVICE_ERROR", "the device or its driver refused a call"},
    {MR_DEVICE_LOST, "MR_DEVICE_LOST", "a device fault ended the context"},
    {MR_FORKED, "MR_FORKED", "the handle was made before fork() and is unusable in the child"},
    {MR_INTERNAL, "MR_INTERNAL", "a bug in millrace; please report it"},
};

const StatusText* find(mr_status code) {
  for (const StatusText& entry : kTexts) {
    if (entry.code == code) return &entry;
  }
  return nullptr;
}

// The longest start of `text` of at most `most` bytes that ends with a whole UTF-8 character: a
// sequence is cut where its first byte would stay without one of the rest.
size_t whole_characters(const char* text, size_t length, size_t most) {
  if (length <= most) return length;
  const auto is_continuation = [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0u) == 0x80u;
  };
  size_t cut = most;
  while (cut > 0 && most - cut < 3 && is_continuation(text[cut])) --cut;
  return is_continuation(text[cut]) ? most : cut;  // text that is no UTF-8 is cut anywhere
}

// Appends to a NUL-terminated buffer, truncating.
class Text {
 public:
  Text(char* out, size_t capacity) : out_(out), capacity_(capacity) { out_[0] = '\0'; }
  void add(const char* part) {
    const size_t n = std::strlen(part);
    const size_t room = capacity_ - 1 - length_;
    const size_t take = whole_characters(part, n, room);
    std::memcpy(out_ + length_, part, take);
    length_ += take;
    out_[length_] = '\0';
    if (take < n) capacity_ = length_ + 1;  // nothing may follow what was cut
  }
  void add(int64_t number) {
    char digits[24];
    std::snprintf(digits, sizeof digits, "%lld", static_cast<long long>(number));
    add(digits);
  }

 private:
  char* out_;
  size_t capacity_;
  size_t length_ = 0;
};

}  // namespace

Status& Status::say(const char* text) {
  if (text == nullptr) return *this;
  const size_t take = whole_characters(text, std::strlen(text), sizeof detail - 1);
  std::memmove(detail, text, take);
  detail[take] = '\0';
  return *this;
}

mr_status report(const Status& status, mr_error* out) {
  if (status.ok() || out == nullptr) return status.code;
  // The whole struct is written, so that no byte of an earlier report remains.
  std::memset(out, 0, sizeof *out);
  out->code = status.code;
  out->domain = status.domain;
  out->native_code = status.native;
  out->flags = status.flags;
  Text text(out->text, sizeof out->text);
  if (status.argument != nullptr) {
    text.add(status.argument);
    text.add(": ");
  }
  text.add(status.sentence);
  if (status.has_value || status.has_limit) {
    text.add(" (");
    if (status.has_value) {
      text.add("got ");
      text.add(status.value);
    }
    if (status.has_limit) {
      text.add(status.has_value ? ", limit " : "limit ");
      text.add(status.limit);
    }
    text.add(")");
  }
  if (status.detail[0] != '\0') {
    text.add(": ");
    text.add(status.detail);
  }
  return status.code;
}

const char* status_name(mr_status code) {
  const StatusText* entry = find(code);
  return entry != nullptr ? entry->name : "MR_STATUS_UNKNOWN";
}

const char* status_text(mr_status code) {
  const StatusText* entry = find(code);
  return entry != nullptr ? entry->text : "a status that this version of the library does not know";
}

}  // namespace mr
