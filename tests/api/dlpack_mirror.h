// DLPack 1.x as its specification declares it, written out here because the interface names it by
// void pointers alone.
#pragma once

#include <cstdint>

namespace test {

struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct DLTensor {
  void* data;
  struct {
    int32_t device_type;
    int32_t device_id;
  } device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};

struct DLManagedTensorVersioned {
  struct {
    uint32_t major;
    uint32_t minor;
  } version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor dl_tensor;
};

// A producer's tensor, [2, 3, 4] floats, that counts its deletions.
struct Produced {
  DLManagedTensorVersioned managed = {};
  int64_t shape[8] = {2, 3, 4};
  int64_t strides[8] = {12, 4, 1};
  float data[64] = {};
  int deletions = 0;

  Produced() {
    managed.version = {1, 3};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensorVersioned* self) {
      ++static_cast<Produced*>(self->manager_ctx)->deletions;
    };
    managed.dl_tensor = {data, {1, 0}, 3, {2, 32, 1}, shape, strides, 0};
  }
  Produced(const Produced&) = delete;
  Produced& operator=(const Produced&) = delete;
};

}  // namespace test
