// runtime/profile/pool_rate.cpp - makes the threads wait for one another before each measurement.
#include "runtime/profile/pool_rate.h"

#include <algorithm>
#include <atomic>
#include <chrono>

namespace sardonyx::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

double PoolRate::Rate(int tries, const std::function<void(int)>& work) {
  double together = 0, alone = 0;
  for (int i = 0; i < tries; ++i) {
    std::vector<double> seconds(static_cast<std::size_t>(pieces_));
    const bool met = Try(work, seconds);
    double sum = 0;
    for (const double s : seconds) {
      sum += 1 / s;
      alone = std::max(alone, 1 / s);
    }
    if (met) together = std::max(together, sum);
  }
  return together > 0 ? together : alone * pieces_;
}

bool PoolRate::Try(const std::function<void(int)>& work, std::vector<double>& seconds) {
  std::atomic<int> arrived = 0;
  std::atomic<bool> met = true;
  parallel_.For(pieces_, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const Clock::time_point here = Clock::now();
      ++arrived;
      while (arrived < pieces_ && SecondsSince(here) < patience_) {
      }
      if (arrived < pieces_) met = false;
      const Clock::time_point start = Clock::now();
      work(static_cast<int>(piece));
      seconds[static_cast<std::size_t>(piece)] = std::max(SecondsSince(start), 1e-9);
    }
  });
  return met;
}

}  // namespace sardonyx::runtime
