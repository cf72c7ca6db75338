#include "number_format.h"

#include <cmath>
#include <cstring>

#include "reader_error.h"

namespace generate {
namespace {

float bits_to_float(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::uint32_t float_to_bits(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float from_half(std::uint16_t half) {
  const int exponent = (half >> 10) & 0x1f;
  const int fraction = half & 0x3ff;
  float magnitude = 0;
  if (exponent == 0x1f) {
    magnitude = fraction != 0 ? NAN : INFINITY;
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
  }
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

std::uint16_t to_bfloat(float value) {
  const std::uint32_t bits = float_to_bits(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

std::uint16_t to_half(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00);
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0f) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (magnitude < 0x1p-14f) {  // subnormal: a multiple of 2^-24
    return static_cast<std::uint16_t>(sign + static_cast<int>(std::nearbyint(magnitude * 0x1p24f)));
  }
  const int exponent = std::ilogb(magnitude);
  // 1024 to 2048; a carry to 2048 moves on to the next exponent by itself.
  const int fraction = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return static_cast<std::uint16_t>(sign + ((exponent + 14) << 10) + fraction);
}

template <class Word>
Word word_at(const std::byte* from, std::size_t index) {
  Word word;
  std::memcpy(&word, from + index * sizeof word, sizeof word);
  return word;
}

float read(const std::byte* from, Dtype type, std::size_t index) {
  switch (type) {
    case Dtype::kF32:
      return word_at<float>(from, index);
    case Dtype::kBf16:
      return bits_to_float(static_cast<std::uint32_t>(word_at<std::uint16_t>(from, index)) << 16);
    case Dtype::kF16:
      return from_half(word_at<std::uint16_t>(from, index));
    default:
      throw Error(concat("numbers of type ", dtype_name(type), " cannot be converted"));
  }
}

}  // namespace

void convert_numbers(const std::byte* from, Dtype from_type, std::size_t count, std::byte* to,
                     mr_dtype to_type) {
  const bool same = (from_type == Dtype::kF32 && to_type == MR_F32) ||
                    (from_type == Dtype::kBf16 && to_type == MR_BF16) ||
                    (from_type == Dtype::kF16 && to_type == MR_F16);
  if (same) {
    if (count > 0) std::memcpy(to, from, count * (to_type == MR_F32 ? 4 : 2));
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const float value = read(from, from_type, i);
    if (to_type == MR_F32) {
      std::memcpy(to + i * 4, &value, 4);
    } else {
      const std::uint16_t half = to_type == MR_BF16 ? to_bfloat(value) : to_half(value);
      std::memcpy(to + i * 2, &half, 2);
    }
  }
}

}  // namespace generate
