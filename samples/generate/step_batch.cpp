#include "step_batch.h"

#include <algorithm>
#include <cstring>

namespace generate {
namespace {

// Each array begins at a multiple of this, so that vector loads of any width are aligned.
constexpr std::size_t kAlign = 64;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

StepBatch::StepBatch(const millrace::Context& context, const millrace::Stream& stream,
                     std::int32_t max_tokens, std::int32_t max_sequences, std::int32_t max_pages)
    : stream_(stream) {
  const auto tokens = static_cast<std::size_t>(max_tokens);
  const auto sequences = static_cast<std::size_t>(max_sequences);
  const std::size_t bytes = 3 * aligned(4 * tokens) + aligned(8 * tokens) +
                            2 * aligned(4 * (sequences + 1)) +
                            aligned(4 * sequences * static_cast<std::size_t>(max_pages));
  for (Half& half : halves_) {
    half.pinned = millrace::Buffer::pinned(stream, bytes);
    half.device = millrace::Buffer(stream, bytes, MR_TAG_ACTIVATIONS);
    half.sent = millrace::Event(context);
  }
}

void StepBatch::clear() {
  ids_.clear();
  positions_.clear();
  slot_.clear();
  cu_q_.assign(1, 0);
  kv_len_.clear();
  output_rows_.clear();
  pages_.clear();
}

void StepBatch::add(const PageList& list, std::span<const std::int32_t> ids, bool all_outputs) {
  const auto count = static_cast<std::int32_t>(ids.size());
  for (std::int32_t i = 0; i < count; ++i) {
    ids_.push_back(ids[static_cast<std::size_t>(i)]);
    positions_.push_back(list.length + i);
    slot_.push_back(PagedKv::slot(list, list.length + i));
    if (all_outputs || i + 1 == count) output_rows_.push_back(tokens() - 1);
  }
  cu_q_.push_back(tokens());
  kv_len_.push_back(list.length + count);
  pages_.push_back(list.pages);
}

template <class T>
millrace::Tensor StepBatch::place(Half& half, std::size_t& offset, const std::vector<T>& values,
                                  std::vector<std::int64_t> shape) {
  const std::size_t bytes = values.size() * sizeof(T);
  if (bytes > 0) std::memcpy(half.pinned.data_as<char>() + offset, values.data(), bytes);
  const millrace::Tensor tensor = half.device.tensor(millrace::dtype_of<T>(), shape, offset);
  offset += aligned(bytes);
  return tensor;
}

StepTensors StepBatch::send() {
  Half& half = halves_[turn_];
  turn_ = 1 - turn_;
  half.sent.synchronize();  // the copy of two steps ago has read the pinned half

  std::size_t most_pages = 1;
  for (const auto& pages : pages_) most_pages = std::max(most_pages, pages.size());
  std::vector<std::int32_t> table;
  for (const auto& pages : pages_) {
    table.insert(table.end(), pages.begin(), pages.end());
    table.resize(table.size() + most_pages - pages.size(), -1);
  }

  std::size_t used = 0;
  StepTensors out;
  out.ids = place(half, used, ids_, {tokens()});
  out.positions = place(half, used, positions_, {tokens()});
  out.slot = place(half, used, slot_, {tokens()});
  out.cu_q = place(half, used, cu_q_, {sequences() + 1});
  out.kv_len = place(half, used, kv_len_, {sequences()});
  out.block_table = place(half, used, table, {sequences(), static_cast<std::int64_t>(most_pages)});
  out.output_rows = place(half, used, output_rows_, {outputs()});
  stream_.copy(half.device.data(), half.pinned.data(), used, MR_COPY_TO_DEVICE);
  stream_.record(half.sent);
  return out;
}

}  // namespace generate
