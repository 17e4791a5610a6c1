// ops/math/unpacked_weights_test.cpp - products that always have one row read large constant weights where they lie.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/math/packed_matrix.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/same_rows.h"
#include "testing/evaluate_op.h"
#include "testing/pass_test.h"

namespace sardonyx::ops {
namespace {

constexpr std::int64_t kLong = 1031, kShort = 1021;  // their product is 4 MiB of floats and more

// [rows, columns]; at(row, column) is no number of 16 bits unless `narrow`.
Tensor Weights(std::int64_t rows, std::int64_t columns, bool narrow = false) {
  Tensor weights(DType::kFloat, Shape{rows, columns});
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const auto number = static_cast<float>((i * 7919) % 61 - 30);
    weights.data<float>()[i] = narrow ? number / 64 : number / 63;
  }
  return weights;
}

// Whether the only node of the graph, whose second input is `weights`, packs them.
bool Packs(const std::string& graph_text, const Tensor& weights, bool rounds_to_bf16 = false) {
  const Registry registry;
  Graph graph = testing::GraphOf(graph_text, registry);
  const Node& node = graph.node(graph.order.front());
  std::vector<PrepareContext::Input> inputs;
  for (const ValueId input : node.inputs) inputs.push_back({graph.value(input).type, nullptr, true});
  inputs[1].constant = &weights;
  const std::vector<Type> outputs = {graph.value(node.outputs[0]).type};
  const OpDef* op = registry.Find(node.domain, node.op_type, node.since_version);
  Serial serial;
  PrepareContext context(graph, node, *op, inputs, outputs, serial, rounds_to_bf16);
  static_cast<void>(op->prepare(context));
  return context.IsPacked(1);
}

std::string Product(const std::string& a, const std::string& node, const std::string& b = "1031,1021") {
  return "<ir_version: 10, opset_import: [\"\" : 21]> g (float[" + a + "] a, float[" + b +
         "] b) => (float[] y) { y = " + node + "(a, b) }";
}

TEST(UnpackedWeights, AreThoseOfProductsThatAlwaysHaveOneRow) {
  const Tensor b = Weights(kLong, kShort), transposed = Weights(kShort, kLong);
  EXPECT_FALSE(Packs(Product("1,1031", "Gemm"), b));
  EXPECT_TRUE(Packs(Product("n,1031", "Gemm"), b));
  EXPECT_TRUE(Packs(Product("2,1031", "Gemm"), b));
  EXPECT_FALSE(Packs(Product("1031,1", "Gemm<transA = 1>"), b));
  EXPECT_TRUE(Packs(Product("1031,2", "Gemm<transA = 1>"), b));
  EXPECT_FALSE(Packs(Product("1,1031", "Gemm<transB = 1>", "1021,1031"), transposed));
  EXPECT_FALSE(Packs(Product("1031", "MatMul"), b));
  EXPECT_FALSE(Packs(Product("1,1,1031", "MatMul"), b));
  EXPECT_TRUE(Packs(Product("1,n,1031", "MatMul"), b));
  EXPECT_TRUE(Packs(Product("3,1,1031", "MatMul"), b));
}

TEST(UnpackedWeights, AreLargeFloatsThatOnlyFloatsHold) {
  const std::string one_row = Product("1,1031", "Gemm");
  EXPECT_TRUE(Packs(Product("1,1031", "Gemm", "1031,1001"), Weights(kLong, 1001)));  // less than 4 MiB
  EXPECT_TRUE(Packs(one_row, Weights(kLong, kShort, true)));                         // half the memory when packed
  EXPECT_TRUE(Packs(one_row, Weights(kLong, kShort), true));
  const SameRowsScope scope(true);
  EXPECT_TRUE(Packs(one_row, Weights(kLong, kShort)));
}

TEST(UnpackedWeights, GiveTheProduct) {
  const Tensor b = Weights(kLong, kShort), transposed = Weights(kShort, kLong);
  Tensor a(DType::kFloat, Shape{1, kLong});
  for (std::int64_t i = 0; i < kLong; ++i) a.data<float>()[i] = static_cast<float>(i % 17 - 8) / 7;
  const Tensor column = a.Reshaped(Shape{kLong, 1});
  const auto expect = [&](const Tensor& x, bool trans_a, bool trans_b) {
    const std::vector<Attribute> attributes = {{"transA", std::int64_t{trans_a}}, {"transB", std::int64_t{trans_b}}};
    const Tensor& weights = trans_b ? transposed : b;
    const Value y = testing::EvaluateOp({"Gemm", 13, {x, weights}, attributes})[0];
    for (std::int64_t n = 0; n < kShort; ++n) {
      double sum = 0, size = 0;
      for (std::int64_t k = 0; k < kLong; ++k) {
        const double term =
            double{a.data<float>()[k]} * weights.data<float>()[trans_b ? n * kLong + k : k * kShort + n];
        sum += term, size += std::abs(term);
      }
      ASSERT_NEAR(y.tensor().data<float>()[n], sum, 1e-6 * size) << trans_a << trans_b << " at " << n;
    }
  };
  expect(a, false, false), expect(a, false, true), expect(column, true, false), expect(column, true, true);
}

}  // namespace
}  // namespace sardonyx::ops
