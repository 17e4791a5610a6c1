// ops/recurrent/parallel_phases_test.cpp - every part of a phase runs once, and no phase before the one before it has
// ended, whichever threads come, and whenever.
#include "ops/recurrent/parallel_phases.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace sardonyx::ops {
namespace {

// Gives each block to a thread of its own, or to one thread, last block first.
class Threads final : public Parallel {
 public:
  explicit Threads(bool in_turn) : in_turn_(in_turn) {}
  void For(std::int64_t count, std::int64_t grain, Body body) override {
    std::vector<std::thread> threads;
    for (std::int64_t end = count; end > 0; end = (end - 1) / grain * grain) {
      const std::int64_t begin = (end - 1) / grain * grain;
      if (in_turn_)
        body(begin, end);
      else
        threads.emplace_back([=] { body(begin, end); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  int ThreadCount() const override { return 4; }

 private:
  bool in_turn_;
};

void ExpectPhasesInOrder(Parallel& parallel, std::int64_t parts) {
  constexpr std::int64_t kPhases = 60;
  std::vector<std::int64_t> phases_of(static_cast<std::size_t>(parts), 0);  // by part; no two threads at once
  std::atomic<std::int64_t> repeated = 0;
  ForPhases(kPhases, parts, parallel,
            [&](std::int64_t phase, std::int64_t part) { repeated += phases_of[part]++ != phase; });
  EXPECT_EQ(repeated, 0) << parts << " parts";
  for (const std::int64_t count : phases_of) EXPECT_EQ(count, kPhases) << parts << " parts";
}

TEST(ForPhases, RunsEachPartOncePerPhase) {
  Serial serial;
  Threads at_once(false), in_turn(true);
  for (Parallel* parallel :
       {static_cast<Parallel*>(&serial), static_cast<Parallel*>(&at_once), static_cast<Parallel*>(&in_turn)})
    for (const std::int64_t parts : {1, 2, 3, 16, 17}) ExpectPhasesInOrder(*parallel, parts);
}

// Each part reads what all parts of the phase before wrote.
TEST(ForPhases, APhaseSeesAllOfTheOneBefore) {
  constexpr std::int64_t kPhases = 100, kParts = 3;
  for (const bool in_turn : {false, true}) {
    Threads parallel(in_turn);
    std::int64_t values[2][kParts] = {{1, 1, 1}, {}};
    std::int64_t expected = 1;
    ForPhases(kPhases, kParts, parallel, [&](std::int64_t phase, std::int64_t part) {
      const auto& from = values[phase % 2];
      values[(phase + 1) % 2][part] = (from[0] + from[1] + from[2]) % 1000003;
    });
    for (std::int64_t phase = 0; phase < kPhases; ++phase) expected = 3 * expected % 1000003;
    for (const std::int64_t value : values[kPhases % 2]) EXPECT_EQ(value, expected) << "in turn: " << in_turn;
  }
}

}  // namespace
}  // namespace sardonyx::ops
