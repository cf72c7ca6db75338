// The function table and the layout table, both generated, and the two functions that hand them
// out. Neither function touches anything but constant data.

#include <cstddef>
#include <cstdio>
#include <iterator>

#include "core/result.h"
#include "millrace/api.h"

namespace {

constexpr mr_api kApi = {
#include "api_table.inc"
};

struct LayoutEntry {
  const char* struct_name;
  const char* field_name;
  uint32_t offset;
  uint32_t size;
};

constexpr LayoutEntry kLayout[] = {
// clang-format off
#define MR_LAYOUT_STRUCT(type) {#type, "", 0, sizeof(type)},
#define MR_LAYOUT_FIELD(type, field) {#type, #field, offsetof(type, field), sizeof(type::field)},
#include "abi_layout.inc"
#undef MR_LAYOUT_STRUCT
#undef MR_LAYOUT_FIELD
    // clang-format on
};

// What a caller can drive: from major_min.minor_min to the last minor of major_max.
struct Range {
  uint32_t major_min, major_max, minor_min;

  bool holds(uint32_t major, uint32_t minor) const {
    if (major < major_min || major > major_max) return false;
    return major > major_min || minor >= minor_min;
  }
};

}  // namespace

mr_status mr_get_api(uint32_t major_min, uint32_t major_max, uint32_t minor_min, const mr_api** out,
                     mr_error* err) noexcept {
  if (out == nullptr) return mr::report(mr::invalid("out", "must not be NULL"), err);
  if (major_min > major_max) {
    return mr::report(
        mr::invalid("major_min", "the range of majors is empty", major_min, major_max), err);
  }
  if (!Range{major_min, major_max, minor_min}.holds(MR_ABI_MAJOR, MR_ABI_MINOR)) {
    char both[120];
    std::snprintf(both, sizeof both, "the library has %u.%u, the caller drives %u.%u to %u.x",
                  MR_ABI_MAJOR, MR_ABI_MINOR, major_min, minor_min, major_max);
    return mr::report(
        mr::error(MR_VERSION_MISMATCH, "no ABI version satisfies both sides").say(both), err);
  }
  *out = &kApi;
  return MR_OK;
}

mr_status mr_abi_layout(uint32_t index, const char** out_struct, const char** out_field,
                        uint32_t* out_offset, uint32_t* out_size, mr_error* err) noexcept {
  if (index >= std::size(kLayout)) {
    return mr::report(mr::invalid("index", "is past the last entry", index,
                                  static_cast<int64_t>(std::size(kLayout)) - 1),
                      err);
  }
  const LayoutEntry& entry = kLayout[index];
  if (out_struct != nullptr) *out_struct = entry.struct_name;
  if (out_field != nullptr) *out_field = entry.field_name;
  if (out_offset != nullptr) *out_offset = entry.offset;
  if (out_size != nullptr) *out_size = entry.size;
  return MR_OK;
}
