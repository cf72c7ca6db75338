// The weights of a model directory: model.safetensors, or the shards that
// model.safetensors.index.json names.

#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mapped_file.h"
#include "safetensors.h"

namespace generate {

/// An index file, checked: file names are plain names in the same directory.
struct ShardIndex {
  std::unordered_map<std::string, std::string> file_of;  // tensor -> file
};

/// Parses an index. `file` opens every message.
ShardIndex parse_shard_index(std::string_view text, const std::string& file);

/// The tensors of a directory, mapped. A view stays valid as long as the Checkpoint (moves
/// included).
class Checkpoint {
 public:
  /// model.safetensors where it exists, else the shards of model.safetensors.index.json. With an
  /// index, exactly the tensors that it names are there, each found in the shard that it names.
  static Checkpoint open(const std::filesystem::path& directory);

  /// nullptr where there is no such tensor.
  const TensorView* find(std::string_view name) const;

  /// The tensor that a model needs: throws Error unless it is there, has this shape, and has a
  /// dtype that can be loaded.
  const TensorView& weight(std::string_view name, std::initializer_list<std::int64_t> shape) const;

  std::size_t tensor_count() const { return tensors_.size(); }
  std::size_t data_bytes() const;

 private:
  std::string directory_;
  std::vector<MappedFile> files_;
  std::unordered_map<std::string, TensorView> tensors_;
};

}  // namespace generate
