// base/shape_test.cpp - storage of shapes, checked sizes, broadcasting, and the table of element types.
#include "base/shape.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"

namespace sardonyx {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

template <typename Body>
std::string FailureOf(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    return error.what();
  }
  return "no failure";
}

Shape Counting(std::int64_t rank) {
  Shape shape;
  for (std::int64_t i = 0; i < rank; ++i) shape.Append(i);
  return shape;
}

TEST(Shape, KeepsItsDimensionsInlineAndOnTheHeap) {
  for (const std::int64_t rank : {0, 1, 8, 9, 20}) {
    Shape shape = Counting(rank);
    ASSERT_EQ(shape.rank(), static_cast<std::size_t>(rank));
    for (std::int64_t i = 0; i < rank; ++i) EXPECT_EQ(shape[static_cast<std::size_t>(i)], i);
    const Shape copy = shape;
    const Shape moved = std::move(shape);
    EXPECT_EQ(copy, moved);
    EXPECT_EQ(shape.rank(), 0u);  // NOLINT(bugprone-use-after-move): the header promises it
    shape.Assign(Dims(std::vector<std::int64_t>{7, 8, 9}));
    EXPECT_EQ(ToText(shape), "[7, 8, 9]");
  }
}

TEST(Shape, AssignsFromItsOwnDimensions) {
  for (const std::int64_t rank : {8, 12}) {
    Shape shape = Counting(rank);
    shape.Assign(Dims(shape).subspan(1));
    for (std::size_t i = 0; i < shape.rank(); ++i) EXPECT_EQ(shape[i], static_cast<std::int64_t>(i) + 1);
  }
}

TEST(Shape, ResizeFillsNewDimensionsOnly) {
  Shape shape = {2, 3};
  shape.Resize(10, 5);
  EXPECT_EQ(ToText(shape), "[2, 3, 5, 5, 5, 5, 5, 5, 5, 5]");
  shape.Resize(1);
  shape.Resize(2);
  EXPECT_EQ(ToText(shape), "[2, 1]");
}

TEST(ElementCount, RefusesNegativeAndOverflowingShapes) {
  EXPECT_EQ(ElementCount(Shape{}), 1);
  EXPECT_EQ(ElementCount(Shape{2, 3, 4}, 1, 3), 12);
  EXPECT_EQ(ElementCount(Shape{kElementLimit - 1, 0, 1}), 0);
  EXPECT_EQ(ElementCount(Shape{kElementLimit - 1}), kElementLimit - 1);
  EXPECT_EQ(FailureOf([] { ElementCount(Shape{2, -1}); }), "expected dimensions of at least 0, found shape [2, -1]");
  EXPECT_EQ(
      FailureOf([] {
        ElementCount(Shape{kMax, 2});
      }),
      "expected dimensions whose product is below 2^59 (zeros not counted), found shape [9223372036854775807, 2]");
  EXPECT_EQ(
      FailureOf([] {
        ElementCount(Shape{3, 0, kElementLimit / 2});
      }),
      "expected dimensions whose product is below 2^59 (zeros not counted), found shape [3, 0, 288230376151711744]");
}

TEST(CheckedArithmetic, NamesWhatOverflows) {
  constexpr auto kSize = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(CheckedMul(3, 4, "a"), 12u);
  EXPECT_EQ(CheckedAdd(3, 4, "a"), 7u);
  EXPECT_EQ(FailureOf([] { CheckedMul(kSize, 2, "the arena"); }),
            "expected the arena to fit in 64 bits, found an overflow");
  EXPECT_NE(FailureOf([] { CheckedAdd(kSize, 1, "the arena"); }), "no failure");
}

TEST(Broadcast, FollowsNumPysRule) {
  Shape out;
  EXPECT_TRUE(Broadcast(Shape{3, 1}, Shape{2, 1, 4}, &out));
  EXPECT_EQ(out, (Shape{2, 3, 4}));
  EXPECT_TRUE(Broadcast(Shape{0}, Shape{1}, &out));
  EXPECT_EQ(out, Shape{0});
  EXPECT_TRUE(Broadcast(Shape{}, Shape{}, &out));
  EXPECT_EQ(out.rank(), 0u);
  EXPECT_FALSE(Broadcast(Shape{2}, Shape{3}, &out));
  EXPECT_FALSE(Broadcast(Shape{0}, Shape{2}, &out));
}

TEST(NormalizeAxis, CountsNegativeAxesFromTheEnd) {
  EXPECT_EQ(NormalizeAxis(-1, 3), 2u);
  EXPECT_EQ(NormalizeAxis(0, 3), 0u);
  EXPECT_EQ(FailureOf([] { NormalizeAxis(3, 3); }), "expected an axis in [-3, 2] for rank 3, found 3");
  EXPECT_NE(FailureOf([] { NormalizeAxis(0, 0); }), "no failure");
}

TEST(DType, TheTableAgreesWithOnnxsNumbers) {
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(DTypeFromName(Name(dtype)), dtype);
    EXPECT_EQ(Bits(dtype) == 0, IsString(dtype)) << Name(dtype);
  }
  EXPECT_EQ(Name(DType::kFloat8E8M0), "float8e8m0");
  EXPECT_EQ(Name(DType::kInt2), "int2");
  EXPECT_EQ(Name(static_cast<DType>(200)), "undefined");
  EXPECT_EQ(DTypeFromName("tensor"), DType::kUndefined);
  EXPECT_TRUE(IsFloating(DType::kFloat4E2M1));
  EXPECT_FALSE(IsFloating(DType::kComplex64));
  EXPECT_TRUE(IsInteger(DType::kUInt2));
  EXPECT_FALSE(IsInteger(DType::kBool));
  EXPECT_TRUE(IsSigned(DType::kInt4));
  EXPECT_FALSE(IsSigned(DType::kUInt64));
  EXPECT_TRUE(IsSubByte(DType::kUInt2));
  EXPECT_FALSE(IsSubByte(DType::kString));
}

TEST(ByteSize, RoundsPackedTypesUpAndRefusesOverflow) {
  EXPECT_EQ(ByteSize(DType::kInt4, 3), 2u);
  EXPECT_EQ(ByteSize(DType::kUInt2, 5), 2u);
  EXPECT_EQ(ByteSize(DType::kUInt2, kMax), (std::size_t{1} << 61));
  EXPECT_EQ(ByteSize(DType::kComplex128, 2), 32u);
  EXPECT_EQ(ByteSize(DType::kString, 2), 2 * sizeof(std::string));
  EXPECT_NE(FailureOf([] { ByteSize(DType::kDouble, kMax); }), "no failure");
  EXPECT_NE(FailureOf([] { ByteSize(DType::kFloat, -1); }), "no failure");
}

}  // namespace
}  // namespace sardonyx
