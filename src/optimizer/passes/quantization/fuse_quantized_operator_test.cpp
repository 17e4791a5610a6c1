// optimizer/passes/quantization/fuse_quantized_operator_test.cpp - operators between DequantizeLinear and
// QuantizeLinear become ONNX Runtime's 8-bit ones, within one quantum; near misses stay.
#include "testing/quantized_graph.h"

namespace sardonyx::optimizer {
namespace {

using testing::PassedGraph;

PassedGraph Fused(std::string_view body, double quanta = 1, std::string_view outputs = "uint8[p,q,r] y",
                  std::int64_t opset = 21) {
  return PassedGraph("g (float[2,4,6] x, float[2,4,6] v, bool[4,1] which) => (" + std::string(outputs) +
                         ") <float s = {0.03}, uint8 z = {120}, int8 n = {-7}, float t = {0.05}, uint8 k = {99}, "
                         "uint8[6] row = {1, 100, 255, 0, 128, 33}, int64[1] last = {-1}, int64[2] outer = {0, 1}> {" +
                         "xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) "
                         "vq = QuantizeLinear(v, t, k) vd = DequantizeLinear(vq, t, k) " +
                         std::string(body) + " y = QuantizeLinear(m, t, z)}",
                     {&kFuseQuantizedOperator}, quanta, opset);
}

constexpr const char* kTwo = "QuantizeLinear QuantizeLinear ";

TEST(FuseQuantizedOperator, MakesSumsAndProductsInEitherOrder) {
  EXPECT_EQ(Fused("m = Add(xd, vd)").Operators(), std::string(kTwo) + "QLinearAdd");
  EXPECT_EQ(Fused("m = Add(vd, xd)").Operators(), std::string(kTwo) + "QLinearAdd");
  EXPECT_EQ(Fused("m = Mul(xd, vd)").Operators(), std::string(kTwo) + "QLinearMul");
  EXPECT_EQ(Fused("rd = DequantizeLinear(row, s, z) m = Add(rd, xd)").Operators(), "QuantizeLinear QLinearAdd");
  for (const std::int64_t opset : {10, 13, 19})
    EXPECT_EQ(Fused("m = Add(xd, vd)", 1, "uint8[p,q,r] y", opset).Operators(), std::string(kTwo) + "QLinearAdd");
}

TEST(FuseQuantizedOperator, MakesTheOthers) {
  EXPECT_EQ(Fused("m = Concat<axis = -1>(xd, vd)", 0).Operators(), std::string(kTwo) + "QLinearConcat");
  EXPECT_EQ(Fused("m = Where(which, xd, vd)", 0).Operators(), std::string(kTwo) + "QLinearWhere");
  EXPECT_EQ(Fused("m = Softmax(xd)").Operators(), "QuantizeLinear QLinearSoftmax");
  EXPECT_EQ(Fused("m = Softmax<axis = 1>(xd)").Operators(), "QuantizeLinear QLinearSoftmax");
  EXPECT_EQ(Fused("m = Softmax<axis = 1>(xd)", 1, "uint8[p,q,r] y", 11).Operators(), "QuantizeLinear QLinearSoftmax");
  for (const char* attributes :
       {"kernel_shape = [2], strides = [2]", "kernel_shape = [3], pads = [1, 1]",
        "kernel_shape = [3], pads = [1, 1], count_include_pad = 1", "kernel_shape = [5], strides = [2], ceil_mode = 1",
        "kernel_shape = [2], auto_pad = \"SAME_UPPER\""})
    EXPECT_EQ(Fused(std::string("m = AveragePool<") + attributes + ">(xd)").Operators(),
              "QuantizeLinear QLinearAveragePool");
  EXPECT_EQ(Fused("m = GlobalAveragePool(xd)").Operators(), "QuantizeLinear QLinearGlobalAveragePool");
  EXPECT_EQ(Fused("m = ReduceMean(xd, last)").Operators(), "QuantizeLinear QLinearReduceMean");
  EXPECT_EQ(Fused("m = ReduceMean<keepdims = 0>(xd, outer)", 1, "uint8[p] y").Operators(),
            "QuantizeLinear QLinearReduceMean");
}

TEST(FuseQuantizedOperator, LeavesWhatIsNotQuantizedThroughoutAlone) {
  EXPECT_EQ(Fused("m = Add(xd, v)").Operators(), "QuantizeLinear DequantizeLinear Add QuantizeLinear");
  EXPECT_EQ(Fused("m = Sub(xd, vd)").Operators(),
            "QuantizeLinear DequantizeLinear QuantizeLinear DequantizeLinear Sub QuantizeLinear");
  EXPECT_EQ(Fused("m = Add(xd, vd)", 0, "uint8[p,q,r] y, float[p,q,r] m").Operators(),
            "QuantizeLinear DequantizeLinear QuantizeLinear DequantizeLinear Add QuantizeLinear");
  EXPECT_EQ(Fused("m = AveragePool<kernel_shape = [2], dilations = [2]>(xd)").Operators(),
            "QuantizeLinear DequantizeLinear AveragePool QuantizeLinear");
}

TEST(FuseQuantizedOperator, MakesScalarsOfParametersOfShape1) {
  const PassedGraph g(
      "g (float[2,3] x) => (uint8[2,3] y) <float[1] s = {0.03}, uint8[1] z = {120}> {"
      "q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) m = Add(d, d) y = QuantizeLinear(m, s, z)}",
      {&kFuseQuantizedOperator}, 1);
  EXPECT_EQ(g.Operators(), "QuantizeLinear QLinearAdd");
  const Node& sum = g.graph.node(g.graph.order.back());
  for (std::size_t i = 1; i < sum.inputs.size(); ++i) {
    if (i == 3) continue;  // the other operand
    EXPECT_EQ(g.graph.value(sum.inputs[i]).type.rank(), 0u) << "input " << i;
  }
}

TEST(FuseQuantizedOperator, ConvertsOperandsOfTheOtherSign) {
  const std::string other = "wq = QuantizeLinear(v, t, n) wd = DequantizeLinear(wq, t, n) ";
  EXPECT_EQ(Fused(other + "m = Add(xd, wd)").Operators(), std::string(kTwo) + "Lookup8 QLinearAdd");
  EXPECT_EQ(Fused(other + "m = Mul(wd, xd)").Operators(), std::string(kTwo) + "Lookup8 QLinearMul");
  EXPECT_EQ(Fused(other + "m = Concat<axis = 1>(wd, xd)", 0).Operators(), std::string(kTwo) + "Lookup8 QLinearConcat");
  EXPECT_EQ(Fused(other + "m = GlobalAveragePool(wd)").Operators(), "QuantizeLinear Lookup8 QLinearGlobalAveragePool");
  EXPECT_EQ(Fused("m = Add(xd, vd) i = QuantizeLinear(m, s, n)", 1, "int8[p,q,r] i, uint8[p,q,r] y").Operators(),
            "QuantizeLinear DequantizeLinear QuantizeLinear DequantizeLinear Add QuantizeLinear QuantizeLinear")
      << "two quantizations";
  // An attribute that does not fit leaves nothing of the conversion behind.
  EXPECT_EQ(Fused(other + "m = AveragePool<kernel_shape = [2], dilations = [2]>(wd)").Operators(),
            "QuantizeLinear DequantizeLinear AveragePool QuantizeLinear");
  EXPECT_EQ(Fused(other + "m = Concat<axis = 1>(wd, v)").Operators(),
            "QuantizeLinear DequantizeLinear Concat QuantizeLinear");
}

}  // namespace
}  // namespace sardonyx::optimizer
