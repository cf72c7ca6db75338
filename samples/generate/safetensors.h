// One safetensors file: an 8-byte little-endian length, that many bytes of JSON that name each
// tensor's dtype, shape and byte range, and then the bytes.
// The format: https://github.com/huggingface/safetensors, section "Format".

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace generate {

/// Every dtype of the format. Weights can be loaded from the first three (is_loadable); the others
/// are listed, so that a message can say what a tensor is instead.
enum class Dtype : std::uint8_t {
  kF32,
  kF16,
  kBf16,
  kF64,
  kF8E4m3,
  kF8E5m2,
  kF8E4m3Fnuz,
  kF8E5m2Fnuz,
  kF8E8m0,
  kF6E2m3,
  kF6E3m2,
  kF4,
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool,
  kC64,
};

std::string_view dtype_name(Dtype dtype);  // as the format spells it, "BF16"
std::int64_t dtype_bits(Dtype dtype);
inline bool is_loadable(Dtype dtype) { return dtype <= Dtype::kBf16; }

/// A tensor inside a mapped file: row-major, not copied.
struct TensorView {
  std::string name;
  Dtype dtype{};
  std::vector<std::int64_t> shape;  // empty for a scalar; a 0 in it means no bytes
  const std::byte* data{};          // any alignment: the format promises none
  std::size_t size{};               // bytes; elements x dtype_bits(dtype) / 8
};

/// "[256, 64]"
std::string shape_text(std::span<const std::int64_t> shape);

/// The tensors of a file whose bytes are `bytes`, in the order of their data. `file` opens every
/// message.
///
/// What holds afterwards: names are unique; every range lies in `bytes`, fits its shape and dtype,
/// and begins where the one before it ends; together they cover the file to its last byte.
std::vector<TensorView> parse_safetensors(std::span<const std::byte> bytes,
                                          const std::string& file);

}  // namespace generate
