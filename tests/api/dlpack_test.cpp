// DLPack, both ways: views, owned imports and exports, versions, and what is refused.
#include <thread>

#include "api/api_fixture.h"
#include "api/dlpack_mirror.h"

namespace {

using test::both_modes;
using test::Bytes;
using test::DLManagedTensorVersioned;
using test::DLTensor;
using test::Engine;
using test::kMiB;
using test::Produced;

mr_tensor packed(void* data, mr_dtype dtype, std::initializer_list<int64_t> shape) {
  mr_tensor tensor = MR_TENSOR_INIT;
  MR_OK_OR_FAIL(mr_tensor_pack(data, dtype, static_cast<int32_t>(shape.size()), shape.begin(),
                               &tensor, nullptr));
  return tensor;
}

}  // namespace

TEST_CASE("a view keeps shape, strides and dtype, adds the offset, and tells the device") {
  Produced from;
  from.managed.dl_tensor.byte_offset = 8;
  from.managed.dl_tensor.device = {3, 5};
  from.strides[0] = -12;
  mr_tensor tensor = MR_TENSOR_INIT;
  int32_t type = 0, id = 0;
  MR_OK_OR_FAIL(mr_tensor_from_dlpack(&from.managed.dl_tensor, MR_TENSOR_READ_ONLY, &tensor, &type,
                                      &id, nullptr));
  CHECK(tensor.data == from.data + 2);
  CHECK(tensor.dtype == MR_F32);
  CHECK(tensor.rank == 3);
  CHECK(tensor.flags == MR_TENSOR_READ_ONLY);
  CHECK(tensor.reserved == 0);
  CHECK(tensor.shape[0] == 2);
  CHECK(tensor.shape[2] == 4);
  CHECK(tensor.strides[0] == -12);
  CHECK(tensor.strides[1] == 4);
  CHECK(tensor.shape[3] == 0);
  CHECK(type == 3);
  CHECK(id == 5);
  CHECK(mr_tensor_from_dlpack(&from.managed.dl_tensor, 0, &tensor, nullptr, nullptr, nullptr) ==
        MR_OK);
  CHECK(from.deletions == 0);
}

TEST_CASE("missing strides are made explicit; a scalar needs no shape") {
  Produced from;
  from.managed.dl_tensor.strides = nullptr;
  from.managed.dl_tensor.dtype = {4, 16, 1};
  mr_tensor tensor = MR_TENSOR_INIT;
  MR_OK_OR_FAIL(
      mr_tensor_from_dlpack(&from.managed.dl_tensor, 0, &tensor, nullptr, nullptr, nullptr));
  CHECK(tensor.dtype == MR_BF16);
  CHECK(tensor.strides[0] == 12);
  CHECK(tensor.strides[1] == 4);
  CHECK(tensor.strides[2] == 1);
  from.managed.dl_tensor.ndim = 0;
  from.managed.dl_tensor.shape = nullptr;
  MR_OK_OR_FAIL(
      mr_tensor_from_dlpack(&from.managed.dl_tensor, 0, &tensor, nullptr, nullptr, nullptr));
  CHECK(tensor.rank == 0);
}

TEST_CASE("views that are refused leave everything as it was") {
  mr_tensor tensor;
  std::memset(&tensor, 0x5a, sizeof tensor);
  const mr_tensor before = tensor;
  int32_t type = 77;
  const auto refused = [&](mr_status code, auto&& change, uint64_t flags = 0) {
    Produced from;
    change(from.managed.dl_tensor);
    CHECK(mr_tensor_from_dlpack(&from.managed.dl_tensor, flags, &tensor, &type, nullptr, nullptr) ==
          code);
  };
  refused(MR_INVALID_ARGUMENT, [](DLTensor& t) { t.shape[1] = -1; });
  refused(MR_INVALID_ARGUMENT, [](DLTensor& t) { t.ndim = -1; });
  refused(MR_INVALID_ARGUMENT, [](DLTensor& t) { t.shape = nullptr; });
  refused(MR_INVALID_ARGUMENT, [](DLTensor& t) { t.shape[0] = t.shape[1] = INT64_MAX; });
  refused(MR_INVALID_ARGUMENT, [](DLTensor& t) { t.byte_offset = UINT64_MAX; });
  refused(MR_UNSUPPORTED, [](DLTensor& t) { t.ndim = 7; });
  refused(MR_UNSUPPORTED, [](DLTensor& t) { t.ndim = INT32_MAX; });
  refused(
      MR_INVALID_ARGUMENT, [](DLTensor&) {}, 8);
  CHECK(mr_tensor_from_dlpack(nullptr, 0, &tensor, &type, nullptr, nullptr) == MR_INVALID_ARGUMENT);
  CHECK(std::memcmp(&tensor, &before, sizeof tensor) == 0);
  CHECK(type == 77);
}

