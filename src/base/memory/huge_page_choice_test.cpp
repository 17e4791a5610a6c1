// base/memory/huge_page_choice_test.cpp - when huge pages are asked for again after one that took long.
#include "base/memory/huge_page_choice.h"

#include <gtest/gtest.h>

namespace sardonyx {
namespace {

TEST(HugePageChoice, AsksWhileTheyComeFast) {
  HugePageChoice choice;
  for (int turn = 0; turn < 1000; ++turn) {
    ASSERT_TRUE(choice.AskFor(std::size_t{32} << 20));
    ASSERT_FALSE(choice.Took(std::chrono::microseconds(300)));
  }
}

TEST(HugePageChoice, TriesAgainAfterSomeMemoryWithout) {
  HugePageChoice choice;
  ASSERT_TRUE(choice.AskFor(1));
  ASSERT_TRUE(choice.Took(std::chrono::milliseconds(7)));
  const std::size_t half = HugePageChoice::kBytesWithout / 2;
  EXPECT_FALSE(choice.AskFor(half));
  EXPECT_FALSE(choice.AskFor(half - 1));
  EXPECT_FALSE(choice.AskFor(4 * half));  // more than what is left counts as what is left
  EXPECT_TRUE(choice.AskFor(1));
}

}  // namespace
}  // namespace sardonyx
