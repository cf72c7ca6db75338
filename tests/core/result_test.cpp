// The error report: what its text says, where it is cut, and that it is written on failure alone.
#include "core/result.h"

#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <string>

namespace {

using mr::Status;

std::string text_of(const Status& status) {
  mr_error error = {};
  mr::report(status, &error);
  return error.text;
}

// Every byte 0x5a, to see which are written.
mr_error marked() {
  mr_error error;
  std::memset(&error, 0x5a, sizeof error);
  return error;
}

bool is_utf8(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80    ? 1
                          : lead >= 0xf0 ? 4
                          : lead >= 0xe0 ? 3
                          : lead >= 0xc0 ? 2
                                         : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (size_t j = 1; j < length; ++j) {
      if ((static_cast<unsigned char>(text[i + j]) & 0xc0u) != 0x80u) return false;
    }
    i += length;
  }
  return true;
}

}  // namespace

TEST_CASE("the text names argument, sentence, value and limit, each where it is there") {
  CHECK(text_of(mr::error(MR_DEVICE_ERROR, "went wrong")) == "went wrong");
  CHECK(text_of(mr::invalid("args.width", "is wrong")) == "args.width: is wrong");
  CHECK(text_of(mr::invalid("args.width", "is wrong", 7)) == "args.width: is wrong (got 7)");
  CHECK(text_of(mr::invalid("args.width", "is wrong", 7, 8)) ==
        "args.width: is wrong (got 7, limit 8)");
  CHECK(text_of(mr::error(MR_UNSUPPORTED, "is wrong").wanted(8)) == "is wrong (limit 8)");
  CHECK(text_of(mr::invalid("a", "is wrong", INT64_MIN, INT64_MAX)) ==
        "a: is wrong (got -9223372036854775808, limit 9223372036854775807)");
  CHECK(text_of(mr::invalid("a", "is wrong", 0, 0).say("why")) ==
        "a: is wrong (got 0, limit 0): why");
  CHECK(text_of(mr::unsupported("nothing fits").about("rmsnorm").say("k: no")) ==
        "rmsnorm: nothing fits: k: no");
  CHECK(text_of(mr::error(MR_INTERNAL, "x").say(nullptr)) == "x");
}

TEST_CASE("the codes are passed on, and the whole report is written") {
  mr_error error = marked();
  const mr_status code = mr::report(mr::error(MR_DEVICE_LOST, "fault")
                                        .from(MR_DOMAIN_CUDA, -700)
                                        .flag(MR_ERROR_CONTEXT_LOST)
                                        .flag(MR_ERROR_RETRY),
                                    &error);
  CHECK(code == MR_DEVICE_LOST);
  CHECK(error.code == MR_DEVICE_LOST);
  CHECK(error.domain == MR_DOMAIN_CUDA);
  CHECK(error.native_code == -700);
  CHECK(error.flags == (MR_ERROR_CONTEXT_LOST | MR_ERROR_RETRY));
  CHECK(std::string(error.text) == "fault");
  for (size_t i = std::strlen(error.text); i < sizeof error.text; ++i) CHECK(error.text[i] == 0);
}

TEST_CASE("success writes nothing, and no report is needed") {
  mr_error error = marked();
  const mr_error before = error;
  CHECK(mr::report(Status(), &error) == MR_OK);
  CHECK(std::memcmp(&error, &before, sizeof error) == 0);
  CHECK(mr::report(Status(), nullptr) == MR_OK);
  CHECK(mr::report(mr::invalid("x", "is wrong"), nullptr) == MR_INVALID_ARGUMENT);
}

TEST_CASE("text is cut at 495 bytes and ended, whatever part crosses the end") {
  for (size_t length = 480; length <= 510; ++length) {
    const std::string sentence(length, 's');
    mr_error error = marked();
    mr::report(mr::invalid("a", sentence.c_str(), 5, 6).say("detail"), &error);
    const std::string whole = "a: " + sentence + " (got 5, limit 6): detail";
    CHECK(std::string(error.text, strnlen(error.text, sizeof error.text)) == whole.substr(0, 495));
  }
  const std::string whole(495, 'w');
  CHECK(text_of(mr::error(MR_INTERNAL, whole.c_str())) == whole);
}

TEST_CASE("a detail keeps 199 bytes") {
  CHECK(text_of(mr::error(MR_INTERNAL, "x").say(std::string(199, 'd').c_str())).size() == 3 + 199);
  CHECK(text_of(mr::error(MR_INTERNAL, "x").say(std::string(200, 'd').c_str())).size() == 3 + 199);
}

TEST_CASE("what is cut stays UTF-8") {
  for (const char* character : {"\u00e9", "\u4e2d", "\U0001f600"}) {
    std::string many;
    while (many.size() < 600) many += character;
    for (size_t shift = 0; shift < 4; ++shift) {
      const std::string text = std::string(shift, 'a') + many;
      const std::string detail = text_of(mr::error(MR_INTERNAL, "x").say(text.c_str()));
      CHECK(is_utf8(detail));
      CHECK(detail.size() >= 3 + 196);
      const std::string sentence = text_of(mr::error(MR_INTERNAL, text.c_str()).say("end"));
      CHECK(is_utf8(sentence));
      CHECK(sentence.size() >= 492);
      CHECK(sentence.find("end") == std::string::npos);  // nothing follows what was cut
    }
  }
  // What is no UTF-8 is cut all the same.
  const std::string junk(600, '\x80');
  CHECK(text_of(mr::error(MR_INTERNAL, junk.c_str())).size() == 495);
}

TEST_CASE("every code has a name and a text of its own; others have none") {
  const mr_status codes[] = {MR_OK,
                             MR_INVALID_ARGUMENT,
                             MR_UNSUPPORTED,
                             MR_MISALIGNED,
                             MR_WORKSPACE_TOO_SMALL,
                             MR_NOT_PREPARED,
                             MR_CAPTURE_VIOLATION,
                             MR_VERSION_MISMATCH,
                             MR_NOT_READY,
                             MR_OUT_OF_HOST_MEMORY,
                             MR_OUT_OF_DEVICE_MEMORY,
                             MR_NO_DRIVER,
                             MR_DRIVER_TOO_OLD,
                             MR_NO_DEVICE,
                             MR_NO_KERNEL_IMAGE,
                             MR_DEPENDENCY_MISSING,
                             MR_DEVICE_ERROR,
                             MR_DEVICE_LOST,
                             MR_FORKED,
                             MR_INTERNAL};
  std::set<std::string> names, texts;
  for (const mr_status code : codes) {
    names.insert(mr::status_name(code));
    texts.insert(mr::status_text(code));
  }
  CHECK(names.size() == std::size(codes));
  CHECK(texts.size() == std::size(codes));
  CHECK(std::string(mr::status_name(MR_WORKSPACE_TOO_SMALL)) == "MR_WORKSPACE_TOO_SMALL");
  for (const mr_status code : {-1, 1, 9, 18, 91, INT32_MAX, INT32_MIN}) {
    CHECK(std::string(mr::status_name(code)) == "MR_STATUS_UNKNOWN");
    CHECK(std::string(mr::status_text(code)).size() > 10);
  }
}

TEST_CASE("MR_TRY leaves with the first failure only") {
  int calls = 0;
  const auto body = [&](bool fail) -> Status {
    MR_TRY(Status());
    if (fail) MR_TRY(mr::invalid("x", "is wrong"));
    ++calls;
    return {};
  };
  CHECK(body(true).code == MR_INVALID_ARGUMENT);
  CHECK(calls == 0);
  CHECK(body(false).ok());
  CHECK(calls == 1);
}
