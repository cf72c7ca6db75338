#include "mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "reader_error.h"

namespace generate {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, std::string_view what, int code) {
  throw Error(concat(path.string(), ": ", what, ": ", std::generic_category().message(code)));
}

/// Closes the descriptor on every way out. The mapping outlives it.
struct Descriptor {
  int number;
  ~Descriptor() { ::close(number); }
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  // O_NONBLOCK keeps the open of a named pipe from waiting for a writer; files ignore it.
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (number < 0) fail(path, "cannot be opened", errno);
  const Descriptor descriptor{number};

  struct stat status {};
  if (::fstat(number, &status) != 0) fail(path, "cannot be examined", errno);
  if (!S_ISREG(status.st_mode)) throw Error(concat(path.string(), ": is not a regular file"));
  if (status.st_size == 0) return;

  const auto size = static_cast<std::size_t>(status.st_size);
  void* const data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, number, 0);
  if (data == MAP_FAILED) fail(path, "cannot be mapped", errno);
  bytes_ = {static_cast<const std::byte*>(data), size};
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  // munmap takes a mutable pointer although nothing is written.
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

std::string_view MappedFile::text() const {
  return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
}

}  // namespace generate
