// base/mapped_file.h - a file as read-only memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sardonyx {

class MappedFile {
 public:
  // Maps the whole regular file `path` (UTF-8). Fails with kNoSuchFile (missing), kInvalidArgument (a folder, a device)
  // or kFail (permission, system limits), each naming the path and the system's reason. An empty file maps to no bytes.
  // A file that is mapped already, and has not changed since, is not mapped again. It must not be truncated while it is
  // mapped.
  static std::shared_ptr<const MappedFile> Open(const std::string& path);
  // The mapped file behind `owner`; nullptr if `owner` is something else.
  static const MappedFile* Behind(const std::shared_ptr<const void>& owner);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const;
  const std::string& path() const { return path_; }
  // Tells the system that the pages inside [offset, offset + size) will not be read again soon (they stay valid).
  void Release(std::size_t offset, std::size_t size) const;
  // The same for bytes that `owner` keeps alive; does nothing if `owner` is not a mapped file.
  static void ReleaseBehind(const std::shared_ptr<const void>& owner, const void* data, std::size_t size);

 private:
  struct Deleter {
    void operator()(const MappedFile* file) const { delete file; }  // NOLINT(cppcoreguidelines-owning-memory)
  };
  class Mapping;  // shared by all that opened the same file
  MappedFile() = default;
  static std::shared_ptr<const Mapping> Map(const std::string& path);
  std::string path_;
  std::shared_ptr<const Mapping> mapping_;
};

}  // namespace sardonyx
