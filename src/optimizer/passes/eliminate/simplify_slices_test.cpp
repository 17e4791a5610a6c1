// optimizer/passes/eliminate/simplify_slices_test.cpp - slices, splits and concats become fewer nodes; others must
// stay.
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

std::string Simplified(const std::string& body, const std::string& output = "float[m,n] y") {
  Tensor x(DType::kFloat, Shape{2, 6});
  for (std::int64_t i = 0; i < x.count(); ++i) x.data<float>()[i] = static_cast<float>(i * 7 % 12);
  return testing::OperatorsAfter(
      "g (float[2,6] x) => (" + output +
          ") <int64[1] i0 = {0}, int64[1] i1 = {1}, int64[1] i2 = {2}, int64[1] i3 = {3}, int64[1] i4 = {4},"
          " int64[1] i6 = {6}, int64[1] end = {9223372036854775807}, int64[1] last = {-1}, int64[1] minus = {-2},"
          " int64[3] sizes = {1, 2, 3}> {" +
          body + "}",
      {&kSimplifySlices, &kEliminateDeadNodes}, {{x}});
}

TEST(SimplifySlices, DropsWholeSlices) {
  EXPECT_EQ(Simplified("a = Slice(x, i0, end, i1) y = Neg(a)"), "Neg");
  EXPECT_EQ(Simplified("a = Slice(x, i0, i6, last, i1) y = Neg(a)"), "Neg");
  EXPECT_EQ(Simplified("a = Slice(x, i0, end, i1, i2) y = Neg(a)"), "Slice Neg") << "every second one";
  EXPECT_EQ(Simplified("a = Slice(x, last, minus, i1, last) y = Neg(a)"), "Slice Neg") << "backwards";
}
// Before version 10, Slice has attributes.
TEST(SimplifySlices, DropsWholeSlicesOfOldModels) {
  const auto left = [](std::string_view attributes) {
    Tensor x(DType::kFloat, Shape{2, 6});
    std::fill_n(x.data<float>(), 12, 1.0f);
    const std::string graph =
        "g (float[2,6] x) => (float[m,n] y) { a = Slice<" + std::string(attributes) + ">(x) y = Neg(a) }";
    return testing::OperatorsAfter("<ir_version: 4, opset_import: [\"\" : 9]> " + graph,
                                   {&kSimplifySlices, &kEliminateDeadNodes}, {{x}});
  };
  EXPECT_EQ(left("starts = [0, 0], ends = [2, 9]"), "Neg");
  EXPECT_EQ(left("axes = [-1], starts = [-6], ends = [2147483647]"), "Neg");
  EXPECT_EQ(left("axes = [1], starts = [-5], ends = [9]"), "Slice Neg");
  EXPECT_EQ(left("axes = [1, 0], starts = [0, 0], ends = [6, 1]"), "Slice Neg");
}
// The model says that the result is as long as its input, which nothing confirms.
TEST(SimplifySlices, DoesNotBelieveDeclaredSizes) {
  Tensor x(DType::kFloat, Shape{6});
  for (std::int64_t i = 0; i < 6; ++i) x.data<float>()[i] = static_cast<float>(i);
  const std::vector<std::vector<Value>> runs = {{x, Tensor::Of<std::int64_t>({4}, Shape{1})}};
  EXPECT_EQ(testing::OperatorsAfter("g (float[n] x, int64[1] end) => (float[m] y) <int64[1] i0 = {0}, float[n] a> {"
                                    "a = Slice(x, i0, end) y = Neg(a) }",
                                    {&kSimplifySlices, &kEliminateDeadNodes}, runs),
            "Slice Neg");
  EXPECT_EQ(testing::OperatorsAfter("g (float[n] x, int64[1] end) => (float[m] y) <int64[1] i0 = {0}> {"
                                    "s = Shape(x) a = Slice(x, i0, s) y = Neg(a) }",
                                    {&kSimplifySlices, &kEliminateDeadNodes}, runs),
            "Neg");
}
TEST(SimplifySlices, DropsOperandsWithoutElements) {
  const std::string empty = "n = Neg(x) a = Slice(x, i6, end, i1) ";
  EXPECT_EQ(Simplified(empty + "c = Concat<axis = 1>(n, a) y = Abs(c)"), "Neg Abs");
  EXPECT_EQ(Simplified(empty + "c = Concat<axis = -1>(a, n, a, x) y = Abs(c)"), "Neg Concat Abs");
  EXPECT_EQ(Simplified("a = Slice(x, i6, end, i1) c = Concat<axis = 1>(a, a) y = Abs(c)"), "Slice Concat Abs");
}
TEST(SimplifySlices, ReadsThroughSlicesAndConcats) {
  EXPECT_EQ(Simplified("a = Slice(x, i1, i6, i1) b = Slice(a, i1, i3, i1) y = Neg(b)"), "Slice Neg");
  EXPECT_EQ(Simplified("a = Slice(x, i1, minus, i1) b = Slice(a, minus, end, i1) y = Neg(b)"), "Slice Neg");
  EXPECT_EQ(Simplified("a = Slice(x, i0, i1, i0) b = Slice(a, i1, i3, i1) y = Neg(b)"), "Slice Slice Neg")
      << "other axes";
  EXPECT_EQ(Simplified("n = Neg(x) c = Concat<axis = 1>(x, n) b = Slice(c, i6, end, i1) y = Abs(b)"), "Neg Abs");
  EXPECT_EQ(Simplified("n = Neg(x) c = Concat<axis = -1>(n, x) b = Slice(c, i2, i4, last) y = Abs(b)"),
            "Neg Slice Abs");
  EXPECT_EQ(Simplified("n = Neg(x) c = Concat<axis = 1>(x, n) b = Slice(c, i4, minus, i1) y = Abs(b)"),
            "Neg Concat Slice Abs")
      << "of both operands";
}
TEST(SimplifySlices, JoinsWhatWasCut) {
  EXPECT_EQ(Simplified("a, b, c = Split<axis = 1>(x, sizes) d = Concat<axis = 1>(a, b, c) y = Neg(d)"), "Neg");
  EXPECT_EQ(Simplified("a, b, c = Split<axis = 1>(x, sizes) d = Concat<axis = 1>(a, b) y = Neg(d)"), "Slice Neg");
  EXPECT_EQ(Simplified("a, b, c = Split<axis = 1>(x, sizes) d = Concat<axis = 1>(c, a, b) y = Neg(d)"),
            "Split Slice Concat Neg");
  EXPECT_EQ(Simplified("a, b, c = Split<axis = 1>(x, sizes) d = Concat<axis = 1>(b, a) y = Neg(d)"),
            "Split Concat Neg");
  EXPECT_EQ(Simplified("n = Neg(x) a = Concat<axis = 1>(x, n) y = Concat<axis = -1>(a, x)"), "Neg Concat");
  EXPECT_EQ(Simplified("n = Neg(x) a = Concat<axis = 0>(x, n) y = Concat<axis = 1>(a, a)"), "Neg Concat Concat");
}
TEST(SimplifySlices, TakesOnePartOfASplit) {
  EXPECT_EQ(Simplified("a, b, c = Split<axis = 1>(x, sizes) y = Neg(b)"), "Slice Neg");
  EXPECT_EQ(Simplified("a, b, c = Split<axis = 1>(x, sizes) n = Neg(b) y = Concat<axis = 1>(n, c)"),
            "Split Neg Concat");
}
TEST(SimplifySlices, SplitsWhatSlicesCover) {
  EXPECT_EQ(Simplified("a = Slice(x, i3, end, i1) b = Slice(x, i0, i3, i1) n = Neg(a) y = Sub(n, b)"), "Split Neg Sub");
  EXPECT_EQ(Simplified("a = Slice(x, i3, end, i1) b = Slice(x, i1, i4, i1) n = Neg(a) y = Sub(n, b)"),
            "Slice Slice Neg Sub")
      << "they overlap";
  EXPECT_EQ(Simplified("a = Slice(x, i3, end, i1) y = Slice(x, i0, i3, i1) n = Neg(a)", "float[2,3] y, float[2,3] n"),
            "Slice Slice Neg")
      << "one is an output";
}

}  // namespace
}  // namespace sardonyx::optimizer
