// A list through links inside its items: adding and removing cannot fail.
#pragma once

namespace mr {

// T has `T* earlier` and `T* later`. An item is in at most one chain at a time; the chain owns
// nothing.
template <class T>
class Chain {
 public:
  bool empty() const { return first_ == nullptr; }
  T* first() const { return first_; }
  T* last() const { return last_; }

  void push_back(T& item) noexcept {
    item.earlier = last_;
    item.later = nullptr;
    (last_ != nullptr ? last_->later : first_) = &item;
    last_ = &item;
  }

  void remove(T& item) noexcept {
    (item.earlier != nullptr ? item.earlier->later : first_) = item.later;
    (item.later != nullptr ? item.later->earlier : last_) = item.earlier;
    item.earlier = item.later = nullptr;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace mr
