// Free blocks by size class, found in constant time: a bit for each class that has any, and a bit
// for each row of classes.
#pragma once

#include <bit>
#include <cstdint>

#include "memory/size_class.h"

namespace mr {

// T has `char* address`, `uint64_t bytes`, `T* earlier` and `T* later`. An item is in at most one
// bin at a time, and in no Chain meanwhile; the bins own nothing. The latest comes first: it is the
// one whose memory the device's caches may still hold. Rows: how many of the rows of classes there
// are; larger items do not go in.
template <class T, uint32_t Rows = kRows>
class FreeBins {
 public:
  bool empty() const { return rows_ == 0; }

  void insert(T& item) noexcept {
    const uint32_t at = class_of(item.bytes);
    T*& head = heads_[at];
    item.earlier = nullptr;
    item.later = head;
    if (head != nullptr) {
      head->earlier = &item;
    } else {
      bits_[at / kStepsPerRow] |= uint64_t{1} << (at % kStepsPerRow);
      rows_ |= uint64_t{1} << (at / kStepsPerRow);
    }
    head = &item;
  }

  void remove(T& item) noexcept {
    if (item.later != nullptr) item.later->earlier = item.earlier;
    if (item.earlier != nullptr) {
      item.earlier->later = item.later;
    } else {
      set_head(class_of(item.bytes), item.later);
    }
    item.earlier = item.later = nullptr;
  }

  // Of exactly this class, taken out; or null.
  T* pop(uint32_t size_class) noexcept {
    T* item = heads_[size_class];
    if (item == nullptr) return nullptr;
    if (item->later != nullptr) item->later->earlier = nullptr;
    set_head(size_class, item->later);
    item->later = nullptr;
    return item;
  }

  // The first in the lowest class from this one on, whose sizes all fit; or null.
  T* first_from(uint32_t size_class) const noexcept {
    const uint32_t row = size_class / kStepsPerRow;
    const uint64_t here = bits_[row] & (~uint64_t{0} << (size_class % kStepsPerRow));
    if (here != 0) return heads_[row * kStepsPerRow + lowest(here)];
    const uint64_t above = row + 1 < Rows ? rows_ & (~uint64_t{0} << (row + 1)) : 0;
    if (above == 0) return nullptr;
    const uint32_t next = lowest(above);
    return heads_[next * kStepsPerRow + lowest(bits_[next])];
  }
  // The same, of the first few classes the item at the lowest address: what lives long gathers at
  // one end then, which leaves the other end whole. Four classes do it, where one does not; more or
  // an exact best fit gain nothing (measured on models of inference, memory_traces.h).
  T* lowest_from(uint32_t size_class) const noexcept {
    T* best = nullptr;
    for (int looked = 0; looked < 4 && size_class < Rows * kStepsPerRow; ++looked) {
      T* item = first_from(size_class);
      if (item == nullptr) break;
      if (best == nullptr || item->address < best->address) best = item;
      size_class = class_of(item->bytes) + 1;
    }
    return best;
  }
  T* any() const noexcept { return first_from(0); }

  // Takes as long as there are items in the highest class that has any.
  T* largest() const noexcept {
    if (rows_ == 0) return nullptr;
    const uint32_t row = highest(rows_);
    T* best = nullptr;
    for (T* item = heads_[row * kStepsPerRow + highest(bits_[row])]; item != nullptr;
         item = item->later) {
      if (best == nullptr || item->bytes > best->bytes) best = item;
    }
    return best;
  }

  // visit(item) may not change the bins.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (uint32_t at = 0; at < Rows * kStepsPerRow; ++at) {
      if (at % kStepsPerRow == 0 && bits_[at / kStepsPerRow] == 0) {
        at += kStepsPerRow - 1;
        continue;
      }
      for (T* item = heads_[at]; item != nullptr; item = item->later) visit(*item);
    }
  }

 private:
  static uint32_t highest(uint64_t bits) {
    return 63u - static_cast<uint32_t>(std::countl_zero(bits));
  }
  static uint32_t lowest(uint64_t bits) { return static_cast<uint32_t>(std::countr_zero(bits)); }

  void set_head(uint32_t at, T* item) noexcept {
    heads_[at] = item;
    if (item != nullptr) return;
    uint64_t& row = bits_[at / kStepsPerRow];
    row &= ~(uint64_t{1} << (at % kStepsPerRow));
    if (row == 0) rows_ &= ~(uint64_t{1} << (at / kStepsPerRow));
  }

  uint64_t rows_ = 0;
  uint64_t bits_[Rows] = {};
  T* heads_[Rows * kStepsPerRow] = {};
};

}  // namespace mr
