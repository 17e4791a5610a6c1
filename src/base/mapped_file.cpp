// base/mapped_file.cpp - files as read-only memory, by POSIX mmap.
#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

#include "base/error.h"

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

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::Open(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    Fail(Code::kInvalidArgument, "expected a path without NUL characters, found '", path, "'");
  }
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

  const std::shared_ptr<MappedFile> file(new MappedFile(), Deleter());  // the deleter's type tells Behind what it is
  file->path_ = path;
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (size != 0) {
    void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, number, 0);
    if (data == MAP_FAILED) FailWithReason("cannot be mapped", path, errno);
    file->data_ = static_cast<const std::byte*>(data);
    file->size_ = size;
  }
  return file;
}

const MappedFile* MappedFile::Behind(const std::shared_ptr<const void>& owner) {
  return std::get_deleter<Deleter>(owner) != nullptr ? static_cast<const MappedFile*>(owner.get()) : nullptr;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::Release(std::size_t offset, std::size_t size) const {
  if (offset >= size_) return;
  size = std::min(size, size_ - offset);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t begin = (offset + page - 1) / page * page;
  std::size_t end = offset + size;
  if (end != size_) end = end / page * page;
  if (begin >= end) return;
  // A hint: if the system refuses, the pages stay, and nothing is lost but memory.
  static_cast<void>(madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED));
}

void MappedFile::ReleaseBehind(const std::shared_ptr<const void>& owner, const void* data, std::size_t size) {
  if (const MappedFile* file = Behind(owner))
    file->Release(static_cast<std::size_t>(static_cast<const std::byte*>(data) - file->data_), size);
}

}  // namespace sardonyx
