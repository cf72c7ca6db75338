// 16-bit storage: every pattern to float, and every boundary between two neighbours back.
#include "core/dtype.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "support/op_test.h"

namespace {

using mr::Bf16;
using mr::F16;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// sign, `fraction` bits below the implicit one, the rest exponent with bias 2^(width - 1) - 1.
struct Format {
  int fraction;
  int exponent;
  int bias() const { return (1 << (exponent - 1)) - 1; }
  int top() const { return (1 << exponent) - 1; }
  uint32_t infinity() const { return static_cast<uint32_t>(top() << fraction); }
};
constexpr Format kHalf = {10, 5};
constexpr Format kBrain = {7, 8};

// The definition of IEEE 754's interchange formats, in double.
double value_of(const Format& format, uint32_t bits) {
  const int exponent = static_cast<int>(bits >> format.fraction) & format.top();
  const int fraction = static_cast<int>(bits) & ((1 << format.fraction) - 1);
  const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
  if (exponent == format.top()) return fraction != 0 ? NAN : sign * INFINITY;
  const int scale = (exponent == 0 ? 1 : exponent) - format.bias() - format.fraction;
  const int whole = exponent == 0 ? fraction : fraction + (1 << format.fraction);
  return sign * std::ldexp(whole, scale);
}

template <class T>
void every_pattern_to_float(const Format& format) {
  int wrong = 0;
  for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const float got = mr::to_float(T{static_cast<uint16_t>(bits)});
    const double wanted = value_of(format, bits);
    const bool same = std::isnan(wanted) ? std::isnan(got)
                                         : static_cast<double>(got) == wanted &&
                                               std::signbit(got) == std::signbit(wanted);
    if (!same && ++wrong == 1) FAIL_CHECK("pattern " << bits << " is " << got);
  }
  CHECK(wrong == 0);
}

template <class T>
uint32_t store(float x) {
  return mr::from_float<T>(x).bits;
}

// Between every two neighbours, infinity included as the number that would follow the largest: the
// tie goes to the even pattern, what is closer to one goes there, and the numbers stay themselves.
template <class T>
void every_boundary_from_float(const Format& format) {
  int wrong = 0;
  const auto expect = [&](float x, uint32_t wanted) {
    for (const uint32_t sign : {0u, 0x8000u}) {
      const uint32_t got = store<T>(sign != 0 ? -x : x);
      if (got != (wanted | sign) && ++wrong == 1) {
        FAIL_CHECK("float bits " << std::bit_cast<uint32_t>(x) << " gave " << got << ", not "
                                 << (wanted | sign));
      }
    }
  };
  for (uint32_t low = 0; low < format.infinity(); ++low) {
    const uint32_t high = low + 1;
    const double below = value_of(format, low);
    const double above = high == format.infinity() ? std::ldexp(1.0, format.top() - format.bias())
                                                   : value_of(format, high);
    const float tie = static_cast<float>((below + above) / 2);
    REQUIRE(static_cast<double>(tie) == (below + above) / 2);
    expect(static_cast<float>(below), low);
    expect(std::nextafter(tie, 0.0f), low);
    expect(tie, low % 2 == 0 ? low : high);
    expect(std::nextafter(tie, kInfinity), high);
  }
  expect(kInfinity, format.infinity());
  expect(std::numeric_limits<float>::max(), format.infinity());
  expect(std::numeric_limits<float>::denorm_min(), 0);
  CHECK(wrong == 0);
}

// A NaN whose payload lies below the bits that are kept must not become an infinity.
template <class T>
void every_kind_of_nan(const Format& format) {
  std::mt19937 random(7);
  const auto check = [&](uint32_t payload) {
    for (const uint32_t sign : {0u, 0x80000000u}) {
      const uint32_t bits = store<T>(std::bit_cast<float>(sign | 0x7f800000u | payload));
      CHECK((bits & format.infinity()) == format.infinity());
      CHECK((bits & ((1u << format.fraction) - 1)) != 0);
      CHECK((bits & 0x8000u) == sign >> 16);
      CHECK(std::isnan(mr::to_float(T{static_cast<uint16_t>(bits)})));
    }
  };
  for (int bit = 0; bit < 23; ++bit) check(1u << bit);
  check(0x7fffffu);
  for (int i = 0; i < 200; ++i) check((random() & 0x7fffffu) | 1u);
}

}  // namespace

