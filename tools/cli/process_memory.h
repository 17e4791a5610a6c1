// tools/cli/process_memory.h - measures how much memory a section of the program takes.
#ifndef SARDONYX_TOOLS_CLI_PROCESS_MEMORY_H
#define SARDONYX_TOOLS_CLI_PROCESS_MEMORY_H

#include <cstdint>
#include <optional>

namespace sardonyx::cli {

struct ProcessMemory {
  std::optional<std::int64_t> peak_bytes;  // resident, above what was resident at the start; empty where not known
};

// Measures from its making on. One at a time: it resets the kernel's mark of the process's highest memory.
class MemoryWatch {
 public:
  MemoryWatch();
  ProcessMemory Read() const;

 private:
  std::optional<std::int64_t> before_bytes_;
};

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_PROCESS_MEMORY_H
