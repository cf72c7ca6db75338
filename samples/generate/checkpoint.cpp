#include "checkpoint.h"

#include <algorithm>
#include <set>

#include "json_reader.h"
#include "reader_error.h"

namespace generate {
namespace {

constexpr std::string_view kSingle = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";

/// A name that cannot lead out of the directory.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}

}  // namespace

ShardIndex parse_shard_index(std::string_view text, const std::string& file) {
  const JsonDocument document(text, file);
  const JsonField map = document.root().at("weight_map");
  ShardIndex index;
  for (const auto& [tensor, value] : map.raw_object().items()) {
    const JsonField entry(value, document.file(), concat("weight_map.", tensor));
    if (!is_plain_name(entry.text()))
      entry.fail("must be the plain name of a file beside the index");
    index.file_of.emplace(tensor, entry.text());
  }
  if (index.file_of.empty()) map.fail("names no tensor");
  return index;
}

Checkpoint Checkpoint::open(const std::filesystem::path& directory) {
  Checkpoint checkpoint;
  checkpoint.directory_ = directory.string();
  const auto map_file = [&](std::string_view name) {
    checkpoint.files_.emplace_back(directory / name);
    return parse_safetensors(checkpoint.files_.back().bytes(), (directory / name).string());
  };

  if (std::error_code error; !std::filesystem::exists(directory / kIndex, error) ||
                             std::filesystem::exists(directory / kSingle, error)) {
    for (TensorView& tensor : map_file(kSingle)) {
      checkpoint.tensors_.emplace(tensor.name, std::move(tensor));
    }
    return checkpoint;
  }

  const std::string index_path = (directory / kIndex).string();
  const ShardIndex index = parse_shard_index(MappedFile(index_path).text(), index_path);
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : index.file_of) shards.insert(shard);
  for (const std::string& shard : shards) {
    for (TensorView& tensor : map_file(shard)) {
      const auto found = index.file_of.find(tensor.name);
      if (found == index.file_of.end() || found->second != shard) continue;
      checkpoint.tensors_.emplace(tensor.name, std::move(tensor));
    }
  }
  for (const auto& [tensor, shard] : index.file_of) {
    if (checkpoint.tensors_.contains(tensor)) continue;
    throw Error(concat(index_path, ": weight_map.", printable(tensor), " = ", in_quotes(shard),
                       ": that file holds no such tensor"));
  }
  return checkpoint;
}

const TensorView* Checkpoint::find(std::string_view name) const {
  const auto found = tensors_.find(std::string(name));
  return found == tensors_.end() ? nullptr : &found->second;
}

const TensorView& Checkpoint::weight(std::string_view name,
                                     std::initializer_list<std::int64_t> shape) const {
  const TensorView* const tensor = find(name);
  if (tensor == nullptr)
    throw Error(concat(directory_, ": tensor ", in_quotes(name), " is missing"));
  if (!std::equal(shape.begin(), shape.end(), tensor->shape.begin(), tensor->shape.end())) {
    throw Error(concat(directory_, ": tensor ", in_quotes(name), " has shape ",
                       shape_text(tensor->shape), ": the configuration asks for ",
                       shape_text(std::span(shape.begin(), shape.size()))));
  }
  if (!is_loadable(tensor->dtype)) {
    throw Error(concat(directory_, ": tensor ", in_quotes(name), " has dtype ",
                       dtype_name(tensor->dtype), ": weights must be F32, F16 or BF16"));
  }
  return *tensor;
}

std::size_t Checkpoint::data_bytes() const {
  std::size_t sum = 0;
  for (const auto& [name, tensor] : tensors_) sum += tensor.size;
  return sum;
}

}  // namespace generate
