#include "paged_kv.h"

#include <numeric>

namespace generate {

PagedKv::PagedKv(const millrace::Stream& stream, const ModelConfig& config, mr_dtype dtype,
                 std::int64_t tokens)
    : pages_((tokens + kPageSize - 1) / kPageSize), free_(static_cast<std::size_t>(pages_)) {
  const std::vector<std::int64_t> shape = {config.layers,  2, pages_, kPageSize, config.kv_heads,
                                           config.head_dim};
  const millrace::Tensor unplaced(static_cast<void*>(nullptr), dtype, shape);
  buffer_ = millrace::Buffer(stream, static_cast<std::uint64_t>(unplaced.bytes()), MR_TAG_KV);
  all_ = buffer_.tensor(dtype, shape);
  std::iota(free_.rbegin(), free_.rend(), 0);  // page 0 is handed out first
}

bool PagedKv::extend(PageList& list, std::int32_t tokens) {
  const auto needed = static_cast<std::size_t>((list.length + tokens + kPageSize - 1) / kPageSize);
  if (needed > list.pages.size() + free_.size()) return false;
  while (list.pages.size() < needed) {
    list.pages.push_back(free_.back());
    free_.pop_back();
  }
  return true;
}

void PagedKv::release(PageList& list) {
  free_.insert(free_.end(), list.pages.rbegin(), list.pages.rend());
  list = {};
}

millrace::Tensor PagedKv::half(std::int32_t layer, std::int64_t which) const {
  return all_.select(0, layer).select(0, which);
}

millrace::Tensor PagedKv::keys(std::int32_t layer) const { return half(layer, 0); }
millrace::Tensor PagedKv::values(std::int32_t layer) const { return half(layer, 1); }

}  // namespace generate
