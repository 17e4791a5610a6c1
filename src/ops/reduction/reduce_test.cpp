// ops/reduction/reduce_test.cpp - reductions over axes, of empty tensors, NaN and every type, and what they refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kernels/reduce/reduce_f32.h"
#include "testing/evaluate_op.h"

namespace sardonyx {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::Floats;
using testing::Ints;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

const Tensor kCube = Tensor::Of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, Shape{2, 3, 2});

std::vector<float> Reduce(std::string_view op, Tensor x, std::vector<Value> axes = {}, std::int64_t keepdims = 0) {
  std::vector<Value> inputs = {std::move(x)};
  for (Value& a : axes) inputs.push_back(std::move(a));
  return Elements<float>(EvaluateOp({op, op == "ReduceSum" ? 13 : 18, inputs, {{"keepdims", keepdims}}})[0]);
}

TEST(Reduce, SumsOverEveryPositionOfAxes) {
  EXPECT_EQ(Reduce("ReduceSum", kCube, {Ints({2})}), (std::vector<float>{3, 7, 11, 15, 19, 23}));
  EXPECT_EQ(Reduce("ReduceSum", kCube, {Ints({1})}), (std::vector<float>{9, 12, 27, 30}));
  EXPECT_EQ(Reduce("ReduceSum", kCube, {Ints({0, 2})}), (std::vector<float>{18, 26, 34}));
  EXPECT_EQ(Reduce("ReduceSum", kCube, {Ints({-3})}), (std::vector<float>{8, 10, 12, 14, 16, 18}));
  EXPECT_EQ(Reduce("ReduceSum", kCube), (std::vector<float>{78}));
}

TEST(Reduce, ComputesEachKind) {
  const Tensor x = Tensor::Of<float>({1, -2, 3, 4}, Shape{2, 2});
  EXPECT_EQ(Reduce("ReduceMean", x, {Ints({1})}), (std::vector<float>{-0.5f, 3.5f}));
  EXPECT_EQ(Reduce("ReduceMax", x, {Ints({0})}), (std::vector<float>{3, 4}));
  EXPECT_EQ(Reduce("ReduceMin", x, {Ints({0})}), (std::vector<float>{1, -2}));
  EXPECT_EQ(Reduce("ReduceProd", x, {Ints({1})}), (std::vector<float>{-2, 12}));
  EXPECT_EQ(Reduce("ReduceL1", x, {Ints({1})}), (std::vector<float>{3, 7}));
  EXPECT_EQ(Reduce("ReduceL2", x, {Ints({1})}), (std::vector<float>{std::sqrt(5.0f), 5}));
  EXPECT_EQ(Reduce("ReduceSumSquare", x, {Ints({0})}), (std::vector<float>{10, 20}));
  EXPECT_FLOAT_EQ(Reduce("ReduceLogSum", x, {Ints({1})})[1], std::log(7.0f));
  EXPECT_FLOAT_EQ(Reduce("ReduceLogSumExp", x, {Ints({1})})[1], 4 + std::log(1 + std::exp(-1.0f)));
  EXPECT_FLOAT_EQ(Reduce("ReduceLogSumExp", x, {Ints({0})})[0], 3 + std::log(1 + std::exp(-2.0f)));
}

TEST(Reduce, OfNothingIsTheIdentity) {
  const Tensor nothing(DType::kFloat, Shape{2, 0});
  EXPECT_EQ(Reduce("ReduceSum", nothing, {Ints({1})}), (std::vector<float>{0, 0}));
  EXPECT_EQ(Reduce("ReduceProd", nothing, {Ints({1})}), (std::vector<float>{1, 1}));
  EXPECT_EQ(Reduce("ReduceMax", nothing, {Ints({1})}), (std::vector<float>{-kInfinity, -kInfinity}));
  EXPECT_EQ(Reduce("ReduceLogSumExp", nothing, {Ints({1})}), (std::vector<float>{-kInfinity, -kInfinity}));
  EXPECT_TRUE(std::isnan(Reduce("ReduceMean", nothing, {Ints({1})})[0]));
  EXPECT_TRUE(Reduce("ReduceSum", nothing, {Ints({0})}).empty());
}

