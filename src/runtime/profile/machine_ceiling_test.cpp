// runtime/profile/machine_ceiling_test.cpp - measured speeds are plausible, and the times of nodes follow from them.
#include "runtime/profile/machine_ceiling.h"

#include <gtest/gtest.h>

namespace sardonyx::runtime {
namespace {

TEST(MachineCeiling, IsMeasuredOnceForEachNumberOfThreads) {
  Serial serial;
  const MachineCeiling ceiling = CeilingOf(serial);
  EXPECT_EQ(ceiling.threads, 1);
  EXPECT_GT(ceiling.float_operations_per_second, 1e8);
  EXPECT_LT(ceiling.float_operations_per_second, 1e13);
  ASSERT_GE(ceiling.streams.size(), 4u);
  for (const MachineCeiling::Stream& stream : ceiling.streams) {
    EXPECT_GT(stream.bytes_per_second, 1e8);
    EXPECT_LT(stream.read_bytes_per_second, 1e13);
    EXPECT_GT(stream.read_bytes_per_second, 1e8);
  }
  for (int i = 0; i < 2; ++i) {  // no later profile of the process knows less
    const MachineCeiling again = CeilingOf(serial);
    EXPECT_GE(again.float_operations_per_second, ceiling.float_operations_per_second);
    EXPECT_GE(again.streams[0].bytes_per_second, ceiling.streams[0].bytes_per_second);
  }
  EXPECT_EQ(CeilingOf(serial).float_operations_per_second, CeilingOf(serial).float_operations_per_second);
}

TEST(MachineCeiling, TheBestOfTwoMeasurementsIsOfEachRate) {
  MachineCeiling one, other;
  one.float_operations_per_second = 5, other.float_operations_per_second = 7;
  one.streams = {{1000, 50, 60}}, other.streams = {{1000, 40, 90}};
  one.KeepBest(other);
  EXPECT_EQ(one.float_operations_per_second, 7);
  EXPECT_EQ(one.streams[0].bytes_per_second, 50);
  EXPECT_EQ(one.streams[0].read_bytes_per_second, 90);
}

TEST(MachineCeiling, TheTimeIsTheLongerOfComputingAndMoving) {
  MachineCeiling ceiling;
  ceiling.float_operations_per_second = 100;
  ceiling.streams = {{1000, 50, 100}, {2000, 10, 20}};
  const auto seconds = [&](double operations, double bytes, double written, DType computes, double arithmetic = 1) {
    return ceiling.Seconds({operations, bytes, written, 0, computes, arithmetic});
  };
  EXPECT_EQ(seconds(200, 50, 25, DType::kFloat), 2);       // computing
  EXPECT_EQ(seconds(10, 500, 250, DType::kFloat), 10);     // moving, in the cache
  EXPECT_EQ(seconds(10, 500, 0, DType::kFloat), 5);        // reading only
  EXPECT_EQ(seconds(10, 500, 50, DType::kFloat), 2 + 4);   // little is written
  EXPECT_EQ(seconds(10, 5000, 2500, DType::kFloat), 500);  // moving, in memory
  EXPECT_EQ(seconds(10, 5000, 5000, DType::kFloat), 500);  // writing only
  EXPECT_EQ(seconds(10, 1999, 0, DType::kFloat), 19.99);   // what lies between counts as the smaller
  EXPECT_EQ(seconds(200, 0, 0, DType::kDouble), 4);
  EXPECT_EQ(seconds(200, 0, 0, DType::kFloat, 0.25), 0.5);  // an algorithm with less arithmetic
  EXPECT_LE(seconds(200, 0, 0, DType::kInt8), 1);
  const ops::Cost product = {10, 1000, 100, 800, DType::kFloat, 1};
  EXPECT_EQ(ceiling.Seconds(product), 4 + 8);         // its weights stay in the cache
  EXPECT_EQ(ceiling.Seconds(product, 5000), 4 + 40);  // those of the model do not
}

}  // namespace
}  // namespace sardonyx::runtime
