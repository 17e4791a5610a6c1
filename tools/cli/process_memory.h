// tools/cli/process_memory.h - measures the memory that a part of the program takes.
#ifndef SARDONYX_TOOLS_CLI_PROCESS_MEMORY_H
#define SARDONYX_TOOLS_CLI_PROCESS_MEMORY_H

#include <cstdint>
#include <optional>

namespace sardonyx::cli {

struct ProcessMemory {
  std::optional<std::int64_t> peak_bytes;  // resident memory at the peak, less that at the start; empty if unknown
};

// Measures from its construction on. Use one at a time: it resets the kernel's record of the process's peak memory.
class MemoryWatch {
 public:
  MemoryWatch();
  ProcessMemory Read() const;

 private:
  std::optional<std::int64_t> before_bytes_;
};

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_PROCESS_MEMORY_H
