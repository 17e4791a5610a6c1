// base/fork_count.h - whether this process is a child of the one that made something.
#pragma once

#include <cstdint>

namespace sardonyx {

// How often this process and its ancestors forked, counted in the child, from the first call on: threads made under
// another count do not exist here. No system call.
std::uint32_t ForkCount() noexcept;

}  // namespace sardonyx
