// runtime/repeated_runs_test.cpp - when the memory of other shapes is freed, and how often if shapes keep changing.
#include "runtime/repeated_runs.h"

#include <gtest/gtest.h>

namespace sardonyx::runtime {
namespace {

// How often memory goes in `rounds` rounds of `count` runs of one shape, with another shape between rounds.
int GivenBack(RepeatedRuns& runs, int count, int rounds) {
  int given = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < count; ++i) given += runs.Count() ? 1 : 0;
    runs.End();
  }
  return given;
}

TEST(RepeatedRuns, MemoryGoesAfterEightRunsOfOneShapeAndOnlyOnce) {
  RepeatedRuns runs;
  EXPECT_EQ(GivenBack(runs, 1, 1000), 0);
  EXPECT_EQ(GivenBack(runs, 7, 100), 0);
  EXPECT_EQ(GivenBack(runs, 100'000, 1), 1);
}

TEST(RepeatedRuns, ShapesThatComeBackSoonStopIt) {
  RepeatedRuns runs;
  EXPECT_EQ(GivenBack(runs, 8, 1000), 1);
  EXPECT_EQ(GivenBack(runs, 20, 1000), 1);
  EXPECT_EQ(GivenBack(runs, 10'000, 3), 3) << "shapes that change rarely let it go on";
  EXPECT_EQ(GivenBack(runs, 10, 1), 1) << "and then it is as quick as before";
}

TEST(RepeatedRuns, ItNeverWaitsForMoreThanAThousandRuns) {
  RepeatedRuns runs;
  for (int count = 8; count <= 1 << 14; count *= 2) GivenBack(runs, count, 1);
  EXPECT_EQ(GivenBack(runs, static_cast<int>(RepeatedRuns::kMost), 1), 1);
}

}  // namespace
}  // namespace sardonyx::runtime
