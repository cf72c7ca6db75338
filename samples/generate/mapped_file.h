// A file's bytes, mapped into memory and never copied.

#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace generate {

/// A read-only mapping of a whole file, unmapped by the destructor. Pages are read when they are
/// first touched, so opening costs the same for a kilobyte and for a hundred gigabytes.
///
/// The file must not shrink while it is mapped: the system ends a process that touches a page which
/// is no longer there. Model files are written once, and a newer one replaces the name, not the
/// file.
class MappedFile {
 public:
  /// Throws Error with the path and the system's reason. Only regular files are accepted.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const;

 private:
  std::span<const std::byte> bytes_;  // empty for an empty file, which cannot be mapped
};

}  // namespace generate
