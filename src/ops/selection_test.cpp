// ops/selection_test.cpp - Compress, NonZero, OneHot, Range, ReverseSequence, Trilu, Unique, regions, text and signal
// operators.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/utf8_case.h"
#include "testing/evaluate_op.h"

namespace sardonyx::testing {
namespace {

using Reals = std::vector<float>;
using Longs = std::vector<std::int64_t>;
using Words = std::vector<std::string>;
using Text = std::string;

const Tensor kTable = Tensor::Of<std::int64_t>({0, 1, 2, 3, 4, 5}, Shape{2, 3});

Tensor Strings(std::initializer_list<std::string> values) {
  return Tensor::Of<std::string>(values, Shape{static_cast<std::int64_t>(values.size())});
}

TEST(SelectOps, NonZeroAndCompress) {
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"NonZero", 13, {kTable}})[0]), (Longs{0, 0, 1, 1, 1, 1, 2, 0, 1, 2}));
  EXPECT_EQ(EvaluateOp({"NonZero", 13, {Tensor::Scalar(-0.0f)}})[0].tensor().shape(), (Shape{1, 0}));
  const Tensor keep = Tensor::Of<bool>({false, true}, Shape{2});
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Compress", 11, {kTable, keep}, {{"axis", std::int64_t{1}}}})[0]),
            (Longs{1, 4}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Compress", 11, {kTable, keep}})[0]), (Longs{1}));
  EXPECT_NE(ErrorOfOp({"Compress", 11, {Ints({1}), keep}}).find("at most 1 elements, found 2"), Text::npos);
}

TEST(SelectOps, RangeCountsInBothDirections) {
  const auto range = [](auto start, auto limit, auto delta) {
    return EvaluateOp({"Range", 11, {Tensor::Scalar(start), Tensor::Scalar(limit), Tensor::Scalar(delta)}})[0];
  };
  EXPECT_EQ(Elements<std::int64_t>(range(std::int64_t{10}, std::int64_t{4}, std::int64_t{-3})), (Longs{10, 7}));
  EXPECT_EQ(Elements<float>(range(1.0f, 2.0f, 0.25f)), (Reals{1, 1.25, 1.5, 1.75}));
  EXPECT_EQ(range(5.0f, 2.0f, 1.0f).tensor().count(), 0);
  EXPECT_NE(
      ErrorOfOp({"Range",
                 11,
                 {Tensor::Scalar<std::int64_t>(0), Tensor::Scalar<std::int64_t>(1), Tensor::Scalar<std::int64_t>(0)}})
          .find("delta other than 0"),
      Text::npos);
  EXPECT_NE(ErrorOfOp({"Range", 11, {Tensor::Scalar(0.0f), Tensor::Scalar(1.0f), Tensor::Scalar(0.0f)}})
                .find("no finite number"),
            Text::npos);
}

TEST(SelectOps, OneHotIgnoresIndicesOutOfRange) {
  EXPECT_EQ(Elements<float>(
                EvaluateOp({"OneHot", 11, {Ints({1, -1, 7}), Tensor::Scalar<std::int64_t>(2), Floats({0, 9})}})[0]),
            (Reals{0, 9, 0, 9, 0, 0}));
  EXPECT_NE(ErrorOfOp({"OneHot", 11, {Ints({1}), Tensor::Scalar<std::int64_t>(2), Floats({0})}}).find("two values"),
            Text::npos);
}

TEST(SelectOps, TriluAndReverseSequence) {
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Trilu", 14, {kTable, Tensor::Scalar<std::int64_t>(1)}})[0]),
            (Longs{0, 1, 2, 0, 0, 5}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Trilu", 14, {kTable}, {{"upper", std::int64_t{0}}}})[0]),
            (Longs{0, 0, 0, 3, 4, 0}));
  EXPECT_NE(ErrorOfOp({"Trilu", 14, {Ints({1})}}).find("rank 2"), Text::npos);
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"ReverseSequence",
                                               10,
                                               {kTable, Ints({2, 3})},
                                               {{"batch_axis", std::int64_t{0}}, {"time_axis", std::int64_t{1}}}})[0]),
            (Longs{1, 0, 2, 5, 4, 3}));
  EXPECT_NE(ErrorOfOp({"ReverseSequence", 10, {kTable, Ints({2, 3, 3})}}).find("sequence length 3 of batch 1"),
            Text::npos);
}

