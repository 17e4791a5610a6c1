// base/process.cpp - asks each operating system for what process.h declares.
#include "base/process.h"

#if defined(__linux__)
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>
#else
#include <functional>
#include <thread>
#endif

namespace sardonyx {

#if defined(__linux__)
int ProcessNumber() { return static_cast<int>(getpid()); }

std::int32_t ThreadNumber() {
  static thread_local const auto number = static_cast<std::int32_t>(syscall(SYS_gettid));
  return number;
}

std::optional<std::size_t> ResidentBytes(const void* data, std::size_t size) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t skipped = (page - reinterpret_cast<std::uintptr_t>(data) % page) % page;
  if (size < skipped + page) return 0;
  std::vector<unsigned char> pages((size - skipped) / page);
  const char* begin = static_cast<const char*>(data) + skipped;
  if (mincore(const_cast<char*>(begin), pages.size() * page, pages.data()) != 0) return std::nullopt;
  return page * static_cast<std::size_t>(
                    std::count_if(pages.begin(), pages.end(), [](unsigned char flags) { return (flags & 1) != 0; }));
}
#else
int ProcessNumber() { return 1; }

std::int32_t ThreadNumber() {
  static thread_local const auto number =
      static_cast<std::int32_t>(std::hash<std::thread::id>()(std::this_thread::get_id()) & 0x7fffffff);
  return number;
}

std::optional<std::size_t> ResidentBytes(const void* /*data*/, std::size_t /*size*/) { return std::nullopt; }
#endif

std::tm LocalTime(std::time_t seconds) {
  std::tm local{};
#if defined(_WIN32)
  localtime_s(&local, &seconds);
#else
  localtime_r(&seconds, &local);
#endif
  return local;
}

}  // namespace sardonyx
