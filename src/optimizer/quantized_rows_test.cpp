// optimizer/quantized_rows_test.cpp - each operator between DequantizeLinear and QuantizeLinear as a row: what it
// becomes and what makes it a near miss, with 8-bit types of both signs, several opsets and sizes, and swapped
// operands.
//
// Results may differ by one step of the output's scale where a sum lies on the edge between two steps.
//
// To cover another operator: a row. "$q" is the type of the activations, "$p" their zero point, "$n" a size; x and z
// are quantized inputs, xd and zd what DequantizeLinear makes of them, r is quantized and dequantized behind it.
#include "testing/fusion_matrix.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::GraphOf;
using ::sardonyx::testing::HasOperator;
using ::sardonyx::testing::InputsFor;
using ::sardonyx::testing::Operators;
using ::sardonyx::testing::RandomTensors;
using ::sardonyx::testing::ReplaceAll;

struct Setting {
  std::string dtype;
  int opset;
  bool swapped;
  int size;
};
const std::vector<Setting> kSettings = {{"uint8", 13, false, 4},
                                        {"int8", 13, true, 7},
                                        {"uint8", 19, true, 5},
                                        {"int8", 21, false, 8},
                                        {"uint8", 23, false, 3}};
constexpr double kStep = 0.05;  // the output's scale

struct Row {
  std::string name, body, wanted;
  std::string miss_from, miss_to;
  std::string result = "float[b,2,$n,$n] y";
};
const std::string kWeights = "wd = DequantizeLinear<axis = 0>(w, ws) ";
const std::vector<Row> kRows = {
    {"convolution", kWeights + "r = Conv<pads = [1, 1, 1, 1]>(xd, wd)", "QLinearConv", "(xd, wd)", "(f, wd)"},
    {"convolution with a bias",
     kWeights + "bd = DequantizeLinear<axis = 0>(bias, bs) r = Conv<pads = [1, 1, 1, 1]>(xd, wd, bd)", "QLinearConv",
     "(xd, wd, bd)", "(f, wd, bd)"},
    {"convolution with Relu", kWeights + "a = Conv<pads = [1, 1, 1, 1]>(xd, wd) r = Relu(a)", "QLinearConv",
     "r = Relu(a)", "r = Exp(a)"},
    {"matrix product", "md = DequantizeLinear(m, one) r = MatMul(xd, md)", "QLinearMatMul", "MatMul(xd, md)",
     "MatMul(f, md)", "float[b,2,$n,$n] y"},
    {"sum", "r = ~Add(xd, zd)", "QLinearAdd", "~Add(xd, zd)", "~Add(xd, f)"},
    {"product", "r = ~Mul(xd, zd)", "QLinearMul", "~Mul(xd, zd)", "~Mul(xd, f)"},
    {"sigmoid", "r = Sigmoid(xd)", "Lookup8", "Sigmoid(xd)", "Softmax(xd)"},
    {"several functions of one value", "a = Sigmoid(xd) c = ~Mul(a, k) r = Tanh(c)", "Lookup8", "~Mul(a, k)",
     "~Mul(a, f)"},
    {"softmax", "r = Softmax(xd)", "QLinearSoftmax", "Softmax(xd)", "LogSoftmax(xd)"},
    {"concatenation", "r = Concat<axis = 1>(xd, zd)", "QLinearConcat", "(xd, zd)", "(xd, f)", "float[b,4,$n,$n] y"},
    {"average over the image", "r = GlobalAveragePool(xd)", "QLinearGlobalAveragePool", "GlobalAveragePool",
     "GlobalMaxPool", "float[b,2,1,1] y"},
};

