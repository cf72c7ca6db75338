// Checkpoint numbers to model numbers: exact where they can be, nearest even where not.

#include "number_format.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace {

using generate::convert_numbers;
using generate::Dtype;

template <class To, class From>
std::vector<To> convert(const std::vector<From>& from, Dtype type, mr_dtype to_type) {
  std::vector<To> to(from.size());
  convert_numbers(reinterpret_cast<const std::byte*>(from.data()), type, from.size(),
                  reinterpret_cast<std::byte*>(to.data()), to_type);
  return to;
}

std::vector<float> to_floats(const std::vector<std::uint16_t>& from, Dtype type) {
  return convert<float>(from, type, MR_F32);
}

}  // namespace

TEST_CASE("halves become floats exactly") {
  const auto values = to_floats(
      {0x0000, 0x8000, 0x0001, 0x03ff, 0x0400, 0x3c00, 0x7bff, 0x7c00, 0xfc00}, Dtype::kF16);
  const std::vector<float> wanted = {0.0f, -0.0f,    0x1p-24f, 0x1.ff8p-15f, 0x1p-14f,
                                     1.0f, 65504.0f, INFINITY, -INFINITY};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(values[i] == wanted[i]);
    CHECK(std::signbit(values[i]) == std::signbit(wanted[i]));
  }
  CHECK(std::isnan(to_floats({0x7c01}, Dtype::kF16).front()));
  CHECK(to_floats({0x3f80, 0xc048}, Dtype::kBf16) == std::vector<float>{1.0f, -3.125f});
}

TEST_CASE("floats become halves by rounding to nearest even, all of the way round") {
  // Every half but the NaNs survives the way to float and back.
  std::vector<std::uint16_t> all;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7fff) <= 0x7c00) all.push_back(static_cast<std::uint16_t>(bits));
  }
  CHECK(convert<std::uint16_t>(to_floats(all, Dtype::kF16), Dtype::kF32, MR_F16) == all);
  const std::vector<float> ties = {1.0f + 0x1p-11f, 1.0f + 3 * 0x1p-11f, 65519.0f, 65520.0f,
                                   0x1p-25f,        0x1.8p-24f,          -65520.0f};
  CHECK(convert<std::uint16_t>(ties, Dtype::kF32, MR_F16) ==
        std::vector<std::uint16_t>{0x3c00, 0x3c02, 0x7bff, 0x7c00, 0x0000, 0x0002, 0xfc00});
  const std::vector<float> wide = {1.0f + 0x1p-8f, 1.0f + 3 * 0x1p-8f, 3.4e38f, 3.14f};
  CHECK(convert<std::uint16_t>(wide, Dtype::kF32, MR_BF16) ==
        std::vector<std::uint16_t>{0x3f80, 0x3f82, 0x7f80, 0x4049});
  CHECK((convert<std::uint16_t>(std::vector<float>{NAN}, Dtype::kF32, MR_BF16).front() & 0x7fff) >
        0x7f80);
}

TEST_CASE("an address of any alignment is read") {
  const float value = 0.15625f;
  std::vector<std::byte> bytes(1 + sizeof value);
  std::memcpy(bytes.data() + 1, &value, sizeof value);
  float out = 0;
  convert_numbers(bytes.data() + 1, Dtype::kF32, 1, reinterpret_cast<std::byte*>(&out), MR_F32);
  CHECK(out == value);
  std::uint16_t half = 0;
  convert_numbers(bytes.data() + 1, Dtype::kF32, 1, reinterpret_cast<std::byte*>(&half), MR_F16);
  CHECK(half == 0x3100);
}
