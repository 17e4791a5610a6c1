// tools/cli/process_memory.cpp - reads /proc/self on Linux; on other systems the result is unknown.
#include "process_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace sardonyx::cli {
namespace {

// A row of /proc/self/status such as "VmHWM:   1234 kB".
std::optional<std::int64_t> StatusBytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kilobytes = 0;
    if (word == key + ":" && status >> kilobytes) return kilobytes * 1024;
  }
  return std::nullopt;
}

}  // namespace

MemoryWatch::MemoryWatch() {
  std::ofstream mark("/proc/self/clear_refs");
  mark << "5" << std::flush;  // resets the peak to what is resident now
  if (mark) before_bytes_ = StatusBytes("VmRSS");
}

ProcessMemory MemoryWatch::Read() const {
  const std::optional<std::int64_t> peak = StatusBytes("VmHWM");
  if (!before_bytes_ || !peak) return {};
  return {.peak_bytes = std::max<std::int64_t>(0, *peak - *before_bytes_)};
}

}  // namespace sardonyx::cli
