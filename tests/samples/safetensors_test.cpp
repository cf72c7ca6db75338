// Safetensors files, whole, cut off at every byte, and made to mislead.

#include "safetensors.h"

#include <cstring>

#include "readers_test_support.h"

using generate::Dtype;
using generate::TensorView;
using readers_test::contains;
using readers_test::error_of;

namespace {

std::string file_of(const std::string& header, std::size_t data_bytes, std::uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i) & 255);
  bytes += header;
  for (std::size_t i = 0; i < data_bytes; ++i) bytes += static_cast<char>(i);
  return bytes;
}

std::string file_of(const std::string& header, std::size_t data_bytes) {
  return file_of(header, data_bytes, header.size());
}

/// The file must outlive the views.
std::vector<TensorView> parse(const std::string& file) {
  return generate::parse_safetensors(std::as_bytes(std::span(file)), "f.safetensors");
}

std::string error(const std::string& header, std::size_t data_bytes) {
  return error_of([&] { parse(file_of(header, data_bytes)); });
}

/// The error for one tensor of 4 data bytes.
std::string error_of_tensor(const std::string& dtype, const std::string& shape,
                            const std::string& offsets) {
  return error(R"({"x": {"dtype": ")" + dtype + R"(", "shape": )" + shape +
                   R"(, "data_offsets": )" + offsets + "}}",
               4);
}

constexpr const char* kTwo =
    R"({"b": {"dtype": "BF16", "shape": [2, 1], "data_offsets": [4, 8]},)"
    R"( "a": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},)"
    R"( "none": {"dtype": "F16", "shape": [3, 0], "data_offsets": [4, 4]},)"
    R"( "__metadata__": {"format": "pt"}}   )";

}  // namespace

TEST_CASE("safetensors: tensors in the order of their data, not copied") {
  const std::string file = file_of(kTwo, 8);
  const auto tensors = parse(file);
  REQUIRE(tensors.size() == 3);
  CHECK(tensors[0].name == "a");
  CHECK(tensors[0].dtype == Dtype::kF32);
  CHECK(tensors[0].shape.empty());
  CHECK(tensors[0].size == 4);
  CHECK(tensors[0].data == reinterpret_cast<const std::byte*>(file.data()) + file.size() - 8);
  CHECK(tensors[1].name == "none");
  CHECK(tensors[1].size == 0);
  CHECK(tensors[2].name == "b");
  CHECK(tensors[2].dtype == Dtype::kBf16);
  CHECK(tensors[2].shape == std::vector<std::int64_t>{2, 1});
  CHECK(std::to_integer<int>(tensors[2].data[3]) == 7);
}

TEST_CASE("safetensors: every dtype of the format is listed with its size") {
  const std::pair<const char*, std::int64_t> bits[] = {
      {"F64", 64},        {"F32", 32},       {"F16", 16},    {"BF16", 16},   {"I64", 64},
      {"I32", 32},        {"I16", 16},       {"I8", 8},      {"U64", 64},    {"U32", 32},
      {"U16", 16},        {"U8", 8},         {"BOOL", 8},    {"F8_E4M3", 8}, {"F8_E5M2", 8},
      {"F8_E8M0", 8},     {"F6_E2M3", 6},    {"F6_E3M2", 6}, {"F4", 4},      {"C64", 64},
      {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}};
  int loadable = 0;
  for (const auto& entry : bits) {
    const std::string name = entry.first;
    const std::int64_t size = entry.second;
    CAPTURE(name);
    const std::string file =
        file_of(R"({"x": {"dtype": ")" + name + R"(", "shape": [8], "data_offsets": [0, )" +
                    std::to_string(size) + "]}}",
                static_cast<std::size_t>(size));
    const auto tensors = parse(file);
    REQUIRE(tensors.size() == 1);
    CHECK(generate::dtype_name(tensors[0].dtype) == name);
    CHECK(generate::dtype_bits(tensors[0].dtype) == size);
    loadable += generate::is_loadable(tensors[0].dtype);
  }
  CHECK(loadable == 3);
}

TEST_CASE("safetensors: a file without tensors is a file") {
  CHECK(parse(file_of("{}", 0)).empty());
}

TEST_CASE("safetensors: cut off at every byte") {
  const std::string whole = file_of(kTwo, 8);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(contains(error_of([&] { parse(whole.substr(0, size)); }), "f.safetensors: "));
  }
  CHECK(contains(error_of([&] { parse(whole + "x"); }), "cover 8 of 9 data bytes"));
}

