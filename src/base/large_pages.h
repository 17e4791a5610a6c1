// base/large_pages.h - large blocks of memory on large pages, so that reading through them does not wait for page
// tables.
//
// Weights that come from memory once a run are read 1.1 to 1.5 times as fast (docs/benchmarks.md), and made faster.
#pragma once

#include <cstddef>

namespace sardonyx {

inline constexpr std::size_t kLargePage = std::size_t{2} << 20;

// Asks the system to keep the large pages that lie inside [data, data + size) as such. Only a hint: what the system
// refuses stays on small pages.
void PreferLargePages(void* data, std::size_t size) noexcept;

}  // namespace sardonyx
