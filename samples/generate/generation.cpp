#include "generation.h"

#include <algorithm>
#include <chrono>

#include "reader_error.h"

namespace generate {
namespace {

constexpr std::uint32_t kRingSlots = 2;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct SharedParameters {
  float temperature;
  std::int32_t top_k;
  float top_p;
  float min_p;
};

// One value for every row.
millrace::Tensor shared(const millrace::Buffer& buffer, mr_dtype dtype, std::size_t offset,
                        std::int64_t rows) {
  return buffer.tensor(dtype, {1}, offset).broadcast(0, rows);
}

// The prompts of one run draw from streams of random numbers of their own.
std::uint64_t seed_of(std::uint64_t seed, std::size_t index) {
  return seed + 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(index);
}

}  // namespace

Generation::Generation(Engine& engine, const SamplingOptions& sampling, std::int32_t max_tokens)
    : engine_(engine),
      sampling_(sampling),
      max_tokens_(max_tokens),
      parameters_(engine.stream, sizeof(SharedParameters), MR_TAG_ACTIVATIONS),
      state_(engine.stream, 2 * sizeof(std::uint64_t) * kMostSequences, MR_TAG_ACTIVATIONS),
      state_pinned_(millrace::Buffer::pinned(engine.stream, state_.bytes())),
      ids_(engine.stream, sizeof(std::int32_t) * kMostSequences, MR_TAG_ACTIVATIONS),
      ring_(engine.context, kRingSlots, ids_.bytes()) {
  const SharedParameters values = {sampling.temperature, sampling.top_k, sampling.top_p,
                                   sampling.min_p};
  engine.stream.upload(parameters_.data(), &values, sizeof values);
}

bool Generation::ends(std::int32_t id) const {
  const auto& eos = engine_.config.eos_ids;
  return std::find(eos.begin(), eos.end(), id) != eos.end();
}

// Whether a sequence of so many tokens has its pages even if all that run grow to their full
// length.
bool Generation::fits(std::size_t tokens) const {
  const auto pages = [](std::int64_t count) { return (count + kPageSize - 1) / kPageSize; };
  std::int64_t free = engine_.kv.free_pages();
  for (const Sequence& sequence : running_) {
    const std::int64_t full = std::int64_t{sequence.pages.length} +
                              static_cast<std::int64_t>(sequence.pending.size()) + max_tokens_ -
                              sequence.generated;
    free -= std::max<std::int64_t>(
        0, pages(full) - static_cast<std::int64_t>(sequence.pages.pages.size()));
  }
  return pages(static_cast<std::int64_t>(tokens) + max_tokens_) <= free;
}

void Generation::admit(const std::vector<std::vector<std::int32_t>>& prompts) {
  while (next_prompt_ < prompts.size() && running_.size() < kMostSequences) {
    const std::vector<std::int32_t>& ids = prompts[next_prompt_];
    if (ids.empty()) throw Error("a prompt without any token cannot be continued");
    if (static_cast<std::int64_t>(ids.size()) + max_tokens_ > engine_.config.context) {
      throw Error(concat("prompt ", next_prompt_ + 1, " has ", ids.size(),
                         " tokens; with --max-tokens ", max_tokens_,
                         " that is more than the model's context of ", engine_.config.context));
    }
    if (!fits(ids.size())) {
      if (running_.empty()) {
        throw Error(concat("prompt ", next_prompt_ + 1, " of ", ids.size(),
                           " tokens does not fit the cache"));
      }
      return;
    }
    running_.push_back({next_prompt_, ids, {}, StreamDecoder(engine_.tokenizer)});
    result_.prompt_tokens += static_cast<std::int64_t>(ids.size());
    ++next_prompt_;
  }
}

GenerationResult Generation::run(const std::vector<std::vector<std::int32_t>>& prompts,
                                 const TextSink& sink) {
  result_ = {};
  next_prompt_ = 0;
  started_ = now();
  if (max_tokens_ == 0) {
    for (std::size_t i = 0; i < prompts.size(); ++i) sink(i, "", true);
    return result_;
  }
  for (;;) {
    admit(prompts);
    if (running_.empty()) break;
    step(sink);
  }
  result_.seconds = now() - started_;
  return result_;
}

// Every sequence gives its one pending token, or as much of its prompt as the step has room for;
// those whose tokens are all in draw the next one.
void Generation::step(const TextSink& sink) {
  const double begin = now();
  StepBatch& batch = engine_.batch;
  batch.clear();
  std::vector<Sequence*> drawn;
  std::vector<std::pair<Sequence*, std::int32_t>> taken;
  bool prompt = false;
  for (Sequence& sequence : running_) {
    const std::int32_t room = kStepTokens - batch.tokens();
    const auto count = std::min(room, static_cast<std::int32_t>(sequence.pending.size()));
    if (count == 0) continue;
    engine_.kv.extend(sequence.pages, count);  // admit() has made sure of the pages
    batch.add(sequence.pages, std::span(sequence.pending).first(static_cast<std::size_t>(count)),
              false);
    prompt = prompt || sequence.generated == 0;
    taken.emplace_back(&sequence, count);
  }
  const millrace::Tensor logits = engine_.decoder.forward(batch.send(), engine_.kv);
  for (auto& [sequence, count] : taken) {
    sequence->pages.length += count;
    sequence->pending.erase(sequence->pending.begin(), sequence->pending.begin() + count);
    if (sequence->pending.empty()) drawn.push_back(sequence);
  }
  // A cut prompt can only be the last of a step, so the rows that draw come first.
  if (drawn.empty()) return;
  const auto ids = draw(logits.slice(0, 0, static_cast<std::int64_t>(drawn.size())), drawn);
  if (result_.generated_tokens == 0) result_.first_token_seconds = now() - started_;
  for (std::size_t i = 0; i < drawn.size(); ++i) take(*drawn[i], ids[i], sink);
  if (!prompt) {
    result_.decode_seconds += now() - begin;
    result_.decode_tokens += static_cast<std::int64_t>(drawn.size());
  }
  std::erase_if(running_, [](const Sequence& sequence) { return sequence.pending.empty(); });
}

std::vector<std::int32_t> Generation::draw(const millrace::Tensor& logits,
                                           const std::vector<Sequence*>& drawn) {
  const auto rows = static_cast<std::int64_t>(drawn.size());
  auto* const state = state_pinned_.data_as<std::uint64_t>();
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    state[i] = seed_of(sampling_.seed, drawn[i]->index);
    state[drawn.size() + i] = drawn[i]->draws++;
  }
  const auto half = static_cast<std::uint64_t>(rows) * sizeof(std::uint64_t);
  engine_.stream.copy(state_.data(), state, 2 * half, MR_COPY_TO_DEVICE);

