// What abi_structs_fuzz.cpp makes of its bytes: tensors whose every element lies within real
// memory, and a look at each error report.
#pragma once

#include <millrace/millrace.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace fuzz {

// The fuzzer's bytes, then zeros.
class Source {
 public:
  Source(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  template <class T>
  T take() {
    T value = {};
    fill(&value, sizeof value);
    return value;
  }
  void fill(void* out, size_t bytes) {
    const size_t n = std::min(bytes, left_);
    if (n > 0) std::memcpy(out, data_, n);
    std::memset(static_cast<char*>(out) + n, 0, bytes - n);
    data_ += n;
    left_ -= n;
  }
  uint32_t below(uint32_t limit) { return take<uint8_t>() % limit; }

 private:
  const uint8_t* data_;
  size_t left_;
};

inline void expect(bool fact, const char* what) {
  if (fact) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

// Memory of an exact size, so that one byte beyond is seen.
class Region {
 public:
  explicit Region(size_t bytes) : bytes_(bytes), data_(static_cast<char*>(std::malloc(bytes))) {
    expect(data_ != nullptr, "memory for the test");
  }
  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  char* data_;
};

inline constexpr size_t kDataBytes = 16384, kIndexBytes = 4096;
inline constexpr size_t kTables = 3, kTableBytes = 17 * sizeof(int32_t);

// Made once; the process ends with them.
struct World {
  mr_context* context = nullptr;
  mr_stream* stream = nullptr;
  Region data{kDataBytes};
  Region output{kDataBytes};  // apart: an output that overlaps an input is undefined
  Region index{kIndexBytes};
  Region tables[kTables] = {Region(kTableBytes), Region(kTableBytes), Region(kTableBytes)};
  size_t next_table = 0;

  // An input does not feel the one before it.
  void reset() {
    next_table = 0;
    for (const Region* region : {&data, &output, &index}) {
      std::memset(region->data(), 0, region->bytes());
    }
  }

  World() {
    mr_context_config config = MR_CONTEXT_CONFIG_INIT;
    config.backend = MR_BACKEND_HOST;
    config.options = "host.threads=1;host.blas=off;host.streams=inline";
    expect(mr_context_create(&config, &context, nullptr) == MR_OK, "a context");
    expect(mr_stream_create(context, nullptr, &stream, nullptr) == MR_OK, "a stream");
  }
};

inline World& world() {
  static auto* const made = new World;
  return *made;
}

// A report is written on failure alone, all of it, and ends.
class Report {
 public:
  Report() { std::memset(&error_, 0x5a, sizeof error_); }
  mr_error* out() { return &error_; }
  void check(mr_status status) const {
    if (status == MR_OK) {
      expect(static_cast<unsigned char>(error_.text[0]) == 0x5a, "no report on success");
      return;
    }
    expect(std::strcmp(mr_status_name(status), "MR_STATUS_UNKNOWN") != 0, "a known status");
    expect(status != MR_INTERNAL, "no bug is reported");
    expect(error_.code == status, "the report's code is the status");
    expect(std::memchr(error_.text, 0, sizeof error_.text) != nullptr, "the text ends");
    expect(error_.text[0] != '\0', "the text says something");
  }

 private:
  mr_error error_;
};

// ---- Tensors ------------------------------------------------------------------------------------

enum class Lies { kData, kOutput, kIndex, kTable, kLengths };
inline bool is_trusted(Lies where) { return where == Lies::kTable || where == Lies::kLengths; }

inline constexpr mr_dtype kDTypes[] = {MR_F32, MR_F16, MR_BF16, MR_I32,    MR_I64,
                                       MR_U64, MR_U8,  MR_F64,  MR_ABSENT, MR_DTYPE(2, 32, 4)};

// Bytes before and behind element 0 that the tensor reaches, if that is little.
inline bool reach(const mr_tensor& tensor, int64_t size, int64_t* before, int64_t* behind) {
  *before = 0;
  *behind = size;
  for (int32_t d = 0; d < tensor.rank; ++d) {
    const int64_t step = (tensor.shape[d] - 1) * tensor.strides[d] * size;
    (step < 0 ? *before : *behind) += step < 0 ? -step : step;
  }
  return *before + *behind <= static_cast<int64_t>(kDataBytes);
}

// What the tensors of one call share if all is well: T, and an extent for each letter.
struct Common {
  mr_dtype type;
  int64_t extents[26];
  explicit Common(Source& source) : type(kDTypes[source.below(3)]) {
    for (int64_t& extent : extents)
      extent = source.below(8) == 0 ? source.below(2) : 1 + source.below(8);
  }
};

// A tensor as the operator wants it: `dims` names its extents; `type` is T, f: F32, 4: I32, 8: I64,
// u: U64, or i: I32 or I64.
struct Wanted {
  Lies where;
  const char* dims;
  char type;
};

inline mr_dtype wanted_dtype(Source& source, const Common& common, char type) {
  switch (type) {
    case 'T':
      return common.type;
    case 'f':
      return MR_F32;
    case '4':
      return MR_I32;
    case '8':
      return MR_I64;
    case 'u':
      return MR_U64;
    default:
      return source.below(2) == 0 ? MR_I32 : MR_I64;
  }
}

inline mr_tensor shaped(Source& source, const Common& common, const Wanted& wanted) {
  World& w = world();
  const Lies where = wanted.where;
  mr_tensor tensor = MR_TENSOR_INIT;
  const bool odd = !is_trusted(where) && source.below(24) == 0;
  tensor.dtype =
      odd ? kDTypes[source.below(std::size(kDTypes))] : wanted_dtype(source, common, wanted.type);
  tensor.rank = static_cast<int32_t>(std::strlen(wanted.dims));
  if (odd) tensor.rank = static_cast<int32_t>(source.below(5));
  const int64_t size = (tensor.dtype >> 8 & 0xffu) * (tensor.dtype >> 16) / 8;
  int64_t packed = 1;
  for (int32_t d = tensor.rank - 1; d >= 0; --d) {
    const auto letter =
        static_cast<size_t>(d) < std::strlen(wanted.dims) ? wanted.dims[d] - 'a' : 0;
    tensor.shape[d] = odd ? source.below(17) : common.extents[letter];
    if (where == Lies::kTable) tensor.shape[d] += 1;  // a batch has one offset more
    const uint32_t kind = is_trusted(where) ? 0 : source.below(16);
    tensor.strides[d] = kind < 14 ? packed : kind == 14 ? -packed : source.take<int8_t>();
    packed *= std::max<int64_t>(tensor.shape[d], 1);
  }
  if (source.below(32) == 0) tensor.flags = source.take<uint64_t>();
  const bool empty =
      std::find(tensor.shape, tensor.shape + tensor.rank, 0) != tensor.shape + tensor.rank;
  int64_t before = 0, behind = 0;
  const Region& region = where == Lies::kData     ? w.data
                         : where == Lies::kOutput ? w.output
                         : where == Lies::kIndex  ? w.index
                                                  : w.tables[w.next_table++ % kTables];
  if (empty || size == 0 || !reach(tensor, size, &before, &behind)) return tensor;
  const auto room = static_cast<int64_t>(region.bytes()) - before - behind;
  if (room < 0 || source.below(16) == 0) return tensor;
  int64_t start = before + (is_trusted(where) ? 0 : source.take<uint16_t>() % (room + 1));
  if (source.below(16) != 0) start -= std::min(start - before, start % size);
  tensor.data = region.data() + start;
  return tensor;
}

// cu_q, cu_kv and kv_len: non-decreasing from 0, and within what there is.
inline void fill_table(const mr_tensor& tensor, int64_t total) {
  if (tensor.data == nullptr || tensor.dtype != MR_I32 || tensor.rank != 1) return;
  auto* entries = static_cast<int32_t*>(tensor.data);
  const int64_t last = tensor.shape[0] - 1;
  for (int64_t i = 0; i <= last; ++i) {
    entries[i] = static_cast<int32_t>(last > 0 ? total * i / last : 0);
  }
}

}  // namespace fuzz
