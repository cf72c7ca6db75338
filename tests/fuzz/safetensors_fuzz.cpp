// Whatever the bytes, parse_safetensors either throws Error or returns tensors whose every byte can
// be read; parse_shard_index either throws Error or returns names that stay in their directory.

#include "safetensors.h"

#include <cstdint>
#include <cstdlib>

#include "checkpoint.h"
#include "reader_error.h"

namespace {

void read_tensors(std::span<const std::byte> bytes) {
  volatile unsigned char last = 0;
  for (const generate::TensorView& tensor : generate::parse_safetensors(bytes, "f")) {
    if (tensor.size > bytes.size()) std::abort();
    for (std::size_t i = 0; i < tensor.size; ++i)
      last = std::to_integer<unsigned char>(tensor.data[i]);
  }
  static_cast<void>(last);
}

void read_index(std::string_view text) {
  for (const auto& [tensor, file] : generate::parse_shard_index(text, "i").file_of) {
    if (file.find('/') != file.npos || file == "..") std::abort();
  }
}

template <class Call>
void tolerate_errors(Call&& call) {
  try {
    call();
  } catch (const generate::Error& e) {
    if (e.what()[0] == '\0') std::abort();  // an error without a reason
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tolerate_errors([&] { read_tensors(std::as_bytes(std::span(data, size))); });
  tolerate_errors([&] { read_index({reinterpret_cast<const char*>(data), size}); });
  return 0;
}
