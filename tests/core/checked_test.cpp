// Arithmetic on what callers pass: right up to the last representable number, refused one beyond.
#include "core/checked.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr uint64_t kTop = std::numeric_limits<uint64_t>::max();

template <class T>
bool adds(T a, T b, T wanted) {
  T out = 0;
  return mr::checked_add(a, b, &out) && out == wanted;
}
template <class T>
bool multiplies(T a, T b, T wanted) {
  T out = 0;
  return mr::checked_mul(a, b, &out) && out == wanted;
}
template <class T>
bool add_refused(T a, T b) {
  T out = 0;
  return !mr::checked_add(a, b, &out);
}
template <class T>
bool mul_refused(T a, T b) {
  T out = 0;
  return !mr::checked_mul(a, b, &out);
}

}  // namespace

TEST_CASE("checked_add at both ends") {
  CHECK(adds<int64_t>(kMax - 1, 1, kMax));
  CHECK(add_refused<int64_t>(kMax, 1));
  CHECK(adds<int64_t>(kMin + 1, -1, kMin));
  CHECK(add_refused<int64_t>(kMin, -1));
  CHECK(adds<int64_t>(kMin, kMax, -1));
  CHECK(adds<uint64_t>(kTop - 1, 1, kTop));
  CHECK(add_refused<uint64_t>(kTop, 1));
  CHECK(adds<uint64_t>(kTop, 0, kTop));
}

TEST_CASE("checked_mul: S09's product needs 64 bits, M10's does not fit them") {
  CHECK(multiplies<int64_t>(23491, 128256, 3012861696));
  CHECK(mul_refused<uint64_t>(uint64_t{1} << 33, uint64_t{1} << 33));
  CHECK(multiplies<int64_t>(kMax, 1, kMax));
  CHECK(mul_refused<int64_t>(kMax, 2));
  CHECK(multiplies<int64_t>(kMin, 1, kMin));
  CHECK(mul_refused<int64_t>(kMin, -1));
  CHECK(multiplies<int64_t>(int64_t{1} << 31, int64_t{1} << 31, int64_t{1} << 62));
  CHECK(mul_refused<int64_t>(int64_t{1} << 31, int64_t{1} << 32));
  CHECK(multiplies<int64_t>(-(int64_t{1} << 31), int64_t{1} << 32, kMin));
  CHECK(multiplies<uint64_t>(kTop, 0, 0));
}

TEST_CASE("checked_round_up wraps nowhere") {
  const auto up = [](uint64_t bytes, uint64_t alignment) {
    uint64_t out = 0;
    CHECK(mr::checked_round_up(bytes, alignment, &out));
    return out;
  };
  CHECK(up(0, 256) == 0);
  CHECK(up(1, 256) == 256);
  CHECK(up(255, 256) == 256);
  CHECK(up(256, 256) == 256);
  CHECK(up(257, 256) == 512);
  CHECK(up(5, 1) == 5);
  CHECK(up(kTop, 1) == kTop);
  CHECK(up(kTop - 255, 256) == kTop - 255);
  uint64_t out = 0;
  CHECK(!mr::checked_round_up(kTop - 254, 256, &out));
  CHECK(!mr::checked_round_up(kTop, 256, &out));
  CHECK(!mr::checked_round_up(kTop, 2, &out));
}