TEST(Reduce, KeepsNaNAndDoesNotOverflowInLogSumExp) {
  std::vector<float> values(100, 1);
  values[70] = std::nanf("");
  const Tensor x = Tensor::Vector<float>(values);
  EXPECT_TRUE(std::isnan(Reduce("ReduceMax", x)[0]));
  EXPECT_TRUE(std::isnan(Reduce("ReduceMin", x)[0]));
  EXPECT_FLOAT_EQ(Reduce("ReduceLogSumExp", Floats({1000, 1000}))[0], 1000 + std::log(2.0f));
  EXPECT_EQ(Reduce("ReduceLogSumExp", Floats({-kInfinity, -kInfinity}))[0], -kInfinity);
}

TEST(Reduce, EmptyAxesReduceAllOrNothing) {
  const std::vector<Attribute> noop = {{"noop_with_empty_axes", std::int64_t{1}}};
  EXPECT_EQ(Elements<float>(EvaluateOp({"ReduceSumSquare", 18, {Floats({2, 3}), Ints({})}, noop})[0]),
            (std::vector<float>{4, 9}));
  EXPECT_EQ(Elements<float>(EvaluateOp({"ReduceSumSquare", 18, {Floats({2, 3}), Ints({})}})[0]),
            (std::vector<float>{13}));
}

TEST(Reduce, TakesAxesOfOldVersionsAsAnAttribute) {
  const std::vector<Attribute> axes = {{"axes", std::vector<std::int64_t>{1}}};
  const Value y = EvaluateOp({"ReduceMean", 11, {Tensor::Of<float>({1, 3, 5, 7}, Shape{2, 2})}, axes})[0];
  EXPECT_EQ(Elements<float>(y), (std::vector<float>{2, 6}));
  EXPECT_EQ(y.tensor().shape(), (Shape{2, 1}));
}

TEST(Reduce, ReducesIntegersHalvesAndBools) {
  const Tensor ints = Tensor::Of<std::int64_t>({5, -2, 4}, Shape{3});
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"ReduceMean", 18, {ints}})[0]), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"ReduceL1", 18, {ints}})[0]), (std::vector<std::int64_t>{11}));
  EXPECT_TRUE(*EvaluateOp({"ReduceMax", 20, {Tensor::Of<bool>({false, true}, Shape{2})}})[0].tensor().data<bool>());
  const Tensor halves = Tensor::Of<Half>({Half(1.5f), Half(2.5f)}, Shape{2});
  EXPECT_EQ(Elements<Half>(EvaluateOp({"ReduceSum", 13, {halves}})[0])[0], Half(4.0f));
  const Tensor doubles = Tensor::Of<double>({3, 4}, Shape{2});
  EXPECT_EQ(Elements<double>(EvaluateOp({"ReduceL2", 18, {doubles}})[0])[0], 5.0);
}

TEST(Reduce, RefusesAnAxisBeyondTheRank) {
  EXPECT_NE(ErrorOfOp({"ReduceSum", 13, {kCube, Ints({3})}}).find("3"), std::string::npos);
}

