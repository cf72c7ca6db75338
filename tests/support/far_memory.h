// Address space without memory behind it: elements more than 2^31 or 2^32 apart cost two pages
// each.
#pragma once

#include <sys/mman.h>

#include <cstdint>

#include "support/op_test.h"

namespace test {

class FarMemory {
 public:
  explicit FarMemory(uint64_t bytes) : bytes_(bytes) {
    void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE_MESSAGE(address != MAP_FAILED, "no address space of " << bytes << " bytes");
    data_ = static_cast<char*>(address);
  }
  ~FarMemory() { munmap(data_, bytes_); }
  FarMemory(const FarMemory&) = delete;
  FarMemory& operator=(const FarMemory&) = delete;

  // Describes `rank` dimensions with the given strides from `first_element` on.
  mr_tensor view(mr_dtype dtype, std::initializer_list<int64_t> shape,
                 std::initializer_list<int64_t> strides, int64_t first_element = 0) {
    mr_tensor t = MR_TENSOR_INIT;
    t.data = data_ + first_element * dtype_size(dtype);
    t.dtype = dtype;
    t.rank = static_cast<int32_t>(shape.size());
    for (int32_t d = 0; d < t.rank; ++d) {
      t.shape[d] = shape.begin()[d];
      t.strides[d] = strides.begin()[d];
    }
    return t;
  }
  void set(mr_dtype dtype, int64_t element, double value) {
    store(dtype, data_ + element * dtype_size(dtype), value);
  }
  double get(mr_dtype dtype, int64_t element) const {
    return load(dtype, data_ + element * dtype_size(dtype));
  }

 private:
  uint64_t bytes_;
  char* data_ = nullptr;
};

}  // namespace test
