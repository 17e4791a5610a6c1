// base/process_test.cpp - thread numbers, resident pages, local time.
#include "base/process.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace sardonyx {
namespace {

TEST(Process, ThreadsHaveNumbersOfTheirOwn) {
  const std::int32_t mine = ThreadNumber();
  std::int32_t other = mine;
  std::thread([&] { other = ThreadNumber(); }).join();
  EXPECT_NE(mine, other);
  EXPECT_EQ(mine, ThreadNumber());
  EXPECT_GT(ProcessNumber(), 0);
}

TEST(Process, ResidentBytesAreThoseOfWholePages) {
  std::vector<char> bytes(std::size_t{1} << 20, 1);
  const auto resident = ResidentBytes(bytes.data() + 1, bytes.size() - 1);
  if (!resident) GTEST_SKIP() << "this system does not tell what is resident";
  EXPECT_GT(*resident, bytes.size() / 2);
  EXPECT_LT(*resident, bytes.size());
  EXPECT_EQ(ResidentBytes(bytes.data(), 0), std::size_t{0});
  EXPECT_EQ(ResidentBytes(bytes.data() + 1, 5), std::size_t{0});
}

TEST(Process, LocalTimeIsThatOfTheCLibrary) {
  const std::time_t seconds = 1763820000;
  const std::tm local = LocalTime(seconds), *want = std::localtime(&seconds);
  EXPECT_EQ(local.tm_hour, want->tm_hour);
  EXPECT_EQ(local.tm_yday, want->tm_yday);
}

}  // namespace
}  // namespace sardonyx
