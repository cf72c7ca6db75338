// Tensor descriptions and DLPack. The structs below mirror DLPack 1.x (dmlc/dlpack, dlpack.h),
// whose layout is stable by its own promise; the field names are its.
#include <cstdlib>

#include "api/guard.h"
#include "core/checked.h"
#include "core/dtype.h"
#include "millrace/millrace.h"
#include "runtime/buffer_state.h"

namespace {

struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};

struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  uint32_t dtype;  // code, bits, lanes: the bytes of an mr_dtype
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};

struct DLManagedTensorVersioned {
  uint32_t major;
  uint32_t minor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};

static_assert(sizeof(void*) != 8 || sizeof(DLTensor) == 48);
static_assert(sizeof(void*) != 8 || sizeof(DLManagedTensorVersioned) == 80);

using mr::Status;
using mr::api::check_out;
using mr::api::guard;

constexpr uint64_t kKnownFlags =
    MR_TENSOR_READ_ONLY | MR_TENSOR_IS_COPIED | MR_TENSOR_SUBBYTE_PADDED;

// Row-major strides; false if the elements or their bytes reach 2^63.
bool pack_strides(mr_dtype dtype, int32_t rank, const int64_t* shape, int64_t* strides) {
  const int64_t bits = static_cast<int64_t>((dtype >> 8) & 0xffu) * ((dtype >> 16) & 0xffffu);
  int64_t step = 1, bytes = (bits + 7) / 8;
  for (int32_t d = rank - 1; d >= 0; --d) {
    strides[d] = step;
    const int64_t extent = shape[d] == 0 ? 1 : shape[d];
    if (!mr::checked_mul(step, extent, &step) || !mr::checked_mul(bytes, extent, &bytes)) {
      return false;
    }
  }
  return true;
}

Status pack(void* data, mr_dtype dtype, int32_t rank, const int64_t* shape, mr_tensor* out) {
  if (rank < 0 || rank > MR_MAX_RANK)
    return mr::invalid("rank", "is out of range", rank, MR_MAX_RANK);
  if (rank > 0 && shape == nullptr) return mr::invalid("shape", "is NULL");
  mr_tensor tensor = MR_TENSOR_INIT;
  for (int32_t d = 0; d < rank; ++d) {
    if (shape[d] < 0) return mr::invalid("shape", "has a negative extent", shape[d], 0);
    tensor.shape[d] = shape[d];
  }
  if (!pack_strides(dtype, rank, shape, tensor.strides)) {
    return mr::invalid("shape", "spans 2^63 bytes or more");
  }
  tensor.data = data;
  tensor.dtype = dtype;
  tensor.rank = rank;
  *out = tensor;
  return {};
}

Status import(const DLTensor& from, uint64_t flags, mr_tensor* out) {
  if (from.ndim < 0) return mr::invalid("dl_tensor", "has a negative rank", from.ndim, 0);
  if (from.ndim > MR_MAX_RANK) {
    return mr::unsupported("has more dimensions than an mr_tensor holds")
        .about("dl_tensor")
        .got(from.ndim)
        .wanted(MR_MAX_RANK);
  }
  if ((flags & ~kKnownFlags) != 0) {
    return mr::invalid("flags", "holds unknown bits", static_cast<int64_t>(flags));
  }
  auto address = reinterpret_cast<uintptr_t>(from.data);
  if (address != 0 && !mr::checked_add(address, uintptr_t{from.byte_offset}, &address)) {
    return mr::invalid("dl_tensor", "has a byte_offset that leaves the address space");
  }
  mr_tensor tensor = MR_TENSOR_INIT;
  MR_TRY(pack(reinterpret_cast<void*>(address), from.dtype, from.ndim, from.shape, &tensor));
  if (from.strides != nullptr && from.ndim > 0) {
    std::copy_n(from.strides, from.ndim, tensor.strides);
  }
  tensor.flags = flags;
  *out = tensor;
  return {};
}

void write_device(const DLTensor& from, int32_t* out_type, int32_t* out_id) {
  if (out_type != nullptr) *out_type = from.device.device_type;
  if (out_id != nullptr) *out_id = from.device.device_id;
}

// The exported tensor with what it points to, in one allocation.
struct Export {
  DLManagedTensorVersioned managed;
  int64_t shape[MR_MAX_RANK];
  int64_t strides[MR_MAX_RANK];
  mr_buffer* buffer;
};

void delete_export(DLManagedTensorVersioned* self) {
  auto* exported = static_cast<Export*>(self->manager_ctx);
  exported->buffer->release();
  delete exported;
}

void fill_dl_tensor(const mr_tensor& tensor, DLDevice device, int64_t* shape, int64_t* strides,
                    DLTensor* out) {
  std::copy_n(tensor.shape, tensor.rank, shape);
  std::copy_n(tensor.strides, tensor.rank, strides);
  *out = {tensor.data, device, tensor.rank, tensor.dtype, shape, strides, 0};
}

Status check_description(const mr_tensor* tensor) {
  MR_TRY(check_out(tensor, "tensor"));
  if (tensor->rank < 0 || tensor->rank > MR_MAX_RANK) {
    return mr::invalid("tensor", "has a rank out of range", tensor->rank, MR_MAX_RANK);
  }
  if ((tensor->flags & ~kKnownFlags) != 0) {
    return mr::invalid("tensor", "has unknown flags", static_cast<int64_t>(tensor->flags));
  }
  return {};
}

