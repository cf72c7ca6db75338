#include "scoring.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reader_error.h"

namespace generate {
namespace {

double negative_log_likelihood(const float* logits, std::int64_t count, std::int32_t id) {
  double largest = -INFINITY, sum = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, double{logits[i]});
  for (std::int64_t i = 0; i < count; ++i) sum += std::exp(logits[i] - largest);
  return largest + std::log(sum) - logits[id];
}

}  // namespace

Score score_text(Engine& engine, std::span<const std::int32_t> ids) {
  if (ids.size() < 2) throw Error("a text of fewer than two tokens has nothing to score");
  const auto total = static_cast<std::int64_t>(ids.size());
  const std::int64_t context = engine.config.context, vocab = engine.config.vocab_size;
  double sum = 0;
  std::int64_t scored = 1;  // tokens up to here are done: the first has nothing before it
  for (std::int64_t start = 0; scored < total; start = std::max(start + 1, scored - context / 2)) {
    const std::int64_t end = std::min(total, start + context);
    PageList pages;
    for (std::int64_t at = start; at < end;) {
      const std::int64_t count = std::min<std::int64_t>(kStepTokens, end - at);
      if (!engine.kv.extend(pages, static_cast<std::int32_t>(count))) {
        throw Error("the cache cannot hold one context");
      }
      engine.batch.clear();
      engine.batch.add(
          pages, ids.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count)), true);
      const millrace::Tensor logits = engine.decoder.forward(engine.batch.send(), engine.kv);
      const auto values =
          engine.stream.download<float>(logits.data, static_cast<std::size_t>(count * vocab));
      // The logits at a token are about the next one.
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t next = at + i + 1;
        if (next < scored || next >= end) continue;
        sum += negative_log_likelihood(values.data() + i * vocab, vocab,
                                       ids[static_cast<std::size_t>(next)]);
      }
      pages.length += static_cast<std::int32_t>(count);
      at += count;
    }
    scored = end;
    engine.kv.release(pages);
  }
  return {sum / static_cast<double>(total - 1), total - 1};
}

}  // namespace generate
