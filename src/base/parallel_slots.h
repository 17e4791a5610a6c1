// base/parallel_slots.h - loops whose threads each need room of their own.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "base/parallel.h"

namespace sardonyx {

// Calls run(begin, end, slot) over disjoint ranges that cover [0, units), of one unit each where there are threads to
// spare. No two calls at a time have the same slot, of [0, parallel.ThreadCount()). Threads take units as they finish.
template <typename Run>
void ForWithSlots(std::int64_t units, Parallel& parallel, const Run& run) {
  constexpr int kMostSlots = 64;
  const int threads = parallel.ThreadCount();
  if (threads == 1) {
    if (units > 0) run(std::int64_t{0}, units, std::int64_t{0});
    return;
  }
  if (threads > kMostSlots) {
    parallel.For(threads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t s = begin; s < end; ++s) run(units * s / threads, units * (s + 1) / threads, s);
    });
    return;
  }
  std::atomic<std::uint64_t> free = ~std::uint64_t{0} >> (kMostSlots - threads);
  parallel.For(units, 1, [&](std::int64_t begin, std::int64_t end) {
    std::uint64_t seen = free.load(std::memory_order_relaxed);
    while (!free.compare_exchange_weak(seen, seen & (seen - 1), std::memory_order_acquire)) {
    }
    const int mine = std::countr_zero(seen);
    run(begin, end, std::int64_t{mine});
    free.fetch_or(std::uint64_t{1} << mine, std::memory_order_release);
  });
}

}  // namespace sardonyx
