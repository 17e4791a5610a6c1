// base/process.h - what the system says of this process: numbers, local time, resident memory; and a hint to the core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>

namespace sardonyx {

// As traces show them: the system's numbers on Linux; elsewhere 1, and one made from the thread's id.
int ProcessNumber();
std::int32_t ThreadNumber();

std::tm LocalTime(std::time_t seconds);

// How many of these bytes, which may be of any alignment, lie on whole pages that have memory; nullopt where the system
// does not tell.
std::optional<std::size_t> ResidentBytes(const void* data, std::size_t size);

// Tells the core that this thread waits for another: a loop that looks again and again takes less from its neighbour.
inline void SpinPause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace sardonyx
