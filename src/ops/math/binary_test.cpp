// ops/math/binary_test.cpp - broadcasting, integer edges and errors of the binary operators.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/registry.h"
#include "ops/shapes/broadcast.h"
#include "testing/evaluate_op.h"

namespace sardonyx::ops {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::Floats;
using testing::Ints;

Tensor Ramp(Shape shape) {
  Tensor t(DType::kFloat, std::move(shape));
  for (std::int64_t i = 0; i < t.count(); ++i) t.data<float>()[i] = static_cast<float>(i + 1);
  return t;
}

// The element of `t` that belongs to index `at` of a larger shape.
float At(const Tensor& t, const std::vector<std::int64_t>& at) {
  std::int64_t flat = 0;
  const std::size_t skip = at.size() - t.shape().rank();
  for (std::size_t i = 0; i < t.shape().rank(); ++i)
    flat = flat * t.shape()[i] + (t.shape()[i] == 1 ? 0 : at[skip + i]);
  return t.data<float>()[flat];
}

TEST(Binary, EveryPairOfShapesBroadcastsAsNumPyDoes) {
  const Shape shapes[] = {{},        {1},       {5},          {4, 5},       {4, 1},      {1, 5},
                          {3, 1, 5}, {3, 4, 1}, {2, 1, 4, 1}, {2, 3, 4, 5}, {2, 1, 1, 5}};
  for (const Shape& a : shapes) {
    for (const Shape& b : shapes) {
      const Tensor x = Ramp(a), y = Ramp(b);
      Shape out;
      ASSERT_TRUE(Broadcast(a, b, &out));
      const Value z = EvaluateOp({"Sub", 14, {x, y}})[0];
      ASSERT_EQ(z.tensor().shape(), out);
      std::vector<std::int64_t> at(out.rank());
      for (std::int64_t i = 0; i < z.tensor().count(); ++i) {
        std::int64_t rest = i;
        for (std::size_t d = out.rank(); d-- > 0; rest /= out[d]) at[d] = rest % out[d];
        ASSERT_EQ(z.tensor().data<float>()[i], At(x, at) - At(y, at)) << ToText(a) << " " << ToText(b) << " " << i;
      }
    }
  }
}

TEST(Binary, APlanGivesTheSameRunsWhereverItIsCut) {
  const std::int64_t out[] = {3, 2, 4}, row[] = {4}, column[] = {3, 1, 1};
  const Dims inputs[] = {row, column};
  const BroadcastPlan plan(out, inputs);
  EXPECT_FALSE(plan.repeats(0));
  EXPECT_TRUE(plan.repeats(1));
  for (std::int64_t cut = 0; cut <= 24; ++cut) {
    std::int64_t next = 0;
    const auto check = [&](const BroadcastRun& r) {
      EXPECT_EQ(r.out, next);
      EXPECT_EQ(r.in[0], r.out % 4);
      EXPECT_EQ(r.in[1], r.out / 8);
      next += r.count;
    };
    plan.ForRange(0, cut, check);
    plan.ForRange(cut, 24, check);
    EXPECT_EQ(next, 24);
  }
}

TEST(Binary, RankTenBroadcasts) {
  const Tensor x = Ramp({2, 1, 2, 1, 2, 1, 2, 1, 2, 1}), y = Ramp({1, 2, 1, 2, 1, 2, 1, 2, 1, 2});
  const Value z = EvaluateOp({"Add", 14, {x, y}})[0];
  ASSERT_EQ(z.tensor().count(), 1024);
  EXPECT_EQ(z.tensor().data<float>()[0], 2);
  EXPECT_EQ(z.tensor().data<float>()[1023], 64);
}

TEST(Binary, EveryRowRunsOnEveryTypeItLists) {
  for (const OpDef& op : BinaryOps()) {
    for (int d = 1; d < kDTypeCount; ++d) {
      const auto dtype = static_cast<DType>(d);
      if (!op.types.Has(dtype)) continue;
      Tensor x(dtype, Shape{3});
      if (dtype != DType::kString) std::fill_n(static_cast<std::uint8_t*>(x.raw()), x.byte_size(), std::uint8_t{1});
      std::vector<Attribute> attributes;
      if (op.name == "BitShift") attributes = {{"direction", std::string("LEFT")}};
      const auto z = EvaluateOp({op.name, op.since.items[op.since.size - 1], {x, x}, attributes});
      EXPECT_EQ(z[0].tensor().count(), 3) << op.name << " " << Name(dtype);
    }
  }
}

TEST(Binary, HalvesOfAllLengthsAreRoundedOnce) {
  Tensor x(DType::kFloat16, Shape{3000}), y(DType::kFloat16, Shape{1});
  for (int i = 0; i < 3000; ++i) x.data<Half>()[i] = Half(static_cast<float>(i) * 0.25f);
  y.data<Half>()[0] = Half(0.3f);
  const Value z = EvaluateOp({"Mul", 14, {x, y}})[0];
  for (int i = 0; i < 3000; ++i) {
    const float want = static_cast<float>(x.data<Half>()[i]) * static_cast<float>(y.data<Half>()[0]);
    ASSERT_EQ(z.tensor().data<Half>()[i].bits, Half(want).bits) << i;
  }
}

TEST(Binary, IntegerDivisionTruncatesAndWraps) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Div", 14, {Ints({7, -7, 7, kMin}), Ints({2, 2, -2, -1})}})[0]),
            (std::vector<std::int64_t>{3, -3, -3, kMin}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Mod", 28, {Ints({7, -7, 7, -7, kMin}), Ints({3, 3, -3, -3, -1})}})[0]),
            (std::vector<std::int64_t>{1, 2, -2, -1, 0}));
  EXPECT_EQ(Elements<std::int64_t>(
                EvaluateOp({"Mod", 28, {Ints({7, -7, 7}), Ints({3, 3, -3})}, {{"fmod", std::int64_t{1}}}})[0]),
            (std::vector<std::int64_t>{1, -1, 1}));
  const std::string message = ErrorOfOp({"Div", 14, {Ints({1, 2, 3}), Ints({1, 0, 1})}});
  EXPECT_NE(message.find("found 0 for element 1"), std::string::npos) << message;
}