// The bytes before and behind the element at index 0 that the tensor reaches; none if it is empty.
Status reach_of(const mr_tensor& tensor, int64_t* before, int64_t* behind) {
  const int64_t size = mr::dtype_bytes(tensor.dtype);
  if (size == 0)
    return mr::invalid("tensor", "has a dtype that the library does not know", tensor.dtype);
  *before = *behind = 0;
  bool empty = false;
  int64_t low = 0, high = size;
  for (int32_t d = 0; d < tensor.rank; ++d) {
    const int64_t extent = tensor.shape[d];
    if (extent < 0) return mr::invalid("tensor", "has a negative extent", extent, 0);
    empty = empty || extent == 0;
  }
  if (empty) return {};
  for (int32_t d = 0; d < tensor.rank; ++d) {
    int64_t step = 0;
    if (!mr::checked_mul(tensor.shape[d] - 1, tensor.strides[d], &step) ||
        !mr::checked_mul(step, size, &step) ||
        !mr::checked_add(step < 0 ? low : high, step, step < 0 ? &low : &high) ||
        low == INT64_MIN) {
      return mr::invalid("tensor", "spans 2^63 bytes or more");
    }
  }
  *before = -low;
  *behind = high;
  return {};
}

// Every element must lie within the buffer.
Status check_within(const mr_tensor& tensor, const mr_buffer& buffer) {
  int64_t before = 0, behind = 0;
  MR_TRY(reach_of(tensor, &before, &behind));
  if (behind == 0) return {};
  const auto base = reinterpret_cast<uintptr_t>(buffer.data());
  const auto data = reinterpret_cast<uintptr_t>(tensor.data);
  if (base == 0 || data < base || data - base > buffer.bytes() ||
      static_cast<uint64_t>(before) > data - base ||
      static_cast<uint64_t>(behind) > buffer.bytes() - (data - base)) {
    return mr::invalid("tensor", "does not lie within the buffer of this many bytes",
                       static_cast<int64_t>(buffer.bytes()));
  }
  return {};
}

}  // namespace

mr_status mr_tensor_pack(void* data, mr_dtype dtype, int32_t rank, const int64_t* shape,
                         mr_tensor* out, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_out(out, "out"));
    return pack(data, dtype, rank, shape, out);
  });
}

mr_status mr_tensor_from_dlpack(const void* dl_tensor, uint64_t flags, mr_tensor* out,
                                int32_t* out_device_type, int32_t* out_device_id,
                                mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_out(dl_tensor, "dl_tensor"));
    MR_TRY(check_out(out, "out"));
    const auto& from = *static_cast<const DLTensor*>(dl_tensor);
    MR_TRY(import(from, flags, out));
    write_device(from, out_device_type, out_device_id);
    return {};
  });
}

mr_status mr_tensor_import_dlpack(void* dl_managed, mr_tensor* out, int32_t* out_device_type,
                                  int32_t* out_device_id, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_out(dl_managed, "dl_managed"));
    MR_TRY(check_out(out, "out"));
    auto* managed = static_cast<DLManagedTensorVersioned*>(dl_managed);
    if (managed->major != 1) {
      const Status mismatch = mr::error(MR_VERSION_MISMATCH, "has another major version of DLPack")
                                  .about("dl_managed")
                                  .got(managed->major)
                                  .wanted(1);
      if (managed->deleter != nullptr) managed->deleter(managed);
      return mismatch;
    }
    MR_TRY(import(managed->dl_tensor, managed->flags & kKnownFlags, out));
    write_device(managed->dl_tensor, out_device_type, out_device_id);
    return {};
  });
}

void mr_dlpack_release(void* dl_managed) noexcept {
  auto* managed = static_cast<DLManagedTensorVersioned*>(dl_managed);
  if (managed != nullptr && managed->deleter != nullptr) managed->deleter(managed);
}

mr_status mr_tensor_to_dlpack(const mr_tensor* tensor, int32_t device_type, int32_t device_id,
                              void* out_dl_tensor, int64_t* shape, int64_t* strides,
                              mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_description(tensor));
    MR_TRY(check_out(out_dl_tensor, "out_dl_tensor"));
    MR_TRY(check_out(shape, "shape"));
    MR_TRY(check_out(strides, "strides"));
    fill_dl_tensor(*tensor, {device_type, device_id}, shape, strides,
                   static_cast<DLTensor*>(out_dl_tensor));
    return {};
  });
}

mr_status mr_tensor_export_dlpack(const mr_tensor* tensor, mr_buffer* buffer, void** out_dl_managed,
                                  mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_description(tensor));
    MR_TRY(mr::api::check_handle(buffer, mr::ObjectKind::kBuffer, "buffer"));
    MR_TRY(check_out(out_dl_managed, "out_dl_managed"));
    MR_TRY(check_within(*tensor, *buffer));
    constexpr int32_t kCpu = 1, kCuda = 2, kCudaHost = 3;
    const mr_context& context = buffer->context();
    const bool cuda = context.backend().kind() == MR_BACKEND_CUDA;
    const int32_t device_type = !cuda ? kCpu : buffer->is_pinned() ? kCudaHost : kCuda;
    auto* exported = new Export{};
    buffer->retain();
    exported->buffer = buffer;
    exported->managed = {1, 0, exported, delete_export, tensor->flags, {}};
    fill_dl_tensor(*tensor, {device_type, cuda ? context.device() : 0}, exported->shape,
                   exported->strides, &exported->managed.dl_tensor);
    *out_dl_managed = &exported->managed;
    return {};
  });
}
