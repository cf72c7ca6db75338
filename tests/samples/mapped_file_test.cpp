// Files that are there, empty, missing, or no files.

#include "mapped_file.h"

#include <sys/stat.h>

#include "readers_test_support.h"

using generate::MappedFile;
using readers_test::contains;
using readers_test::error_of;
using readers_test::TemporaryFolder;

TEST_CASE("mapped file: its bytes, also after a move") {
  const TemporaryFolder folder;
  MappedFile file(folder.write("a", std::string("text\0more", 9)));
  CHECK(file.text() == std::string_view("text\0more", 9));
  MappedFile moved = std::move(file);
  CHECK(moved.text().size() == 9);
  moved = MappedFile(folder.write("b", "other"));
  CHECK(moved.text() == "other");
}

TEST_CASE("mapped file: an empty file has no bytes") {
  const TemporaryFolder folder;
  CHECK(MappedFile(folder.write("empty", "")).bytes().empty());
}

TEST_CASE("mapped file: every failure names the path and the reason") {
  const TemporaryFolder folder;
  const auto missing = folder.path() / "missing";
  CHECK(contains(error_of([&] { MappedFile{missing}; }),
                 missing.string() + ": cannot be opened: No such file"));
  CHECK(contains(error_of([&] { MappedFile{folder.path()}; }), "is not a regular file"));
  const auto pipe = folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(
      contains(error_of([&] { MappedFile{pipe}; }), "is not a regular file"));  // and does not wait
}
