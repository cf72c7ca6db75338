// millrace_handle.hpp : errors as exceptions, calls that throw them, and counted handles.
//
// Part of millrace.hpp, which says how the C++ interface is meant; include that.
#ifndef MILLRACE_HANDLE_HPP
#define MILLRACE_HANDLE_HPP

#include <millrace/millrace.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "millrace_structs.hpp"

namespace millrace {

// ---- Errors -------------------------------------------------------------------------------------

// A failed call. what() is the library's sentence with the name of the code in front.
class Error : public std::runtime_error {
 public:
  explicit Error(const mr_error& error)
      : std::runtime_error(std::string(mr_status_name(error.code)) + ": " + error.text),
        code_(error.code),
        domain_(error.domain),
        native_code_(error.native_code),
        flags_(error.flags) {}
  Error(mr_status code, const std::string& text)
      : std::runtime_error(std::string(mr_status_name(code)) + ": " + text), code_(code) {}

  mr_status code() const noexcept { return code_; }              // MR_INVALID_ARGUMENT and so on
  uint32_t domain() const noexcept { return domain_; }           // MR_DOMAIN_...
  int32_t native_code() const noexcept { return native_code_; }  // in that domain
  uint32_t flags() const noexcept { return flags_; }             // MR_ERROR_...
  bool context_lost() const noexcept { return (flags_ & MR_ERROR_CONTEXT_LOST) != 0; }
  bool may_retry() const noexcept { return (flags_ & MR_ERROR_RETRY) != 0; }

 private:
  mr_status code_;
  uint32_t domain_ = MR_DOMAIN_MILLRACE;
  int32_t native_code_ = 0;
  uint32_t flags_ = 0;
};

// Throws unless the status is MR_OK. `error` is what the same call filled in.
inline void check(mr_status status, const mr_error& error) {
  if (status != MR_OK) throw Error(error);
}

// call(mr_function, arguments...) : the function without its trailing mr_error; throws on failure.
// Costs nothing on success: the report is neither cleared nor read.
template <class Function, class... Arguments>
void call(Function function, Arguments... arguments) {
  mr_error error;
  if (function(arguments..., &error) != MR_OK) throw Error(error);
}

// The same for functions that answer MR_NOT_READY: false for that, true for MR_OK.
template <class Function, class... Arguments>
bool call_ready(Function function, Arguments... arguments) {
  mr_error error;
  const mr_status status = function(arguments..., &error);
  if (status == MR_NOT_READY) return false;
  check(status, error);
  return true;
}

// args<mr_rmsnorm_args>() : the struct as its _INIT macro sets it up.
template <class Struct>
Struct args() {
  return Initial<Struct>::value();
}

// read_text(function, arguments...) : the text that function(arguments..., out, capacity, &length,
// &error) writes, however long it is.
template <class Function, class... Arguments>
std::string read_text(Function function, Arguments... arguments) {
  std::string text(128, '\0');
  for (;;) {
    uint64_t length = 0;
    const uint64_t capacity = text.size() + 1;  // the string has room for its NUL
    call(function, arguments..., text.data(), capacity, &length);
    const bool fits = length < capacity;
    text.resize(static_cast<size_t>(length));
    if (fits) return text;
  }
}

// ---- Handles ------------------------------------------------------------------------------------

// A counted reference to a C object, or none. Methods of the classes below may be called on a const
// object: const is about which object is meant, not about the state behind it.
template <class Object, void (*Retain)(Object*), void (*Release)(Object*)>
class Handle {
 public:
  Handle() noexcept = default;
  Handle(const Handle& other) noexcept : object_(other.object_) {
    if (object_ != nullptr) Retain(object_);
  }
  Handle(Handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() { Release(object_); }

  Object* get() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  // Gives the reference up without releasing it.
  Object* detach() noexcept { return std::exchange(object_, nullptr); }

 protected:
  // Takes over one reference.
  explicit Handle(Object* owned) noexcept : object_(owned) {}
  static Object* retained(Object* borrowed) noexcept {
    if (borrowed != nullptr) Retain(borrowed);
    return borrowed;
  }
  // create(function, arguments...) : the handle that function(arguments..., &out, &error) makes.
  template <class Function, class... Arguments>
  static Object* create(Function function, Arguments... arguments) {
    Object* made = nullptr;
    call(function, arguments..., &made);
    return made;
  }

 private:
  Object* object_ = nullptr;
};

}  // namespace millrace

#endif