TEST(UniqueOp, SortsOrKeepsTheOrder) {
  const Tensor x = Floats({2, 1, 2, NAN, NAN});
  const auto sorted = EvaluateOp({"Unique", 11, {x}, {}, 4});
  EXPECT_EQ(sorted[0].tensor().count(), 3);
  EXPECT_EQ(Elements<std::int64_t>(sorted[1]), (Longs{1, 0, 3}));
  EXPECT_EQ(Elements<std::int64_t>(sorted[2]), (Longs{1, 0, 1, 2, 2}));
  EXPECT_EQ(Elements<std::int64_t>(sorted[3]), (Longs{1, 2, 2}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Unique", 11, {x}, {{"sorted", std::int64_t{0}}}, 2})[1]),
            (Longs{0, 1, 3}));
  EXPECT_NE(ErrorOfOp({"Unique", 11, {x}, {{"axis", std::int64_t{2}}}}).find("axis"), Text::npos);
}

TEST(RegionOps, KeepTheBestBoxes) {
  const Tensor boxes = Tensor::Of<float>({0, 0, 1, 1, 1, 1, 0, 0.1f, 0, 2, 1, 3}, Shape{1, 3, 4});
  const Tensor scores = Tensor::Of<float>({0.5f, 0.9f, 0.1f}, Shape{1, 1, 3});
  const auto nms = EvaluateOp({"NonMaxSuppression", 11, {boxes, scores, Ints({5}), Floats({0.5f}), Floats({0.2f})}});
  EXPECT_EQ(Elements<std::int64_t>(nms[0]), (Longs{0, 0, 1}));
  EXPECT_EQ(EvaluateOp({"NonMaxSuppression", 11, {boxes, scores}})[0].tensor().shape(), (Shape{0, 3}));
  EXPECT_NE(ErrorOfOp({"NonMaxSuppression", 11, {boxes, scores, Ints({5}), Floats({2})}}).find("in [0, 1], found 2"),
            Text::npos);
  EXPECT_NE(ErrorOfOp({"NonMaxSuppression", 11, {boxes, scores, Ints({5}), Floats({NAN})}}).find("in [0, 1]"),
            Text::npos);
  const Tensor image = Tensor::Of<float>({1, 2, 3, 4}, Shape{1, 1, 2, 2});
  const Tensor roi = Tensor::Of<float>({0, 0, 2, 2}, Shape{1, 4});
  EXPECT_EQ(Elements<float>(EvaluateOp({"RoiAlign", 16, {image, roi, Ints({0})}})[0]), (Reals{2.5}));
  EXPECT_NE(ErrorOfOp({"RoiAlign", 16, {image, roi, Ints({1})}}).find("index 1"), Text::npos);
  const Tensor pool = Tensor::Of<float>({0, 0, 0, 1, 1}, Shape{1, 5});
  EXPECT_EQ(Elements<float>(EvaluateOp({"MaxRoiPool", 1, {image, pool}, {{"pooled_shape", Longs{1, 2}}}})[0]),
            (Reals{3, 4}));
  EXPECT_NE(ErrorOfOp({"MaxRoiPool", 1, {image, roi}, {{"pooled_shape", Longs{1, 2}}}}).find("rois [R, 5]"),
            Text::npos);
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

TEST(SignalOps, TransformsAndWindows) {
  const Tensor x = Tensor::Of<float>({1, 2, 3}, Shape{1, 3, 1});
  const auto y = Elements<float>(EvaluateOp({"DFT", 20, {x, Value(), Tensor::Scalar<std::int64_t>(1)}})[0]);
  const Reals want = {6, 0, -1.5f, std::sqrt(3.0f) / 2, -1.5f, -std::sqrt(3.0f) / 2};
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(y[i], want[i], 1e-6f);
  const auto half = EvaluateOp({"DFT", 17, {x}, {{"onesided", std::int64_t{1}}}});
  EXPECT_EQ(half[0].tensor().shape(), (Shape{1, 2, 2}));
  EXPECT_NE(ErrorOfOp({"DFT", 20, {x, Value(), Tensor::Scalar<std::int64_t>(2)}}).find("an axis before the last"),
            Text::npos);
  EXPECT_EQ(EvaluateOp({"STFT", 17, {x, Tensor::Scalar<std::int64_t>(1), Value(), Tensor::Scalar<std::int64_t>(2)}})[0]
                .tensor()
                .shape(),
            (Shape{1, 2, 2, 2}));
  EXPECT_NE(ErrorOfOp({"STFT", 17, {x, Tensor::Scalar<std::int64_t>(1), Value(), Tensor::Scalar<std::int64_t>(9)}})
                .find("frame of 1 to 3"),
            Text::npos);
  const auto hann = Elements<float>(EvaluateOp({"HannWindow", 17, {Tensor::Scalar<std::int64_t>(4)}})[0]);
  EXPECT_NEAR(hann[1], 0.5f, 1e-7f);
  EXPECT_EQ(
      Elements<double>(EvaluateOp({"HammingWindow",
                                   17,
                                   {Tensor::Scalar<std::int64_t>(1)},
                                   {{"periodic", std::int64_t{0}}, {"output_datatype", std::int64_t{11}}}})[0])[0],
      1);
  EXPECT_NE(ErrorOfOp({"BlackmanWindow", 17, {Tensor::Scalar<std::int64_t>(-1)}}).size(), 0u);
}

}  // namespace
}  // namespace sardonyx::testing
