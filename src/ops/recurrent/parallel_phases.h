// ops/recurrent/parallel_phases.h - loops that follow each other closely: each phase begins when the one before has
// ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "base/parallel.h"
#include "base/process.h"

namespace sardonyx::ops {

// Calls run(phase, part) for every part of [0, parts) in each phase of [0, phases), no phase before the one before it
// has ended. run must not throw. It is one loop of `parallel`, whose threads wait for each other by spinning: a phase
// costs a fraction of a microsecond beside its work. Each thread prefers a part of its own, the same in all phases, and
// takes over parts that nobody has begun: threads that come late, or never, are not waited for.
template <typename Run>
void ForPhases(std::int64_t phases, std::int64_t parts, Parallel& parallel, const Run& run) {
  constexpr std::int64_t kMostParts = 16;
  constexpr int kSpins = 1024;
  if (parts > kMostParts) {
    for (std::int64_t phase = 0; phase < phases; ++phase) {
      parallel.For(parts, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t part = begin; part < end; ++part) run(phase, part);
      });
    }
    return;
  }
  struct alignas(64) Counter {
    std::atomic<std::int64_t> count = 0;
  };
  Counter begun[kMostParts];  // by part: phases in which somebody took it
  Counter ended;              // parts, of all phases
  parallel.For(parts, 1, [&](std::int64_t own, std::int64_t) {
    for (std::int64_t phase = 0; phase < phases; ++phase) {
      for (std::int64_t i = 0; i < parts; ++i) {
        const std::int64_t part = (own + i) % parts;
        std::atomic<std::int64_t>& count = begun[part].count;
        std::int64_t expected = phase;
        if (count.load(std::memory_order_relaxed) != phase ||
            !count.compare_exchange_strong(expected, phase + 1, std::memory_order_relaxed))
          continue;
        run(phase, part);
        ended.count.fetch_add(1, std::memory_order_acq_rel);
      }
      for (int spins = 0; ended.count.load(std::memory_order_acquire) < (phase + 1) * parts; ++spins) {
        if (spins < kSpins)
          SpinPause();
        else
          std::this_thread::yield();
      }
    }
  });
}

}  // namespace sardonyx::ops
