// How long rewriting may make a text.
//
// The steps of a tokenizer.json may multiply one another: forty replacements of a character by two
// turn one character into a terabyte. No Unicode normalization makes a text 16 times as long, and
// the byte-level alphabet doubles it once, so a limit far above both costs no honest file anything.

#pragma once

#include <cstddef>

#include "reader_error.h"

namespace generate {

/// The most bytes that a text of `size` bytes may become.
inline std::size_t growth_limit(std::size_t size) { return (std::size_t{1} << 20) + 32 * size; }

/// Throws Error where `size` is above `limit`.
inline void check_growth(std::size_t size, std::size_t limit) {
  if (size <= limit) return;
  throw Error(
      concat("tokenizer: rewriting makes the text ", size, " bytes long, the limit is ", limit));
}

}  // namespace generate
