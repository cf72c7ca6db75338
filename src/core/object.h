// Reference-counted objects behind the C handles.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace mr {

// How often this process is the child of a fork that happened after the library was loaded: an
// object made under another generation must not touch a device or a thread any more. Counted by
// object.cpp alone; a variable, because every call of the interface reads it.
extern std::atomic<uint32_t> fork_count;
inline uint32_t fork_generation() { return fork_count.load(std::memory_order_relaxed); }

enum class ObjectKind : uint32_t {
  kMemory = 0x6d656d31,
  kContext,
  kStream,
  kEvent,
  kBuffer,
  kGraph,
  kGraphPool,
  kRing,
  kMatmulPlan,
};

class Object {
 public:
  explicit Object(ObjectKind kind) : kind_(kind), generation_(fork_generation()) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  ObjectKind kind() const { return kind_; }
  bool forked() const { return generation_ != fork_generation(); }

  // Gives up one reference from a place where the object's destructor must not run, such as a
  // driver's callback: it runs in the next release_due(). Never allocates.
  void release_later();
  // Drops the references that release_later() set aside, on this thread.
  static void release_due();

  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 protected:
  virtual ~Object() = default;

 private:
  const ObjectKind kind_;
  const uint32_t generation_;
  std::atomic<uint32_t> references_{1};
  std::atomic<uint32_t> owed_{0};  // references that release_later() gave up
  Object* next_due_ = nullptr;
};

// Holds one reference.
template <class T>
class Ref {
 public:
  Ref() = default;
  static Ref share(T* object) {
    if (object != nullptr) object->retain();
    return take(object);
  }
  static Ref take(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  Ref(const Ref& other) : Ref(share(other.object_)) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->release();
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  T* give() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

}  // namespace mr
