// Model directories: one file, shards, and indices that lie.

#include "checkpoint.h"

#include "readers_test_support.h"

using generate::Checkpoint;
using generate::parse_shard_index;
using readers_test::contains;
using readers_test::error_of;
using readers_test::TemporaryFolder;

namespace {

/// A file with one tensor of dtype and shape [2], whose bytes are all `fill`.
std::string shard(const std::string& name, char fill, const std::string& dtype = "BF16") {
  const std::string header =
      R"({")" + name + R"(": {"dtype": ")" + dtype + R"(", "shape": [2], "data_offsets": [0, 4]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  return bytes + header + std::string(4, fill);
}

constexpr const char* kIndex = "model.safetensors.index.json";

}  // namespace

TEST_CASE("checkpoint: a single file") {
  const TemporaryFolder folder;
  folder.write("model.safetensors", shard("w", 7));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  CHECK(checkpoint.tensor_count() == 1);
  CHECK(checkpoint.data_bytes() == 4);
  CHECK(std::to_integer<int>(checkpoint.weight("w", {2}).data[3]) == 7);
  CHECK(checkpoint.find("v") == nullptr);
}

TEST_CASE("checkpoint: shards, of which only what the index names counts") {
  const TemporaryFolder folder;
  folder.write("one", shard("a", 1));
  folder.write("two", shard("b", 2));
  folder.write("unused", "no safetensors");
  folder.write(kIndex,
               R"({"metadata": {"total_size": 8}, "weight_map": {"a": "one", "b": "two"}})");
  Checkpoint opened = Checkpoint::open(folder.path());
  const Checkpoint checkpoint = std::move(opened);
  CHECK(checkpoint.tensor_count() == 2);
  CHECK(std::to_integer<int>(checkpoint.weight("a", {2}).data[0]) == 1);
  CHECK(std::to_integer<int>(checkpoint.weight("b", {2}).data[0]) == 2);

  // The single file wins where both are there.
  folder.write("model.safetensors", shard("c", 3));
  CHECK(Checkpoint::open(folder.path()).find("c") != nullptr);
}

TEST_CASE("checkpoint: what a model asks for and does not get") {
  const TemporaryFolder folder;
  folder.write("model.safetensors", shard("w", 7, "I16"));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  CHECK(contains(error_of([&] { checkpoint.weight("v", {2}); }), "tensor 'v' is missing"));
  CHECK(contains(error_of([&] {
                   checkpoint.weight("w", {2, 1});
                 }),
                 "has shape [2]: the configuration asks for [2, 1]"));
  CHECK(contains(error_of([&] { checkpoint.weight("w", {2}); }), "has dtype I16: weights must be"));
}

TEST_CASE("checkpoint: directories without a model") {
  const TemporaryFolder folder;
  CHECK(contains(error_of([&] { Checkpoint::open(folder.path()); }),
                 "model.safetensors: cannot be opened"));
  CHECK(
      contains(error_of([&] { Checkpoint::open(folder.path() / "nowhere"); }), "cannot be opened"));
  folder.write("model.safetensors", "");
  CHECK(contains(error_of([&] { Checkpoint::open(folder.path()); }), "has 0 bytes: too short"));
}

TEST_CASE("checkpoint: indices that lie") {
  const TemporaryFolder folder;
  folder.write("one", shard("a", 1));
  folder.write("two", shard("b", 2));
  const auto error = [&](const char* index) {
    folder.write(kIndex, index);
    return error_of([&] { Checkpoint::open(folder.path()); });
  };
  CHECK(contains(error(R"({"weight_map": {"a": "three"}})"), "three: cannot be opened"));
  CHECK(contains(error(R"({"weight_map": {"a": "two"}})"),
                 "weight_map.a = 'two': that file holds no such tensor"));
  CHECK(contains(error(R"({"weight_map": {"a": "two", "b": "one"}})"),
                 "that file holds no such tensor"));  // each is in the other
  CHECK(contains(error(R"({"weight_map": {"z": "one"}})"), "weight_map.z = 'one'"));
  CHECK(contains(error(R"({"weight_map": {}})"), "names no tensor"));
  CHECK(contains(error(R"({"weight_map": {"a": 1}})"), "weight_map.a = 1: must be a string"));
  CHECK(contains(error(R"({"weight_map": {"a": "one", "a": "one"}})"), "occurs twice"));
  CHECK(contains(error("{}"), "member 'weight_map' is missing"));
  CHECK(contains(error(""), "is not valid JSON"));
}

TEST_CASE("checkpoint: an index cannot lead out of its directory") {
  for (const char* name :
       {"../one", "/etc/passwd", "sub/one", "..", ".", "", "a\\\\b", "one\\u0000"}) {
    CAPTURE(name);
    const std::string index = std::string(R"({"weight_map": {"a": ")") + name + R"("}})";
    CHECK(contains(error_of([&] { parse_shard_index(index, "i.json"); }),
                   "must be the plain name of a file beside the index"));
  }
  CHECK(parse_shard_index(R"({"weight_map": {"a": "..one"}})", "i.json").file_of.at("a") ==
        "..one");
}
