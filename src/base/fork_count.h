// base/fork_count.h - counts forks, so that an object can tell whether it was made in a parent process.
#pragma once

#include <cstdint>

namespace sardonyx {

// The number of forks between the process that called this first and the calling process. Threads that were started
// under another count do not exist here. Makes no system call.
std::uint32_t ForkCount() noexcept;

}  // namespace sardonyx
