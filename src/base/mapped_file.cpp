// base/mapped_file.cpp - files as read-only memory, by POSIX mmap.
#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <map>
#include <mutex>
#include <system_error>

#include "base/error.h"
#include "base/lasting.h"

namespace sardonyx {
namespace {

[[noreturn]] void FailWithReason(const char* what, const std::string& path, int number) {
  const Code code = number == ENOENT || number == ENOTDIR ? Code::kNoSuchFile : Code::kFail;
  Fail(code, "file '", path, "': ", what, ": ", std::generic_category().message(number));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

// Device and inode name a file as long as somebody holds it open or mapped; size and time say whether it was written.
using FileIdentity = std::array<std::int64_t, 6>;

FileIdentity IdentityOf(const struct stat& facts) {
  return {static_cast<std::int64_t>(facts.st_dev),          static_cast<std::int64_t>(facts.st_ino),
          static_cast<std::int64_t>(facts.st_size),         static_cast<std::int64_t>(facts.st_mtim.tv_sec),
          static_cast<std::int64_t>(facts.st_mtim.tv_nsec), static_cast<std::int64_t>(facts.st_ctim.tv_nsec)};
}

}  // namespace

class MappedFile::Mapping {
 public:
  Mapping(const std::byte* data, std::size_t size) : bytes_(data, size) {}
  ~Mapping() {
    if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  std::span<const std::byte> bytes() const { return bytes_; }

  // The mappings of the process, by file. Lasting: files in static objects may outlive it.
  struct Known {
    std::mutex mutex;
    std::map<FileIdentity, std::weak_ptr<const Mapping>> mappings;
  };
  static Known& All() {
    static constinit Lasting<Known, MakeDefault<Known>> known;
    return *known;
  }

 private:
  std::span<const std::byte> bytes_;
};

std::shared_ptr<const MappedFile::Mapping> MappedFile::Map(const std::string& path) {
  int number = -1;
  do {  // not blocking: opening a pipe must fail below, not wait for a writer
    number = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (number < 0 && errno == EINTR);
  if (number < 0) FailWithReason("cannot be opened", path, errno);
  const Descriptor descriptor(number);

  struct stat facts = {};
  if (fstat(number, &facts) != 0) FailWithReason("cannot be examined", path, errno);
  if (!S_ISREG(facts.st_mode)) {
    Fail(Code::kInvalidArgument, "file '", path, "': expected a regular file, found ",
         S_ISDIR(facts.st_mode) ? "a folder" : "a device, pipe or socket");
  }
  if (static_cast<std::uintmax_t>(facts.st_size) > std::numeric_limits<std::size_t>::max()) {
    FailWithReason("cannot be mapped", path, EFBIG);
  }
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (size == 0) return std::make_shared<const Mapping>(nullptr, 0);

  Mapping::Known& known = Mapping::All();
  const std::scoped_lock lock(known.mutex);
  std::weak_ptr<const Mapping>& entry = known.mappings[IdentityOf(facts)];
  if (std::shared_ptr<const Mapping> mapping = entry.lock()) return mapping;
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, number, 0);
  if (data == MAP_FAILED) FailWithReason("cannot be mapped", path, errno);
  const auto mapping = std::make_shared<const Mapping>(static_cast<const std::byte*>(data), size);
  entry = mapping;
  std::erase_if(known.mappings, [](const auto& other) { return other.second.expired(); });
  return mapping;
}

std::shared_ptr<const MappedFile> MappedFile::Open(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    Fail(Code::kInvalidArgument, "expected a path without NUL characters, found '", path, "'");
  }
  const std::shared_ptr<MappedFile> file(new MappedFile(), Deleter());  // the deleter's type tells Behind what it is
  file->path_ = path;
  file->mapping_ = Map(path);
  return file;
}

MappedFile::~MappedFile() = default;

std::span<const std::byte> MappedFile::bytes() const { return mapping_->bytes(); }

const MappedFile* MappedFile::Behind(const std::shared_ptr<const void>& owner) {
  return std::get_deleter<Deleter>(owner) != nullptr ? static_cast<const MappedFile*>(owner.get()) : nullptr;
}

void MappedFile::Release(std::size_t offset, std::size_t size) const {
  const std::span<const std::byte> all = bytes();
  if (offset >= all.size()) return;
  size = std::min(size, all.size() - offset);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t begin = (offset + page - 1) / page * page;
  std::size_t end = offset + size;
  if (end != all.size()) end = end / page * page;
  if (begin >= end) return;
  // A hint: if the system refuses, the pages stay, and nothing is lost but memory.
  static_cast<void>(madvise(const_cast<std::byte*>(all.data()) + begin, end - begin, MADV_DONTNEED));
}

void MappedFile::ReleaseBehind(const std::shared_ptr<const void>& owner, const void* data, std::size_t size) {
  if (const MappedFile* file = Behind(owner))
    file->Release(static_cast<std::size_t>(static_cast<const std::byte*>(data) - file->bytes().data()), size);
}

}  // namespace sardonyx
