// The function table, the version negotiation, and the layout table that bindings compare with.

#include <doctest/doctest.h>
#include <millrace/millrace.h>

#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>

namespace {

struct Entry {
  const char* struct_name;
  const char* field_name;
  size_t offset;
  size_t size;
};

// The layout as this compiler and these flags see it.
const Entry kLayout[] = {
// clang-format off
#define MR_LAYOUT_STRUCT(type) {#type, "", 0, sizeof(type)},
#define MR_LAYOUT_FIELD(type, field) {#type, #field, offsetof(type, field), sizeof(type::field)},
#include MILLRACE_ABI_LAYOUT
    // clang-format on
};

const mr_api* const kUntouched = reinterpret_cast<const mr_api*>(8);

}  // namespace

TEST_CASE("negotiation: every range that holds the library's version gives the same table") {
  const mr_api* first = nullptr;
  REQUIRE(mr_get_api(MR_ABI_MAJOR, MR_ABI_MAJOR, MR_ABI_MINOR, &first, nullptr) == MR_OK);
  REQUIRE(first != nullptr);
  CHECK(first->struct_size == sizeof(mr_api));
  CHECK(first->abi_major == MR_ABI_MAJOR);
  CHECK(first->abi_minor == MR_ABI_MINOR);
  CHECK(first->reserved == 0);
  for (const uint32_t major_max : {MR_ABI_MAJOR, MR_ABI_MAJOR + 1, UINT32_MAX}) {
    for (const uint32_t minor_min : {0u, MR_ABI_MINOR}) {
      const mr_api* again = nullptr;
      mr_error err;
      std::memset(&err, 0x5A, sizeof err);
      CHECK(mr_get_api(MR_ABI_MAJOR, major_max, minor_min, &again, &err) == MR_OK);
      CHECK(again == first);
      CHECK(err.code == 0x5A5A5A5A);  // written only on failure
    }
  }
}

TEST_CASE("negotiation: a range beside it is refused with both sides in the text") {
  struct Range {
    uint32_t major_min, major_max, minor_min;
  };
  for (const Range r :
       {Range{MR_ABI_MAJOR, MR_ABI_MAJOR, MR_ABI_MINOR + 1},
        Range{MR_ABI_MAJOR, UINT32_MAX, UINT32_MAX}, Range{MR_ABI_MAJOR + 1, MR_ABI_MAJOR + 3, 0},
        Range{UINT32_MAX, UINT32_MAX, 0}}) {
    const mr_api* out = kUntouched;
    mr_error err;
    CHECK(mr_get_api(r.major_min, r.major_max, r.minor_min, &out, &err) == MR_VERSION_MISMATCH);
    CHECK(out == kUntouched);
    CHECK(err.code == MR_VERSION_MISMATCH);
    const std::string text = err.text;
    const std::string ours = std::to_string(MR_ABI_MAJOR) + "." + std::to_string(MR_ABI_MINOR);
    const std::string theirs = std::to_string(r.major_min) + "." + std::to_string(r.minor_min);
    CHECK_MESSAGE(text.find(ours) != std::string::npos, text);
    CHECK_MESSAGE(text.find(theirs) != std::string::npos, text);
    CHECK_MESSAGE(text.find(std::to_string(r.major_max)) != std::string::npos, text);
    CHECK(mr_get_api(r.major_min, r.major_max, r.minor_min, &out, nullptr) == MR_VERSION_MISMATCH);
  }
}

TEST_CASE("negotiation: nonsense is INVALID_ARGUMENT") {
  const mr_api* out = kUntouched;
  mr_error err;
  CHECK(mr_get_api(0, 0, 0, nullptr, &err) == MR_INVALID_ARGUMENT);
  CHECK(mr_get_api(1, 0, 0, &out, &err) == MR_INVALID_ARGUMENT);
  CHECK(out == kUntouched);
}

TEST_CASE("the table has no hole, and its slots are the functions") {
  const mr_api* api = nullptr;
  REQUIRE(mr_get_api(MR_ABI_MAJOR, MR_ABI_MAJOR, 0, &api, nullptr) == MR_OK);
  using Function = void (*)();
  const size_t first = offsetof(mr_api, version);
  CHECK((sizeof(mr_api) - first) % sizeof(Function) == 0);
  for (size_t at = first; at < sizeof(mr_api); at += sizeof(Function)) {
    Function function;
    std::memcpy(&function, reinterpret_cast<const char*>(api) + at, sizeof function);
    CHECK_MESSAGE((function != nullptr), "slot at byte " << at);
  }
  CHECK(MR_API_HAS(api, version));
  CHECK(api->version() == mr_version());
  CHECK(std::string(api->status_name(MR_NOT_READY)) == "MR_NOT_READY");
  mr_tensor tensor = MR_TENSOR_INIT;
  const int64_t shape[2] = {3, 5};
  CHECK(api->tensor_pack(&tensor, MR_F32, 2, shape, &tensor, nullptr) == MR_OK);
  CHECK(tensor.strides[0] == 5);
}

TEST_CASE("B06: the layout table is what this compiler sees") {
  mr_error err;
  for (size_t i = 0; i < std::size(kLayout); ++i) {
    const char *struct_name = nullptr, *field_name = nullptr;
    uint32_t offset = UINT32_MAX, size = UINT32_MAX;
    REQUIRE(mr_abi_layout(static_cast<uint32_t>(i), &struct_name, &field_name, &offset, &size,
                          &err) == MR_OK);
    CHECK(std::string(struct_name) == kLayout[i].struct_name);
    CHECK(std::string(field_name) == kLayout[i].field_name);
    CHECK_MESSAGE(offset == kLayout[i].offset, struct_name << "." << field_name);
    CHECK_MESSAGE(size == kLayout[i].size, struct_name << "." << field_name);
    CHECK(mr_abi_layout(static_cast<uint32_t>(i), nullptr, nullptr, nullptr, nullptr, nullptr) ==
          MR_OK);
  }
  uint32_t size = 77;
  for (const uint32_t index : {static_cast<uint32_t>(std::size(kLayout)), UINT32_MAX}) {
    CHECK(mr_abi_layout(index, nullptr, nullptr, nullptr, &size, &err) == MR_INVALID_ARGUMENT);
  }
  CHECK(size == 77);
}

TEST_CASE("frozen structs, and structs without gaps") {
  CHECK(sizeof(mr_tensor) == 128);
  CHECK(sizeof(mr_error) == 512);
  CHECK(sizeof(mr_rope_config) == 64);
  CHECK(sizeof(mr_counter) == 24);
  size_t end = 0;
  const Entry* current = nullptr;
  for (const Entry& entry : kLayout) {
    if (entry.field_name[0] == '\0') {
      if (current != nullptr) CHECK_MESSAGE(end == current->size, current->struct_name);
      current = &entry;
      end = 0;
    } else {
      CHECK_MESSAGE(entry.offset == end, entry.struct_name << "." << entry.field_name);
      end = entry.offset + entry.size;
    }
  }
  REQUIRE(current != nullptr);
  CHECK_MESSAGE(end == current->size, current->struct_name);
}
