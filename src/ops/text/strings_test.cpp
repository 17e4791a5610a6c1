// ops/text/strings_test.cpp - matching, joining, splitting and normalizing strings; TfIdfVectorizer.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/text/utf8_case.h"
#include "testing/evaluate_op.h"

namespace sardonyx::testing {
namespace {

using Reals = std::vector<float>;
using Longs = std::vector<std::int64_t>;
using Words = std::vector<std::string>;
using Text = std::string;

Tensor Strings(std::initializer_list<std::string> values) {
  return Tensor::Of<std::string>(values, Shape{static_cast<std::int64_t>(values.size())});
}

TEST(TextOps, MatchJoinSplitAndNormalize) {
  EXPECT_EQ(
      Elements<bool>(EvaluateOp({"RegexFullMatch", 20, {Strings({"ab1", "x"})}, {{"pattern", Text("[a-b]+\\d")}}})[0]),
      (std::vector<bool>{true, false}));
  EXPECT_NE(ErrorOfOp({"RegexFullMatch", 20, {Strings({"a"})}, {{"pattern", Text("(")}}}).find("missing"), Text::npos);
  EXPECT_EQ(Elements<std::string>(EvaluateOp({"StringConcat", 20, {Strings({"a", "b"}), Strings({"!"})}})[0]),
            (Words{"a!", "b!"}));
  EXPECT_NE(ErrorOfOp({"StringConcat", 20, {Strings({"a", "b"}), Strings({"1", "2", "3"})}}).find("broadcast"),
            Text::npos);
  const auto split = EvaluateOp({"StringSplit", 20, {Strings({" a  b ", ""})}, {}, 2});
  EXPECT_EQ(Elements<std::string>(split[0]), (Words{"a", "b", "", ""}));
  EXPECT_EQ(Elements<std::int64_t>(split[1]), (Longs{2, 0}));
  EXPECT_EQ(
      Elements<std::string>(EvaluateOp(
          {"StringSplit", 20, {Strings({"a,b,c"})}, {{"delimiter", Text(",")}, {"maxsplit", std::int64_t{1}}}, 2})[0]),
      (Words{"a", "b,c"}));
  EXPECT_EQ(
      Elements<std::string>(EvaluateOp({"StringNormalizer",
                                        10,
                                        {Strings({"The", "Äpfel"})},
                                        {{"case_change_action", Text("UPPER")}, {"stopwords", Words{"the"}}}})[0]),
      (Words{"ÄPFEL"}));
  EXPECT_EQ(ops::ToLower("ΣЖŽ\xff"), "σжž\xff");
}

TEST(TextOps, TfIdfCountsWithGaps) {
  const std::vector<Attribute> attributes = {{"mode", Text("TF")},
                                             {"min_gram_length", std::int64_t{1}},
                                             {"max_gram_length", std::int64_t{2}},
                                             {"max_skip_count", std::int64_t{1}},
                                             {"ngram_counts", Longs{0, 1}},
                                             {"ngram_indexes", Longs{1, 0}},
                                             {"pool_int64s", Longs{3, 1, 2}}};
  EXPECT_EQ(Elements<float>(EvaluateOp({"TfIdfVectorizer", 9, {Ints({1, 3, 2, 1, 2})}, attributes})[0]), (Reals{2, 1}));
  std::vector<Attribute> wrong = attributes;
  wrong[0].value = Text("BM25");
  EXPECT_NE(ErrorOfOp({"TfIdfVectorizer", 9, {Ints({1})}, wrong}).find("found 'BM25'"), Text::npos);
}

}  // namespace
}  // namespace sardonyx::testing
