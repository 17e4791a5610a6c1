// ops/text/text_test.cpp - RegexFullMatch has RE2's syntax and its linear time (strings_test.cpp tests the other
// operators of text.cpp).
#include <gtest/gtest.h>

#include <chrono>

#include "testing/evaluate_op.h"

namespace sardonyx::testing {
namespace {

using Text = std::string;

bool Matches(const Text& pattern, const Text& text) {
  const Tensor x = Tensor::Of<Text>({text}, Shape{1});
  return Elements<bool>(EvaluateOp({"RegexFullMatch", 20, {x}, {{"pattern", pattern}}})[0])[0];
}

TEST(RegexFullMatch, ReadsClassesOfUnicodePosixAndPerl) {
  EXPECT_TRUE(Matches(R"(\p{Lu}\p{Greek}+)", "Äλόγος"));
  EXPECT_FALSE(Matches(R"(\p{Greek}+)", "logos"));
  EXPECT_TRUE(Matches(R"([[:alpha:]]+\d\W)", "ab1!"));
  EXPECT_TRUE(Matches(R"(.\pN)", "日٣"));  // a dot is a character, not a byte
}

TEST(RegexFullMatch, FoldsTheCaseOfUnicode) {
  EXPECT_TRUE(Matches("(?i)straße", "STRAßE"));
  EXPECT_TRUE(Matches("(?i)ςίσυφος", "ΣΊΣΥΦΟΣ"));
  EXPECT_FALSE(Matches("ab", "AB"));
}

TEST(RegexFullMatch, MatchesTheWholeText) {
  EXPECT_FALSE(Matches("b", "abc"));
  EXPECT_TRUE(Matches("a|ab", "ab"));
  EXPECT_TRUE(Matches("", ""));
}

TEST(RegexFullMatch, RefusesWhatIsNotRegular) {
  const Tensor x = Tensor::Of<Text>({"aa"}, Shape{1});
  for (const char* pattern : {R"((a)\1)", "a(?=b)", "(?<!a)b"}) {
    const Text error = ErrorOfOp({"RegexFullMatch", 20, {x}, {{"pattern", Text(pattern)}}});
    EXPECT_NE(error.find(pattern), Text::npos) << error;
  }
}

// A matcher that backtracks takes 2^n steps for the first, one that recurses overflows the stack with the second.
TEST(RegexFullMatch, TakesLinearTime) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(Matches("(a*)*b", Text(100'000, 'a')));
  EXPECT_TRUE(Matches("(.|\\n)*", Text(3'000'000, 'x')));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace sardonyx::testing