TEST_CASE("an owned import is released once, when the caller says so") {
  Produced from;
  from.managed.flags = MR_TENSOR_READ_ONLY | MR_TENSOR_IS_COPIED;
  mr_tensor tensor = MR_TENSOR_INIT;
  MR_OK_OR_FAIL(mr_tensor_import_dlpack(&from.managed, &tensor, nullptr, nullptr, nullptr));
  CHECK(tensor.data == from.data);
  CHECK(tensor.flags == (MR_TENSOR_READ_ONLY | MR_TENSOR_IS_COPIED));
  CHECK(from.deletions == 0);
  mr_dlpack_release(&from.managed);
  CHECK(from.deletions == 1);
  mr_dlpack_release(nullptr);
  from.managed.deleter = nullptr;
  mr_dlpack_release(&from.managed);
}

TEST_CASE("another major version is deleted and nothing else touched; other failures leave it be") {
  mr_tensor tensor = MR_TENSOR_INIT;
  for (const uint32_t major : {0u, 2u, 0xffffffffu}) {
    Produced from;
    from.managed.version.major = major;
    from.managed.dl_tensor.shape = reinterpret_cast<int64_t*>(8);  // must not be looked at
    mr_error error = {};
    CHECK(mr_tensor_import_dlpack(&from.managed, &tensor, nullptr, nullptr, &error) ==
          MR_VERSION_MISMATCH);
    CHECK(from.deletions == 1);
  }
  Produced from;
  from.managed.dl_tensor.ndim = 7;
  CHECK(mr_tensor_import_dlpack(&from.managed, &tensor, nullptr, nullptr, nullptr) ==
        MR_UNSUPPORTED);
  CHECK(mr_tensor_import_dlpack(&from.managed, nullptr, nullptr, nullptr, nullptr) ==
        MR_INVALID_ARGUMENT);
  CHECK(mr_tensor_import_dlpack(nullptr, &tensor, nullptr, nullptr, nullptr) ==
        MR_INVALID_ARGUMENT);
  CHECK(from.deletions == 0);
  CHECK(tensor.rank == 0);
}

TEST_CASE("a borrowed export fills the caller's arrays") {
  float data[24];
  mr_tensor tensor = packed(data, MR_F32, {2, 3, 4});
  tensor.strides[0] = -12;
  DLTensor out = {};
  int64_t shape[MR_MAX_RANK] = {}, strides[MR_MAX_RANK] = {};
  MR_OK_OR_FAIL(mr_tensor_to_dlpack(&tensor, 2, 1, &out, shape, strides, nullptr));
  CHECK(out.data == data);
  CHECK(out.device.device_type == 2);
  CHECK(out.device.device_id == 1);
  CHECK(out.ndim == 3);
  CHECK(out.dtype.code == 2);
  CHECK(out.dtype.bits == 32);
  CHECK(out.dtype.lanes == 1);
  CHECK(out.shape == shape);
  CHECK(out.strides == strides);
  CHECK(strides[0] == -12);
  CHECK(out.byte_offset == 0);
  tensor.rank = 7;
  CHECK(mr_tensor_to_dlpack(&tensor, 1, 0, &out, shape, strides, nullptr) == MR_INVALID_ARGUMENT);
  tensor.rank = 3;
  tensor.flags = 8;
  CHECK(mr_tensor_to_dlpack(&tensor, 1, 0, &out, shape, strides, nullptr) == MR_INVALID_ARGUMENT);
  tensor.flags = 0;
  CHECK(mr_tensor_to_dlpack(&tensor, 1, 0, nullptr, shape, strides, nullptr) ==
        MR_INVALID_ARGUMENT);
  CHECK(mr_tensor_to_dlpack(&tensor, 1, 0, &out, nullptr, strides, nullptr) == MR_INVALID_ARGUMENT);
  CHECK(mr_tensor_to_dlpack(&tensor, 1, 0, &out, shape, nullptr, nullptr) == MR_INVALID_ARGUMENT);
  CHECK(mr_tensor_to_dlpack(nullptr, 1, 0, &out, shape, strides, nullptr) == MR_INVALID_ARGUMENT);
}

