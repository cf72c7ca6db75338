// From the address of a live allocation to its record, without ever reading memory at the address.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace mr {

// A hash table chained through its nodes, so that insert and remove cannot fail: when the host has
// no memory for more buckets, the chains just get longer. Node has `address` and `Node*
// next_in_bucket`.
template <class Node>
class AddressIndex {
 public:
  size_t size() const { return size_; }

  Node* find(const void* address) const noexcept {
    Node* node = buckets_[bucket_of(address)];
    while (node != nullptr && node->address != address) node = node->next_in_bucket;
    return node;
  }

  void insert(Node& node) noexcept {
    if (size_ >= count_) grow();
    link(node);
    ++size_;
  }

  void remove(Node& node) noexcept {
    Node** at = &buckets_[bucket_of(node.address)];
    while (*at != &node) at = &(*at)->next_in_bucket;
    *at = node.next_in_bucket;
    node.next_in_bucket = nullptr;
    --size_;
  }

  // Calls visit(node) for each node, in no order; visit may destroy the node but not touch the
  // index.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (size_t i = 0; i < count_; ++i) {
      for (Node* node = buckets_[i]; node != nullptr;) {
        Node* next = node->next_in_bucket;
        visit(*node);
        node = next;
      }
    }
  }

 private:
  static constexpr size_t kFirst = 16;

  // Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, 6.4): addresses differ
  // above their low 8 bits only.
  size_t bucket_of(const void* address) const noexcept {
    const uint64_t hash = (reinterpret_cast<uintptr_t>(address) >> 8) * 0x9e3779b97f4a7c15u;
    return static_cast<size_t>(hash >> 32) & (count_ - 1);
  }

  void link(Node& node) noexcept {
    Node*& head = buckets_[bucket_of(node.address)];
    node.next_in_bucket = head;
    head = &node;
  }

  void grow() noexcept {
    const size_t old_count = count_;
    std::unique_ptr<Node*[]> more(new (std::nothrow) Node*[old_count * 2]());
    if (more == nullptr) return;
    Node** const old = buckets_;
    buckets_ = more.get();
    count_ = old_count * 2;
    for (size_t i = 0; i < old_count; ++i) {
      for (Node* node = old[i]; node != nullptr;) {
        Node* next = node->next_in_bucket;
        link(*node);
        node = next;
      }
    }
    owned_ = std::move(more);
  }

  Node* inline_[kFirst] = {};
  std::unique_ptr<Node*[]> owned_;
  Node** buckets_ = inline_;
  size_t count_ = kFirst;
  size_t size_ = 0;
};

}  // namespace mr