std::string Swapped(std::string text, bool swapped) {
  for (std::size_t at = text.find('~'); at != std::string::npos; at = text.find('~')) {
    const std::size_t open = text.find('(', at), comma = text.find(", ", open), close = text.find(')', comma);
    const std::string a = text.substr(open + 1, comma - open - 1), b = text.substr(comma + 2, close - comma - 2);
    text.replace(at, close + 1 - at, text.substr(at + 1, open - at) + (swapped ? b + ", " + a : a + ", " + b) + ")");
  }
  return text;
}

std::string TextOf(const Row& row, const Setting& s) {
  std::string weights, matrix;
  for (int i = 0; i < 2 * 2 * 9; ++i) weights += (i == 0 ? "" : ", ") + std::to_string((i * 37) % 255 - 127);
  for (int i = 0; i < s.size * s.size; ++i) matrix += (i == 0 ? "" : ", ") + std::to_string((i * 29) % 21 - 10);
  std::string text =
      "<ir_version: 10, opset_import: [\"\" : " + std::to_string(s.opset) +
      "]> g (float[b,2,$n,$n] xf, float[b,2,$n,$n] zf, float[b,2,$n,$n] f) => (" + row.result +
      ") <float s = {0.03}, float s2 = {0.02}, float so = {0.05}, $q p = {$p}, float k = {1.5}, float one = {0.125},"
      " int8[2,2,3,3] w = {" +
      weights +
      "}, float[2] ws = {0.001, 0.002}, int32[2] bias = {300, -500}, float[2] bs = {0.00003, 0.00006},"
      " int8[$n,$n] m = {" +
      matrix +
      "}> { x = QuantizeLinear(xf, s, p) xd = DequantizeLinear(x, s, p)"
      " z = QuantizeLinear(zf, s2, p) zd = DequantizeLinear(z, s2, p) " +
      row.body + " q = QuantizeLinear(r, so, p) y = DequantizeLinear(q, so, p) }";
  text = ReplaceAll(ReplaceAll(text, "$q", s.dtype), "$p", s.dtype == "uint8" ? "120" : "-8");
  return Swapped(ReplaceAll(text, "$n", std::to_string(s.size)), s.swapped);
}

// The operators that are left; results are those of the graph without optimization but for one step.
std::string Left(const std::string& text, RandomTensors& random) {
  const ops::Registry registry;
  Graph plain = GraphOf(text, registry), graph = plain;
  OptimizeOptions off, extended;
  off.level = Level::kDisable;
  extended.level = Level::kExtended;
  testing::RunPipeline(plain, registry, off);
  testing::RunPipeline(graph, registry, extended);
  for (const std::int64_t batch : {3, 1}) {
    const std::vector<Value> inputs = InputsFor(plain, {{"b", batch}}, random);
    const Value got = ops::EvaluateGraph(graph, registry, inputs)[0],
                want = ops::EvaluateGraph(plain, registry, inputs)[0];
    EXPECT_TRUE(testing::AllClose(got.tensor(), want.tensor(), {.absolute = 1.001 * kStep}));
  }
  return Operators(graph);
}

TEST(QuantizedRows, BecomeIntegerOperators) {
  RandomTensors random;
  for (const Row& row : kRows) {
    for (const Setting& setting : kSettings) {
      const std::string text = TextOf(row, setting);
      SCOPED_TRACE(row.name + "\n" + text);
      const std::string left = Left(text, random);
      EXPECT_TRUE(HasOperator(left, row.wanted)) << left;
    }
  }
}

TEST(QuantizedRows, NearMissesStay) {
  RandomTensors random;
  for (const Row& row : kRows) {
    ASSERT_NE(row.body.find(row.miss_from), std::string::npos) << row.name;
    Row miss = row;
    miss.body = ReplaceAll(row.body, row.miss_from, row.miss_to);
    const std::string text = TextOf(miss, kSettings[0]), fused = TextOf(row, kSettings[0]);
    SCOPED_TRACE(row.name + "\n" + text);
    EXPECT_NE(Left(text, random), Left(fused, random));
  }
}

}  // namespace
}  // namespace sardonyx::optimizer