TEST(Binary, ShiftsBeyondTheWidthGiveZero) {
  const Tensor x = Tensor::Of<std::uint8_t>({255, 255, 255}, Shape{3}),
               y = Tensor::Of<std::uint8_t>({1, 8, 200}, Shape{3});
  EXPECT_EQ(Elements<std::uint8_t>(EvaluateOp({"BitShift", 11, {x, y}, {{"direction", std::string("LEFT")}}})[0]),
            (std::vector<std::uint8_t>{254, 0, 0}));
  const std::string message = ErrorOfOp({"BitShift", 11, {x, y}, {{"direction", std::string("UP")}}});
  EXPECT_NE(message.find("expected 'LEFT' or 'RIGHT', found 'UP'"), std::string::npos) << message;
}

TEST(Binary, ComparisonsWithNanAreFalse) {
  const Tensor x = Floats({1, NAN, 3}), y = Floats({1, NAN, 2});
  EXPECT_EQ(Elements<bool>(EvaluateOp({"Equal", 19, {x, y}})[0]), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(Elements<bool>(EvaluateOp({"Greater", 13, {x, y}})[0]), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(Elements<bool>(EvaluateOp({"GreaterOrEqual", 16, {x, y}})[0]), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(Elements<bool>(EvaluateOp({"LessOrEqual", 16, {x, Floats({2})}})[0]),
            (std::vector<bool>{true, false, false}));
}

TEST(Binary, OldVersionsAlignTheSecondInputAtAnAxis) {
  const Tensor x = Ramp({2, 3, 2}), y = Floats({10, 20, 30});
  const Value z = EvaluateOp({"Add", 6, {x, y}, {{"axis", std::int64_t{1}}, {"broadcast", std::int64_t{1}}}})[0];
  EXPECT_EQ(Elements<float>(z), (std::vector<float>{11, 12, 23, 24, 35, 36, 17, 18, 29, 30, 41, 42}));
}

TEST(Binary, ShapesThatDoNotBroadcastAreNamed) {
  const std::string message = ErrorOfOp({"Add", 14, {Ramp({2, 3}), Ramp({4})}});
  EXPECT_NE(message.find("3 against 4"), std::string::npos) << message;
  const std::string slope = ErrorOfOp({"PRelu", 16, {Ramp({3}), Ramp({2, 3})}});
  EXPECT_NE(slope.find("input 'slope'"), std::string::npos) << slope;
}

}  // namespace
}  // namespace sardonyx::ops
