// Equality for results that a header promises bit for bit.
#pragma once

#include <cmath>

#include "support/op_test.h"

namespace test {

// Equal elements, the sign of a zero included. Any NaN equals any other: which payload survives an
// addition of two is the processor's choice.
inline void expect_same_bits(const std::vector<double>& actual, const std::vector<double>& wanted) {
  REQUIRE(actual.size() == wanted.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    const bool both_nan = std::isnan(actual[i]) && std::isnan(wanted[i]);
    if (both_nan ||
        (actual[i] == wanted[i] && std::signbit(actual[i]) == std::signbit(wanted[i]))) {
      continue;
    }
    FAIL_CHECK("element " << i << " of " << actual.size() << " is " << actual[i] << ", not "
                          << wanted[i]);
    return;
  }
}

inline void expect_same_bits(Tensor& actual, Tensor& wanted) {
  expect_same_bits(actual.get(), wanted.get());
}

}  // namespace test