TEST_CASE("an owned export keeps its buffer until the deleter has run, on whatever thread") {
  both_modes([](Engine& engine) {
    const mr_memory_stats before = test::stats_of(engine.memory);
    void* exported = nullptr;
    {
      Bytes buffer(engine.a, 2 * kMiB);
      buffer.fill(6);
      mr_tensor tensor = packed(buffer.data + 16, MR_F32, {2, 4});
      tensor.flags = MR_TENSOR_READ_ONLY;
      MR_OK_OR_FAIL(mr_tensor_export_dlpack(&tensor, buffer.handle, &exported, nullptr));
      MR_OK_OR_FAIL(mr_stream_synchronize(engine.a, nullptr));
    }
    CHECK(test::stats_of(engine.memory).allocated.current == before.allocated.current + 2 * kMiB);
    auto* managed = static_cast<DLManagedTensorVersioned*>(exported);
    CHECK(managed->version.major == 1);
    CHECK(managed->version.minor == 0);
    CHECK(managed->flags == MR_TENSOR_READ_ONLY);
    CHECK(managed->dl_tensor.device.device_type == 1);
    CHECK(managed->dl_tensor.ndim == 2);
    CHECK(managed->dl_tensor.shape[1] == 4);
    CHECK(managed->dl_tensor.strides[0] == 4);
    CHECK(static_cast<unsigned char*>(managed->dl_tensor.data)[0] == 6);
    mr_tensor back = MR_TENSOR_INIT;
    MR_OK_OR_FAIL(mr_tensor_import_dlpack(managed, &back, nullptr, nullptr, nullptr));
    CHECK(back.data == managed->dl_tensor.data);
    std::thread([&] { mr_dlpack_release(managed); }).join();
    CHECK(test::stats_of(engine.memory).allocated.current == before.allocated.current);
  });
}

