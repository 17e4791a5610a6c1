// optimizer/passes/rewrite/replace_einsum_test.cpp - Einsums that are products of matrices become MatMul; others stay.
#include "testing/pass_test.h"
#include "testing/random_tensor.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::OperatorsAfter;
using ::sardonyx::testing::RandomTensors;

// What is left of y = Einsum(a, b), with what follows; values are compared.
std::string Left(const std::string& equation, const std::vector<std::string>& types, const std::vector<Shape>& shapes,
                 const std::string& behind = "y = Identity(e)", const std::string& result = "float[r0,r1,r2,r3] y") {
  RandomTensors random;
  std::string inputs, names;
  std::vector<Value> values;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    inputs += (i == 0 ? "" : ", ") + types[i] + " " + name;
    names += (i == 0 ? "" : ", ") + name;
    values.emplace_back(random.Uniform(types[i].substr(0, 1) == "f" ? DType::kFloat : DType::kInt64, shapes[i], -3, 3));
  }
  const std::string text = "g (" + inputs + ") => (" + result + ") { e = Einsum<equation = \"" + equation + "\">(" +
                           names + ") " + behind + " }";
  SCOPED_TRACE(text);
  return OperatorsAfter(text, {&kReplaceEinsum, &kMergeViews, &kEliminateIdentity, &kEliminateDeadNodes}, {values});
}

TEST(ReplaceEinsum, BecomesAProduct) {
  EXPECT_EQ(
      Left("ij,jk->ik", {"float[a,b]", "float[b,c]"}, {Shape{2, 3}, Shape{3, 4}}, "y = Identity(e)", "float[a,c] y"),
      "MatMul");
  EXPECT_EQ(Left("bij,bjk->bik", {"float[n,a,b]", "float[n,b,c]"}, {Shape{2, 2, 3}, Shape{2, 3, 4}}, "y = Identity(e)",
                 "float[n,a,c] y"),
            "MatMul");
  EXPECT_EQ(Left(" ... i j , ... j k -> ... i k ", {"float[m,n,a,b]", "float[m,n,b,c]"},
                 {Shape{2, 1, 2, 3}, Shape{2, 1, 3, 4}}),
            "MatMul");
  EXPECT_EQ(Left("bhid,bhjd->bhij", {"float[n,h,a,d]", "float[n,h,c,d]"}, {Shape{2, 3, 4, 5}, Shape{2, 3, 6, 5}}),
            "Transpose MatMul");
  EXPECT_EQ(
      Left("jk,ij->ik", {"float[b,c]", "float[a,b]"}, {Shape{3, 4}, Shape{2, 3}}, "y = Identity(e)", "float[a,c] y"),
      "MatMul")
      << "the second operand has the rows";
  EXPECT_EQ(Left("ab,acd->cdb", {"float[a,2]", "float[a,3,4]"}, {Shape{5, 2}, Shape{5, 3, 4}}, "y = Identity(e)",
                 "float[3,4,2] y"),
            "Einsum")
      << "its first operand would have to be moved";
}

TEST(ReplaceEinsum, ProjectionsOfHeads) {
  EXPECT_EQ(Left("abc,cde->abde", {"float[n,s,6]", "float[6,2,3]"}, {Shape{2, 4, 6}, Shape{6, 2, 3}}),
            "Reshape MatMul Reshape");
  EXPECT_EQ(Left("abcd,cde->abe", {"float[n,s,2,3]", "float[2,3,6]"}, {Shape{2, 4, 2, 3}, Shape{2, 3, 6}},
                 "y = Identity(e)", "float[n,s,6] y"),
            "Reshape Reshape MatMul");
}

// Moving operands pays only where attention takes them as they are.
TEST(ReplaceEinsum, MovesOperandsOnlyBesideSoftmax) {
  const std::vector<std::string> types = {"float[n,t,h,d]", "float[n,s,h,d]"};
  const std::vector<Shape> shapes = {Shape{2, 3, 2, 4}, Shape{2, 5, 2, 4}};
  EXPECT_EQ(Left("aecd,abcd->acbe", types, shapes, "y = Softmax(e)"), "Transpose Transpose MatMul Softmax");
  EXPECT_EQ(Left("aecd,abcd->acbe", types, shapes, "y = Exp(e)"), "Einsum Exp");
}

TEST(ReplaceEinsum, LeavesWhatIsNoProduct) {
  const Shape square{3, 3};
  EXPECT_EQ(Left("ii,ij->ij", {"float[a,a]", "float[a,b]"}, {square, square}, "y = Neg(e)", "float[a,b] y"),
            "Einsum Neg")
      << "a diagonal";
  EXPECT_EQ(Left("ij,jk->k", {"float[a,b]", "float[b,c]"}, {square, square}, "y = Neg(e)", "float[c] y"), "Einsum Neg")
      << "a sum of one operand alone";
  EXPECT_EQ(Left("ij,kl->ijkl", {"float[a,b]", "float[c,d]"}, {square, square}, "y = Neg(e)"), "Einsum Neg")
      << "nothing is summed up";
  EXPECT_EQ(Left("ij,ij->ij", {"float[a,b]", "float[a,b]"}, {square, square}, "y = Neg(e)", "float[a,b] y"),
            "Einsum Neg");
  EXPECT_EQ(Left("ij,jk,kl->il", {"float[a,b]", "float[b,c]", "float[c,d]"}, {square, square, square}, "y = Neg(e)",
                 "float[a,d] y"),
            "Einsum Neg");
  EXPECT_EQ(Left("ij->ji", {"float[a,b]"}, {Shape{2, 3}}, "y = Neg(e)", "float[b,a] y"), "Einsum Neg");
  EXPECT_EQ(Left("ij,jk->ik", {"int64[a,b]", "int64[b,c]"}, {square, square}, "y = Neg(e)", "int64[a,c] y"),
            "Einsum Neg");
  // Sizes that may be 1 in one operand alone are repeated by Einsum.
  EXPECT_EQ(Left("bij,bjk->bik", {"float[m,a,b]", "float[n,b,c]"}, {Shape{1, 2, 3}, Shape{4, 3, 2}}, "y = Neg(e)",
                 "float[k,a,c] y"),
            "Einsum Neg");
}

}  // namespace
}  // namespace sardonyx::optimizer
