// optimizer/passes/quantization/fuse_quantized_transpose_test.cpp - products take the Transpose before them; near
// misses stay.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::Operators;
using ::sardonyx::testing::PreparedGraph;

Tensor Bytes(DType dtype, const Shape& shape, int step) {
  Tensor t(dtype, shape);
  for (std::int64_t i = 0; i < t.count(); ++i)
    static_cast<std::uint8_t*>(t.raw())[i] = static_cast<std::uint8_t>(i * step + 3);
  return t;
}

struct Operands {
  std::string a = "uint8[2,3,1,70]", b = "int8[3,40,70]", y = "uint8[2,3,1,40]", kind = "int8";
  Shape a_shape = {2, 3, 1, 70}, b_shape = {3, 40, 70};
  std::string scale = "float bs = {0.01}, int8 bz = {-3}";
};

std::string Fused(const std::string& body, const Operands& o, std::string* text = nullptr) {
  const ops::Registry registry;
  Graph graph =
      PreparedGraph("g (" + o.a + " a, " + o.b + " b) => (" + o.y + " y) <float as = {0.02}, uint8 az = {120}, " +
                        o.scale + ", float ys = {3.0}, uint8 yz = {128}> {" + body + "}",
                    registry);
  const Graph before = graph;
  PassContext context{registry};
  RunVerified(kFuseQuantizedTranspose, graph, context);
  ops::Infer(graph, registry);
  const DType b = o.kind == "int8" ? DType::kInt8 : DType::kUInt8;
  ExpectSameValues(graph, before, registry, {Bytes(DType::kUInt8, o.a_shape, 23), Bytes(b, o.b_shape, 41)});
  if (text != nullptr) *text = ToText(graph);
  return Operators(graph);
}

constexpr const char* kProduct = "y = QLinearMatMul(a, as, az, t, bs, bz, ys, yz)";

TEST(FuseQuantizedTranspose, ProductsOfOneAndOfManyRows) {
  std::string text;
  const std::string body = std::string("t = Transpose <perm = [0, 2, 1]> (b) ") + kProduct;
  EXPECT_EQ(Fused(body, {}, &text), "QLinearMatMul");
  EXPECT_NE(text.find("ai.sardonyx.QLinearMatMul <transB = 1> (a, as, az, b, bs, bz, ys, yz)"), std::string::npos)
      << text;
  Operands many = {.a = "uint8[2,3,33,70]", .y = "uint8[2,3,33,40]"};
  many.a_shape = {2, 3, 33, 70};
  EXPECT_EQ(Fused(body, many), "QLinearMatMul");
}

// A scale and a zero point for each column; no perm reverses the axes.
TEST(FuseQuantizedTranspose, MatricesWithAScaleForEachColumn) {
  Operands o = {.a = "uint8[5,4]", .b = "uint8[3,4]", .y = "uint8[5,3]", .kind = "uint8"};
  o.a_shape = {5, 4}, o.b_shape = {3, 4};
  o.scale = "float[3] bs = {0.5, 1.0, 2.0}, uint8[3] bz = {0, 128, 255}";
  EXPECT_EQ(Fused(std::string("t = Transpose(b) ") + kProduct, o), "QLinearMatMul");
}

TEST(FuseQuantizedTranspose, EmptyOperands) {
  Operands none = {.a = "uint8[2,0]", .b = "int8[3,0]", .y = "uint8[2,3]"};
  none.a_shape = {2, 0}, none.b_shape = {3, 0};
  const std::string body = std::string("t = Transpose <perm = [1, 0]> (b) ") + kProduct;
  EXPECT_EQ(Fused(body, none), "QLinearMatMul");
  Operands no_columns = {.a = "uint8[2,4]", .b = "int8[0,4]", .y = "uint8[2,0]"};
  no_columns.a_shape = {2, 4}, no_columns.b_shape = {0, 4};
  EXPECT_EQ(Fused(body, no_columns), "QLinearMatMul");
}

TEST(FuseQuantizedTranspose, OthersStay) {
  // Another permutation; a transposed value that others read; a vector.
  Operands o = {.a = "uint8[2,3,1,70]", .b = "int8[40,3,70]", .y = "uint8[2,3,1,40]"};
  o.b_shape = {40, 3, 70};
  EXPECT_EQ(Fused(std::string("t = Transpose <perm = [1, 2, 0]> (b) ") + kProduct, o), "Transpose QLinearMatMul");
  EXPECT_EQ(Fused(std::string("t = Transpose <perm = [0, 2, 1]> (b) p = Identity(t) ") + kProduct, {}),
            "Transpose Identity QLinearMatMul");
  Operands vector = {.a = "uint8[2,4]", .b = "int8[4]", .y = "uint8[2]"};
  vector.a_shape = {2, 4}, vector.b_shape = {4};
  EXPECT_EQ(Fused(std::string("t = Transpose(b) ") + kProduct, vector), "Transpose QLinearMatMul");
}

}  // namespace
}  // namespace sardonyx::optimizer
