// ops/math/einsum_test.cpp - Einsum with diagonals, sums and chains; Det.
#include <gtest/gtest.h>

#include <cmath>

#include "testing/evaluate_op.h"

namespace sardonyx {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::Floats;
using testing::Ints;
using Longs = std::vector<std::int64_t>;

const Tensor kX = Tensor::Of<float>({1, 3, 3, 2, 0, 5}, Shape{2, 3});

std::vector<float> Einsum(const std::string& equation, std::vector<Value> inputs) {
  return Elements<float>(EvaluateOp({"Einsum", 12, std::move(inputs), {{"equation", equation}}})[0]);
}

TEST(Einsum, ContractsDiagonalsSumsAndChains) {
  const Tensor m = Tensor::Of<float>({1, 2, 3, 4}, Shape{2, 2});
  EXPECT_EQ(Einsum("ij->ji", {m}), (std::vector<float>{1, 3, 2, 4}));
  EXPECT_EQ(Einsum("ii", {m}), (std::vector<float>{5}));
  EXPECT_EQ(Einsum("ij->j", {m}), (std::vector<float>{4, 6}));
  EXPECT_EQ(Einsum("ij, jk, kl -> il", {m, m, m}), (std::vector<float>{37, 54, 81, 118}));
  EXPECT_EQ(Einsum("...i,...i->...", {m, m}), (std::vector<float>{5, 25}));
  EXPECT_EQ(Einsum("i,j->ij", {Floats({1, 2}), Floats({3, 4})}), (std::vector<float>{3, 4, 6, 8}));
  EXPECT_NE(ErrorOfOp({"Einsum", 12, {m, m}, {{"equation", std::string("ij->ij")}}}).find("2 operands"),
            std::string::npos);
}

TEST(Det, ExchangesRows) {
  const Tensor m = Tensor::Of<float>({0, 2, 0, 1, 0, 0, 0, 0, 3}, Shape{3, 3});
  EXPECT_EQ(Elements<float>(EvaluateOp({"Det", 22, {m}})[0]), (std::vector<float>{-6}));
  EXPECT_NE(ErrorOfOp({"Det", 22, {kX}}).find("square"), std::string::npos);
}

}  // namespace
}  // namespace sardonyx
