#include "safetensors.h"

#include <algorithm>
#include <array>
#include <limits>

#include "json_reader.h"
#include "reader_error.h"

namespace generate {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

struct DtypeRow {
  std::string_view name;
  std::int64_t bits;
};

// In the order of Dtype.
constexpr std::array kDtypes = {
    DtypeRow{"F32", 32},        DtypeRow{"F16", 16},        DtypeRow{"BF16", 16},
    DtypeRow{"F64", 64},        DtypeRow{"F8_E4M3", 8},     DtypeRow{"F8_E5M2", 8},
    DtypeRow{"F8_E4M3FNUZ", 8}, DtypeRow{"F8_E5M2FNUZ", 8}, DtypeRow{"F8_E8M0", 8},
    DtypeRow{"F6_E2M3", 6},     DtypeRow{"F6_E3M2", 6},     DtypeRow{"F4", 4},
    DtypeRow{"I64", 64},        DtypeRow{"I32", 32},        DtypeRow{"I16", 16},
    DtypeRow{"I8", 8},          DtypeRow{"U64", 64},        DtypeRow{"U32", 32},
    DtypeRow{"U16", 16},        DtypeRow{"U8", 8},          DtypeRow{"BOOL", 8},
    DtypeRow{"C64", 64},
};
static_assert(kDtypes.size() == static_cast<std::size_t>(Dtype::kC64) + 1);

const DtypeRow& row(Dtype dtype) { return kDtypes[static_cast<std::size_t>(dtype)]; }

std::string_view header_text(std::span<const std::byte> bytes, const std::string& file) {
  if (bytes.size() < kLengthBytes) {
    throw Error(concat(file, ": has ", bytes.size(), " bytes: too short for a safetensors file"));
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  if (length > kLongestHeader) {
    throw Error(concat(file, ": header length = ", length, ": must be at most ", kLongestHeader));
  }
  if (length > bytes.size() - kLengthBytes) {
    throw Error(concat(file, ": header length = ", length, ": the file has only ",
                       bytes.size() - kLengthBytes, " bytes after it"));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes,
                              static_cast<std::size_t>(length));
  if (!text.starts_with('{')) throw Error(concat(file, ": the header does not begin with '{'"));
  return text;
}

Dtype parse_dtype(const JsonField& field) {
  const auto found = std::find_if(kDtypes.begin(), kDtypes.end(),
                                  [&](const DtypeRow& r) { return r.name == field.text(); });
  if (found == kDtypes.end()) field.fail("is no dtype of the format");
  return static_cast<Dtype>(found - kDtypes.begin());
}

/// The shape, and through `bytes` how much memory it takes.
std::vector<std::int64_t> parse_shape(const JsonField& field, Dtype dtype, std::int64_t& bytes) {
  std::vector<std::int64_t> shape;
  std::int64_t bits = row(dtype).bits;
  bool overflow = false;
  for (std::size_t i = 0; i < field.size(); ++i) {
    const std::int64_t extent = field.element(i).integer(0, kMost);
    shape.push_back(extent);
    overflow |= __builtin_mul_overflow(bits, extent, &bits);
  }
  if (overflow) field.fail(concat(shape_text(shape), " has more bits than an int64 can count"));
  if (bits % 8 != 0) field.fail(concat(shape_text(shape), " does not end on a whole byte"));
  bytes = bits / 8;
  return shape;
}

TensorView parse_tensor(const std::string& name, const JsonField& entry,
                        std::span<const std::byte> data) {
  TensorView view;
  view.name = name;
  view.dtype = parse_dtype(entry.at("dtype"));
  std::int64_t bytes = 0;
  view.shape = parse_shape(entry.at("shape"), view.dtype, bytes);

  const JsonField offsets = entry.at("data_offsets");
  if (offsets.size() != 2) offsets.fail("must be [begin, end]");
  const auto most = static_cast<std::int64_t>(data.size());
  const std::int64_t begin = offsets.element(0).integer(0, most);
  const std::int64_t end = offsets.element(1).integer(begin, most);
  if (end - begin != bytes) {
    offsets.fail(concat("spans ", end - begin, " bytes, but ", row(view.dtype).name, " of shape ",
                        shape_text(view.shape), " takes ", bytes));
  }
  view.data = data.data() + begin;
  view.size = static_cast<std::size_t>(bytes);
  return view;
}

/// Free text that writers leave about themselves. Nothing here reads it.
void check_metadata(const JsonField& metadata) {
  for (const auto& [key, value] : metadata.raw_object().items()) {
    if (!value.is_string()) metadata.fail(concat("member ", in_quotes(key), " is not a string"));
  }
}

/// A gap could hide bytes that one reader sees and another does not; an overlap likewise.
void check_cover(std::span<const TensorView> tensors, std::span<const std::byte> data,
                 const std::string& file) {
  const std::byte* expected = data.data();
  for (const TensorView& tensor : tensors) {
    if (tensor.data != expected) {
      throw Error(concat(file, ": tensor ", in_quotes(tensor.name), " begins at byte ",
                         tensor.data - data.data(), " of the data, but the one before it ends at ",
                         expected - data.data()));
    }
    expected += tensor.size;
  }
  const std::ptrdiff_t end = expected - data.data();
  if (end != std::ssize(data)) {
    throw Error(concat(file, ": the tensors cover ", end, " of ", data.size(), " data bytes"));
  }
}

}  // namespace

std::string_view dtype_name(Dtype dtype) { return row(dtype).name; }
std::int64_t dtype_bits(Dtype dtype) { return row(dtype).bits; }

std::string shape_text(std::span<const std::int64_t> shape) {
  constexpr std::size_t kMostShown = 8;
  std::string text = "[";
  for (std::size_t i = 0; i < std::min(shape.size(), kMostShown); ++i) {
    text += concat(i == 0 ? "" : ", ", shape[i]);
  }
  return text + (shape.size() > kMostShown ? ", ...]" : "]");
}

std::vector<TensorView> parse_safetensors(std::span<const std::byte> bytes,
                                          const std::string& file) {
  const std::string_view header = header_text(bytes, file);
  const std::span<const std::byte> data = bytes.subspan(kLengthBytes + header.size());
  const JsonDocument document(header, file);

  std::vector<TensorView> tensors;
  const JsonField root = document.root();
  for (const auto& [name, value] : root.raw_object().items()) {
    const JsonField entry(value, document.file(), name);
    if (name == "__metadata__") {
      check_metadata(entry);
    } else {
      tensors.push_back(parse_tensor(name, entry, data));
    }
  }
  // By range, so that an empty tensor comes before the one that begins where it stands.
  std::sort(tensors.begin(), tensors.end(), [](const TensorView& a, const TensorView& b) {
    return a.data != b.data ? a.data < b.data : a.size < b.size;
  });
  check_cover(tensors, data, file);
  return tensors;
}

}  // namespace generate