  auto sample = millrace::args<mr_sample_args>();
  sample.logits = logits;
  sample.temperature = shared(parameters_, MR_F32, offsetof(SharedParameters, temperature), rows);
  sample.top_k = shared(parameters_, MR_I32, offsetof(SharedParameters, top_k), rows);
  sample.top_p = shared(parameters_, MR_F32, offsetof(SharedParameters, top_p), rows);
  sample.min_p = shared(parameters_, MR_F32, offsetof(SharedParameters, min_p), rows);
  sample.seed = state_.tensor(MR_U64, {rows});
  sample.rng_offset = state_.tensor(MR_U64, {rows}, half);
  sample.output = ids_.tensor(MR_I32, {rows});
  engine_.stream.run(sample);

  ring_.push(slot_, engine_.stream, ids_.data(), sizeof(std::int32_t) * drawn.size());
  const std::int32_t* const ids = ring_.wait<std::int32_t>(slot_);
  slot_ = (slot_ + 1) % kRingSlots;
  return std::vector<std::int32_t>(ids, ids + rows);
}

void Generation::take(Sequence& sequence, std::int32_t id, const TextSink& sink) {
  ++sequence.generated;
  ++result_.generated_tokens;
  const bool over = ends(id) || sequence.generated == max_tokens_;
  std::string text = ends(id) ? std::string() : sequence.text.push(id);
  if (over) text += sequence.text.finish();
  sink(sequence.index, text, over);
  if (over) {
    engine_.kv.release(sequence.pages);
  } else {
    sequence.pending.push_back(id);
  }
}

}  // namespace generate
