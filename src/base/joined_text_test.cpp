// base/joined_text_test.cpp - texts and numbers of every type join in order.
#include "base/joined_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace sardonyx {
namespace {

TEST(JoinedText, JoinsTextsAndNumbersInOrder) {
  const std::string text = "rank";
  EXPECT_EQ(JoinedText("expected ", text, ' ', 3, ", found ", std::string_view("rank 4"), "!"),
            "expected rank 3, found rank 4!");
  EXPECT_EQ(JoinedText(), "");
}

TEST(JoinedText, WritesIntegersOfEveryTypeInDecimal) {
  EXPECT_EQ(JoinedText(std::int8_t{-5}, ' ', std::uint8_t{200}, ' ', std::numeric_limits<std::int64_t>::min(), ' ',
                       std::numeric_limits<std::uint64_t>::max(), ' ', true),
            "-5 200 -9223372036854775808 18446744073709551615 1");
}

TEST(JoinedText, WritesFloatsWithSixDigits) {
  EXPECT_EQ(JoinedText(0.5f, ' ', 1.0 / 3, ' ', 1e20, ' ', -std::numeric_limits<double>::infinity()),
            "0.5 0.333333 1e+20 -inf");
}

}  // namespace
}  // namespace sardonyx
