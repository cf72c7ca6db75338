// The numbers of op_test.h: rounding, storing and comparing every dtype without the library's help.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "support/op_test.h"

namespace test {
namespace {

// Nearest even with `bits` of fraction (the implicit one not counted), exponents from `low` on
// normal, and infinity from 2^(high + 1) on.
double round_binary(double value, int bits, int low, int high) {
  if (value == 0.0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), low);
  const double step = std::ldexp(1.0, exponent - bits);
  const double rounded = std::nearbyint(value / step) * step;
  return std::fabs(rounded) >= std::ldexp(1.0, high + 1) ? std::copysign(INFINITY, value) : rounded;
}

// The bits of a value that the format holds exactly.
uint16_t encode16(double value, int bits, int low, int high) {
  const int bias = -low + 1;
  const uint16_t sign = std::signbit(value) ? 0x8000u : 0u;
  const uint16_t top = static_cast<uint16_t>((2 * bias + 1) << bits);
  if (std::isnan(value)) return static_cast<uint16_t>(top | (1u << (bits - 1)));
  if (std::isinf(value)) return static_cast<uint16_t>(sign | top);
  (void)high;
  const double magnitude = std::fabs(value);
  if (magnitude < std::ldexp(1.0, low)) {
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::ldexp(magnitude, bits - low)));
  }
  const int exponent = std::ilogb(magnitude);
  const auto fraction = static_cast<uint16_t>(std::ldexp(magnitude, bits - exponent));
  return static_cast<uint16_t>(sign | ((exponent + bias) << bits) |
                               (fraction & ((1u << bits) - 1)));
}

double decode16(uint16_t raw, int bits, int low) {
  const int bias = -low + 1;
  const int exponent = (raw & 0x7fff) >> bits;
  const int fraction = raw & ((1 << bits) - 1);
  double magnitude = 0.0;
  if (exponent == 2 * bias + 1) {
    magnitude = fraction != 0 ? NAN : INFINITY;
  } else if (exponent == 0) {
    magnitude = std::ldexp(fraction, low - bits);
  } else {
    magnitude = std::ldexp(fraction + (1 << bits), exponent - bias - bits);
  }
  return (raw & 0x8000) != 0 ? -magnitude : magnitude;
}

template <class T>
void put(void* at, double value) {
  const T typed = static_cast<T>(value);
  std::memcpy(at, &typed, sizeof typed);
}

template <class T>
double take(const void* at) {
  T typed;
  std::memcpy(&typed, at, sizeof typed);
  return static_cast<double>(typed);
}

}  // namespace

double round_to(mr_dtype dtype, double value) {
  switch (dtype) {
    case MR_F32:
      return static_cast<double>(static_cast<float>(value));
    case MR_F16:
      return round_binary(value, 10, -14, 15);
    case MR_BF16:
      return round_binary(value, 7, -126, 127);
    default:
      return value;
  }
}

const char* dtype_name(mr_dtype dtype) {
  return dtype == MR_F32 ? "f32" : dtype == MR_F16 ? "f16" : dtype == MR_BF16 ? "bf16" : "other";
}

int64_t dtype_size(mr_dtype dtype) { return static_cast<int64_t>((dtype >> 8) & 0xffu) / 8; }

void store(mr_dtype dtype, void* at, double value) {
  switch (dtype) {
    case MR_F32:
      return put<float>(at, value);
    case MR_F64:
      return put<double>(at, value);
    case MR_I32:
      return put<int32_t>(at, value);
    case MR_I64:
      return put<int64_t>(at, value);
    case MR_U32:
      return put<uint32_t>(at, value);
    case MR_U64:
      return put<uint64_t>(at, value);
    case MR_I8:
      return put<int8_t>(at, value);
    case MR_U8:
      return put<uint8_t>(at, value);
    case MR_F16: {
      const uint16_t raw = encode16(round_to(dtype, value), 10, -14, 15);
      std::memcpy(at, &raw, sizeof raw);
      return;
    }
    case MR_BF16: {
      const uint16_t raw = encode16(round_to(dtype, value), 7, -126, 127);
      std::memcpy(at, &raw, sizeof raw);
      return;
    }
    default:
      FAIL("a test stores a dtype that it does not know: " << dtype);
  }
}

double load(mr_dtype dtype, const void* at) {
  switch (dtype) {
    case MR_F32:
      return take<float>(at);
    case MR_F64:
      return take<double>(at);
    case MR_I32:
      return take<int32_t>(at);
    case MR_I64:
      return take<int64_t>(at);
    case MR_U32:
      return take<uint32_t>(at);
    case MR_U64:
      return take<uint64_t>(at);
    case MR_I8:
      return take<int8_t>(at);
    case MR_U8:
      return take<uint8_t>(at);
    case MR_F16: {
      uint16_t raw;
      std::memcpy(&raw, at, sizeof raw);
      return decode16(raw, 10, -14);
    }
    case MR_BF16: {
      uint16_t raw;
      std::memcpy(&raw, at, sizeof raw);
      return decode16(raw, 7, -126);
    }
    default:
      FAIL("a test loads a dtype that it does not know: " << dtype);
  }
  return 0.0;
}

std::vector<double> normal(size_t count, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> draw;
  std::vector<double> values(count);
  for (double& value : values) value = draw(engine);
  return values;
}

bool close(mr_dtype dtype, double actual, double expected, double scale, double units,
           double inner) {
  if (std::isnan(expected)) return std::isnan(actual);
  const double rounded = round_to(dtype, expected);
  if (std::isinf(rounded)) return actual == rounded;
  const double unit = dtype == MR_F16 ? 0x1p-11 : dtype == MR_BF16 ? 0x1p-8 : 0x1p-24;
  const double smallest = dtype == MR_F16 ? 0x1p-25 : dtype == MR_BF16 ? 0x1p-134 : 0x1p-150;
  const double size = std::max(std::fabs(expected), scale);
  const double allowed = std::fabs(expected) * unit * units + size * 0x1p-24 * inner + smallest;
  return std::fabs(actual - expected) <= allowed;
}

}  // namespace test
