// Whatever the tokenizer.json and the text (here with a zero byte between them): reading, encoding
// and decoding either throw Error or give results, decoded text is UTF-8, and a stream gives the
// same text as a whole list.

#include "tokenizer.h"

#include <cstdint>
#include <cstdlib>

#include "reader_error.h"
#include "utf8.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

void check_text(const generate::Tokenizer& tokenizer, std::string_view text) {
  const std::vector<std::int32_t> ids = tokenizer.encode(text, true);
  for (const std::int32_t id : ids) check(id >= 0);

  const std::string decoded = tokenizer.decode(ids);
  check(generate::is_valid_utf8(decoded));
  generate::StreamDecoder stream(tokenizer);
  std::string streamed;
  for (const std::int32_t id : ids) {
    const std::string part = stream.push(id);
    check(generate::is_valid_utf8(part));
    streamed += part;
  }
  check(streamed + stream.finish() == decoded);

  // The text's bytes as ids, which no encoder would put in this order.
  std::vector<std::int32_t> any;
  for (const char c : text) any.push_back(static_cast<unsigned char>(c));
  check(generate::is_valid_utf8(tokenizer.decode(any, false)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto zero = input.find('\0');
  const std::string_view text = zero == input.npos ? "a test" : input.substr(zero + 1);
  try {
    check_text(generate::Tokenizer::parse(input.substr(0, zero)), text);
  } catch (const generate::Error& e) {
    check(e.what()[0] != '\0');
  }
  return 0;
}
