// Conversions between the formats that checkpoints and models hold numbers in.

#pragma once

#include <cstddef>
#include <cstdint>

#include <millrace/millrace.h>

#include "safetensors.h"

namespace generate {

/// Converts `count` numbers to MR_F32, MR_BF16 or MR_F16, rounding to nearest even. `from` may have
/// any alignment.
void convert_numbers(const std::byte* from, Dtype from_type, std::size_t count, std::byte* to,
                     mr_dtype to_type);

}  // namespace generate
