// What every exported function does before and after its work: no exception leaves, handles and
// structs are checked, and the outcome is reported once.
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>

#include "core/object.h"
#include "core/result.h"

namespace mr::api {

// Runs `body` (returning Status) and reports its outcome; exceptions become statuses.
template <class Body>
mr_status guard(mr_error* err, Body&& body) noexcept {
  try {
    return report(body(), err);
  } catch (const std::bad_alloc&) {
    return report(error(MR_OUT_OF_HOST_MEMORY, "the host has no memory left"), err);
  } catch (const std::exception& failure) {
    return report(error(MR_INTERNAL, "an exception reached the interface").say(failure.what()),
                  err);
  } catch (...) {
    return report(error(MR_INTERNAL, "an unknown exception reached the interface"), err);
  }
}

// A handle that the call needs: given, of the right kind, and of this process.
inline Status check_handle(const Object* handle, ObjectKind kind, const char* name) {
  if (handle == nullptr) return invalid(name, "is NULL");
  if (handle->kind() != kind) return invalid(name, "is a handle of another kind");
  if (handle->forked()) return error(MR_FORKED, "the handle was made before fork()").about(name);
  return {};
}

inline Status check_out(const void* out, const char* name) {
  if (out == nullptr) return invalid(name, "is NULL");
  return {};
}

template <class T>
void release(T* handle, ObjectKind kind) noexcept {
  if (handle != nullptr && handle->kind() == kind) handle->release();
}

template <class T>
void retain(T* handle, ObjectKind kind) noexcept {
  if (handle != nullptr && handle->kind() == kind) handle->retain();
}

// No struct of the interface comes near this size: a larger one was never initialised.
inline constexpr uint32_t kMaxStruct = 1u << 16;

// Copies a struct that the caller filled. A shorter one leaves the missing fields zero; a longer
// one must end in zeros, because the library would ignore what it does not know.
template <class T>
Status read_struct(const T* from, const char* name, T* out) {
  if (from == nullptr) return invalid(name, "is NULL");
  const uint32_t size = from->struct_size;
  constexpr uint32_t kHead = 2 * sizeof(uint32_t);  // struct_size, flags
  if (size < kHead || size > kMaxStruct) {
    return invalid(name, "has a struct_size that no version of the struct had", size, sizeof(T));
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  for (uint32_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != 0) {
      return unsupported(
                 "uses a field that this version of the library does not know, at this byte")
          .about(name)
          .got(i)
          .wanted(sizeof(T));
    }
  }
  std::memset(static_cast<void*>(out), 0, sizeof(T));
  std::memcpy(static_cast<void*>(out), from, std::min<size_t>(size, sizeof(T)));
  return {};
}

// Fills a caller's struct up to the size that it announced; what lies beyond ours becomes zero.
template <class T>
Status check_out_struct(const T* out, const char* name) {
  if (out == nullptr) return invalid(name, "is NULL");
  if (out->struct_size < 2 * sizeof(uint32_t) || out->struct_size > kMaxStruct) {
    return invalid(name, "has a struct_size that no version of the struct had", out->struct_size,
                   sizeof(T));
  }
  return {};
}

template <class T>
void write_struct(T from, T* out) {
  const uint32_t size = out->struct_size;
  from.struct_size = size;
  std::memset(static_cast<void*>(out), 0, size);
  std::memcpy(static_cast<void*>(out), &from, std::min<size_t>(size, sizeof(T)));
}

// NUL-terminated text into the caller's bytes, truncated; the full length goes to out_length.
inline Status write_text(const char* text, char* out, uint64_t capacity, uint64_t* out_length) {
  if (out == nullptr && capacity != 0) return invalid("out", "is NULL");
  const size_t length = std::strlen(text);
  if (out_length != nullptr) *out_length = length;
  if (capacity == 0) return {};
  const size_t take = std::min<size_t>(length, static_cast<size_t>(capacity) - 1);
  std::memcpy(out, text, take);
  out[take] = '\0';
  return {};
}

}  // namespace mr::api
