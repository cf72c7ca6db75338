// UTF-8: the examples of the Unicode Standard, chapter 3.9, and every boundary of a code point.

#include "utf8.h"

#include "readers_test_support.h"

using namespace generate;

TEST_CASE("utf8: a maximal part that is no character becomes one U+FFFD") {
  // Tables 3-8 to 3-11 of the standard, as bytes and as the number of U+FFFD in place.
  CHECK(to_valid_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41") ==
        "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA");
  CHECK(to_valid_utf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41") ==
        "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA");
  CHECK(to_valid_utf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42") ==
        "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA\uFFFD\uFFFDB");
  CHECK(to_valid_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41") == "\uFFFD\uFFFD\uFFFD\uFFFDA");
  CHECK(to_valid_utf8("\xF0\x9F\x98") == "\uFFFD");
  CHECK(to_valid_utf8("") == "");
}

TEST_CASE("utf8: every boundary survives a round trip") {
  for (const char32_t c : {U'\0', U'\x7F', U'\x80', U'\x7FF', U'\x800', U'\xFFFD', U'\xD7FF',
                           U'\xE000', U'\xFFFF', U'\x10000', U'\x10FFFF'}) {
    CAPTURE(static_cast<std::uint32_t>(c));
    std::string text = "x";
    append_utf8(c, text);
    CHECK(is_valid_utf8(text));
    CHECK(to_valid_utf8(text) == text);
    CHECK(code_point_at(text, 1).value == c);
    CHECK(code_point_at(text, 1).length == text.size() - 1);
    CHECK(code_point_before(text, text.size()).value == c);
  }
  CHECK_FALSE(is_valid_utf8("\xED\xA0\x80"));      // a surrogate
  CHECK_FALSE(is_valid_utf8("\xF4\x90\x80\x80"));  // beyond U+10FFFF
  CHECK_FALSE(is_valid_utf8("\xC1\x81"));          // a longer form of A
  CHECK_FALSE(is_valid_utf8("a\xE2\x82"));         // cut short
}

TEST_CASE("utf8: bytes one at a time give the same text as all at once") {
  const std::string bytes = "a\xE2\x82\xAC\xFF\xF0\x9F\x98\x80\xE2\x82z\xF0\x9F";
  Utf8Assembler assembler;
  std::string text;
  for (const char byte : bytes) {
    const std::string part = assembler.push({&byte, 1});
    CHECK(is_valid_utf8(part));
    text += part;
  }
  text += assembler.finish();
  CHECK(text == to_valid_utf8(bytes));
  CHECK(assembler.finish() == "");
}

TEST_CASE("utf8: the classes that decide about added tokens") {
  for (const char32_t c : {U'\t', U' ', U'\x85', U'\xA0', U'\x1680', U'\x2028', U'\x3000'}) {
    CHECK(is_white_space(c));
  }
  for (const char32_t c : {U'a', U'\x180E', U'\x200B', U'\xFEFF'}) CHECK_FALSE(is_white_space(c));
  for (const char32_t c : {U'a', U'\xE9', U'_', U'7', U'\x2160', U'\x301', U'\x200D', U'\x24D0'}) {
    CHECK(is_word(c));
  }
  for (const char32_t c : {U' ', U'-', U'.', U'\xBD', U'\x1F600'}) CHECK_FALSE(is_word(c));
}