TEST(ReduceF32, EveryVariantMatchesTheFloat64Sum) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(1, 2);
  std::vector<float> x(70000);
  for (float& v : x) v = normal(random);
  for (const kernels::Isa isa : kernels::SupportedIsas()) {
    const kernels::ReduceF32Set& set = kernels::ReduceF32(isa);
    for (const std::int64_t n : {0, 1, 2, 15, 16, 17, 31, 63, 64, 65, 200, 2047, 2048, 2049, 70000}) {
      double sum = 0, magnitude = 0, max = -INFINITY, squares = 0, exponentials = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const double v = static_cast<double>(x[i]);
        sum += v, magnitude += std::abs(v), max = std::max(max, v), squares += (v - 1) * (v - 1);
        exponentials += std::exp(v - 5);
      }
      EXPECT_NEAR(set.row(kernels::ReduceKind::kSum, x.data(), n), sum, 40 * 0x1p-24 * magnitude) << n;
      EXPECT_EQ(set.row(kernels::ReduceKind::kMax, x.data(), n), max) << n;
      EXPECT_NEAR(set.sum_squared_deviations(x.data(), n, 1), squares, 42 * 0x1p-24 * squares) << n;
      EXPECT_NEAR(set.sum_exp(x.data(), n, 5), exponentials, 2e-6 * exponentials) << n;
    }
    for (const std::int64_t n : {1, 2, 3, 4, 5, 15})
      for (const auto kind : {kernels::ReduceKind::kSum, kernels::ReduceKind::kSumAbs, kernels::ReduceKind::kSumSquare,
                              kernels::ReduceKind::kProd, kernels::ReduceKind::kMax, kernels::ReduceKind::kMin}) {
        std::vector<float> short_rows(19);
        set.short_rows(kind, x.data(), 19, n, short_rows.data());
        for (std::int64_t r = 0; r < 19; ++r) {
          const double want = set.row(kind, x.data() + r * n, n);
          EXPECT_NEAR(short_rows[static_cast<std::size_t>(r)], want, 16 * 0x1p-24 * (100 + std::abs(want))) << n;
        }
      }
    for (const std::int64_t columns : {1, 15, 16, 17, 63, 64, 65, 130}) {
      std::vector<float> acc(static_cast<std::size_t>(columns), 0.0f);
      set.columns(kernels::ReduceKind::kSum, x.data(), 500, columns, columns, acc.data());
      for (std::int64_t i = 0; i < columns; ++i) {
        double want = 0, magnitude = 0;
        for (std::int64_t k = 0; k < 500; ++k) {
          want += static_cast<double>(x[k * columns + i]);
          magnitude += std::abs(static_cast<double>(x[k * columns + i]));
        }
        EXPECT_NEAR(acc[i], want, 132 * 0x1p-24 * magnitude) << columns;
      }
    }
  }
}

// Many long rows are read row after row, few columns from top to bottom: with the same bits.
TEST(ReduceF32, WideColumnsHaveTheBitsOfNarrowOnes) {
  std::mt19937 random(8);
  std::normal_distribution<float> normal(0, 2);
  constexpr std::int64_t kRows = 300, kStride = 1300;
  std::vector<float> x(static_cast<std::size_t>(kRows * kStride));
  for (float& v : x) v = normal(random);
  x[17 * kStride + 5] = std::nanf("");
  x[299 * kStride + 1100] = std::nanf("");
  for (const kernels::Isa isa : kernels::SupportedIsas()) {
    const kernels::ReduceF32Set& set = kernels::ReduceF32(isa);
    for (const auto kind : {kernels::ReduceKind::kSum, kernels::ReduceKind::kSumAbs, kernels::ReduceKind::kSumSquare,
                            kernels::ReduceKind::kProd, kernels::ReduceKind::kMax, kernels::ReduceKind::kMin})
      for (const std::int64_t columns : {65, 70, 500, 1024, 1299}) {
        std::vector<float> wide(static_cast<std::size_t>(columns), kernels::ReduceIdentity(kind)), narrow = wide;
        set.columns(kind, x.data(), kRows, kStride, columns, wide.data());
        for (std::int64_t at = 0; at < columns; at += 4)
          set.columns(kind, x.data() + at, kRows, kStride, std::min<std::int64_t>(4, columns - at), narrow.data() + at);
        EXPECT_TRUE(std::isnan(wide[5])) << columns;
        for (std::int64_t j = 0; j < columns; ++j) {
          if (std::isnan(narrow[j])) {
            EXPECT_TRUE(std::isnan(wide[j])) << columns << " " << j;
          } else {
            EXPECT_EQ(wide[j], narrow[j]) << columns << " " << j;
          }
        }
      }
  }
}

}  // namespace
}  // namespace sardonyx
