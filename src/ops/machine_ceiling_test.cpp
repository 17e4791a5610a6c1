// ops/machine_ceiling_test.cpp - what is measured has the order of a machine's speed; times follow from it.
#include "ops/machine_ceiling.h"

#include <gtest/gtest.h>

namespace sardonyx::ops {
namespace {

TEST(MachineCeiling, IsMeasuredOnceForEachNumberOfThreads) {
  Serial serial;
  const MachineCeiling& ceiling = CeilingOf(serial);
  EXPECT_EQ(ceiling.threads, 1);
  EXPECT_GT(ceiling.float_operations_per_second, 1e8);
  EXPECT_LT(ceiling.float_operations_per_second, 1e13);
  ASSERT_EQ(ceiling.streams.size(), 4u);
  for (const MachineCeiling::Stream& stream : ceiling.streams) {
    EXPECT_GT(stream.bytes_per_second, 1e8);
    EXPECT_LT(stream.bytes_per_second, 1e13);
  }
  EXPECT_EQ(&CeilingOf(serial), &ceiling);
}

TEST(MachineCeiling, TheTimeIsTheLongerOfComputingAndMoving) {
  MachineCeiling ceiling;
  ceiling.float_operations_per_second = 100;
  ceiling.streams = {{1000, 50}, {2000, 10}};
  EXPECT_EQ(ceiling.Seconds(200, 50, DType::kFloat), 2);     // computing
  EXPECT_EQ(ceiling.Seconds(10, 500, DType::kFloat), 10);    // moving, in the cache
  EXPECT_EQ(ceiling.Seconds(10, 5000, DType::kFloat), 500);  // moving, in memory
  EXPECT_EQ(ceiling.Seconds(200, 0, DType::kDouble), 4);
  EXPECT_LE(ceiling.Seconds(200, 0, DType::kInt8), 1);
}

}  // namespace
}  // namespace sardonyx::ops
