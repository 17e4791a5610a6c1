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

TEST(TextOps, StringNormalizerKnowsTheLettersOfItsLocale) {
  const auto normalized = [](const char* change, const char* locale) {
    return Elements<std::string>(EvaluateOp(
        {"StringNormalizer",
         10,
         {Strings({"Zażółć", "ÄB", "äpfel"})},
         {{"case_change_action", Text(change)}, {"locale", Text(locale)}, {"stopwords", Words{"ÄPFEL"}}}})[0]);
  };
  EXPECT_EQ(normalized("UPPER", "C"), (Words{"ZAżółć", "ÄB", "äPFEL"}));
  EXPECT_EQ(normalized("LOWER", "POSIX"), (Words{"zażółć", "Äb", "äpfel"}));
  EXPECT_EQ(normalized("UPPER", "en_US.UTF-8"), (Words{"ZAŻÓŁĆ", "ÄB"}));
}

// Expected: ONNX Runtime 1.31.1; the texts' hashes also stand in the tests of scikit-learn's FeatureHasher.
TEST(TextOps, MurmurHash3OfTextsAndNumbers) {
  const auto hashes = [](const Tensor& x, std::vector<Attribute> attributes) {
    return EvaluateOp({"MurmurHash3", 1, {x}, std::move(attributes), 1, "com.microsoft"})[0];
  };
  using Unsigned = std::vector<std::uint32_t>;
  using Signed = std::vector<std::int32_t>;
  const Tensor texts = Strings({"abc", "", "hello world"});
  EXPECT_EQ(Elements<std::uint32_t>(hashes(texts, {})), (Unsigned{3017643002, 0, 1586663183}));
  EXPECT_EQ(Elements<std::int32_t>(hashes(texts, {{"positive", std::int64_t{0}}, {"seed", std::int64_t{7}}})),
            (Signed{940791465, 415870660, -1049843560}));
  EXPECT_EQ(Elements<std::uint32_t>(hashes(Tensor::Of<float>({1, 2, 3}, Shape{3}), {})),
            (Unsigned{3851923664, 1278750292, 6814352}));
  EXPECT_EQ(Elements<std::uint32_t>(hashes(Tensor::Of<double>({1, 2, 3}, Shape{3}), {})),
            (Unsigned{4152582287, 3145138138, 3554953595}));
  EXPECT_EQ(Elements<std::uint32_t>(hashes(Tensor::Of<std::int64_t>({1, 2, 3}, Shape{3}), {})),
            (Unsigned{1392991556, 3323962100, 2738575283}));
  EXPECT_EQ(Elements<std::uint32_t>(hashes(Tensor::Of<std::int32_t>({1, 2, 3}, Shape{3}), {})),
            (Unsigned{4226891818, 1085422463, 847579505}));
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
