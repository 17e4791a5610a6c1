// ops/attention/attention_test.cpp - Attention against its double form, masked rows, refusals; positions of
// RotaryEmbedding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "testing/elements.h"
#include "testing/evaluate_op.h"

namespace sardonyx {
namespace {

using testing::AsDouble;
using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::Wave;

TEST(Attention, MatchesDoubleOverTilesGroupsAndWindows) {
  const std::vector<Value> f = {Wave({1, 4, 70, 8}, 0.1f), Wave({1, 2, 70, 8}, 0.2f), Wave({1, 2, 70, 6}, 0.3f)};
  std::vector<Value> d;
  for (const Value& v : f) d.push_back(AsDouble(v.tensor()));
  const std::vector<Attribute> attributes = {{"is_causal", std::int64_t{1}}, {"left_window_size", std::int64_t{9}}};
  const Value a = EvaluateOp({"Attention", 25, f, attributes})[0], b = EvaluateOp({"Attention", 25, d, attributes})[0];
  for (std::int64_t i = 0; i < a.tensor().count(); ++i) {
    EXPECT_NEAR(static_cast<double>(a.tensor().data<float>()[i]), b.tensor().data<double>()[i], 1e-5) << i;
  }
}

TEST(Attention, TakesKeysAndValuesOfOneSequenceForAll) {
  const Value q = Wave({3, 2, 4, 8}, 0.1f), k = Wave({1, 2, 5, 8}, 0.2f), v = Wave({1, 2, 5, 6}, 0.3f);
  const auto three = [](const Value& one) {
    return EvaluateOp({"Expand", 13, {one, Tensor::Of<std::int64_t>({3, 1, 1, 1}, Shape{4})}})[0];
  };
  const std::vector<Value> want = EvaluateOp({"Attention", 23, {q, three(k), three(v)}});
  EXPECT_EQ(Elements<float>(EvaluateOp({"Attention", 23, {q, k, v}})[0]), Elements<float>(want[0]));
  const std::vector<double> doubles = Elements<double>(
      EvaluateOp({"Attention", 23, {AsDouble(q.tensor()), AsDouble(k.tensor()), AsDouble(v.tensor())}})[0]);
  for (std::size_t i = 0; i < doubles.size(); ++i) EXPECT_NEAR(doubles[i], Elements<float>(want[0])[i], 1e-5) << i;
  const std::vector<Value> kept = EvaluateOp({"Attention", 23, {q, three(k), three(v)}, {}, 3});
  for (const std::vector<Value>& some : {std::vector<Value>{q, k, v}, {q, three(k), v}, {q, k, three(v)}}) {
    const std::vector<Value> got = EvaluateOp({"Attention", 23, some, {}, 3});
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(got[i].tensor().shape(), kept[i].tensor().shape()) << i;
      EXPECT_EQ(Elements<float>(got[i]), Elements<float>(kept[i])) << i;
    }
  }
}

// A sink is a key of which the score is given and the value is 0.
TEST(SinkAttention, GivesTheProbabilityOfASinkAway) {
  const auto join = [](const Value& a, const Value& b, std::int64_t axis) {
    return EvaluateOp({"Concat", 13, {a, b}, {{"axis", axis}}})[0];
  };
  const Value q = Wave({2, 4, 3, 8}, 0.1f), k = Wave({2, 2, 3, 8}, 0.2f), v = Wave({2, 2, 3, 6}, 0.3f),
              past_k = Wave({2, 2, 4, 8}, 0.4f), past_v = Wave({2, 2, 4, 6}, 0.5f), mask = Wave({2, 4, 3, 7}, 0.6f);
  const Tensor sinks = Tensor::Of<float>({0.5f, -2, 3, 0}, Shape{4});
  const Value column = EvaluateOp(
      {"Expand",
       13,
       {Tensor::Of<float>({0.5f, -2, 3, 0}, Shape{1, 4, 1, 1}), Tensor::Of<std::int64_t>({2, 4, 3, 1}, Shape{4})}})[0];
  const std::vector<Attribute> scale = {{"scale", 0.5f}};
  Tensor zero_k(DType::kFloat, Shape{2, 2, 1, 8}), zero_v(DType::kFloat, Shape{2, 2, 1, 6});
  for (Tensor* zeros : {&zero_k, &zero_v}) std::fill_n(zeros->data<float>(), zeros->count(), 0.0f);
  const std::vector<float> want = Elements<float>(
      EvaluateOp({"Attention",
                  23,
                  {q, join(join(past_k, k, 2), zero_k, 2), join(join(past_v, v, 2), zero_v, 2), join(mask, column, 3)},
                  scale})[0]);
  const std::vector<Value> got = EvaluateOp({.op = "SinkAttention",
                                             .version = 1,
                                             .inputs = {q, k, v, mask, past_k, past_v, sinks},
                                             .attributes = scale,
                                             .outputs = 3,
                                             .domain = "ai.sardonyx"});
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(Elements<float>(got[0])[i], want[i], 1e-5) << i;
  EXPECT_EQ(Elements<float>(got[1]), Elements<float>(join(past_k, k, 2)));
  EXPECT_EQ(Elements<float>(got[2]), Elements<float>(join(past_v, v, 2)));
  const std::string error = ErrorOfOp({.op = "SinkAttention",
                                       .version = 1,
                                       .inputs = {q, k, v, Value(), Value(), Value(), Tensor(DType::kFloat, Shape{3})},
                                       .domain = "ai.sardonyx"});
  EXPECT_NE(error.find("expected sinks [4], found [3]"), std::string::npos) << error;
}

// Caches of other types and axes give what ONNX's Attention gives where they are made its own.
TEST(CachedAttention, ReadsAndWritesCachesAsTheyLie) {
  const auto cast = [](const Value& x, DType to) {
    return EvaluateOp({"Cast", 13, {x}, {{"to", static_cast<std::int64_t>(to)}}})[0];
  };
  const auto turned = [](const Value& x, const std::vector<std::int64_t>& perm) {
    return EvaluateOp({"Transpose", 13, {x}, {{"perm", perm}}})[0];
  };
  const std::vector<Attribute> scale = {{"scale", 0.5f}};
  for (const std::int64_t queries : {1, 3, 40})
    for (const std::int64_t past : {0, 5, 9000}) {
      const Value q = Wave({2, 4, queries, 8}, 0.1f), k = Wave({2, 2, queries, 8}, 0.2f),
                  v = Wave({2, 2, queries, 16}, 0.3f), mask = Wave({1, 1, queries, past + queries}, 0.6f),
                  past_k = Wave({2, 2, past, 8}, 0.4f), past_v = Wave({2, 2, past, 16}, 0.5f);
      for (const DType dtype : {DType::kFloat, DType::kFloat16, DType::kBFloat16})
        for (const std::vector<std::int64_t>& axes : std::vector<std::vector<std::int64_t>>{
                 {0, 1, 2, 3}, {0, 2, 1, 3}, {2, 0, 1, 3}, {1, 0, 2, 3}, {2, 1, 0, 3}}) {
          std::vector<std::int64_t> back(4);
          for (std::size_t i = 0; i < 4; ++i) back[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
          const auto stored = [&](const Value& x) { return turned(cast(x, dtype), axes); };
          const auto rounded = [&](const Value& x) { return cast(cast(x, dtype), DType::kFloat); };
          std::vector<Attribute> attributes = scale;
          attributes.push_back({"cache_axes", axes});
          const std::vector<Value> got = EvaluateOp({.op = "CachedAttention",
                                                     .version = 1,
                                                     .inputs = {q, k, v, mask, stored(past_k), stored(past_v)},
                                                     .attributes = attributes,
                                                     .outputs = 3,
                                                     .domain = "ai.sardonyx"});
          const std::vector<Value> want = EvaluateOp(
              {"Attention", 23, {q, rounded(k), rounded(v), mask, rounded(past_k), rounded(past_v)}, scale, 3});
          EXPECT_EQ(Elements<float>(got[0]), Elements<float>(want[0])) << queries << " behind " << past;
          for (const std::size_t i : {1, 2}) {
            EXPECT_EQ(got[i].tensor().dtype(), dtype);
            EXPECT_EQ(got[i].tensor().shape(), stored(want[i]).tensor().shape()) << i;
            EXPECT_EQ(Elements<float>(turned(cast(got[i], DType::kFloat), back)), Elements<float>(want[i])) << i;
          }
        }
    }
}

TEST(CachedAttention, RefusesAxesThatAreNone) {
  const Value x = Wave({1, 2, 3, 4}, 0.1f);
  for (const std::vector<std::int64_t>& axes :
       std::vector<std::vector<std::int64_t>>{{0, 1, 2}, {0, 0, 2, 3}, {0, 1, 3, 2}, {0, 1, 2, 4}, {-1, 1, 2, 3}}) {
    const std::string error = ErrorOfOp({.op = "CachedAttention",
                                         .version = 1,
                                         .inputs = {x, x, x, Value(), x, x},
                                         .attributes = {{"cache_axes", axes}},
                                         .outputs = 3,
                                         .domain = "ai.sardonyx"});
    EXPECT_NE(error.find("expected 0, 1 and 2 in some order"), std::string::npos) << error;
  }
}

// The bits are those of a past that was converted before.
TEST(Attention, ReadsCachesOf16BitsAsTheyAreStored) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    const auto cast = [](const Value& x, DType to) {
      return EvaluateOp({"Cast", 13, {x}, {{"to", static_cast<std::int64_t>(to)}}})[0];
    };
    std::vector<Value> halves, floats;
    for (const Tensor& x : {Wave({2, 4, 3, 8}, 0.1f), Wave({2, 2, 3, 8}, 0.2f), Wave({2, 2, 3, 6}, 0.3f),
                           Wave({2, 1, 3, 8}, 0.4f), Wave({2, 2, 5, 8}, 0.5f), Wave({2, 2, 5, 6}, 0.6f)}) {
      halves.push_back(cast(x, dtype));
      floats.push_back(cast(halves.back(), DType::kFloat));
    }
    const std::vector<Value> got = EvaluateOp({"Attention", 23, halves, {}, 3});
    const std::vector<Value> want = EvaluateOp({"Attention", 23, floats, {}, 3});
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(Elements<float>(cast(got[i], DType::kFloat)),
                Elements<float>(cast(cast(want[i], dtype), DType::kFloat)))
          << i;
  }
}

TEST(Attention, GivesAFullyMaskedRowZeros) {
  const Tensor x = Wave({1, 1, 2, 4}, 1), mask = Tensor::Of<bool>({false, false, true, true}, Shape{2, 2});
  const std::vector<float> y = Elements<float>(EvaluateOp({"Attention", 23, {x, x, x, mask}})[0]);
  EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 4), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_NE(y[4], 0);
}

TEST(Attention, RefusesHeadsThatDoNotDivide) {
  EXPECT_NE(
      ErrorOfOp({"Attention", 23, {Wave({1, 3, 2, 4}, 1), Wave({1, 2, 2, 4}, 1), Wave({1, 2, 2, 4}, 1)}}).find("3"),
      std::string::npos);
}

TEST(RotaryEmbedding, RefusesPositionsBeyondTheCache) {
  const Tensor cache = Wave({2, 2}, 1), at = Tensor::Of<std::int64_t>({2}, Shape{1, 1});
  EXPECT_NE(ErrorOfOp({"RotaryEmbedding", 23, {Wave({1, 1, 1, 4}, 1), cache, cache, at}}).find("[0, 2)"),
            std::string::npos);
}

}  // namespace
}  // namespace sardonyx
