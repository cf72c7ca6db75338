// What the readers' tests share: folders that vanish, files, and the text of an error.

#pragma once

#include <doctest/doctest.h>

#include <unistd.h>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "reader_error.h"

namespace readers_test {

/// The text of the Error that `call` throws; empty, and a failed check, where it throws none.
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const generate::Error& e) {
    return e.what();
  }
  FAIL_CHECK("no generate::Error was thrown");
  return "";
}

inline bool contains(std::string_view text, std::string_view part) {
  const bool found = text.find(part) != text.npos;
  if (!found) MESSAGE("'" << text << "' does not contain '" << part << "'");
  return found;
}

/// A new folder for one test case, removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    static std::atomic<int> count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("millrace-readers-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(std::string_view name, std::string_view bytes) const {
    const std::filesystem::path file = path_ / name;
    std::ofstream(file, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return file;
  }

 private:
  std::filesystem::path path_;
};

/// The folder of these tests' data, and that of the model that ships with the samples.
inline const std::filesystem::path kData = std::filesystem::path(__FILE__).parent_path() / "data";
inline const std::filesystem::path kModel =
    std::filesystem::path(__FILE__).parent_path() / "../../samples/models/storyteller";

inline std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  REQUIRE_MESSAGE(in.good(), "cannot read " << file.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace readers_test