TEST_CASE("safetensors: header lengths") {
  const auto with_length = [](std::uint64_t length) {
    return error_of([&] { parse(file_of("{}", 0, length)); });
  };
  CHECK(contains(with_length(3), "header length = 3: the file has only 2 bytes after it"));
  CHECK(contains(with_length(100'000'001), "header length = 100000001: must be at most 100000000"));
  CHECK(contains(with_length(~std::uint64_t{0}), "header length = 18446744073709551615"));
  CHECK(contains(with_length(~std::uint64_t{0} - 7), "header length = "));  // + 8 wraps to 0
  CHECK(contains(with_length(0), "does not begin with '{'"));
}

TEST_CASE("safetensors: headers that are no table of tensors") {
  CHECK(contains(error(" {}", 0), "does not begin with '{'"));
  CHECK(contains(error("{\"x\": ", 0), "is not valid JSON"));
  CHECK(contains(error("{} {}", 0), "is not valid JSON"));
  CHECK(contains(error("{\"x\": 1}", 0), "x = 1: must be an object"));
  CHECK(contains(error("{\"\xC3\": {}}", 0), "ill-formed UTF-8"));
  CHECK(contains(error(R"({"x": {}})", 0), "member 'dtype' is missing"));
  CHECK(contains(error(R"({"__metadata__": {"a": 1}})", 0), "member 'a' is not a string"));
  CHECK(contains(error(R"({"__metadata__": []})", 0), "must be an object"));
  const std::string tensor = R"("x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]})";
  CHECK(contains(error("{" + tensor + ", " + tensor + "}", 4), "member 'x' occurs twice"));
}

TEST_CASE("safetensors: shapes") {
  CHECK(contains(error_of_tensor("F32", "[9223372036854775808]", "[0, 4]"),
                 "x.shape[0] = 9223372036854775808"));
  CHECK(contains(error_of_tensor("F32", "[9223372036854775807]", "[0, 4]"),
                 "more bits than an int64"));
  CHECK(contains(error_of_tensor("F32", "[4294967296, 4294967296]", "[0, 4]"),
                 "more bits than an int64"));
  // 2^62 x 2^62 x 16 elements wrap to 0.
  CHECK(contains(error_of_tensor("F32", "[4611686018427387904, 4611686018427387904, 16]", "[0, 0]"),
                 "more bits than an int64"));
  CHECK(contains(error_of_tensor("F32", "[-1]", "[0, 4]"),
                 "x.shape[0] = -1: must be an integer from 0"));
  CHECK(
      contains(error_of_tensor("F32", "[1.0]", "[0, 4]"), "x.shape[0] = 1.0: must be an integer"));
  CHECK(contains(error_of_tensor("F32", "[\"1\"]", "[0, 4]"), "must be an integer"));
  CHECK(contains(error_of_tensor("F32", "1", "[0, 4]"), "x.shape = 1: must be an array"));
  CHECK(contains(error_of_tensor("F4", "[3]", "[0, 2]"), "does not end on a whole byte"));
}

TEST_CASE("safetensors: dtypes and offsets") {
  CHECK(contains(error_of_tensor("F31", "[1]", "[0, 4]"),
                 "x.dtype = 'F31': is no dtype of the format"));
  CHECK(contains(error_of_tensor("f32", "[1]", "[0, 4]"), "is no dtype of the format"));
  CHECK(contains(error_of_tensor("F32", "[1]", "[0, 5]"),
                 "x.data_offsets[1] = 5: must be an integer from 0 to 4"));
  CHECK(contains(error_of_tensor("F32", "[1]", "[4, 0]"),
                 "x.data_offsets[1] = 0: must be an integer from 4 to 4"));
  CHECK(contains(error_of_tensor("F32", "[1]", "[-4, 0]"), "must be an integer from 0 to 4"));
  CHECK(contains(error_of_tensor("F32", "[1]", "[0, 18446744073709551615]"),
                 "must be an integer from 0 to 4"));
  CHECK(contains(error_of_tensor("F32", "[1]", "[0]"), "must be [begin, end]"));
  CHECK(contains(error_of_tensor("F32", "[2]", "[0, 4]"),
                 "spans 4 bytes, but F32 of shape [2] takes 8"));
}

TEST_CASE("safetensors: ranges that overlap, leave a gap, or stop short") {
  const auto two = [](const char* first, const char* second) {
    return error(std::string(R"({"p": {"dtype": "F32", "shape": [1], "data_offsets": )") + first +
                     R"(}, "q": {"dtype": "F32", "shape": [1], "data_offsets": )" + second + "}}",
                 12);
  };
  CHECK(contains(two("[0, 4]", "[2, 6]"),
                 "'q' begins at byte 2 of the data, but the one before it ends at 4"));
  CHECK(contains(two("[0, 4]", "[0, 4]"), "begins at byte 0 of the data"));
  CHECK(contains(two("[0, 4]", "[8, 12]"), "'q' begins at byte 8"));
  CHECK(contains(two("[0, 4]", "[4, 8]"), "cover 8 of 12 data bytes"));
}