TEST_CASE("every F16 and BF16 pattern has the value that its bits spell") {
  every_pattern_to_float<F16>(kHalf);
  every_pattern_to_float<Bf16>(kBrain);
}

TEST_CASE("float to F16 and BF16 rounds to nearest even at every boundary") {
  every_boundary_from_float<F16>(kHalf);
  every_boundary_from_float<Bf16>(kBrain);
}

TEST_CASE("float to F16 and BF16 keeps a NaN a NaN") {
  every_kind_of_nan<F16>(kHalf);
  every_kind_of_nan<Bf16>(kBrain);
}

TEST_CASE("random floats round as the formula in double says") {
  std::mt19937 random(11);
  for (int i = 0; i < 200000; ++i) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(x)) continue;
    const double half = test::round_to(MR_F16, static_cast<double>(x));
    const double brain = test::round_to(MR_BF16, static_cast<double>(x));
    if (static_cast<double>(mr::to_float(mr::from_float<F16>(x))) != half ||
        static_cast<double>(mr::to_float(mr::from_float<Bf16>(x))) != brain) {
      FAIL("float bits " << std::bit_cast<uint32_t>(x));
    }
  }
}

TEST_CASE("N14: ties, bias and NaN of the reported conversion") {
  const auto brain = [](float x) { return mr::to_float(mr::from_float<Bf16>(x)); };
  CHECK(brain(0.2691408770292272f) == 0.26953125f);
  CHECK(brain(3.14f) == 3.140625f);
  CHECK(brain(1.0f + 0x1p-8f) == 1.0f);
  CHECK(brain(1.0f + 3 * 0x1p-8f) == 1.015625f);
  CHECK(std::isnan(brain(std::bit_cast<float>(0x7f800001u))));
  CHECK(brain(3.4e38f) == kInfinity);
}

TEST_CASE("float is passed through, whatever it is") {
  for (const uint32_t bits : {0u, 0x80000000u, 1u, 0x7f800000u, 0x7fc00001u}) {
    CHECK(std::bit_cast<uint32_t>(mr::from_float<float>(std::bit_cast<float>(bits))) == bits);
    CHECK(std::bit_cast<uint32_t>(mr::to_float(std::bit_cast<float>(bits))) == bits);
  }
}

TEST_CASE("dtypes: sizes, the switch, the set") {
  CHECK(mr::dtype_bytes(MR_I8) == 1);
  CHECK(mr::dtype_bytes(MR_U8) == 1);
  CHECK(mr::dtype_bytes(MR_F16) == 2);
  CHECK(mr::dtype_bytes(MR_BF16) == 2);
  CHECK(mr::dtype_bytes(MR_F32) == 4);
  CHECK(mr::dtype_bytes(MR_I32) == 4);
  CHECK(mr::dtype_bytes(MR_U32) == 4);
  CHECK(mr::dtype_bytes(MR_F64) == 8);
  CHECK(mr::dtype_bytes(MR_I64) == 8);
  CHECK(mr::dtype_bytes(MR_U64) == 8);
  CHECK(mr::dtype_bytes(MR_ABSENT) == 0);
  CHECK(mr::dtype_bytes(MR_DTYPE(2, 32, 4)) == 0);
  CHECK(mr::dtype_bytes(MR_DTYPE(2, 8, 1)) == 0);

  const auto visited = [](mr_dtype dtype) {
    return mr::visit_float(dtype,
                           [](auto tag) { return mr::kDType<typename decltype(tag)::type>; });
  };
  constexpr mr::DTypeSet narrow = {MR_F16, MR_BF16};
  for (const mr_dtype dtype : test::kFloats) {
    CHECK(mr::is_float(dtype));
    CHECK(visited(dtype) == dtype);
    CHECK(mr::kAllFloats.has(dtype));
    CHECK(narrow.has(dtype) == (dtype != MR_F32));
  }
  for (const mr_dtype dtype : {MR_ABSENT, MR_I32, MR_F64, MR_U8, MR_DTYPE(4, 16, 2)}) {
    CHECK(!mr::is_float(dtype));
    CHECK(!mr::kAllFloats.has(dtype));
  }
}
