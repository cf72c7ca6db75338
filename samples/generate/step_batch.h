// What one forward step works on: some tokens of some sequences, as the arrays that operators read.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <millrace.hpp>

#include "paged_kv.h"

namespace generate {

/// The arrays of one step on the device. Shapes are those of the step.
struct StepTensors {
  millrace::Tensor ids;          // [tokens] I32
  millrace::Tensor positions;    // [tokens] I32
  millrace::Tensor slot;         // [tokens] I64
  millrace::Tensor cu_q;         // [sequences + 1] I32
  millrace::Tensor kv_len;       // [sequences] I32
  millrace::Tensor block_table;  // [sequences, most pages] I32
  millrace::Tensor output_rows;  // [outputs] I32: the tokens whose logits are wanted
};

/// Collects a step on the host and sends it with one copy from pinned memory. Two halves take
/// turns, so that a step may be collected while the copy of the last one is still queued.
class StepBatch {
 public:
  StepBatch(const millrace::Context& context, const millrace::Stream& stream,
            std::int32_t max_tokens, std::int32_t max_sequences, std::int32_t max_pages);

  void clear();
  /// Appends the next tokens of a sequence, whose list has room for them and is `length` long
  /// without them. With `all_outputs` the logits of each token are wanted, else those of the last
  /// alone.
  void add(const PageList& list, std::span<const std::int32_t> ids, bool all_outputs);

  std::int32_t tokens() const { return static_cast<std::int32_t>(ids_.size()); }
  std::int32_t sequences() const { return static_cast<std::int32_t>(kv_len_.size()); }
  std::int32_t outputs() const { return static_cast<std::int32_t>(output_rows_.size()); }

  /// Enqueues the copy and describes where it lands.
  StepTensors send();

 private:
  struct Half {
    millrace::Buffer pinned;
    millrace::Buffer device;
    millrace::Event sent;
  };
  template <class T>
  millrace::Tensor place(Half& half, std::size_t& offset, const std::vector<T>& values,
                         std::vector<std::int64_t> shape);

  millrace::Stream stream_;
  Half halves_[2];
  int turn_ = 0;
  std::vector<std::int32_t> ids_, positions_, cu_q_, kv_len_, output_rows_;
  std::vector<std::int64_t> slot_;
  std::vector<std::vector<std::int32_t>> pages_;
};

}  // namespace generate