TEST_CASE("an export must lie within the buffer: to the byte, whatever the strides") {
  Engine engine;
  Bytes buffer(engine.a, 64);
  const auto status = [&](const mr_tensor& tensor) {
    void* exported = nullptr;
    mr_error error = {};
    const mr_status code = mr_tensor_export_dlpack(&tensor, buffer.handle, &exported, &error);
    CHECK((exported != nullptr) == (code == MR_OK));
    if (code != MR_OK) CHECK(std::string(error.text).find("tensor") == 0);
    mr_dlpack_release(exported);
    return code;
  };
  CHECK(status(packed(buffer.data, MR_F32, {16})) == MR_OK);
  CHECK(status(packed(buffer.data, MR_F32, {17})) == MR_INVALID_ARGUMENT);
  CHECK(status(packed(buffer.data + 4, MR_F32, {15})) == MR_OK);
  CHECK(status(packed(buffer.data + 4, MR_F32, {16})) == MR_INVALID_ARGUMENT);
  CHECK(status(packed(buffer.data - 4, MR_F32, {1})) == MR_INVALID_ARGUMENT);
  CHECK(status(packed(buffer.data + 60, MR_F32, {})) == MR_OK);
  CHECK(status(packed(buffer.data + 64, MR_F32, {})) == MR_INVALID_ARGUMENT);
  CHECK(status(packed(nullptr, MR_F32, {4})) == MR_INVALID_ARGUMENT);
  CHECK(status(packed(nullptr, MR_F32, {4, 0})) == MR_OK);  // empty
  CHECK(status(packed(buffer.data, MR_DTYPE(9, 9, 1), {4})) == MR_INVALID_ARGUMENT);

  mr_tensor tensor = packed(buffer.data + 60, MR_F32, {16});
  tensor.strides[0] = -1;
  CHECK(status(tensor) == MR_OK);
  tensor.shape[0] = 17;
  CHECK(status(tensor) == MR_INVALID_ARGUMENT);
  tensor.shape[0] = 2;
  for (const int64_t stride :
       {INT64_MIN, INT64_MAX, INT64_MIN / 4, INT64_MAX / 4, int64_t{1} << 40}) {
    tensor.strides[0] = stride;
    CHECK(status(tensor) == MR_INVALID_ARGUMENT);
  }
  tensor.strides[0] = 0;
  tensor.shape[0] = INT64_MAX;  // broadcast
  CHECK(status(tensor) == MR_OK);
  tensor.shape[0] = -1;
  CHECK(status(tensor) == MR_INVALID_ARGUMENT);
  for (const uintptr_t far : {uintptr_t{0}, uintptr_t{4}, UINTPTR_MAX - 3, UINTPTR_MAX / 2}) {
    CHECK(status(packed(reinterpret_cast<void*>(far), MR_F32, {1})) == MR_INVALID_ARGUMENT);
  }
  tensor = packed(nullptr, MR_F32, {0, 4});
  tensor.shape[1] = -4;
  CHECK(status(tensor) == MR_INVALID_ARGUMENT);
  Bytes nothing(engine.a, 0);
  void* exported = nullptr;
  tensor = packed(nullptr, MR_F32, {1});
  CHECK(mr_tensor_export_dlpack(&tensor, nothing.handle, &exported, nullptr) ==
        MR_INVALID_ARGUMENT);
}

TEST_CASE("pack: strides, and every size that does not fit") {
  mr_tensor tensor = packed(nullptr, MR_F16, {2, 3, 4, 5, 6, 7});
  CHECK(tensor.rank == 6);
  CHECK(tensor.strides[0] == 2520);
  CHECK(tensor.strides[5] == 1);
  CHECK(packed(nullptr, MR_F16, {3, 0, 5}).shape[1] == 0);
  const mr_tensor before = tensor;
  const auto refused = [&](mr_dtype dtype, int32_t rank, std::initializer_list<int64_t> shape) {
    CHECK(mr_tensor_pack(nullptr, dtype, rank, shape.begin(), &tensor, nullptr) ==
          MR_INVALID_ARGUMENT);
  };
  refused(MR_F32, -1, {1});
  refused(MR_F32, 7, {1, 1, 1, 1, 1, 1, 1});
  refused(MR_F32, 2, {4, -1});
  refused(MR_F32, 1, {INT64_MIN});
  refused(MR_F32, 1, {int64_t{1} << 61});
  refused(MR_F32, 2, {int64_t{1} << 33, int64_t{1} << 33});
  CHECK(mr_tensor_pack(nullptr, MR_F32, 1, nullptr, &tensor, nullptr) == MR_INVALID_ARGUMENT);
  CHECK(std::memcmp(&tensor, &before, sizeof tensor) == 0);
  CHECK(packed(nullptr, MR_F32, {(int64_t{1} << 61) - 1}).shape[0] == (int64_t{1} << 61) - 1);
  const int64_t one = 1;
  CHECK(mr_tensor_pack(nullptr, MR_F32, 1, &one, nullptr, nullptr) == MR_INVALID_ARGUMENT);
  CHECK(mr_tensor_pack(nullptr, MR_F32, 0, nullptr, &tensor, nullptr) == MR_OK);
}
