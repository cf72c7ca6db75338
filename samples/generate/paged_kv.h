// The keys and values of all sequences, in pages of a fixed number of tokens.

#pragma once

#include <cstdint>
#include <vector>

#include <millrace.hpp>

#include "model_config.h"

namespace generate {

inline constexpr std::int32_t kPageSize = 16;

/// The pages that one sequence holds, in the order of its tokens.
struct PageList {
  std::vector<std::int32_t> pages;
  std::int32_t length = 0;  // tokens stored
};

class PagedKv {
 public:
  /// Room for `tokens` tokens, rounded up to whole pages, for each of the model's layers.
  PagedKv(const millrace::Stream& stream, const ModelConfig& config, mr_dtype dtype,
          std::int64_t tokens);

  /// Makes room for `tokens` more behind the list's length. False, with nothing changed, if too few
  /// pages are free.
  bool extend(PageList& list, std::int32_t tokens);
  void release(PageList& list);
  std::int64_t free_pages() const { return static_cast<std::int64_t>(free_.size()); }
  std::int64_t pages() const { return pages_; }

  /// Where token `position` of the list is stored.
  static std::int64_t slot(const PageList& list, std::int32_t position) {
    const auto page = static_cast<std::size_t>(position / kPageSize);
    return std::int64_t{list.pages[page]} * kPageSize + position % kPageSize;
  }

  millrace::Tensor keys(std::int32_t layer) const;    // [pages, kPageSize, kv_heads, head_dim]
  millrace::Tensor values(std::int32_t layer) const;  // the same

 private:
  millrace::Tensor half(std::int32_t layer, std::int64_t which) const;

  std::int64_t pages_;
  millrace::Tensor all_;  // [layers, 2, pages, kPageSize, kv_heads, head_dim]
  millrace::Buffer buffer_;
  std::vector<std::int32_t> free_;
};

}  // namespace generate
