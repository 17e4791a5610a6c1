// optimizer/passes/move_quantization_test.cpp - operators that move elements run on 8 bits; others and those with other
// parameters stay. Values never change.
#include "testing/quantized_graph.h"

namespace sardonyx::optimizer {
namespace {

using testing::PassedGraph;

constexpr const char* kConstants =
    "<float s = {0.03}, uint8 z = {120}, int8 n = {-7}, float t = {0.05}, int64[2] shape = {0, 24}, "
    "int64[3] wide = {2, 4, 6}, int64[2] picked = {1, 0}, int64[6] pads = {0, 1, 0, 0, 0, 2}, float one = {1}, "
    "int64[1] two = {2}, int64[1] first = {0}, int64[3] repeats = {1, 2, 1}, float[3] scales = {1, 2, 2}, "
    "float low = {-0.9}, float[4] ws = {0.01, 0.02, 0.03, 0.04}, bool[1,4,1] which = {1, 0, 1, 0}>";

PassedGraph Moved(std::string_view body, std::string_view outputs = "uint8[p,q,r] y", std::int64_t opset = 21) {
  return PassedGraph("g (float[2,4,6] x, float[2,4,6] v) => (" + std::string(outputs) + ") " + kConstants + " {" +
                         std::string(body) + "}",
                     {&kMoveQuantization}, 0, opset);
}

constexpr const char* kIn = "xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) ";
constexpr const char* kOut = " y = QuantizeLinear(m, s, z)";

TEST(MoveQuantization, MoversBetweenEqualParametersRunOnIntegers) {
  for (const char* mover :
       {"Transpose<perm = [2, 0, 1]>(xd)", "Slice(xd, first, two, first)", "Gather<axis = 1>(xd, picked)",
        "Expand(xd, wide)", "Pad(xd, pads)", "Pad<mode = \"edge\">(xd, pads)", "Tile(xd, repeats)",
        "Resize(xd, , scales)", "MaxPool<kernel_shape = [2]>(xd)", "Identity(xd)"}) {
    const PassedGraph g = Moved(std::string(kIn) + "m = " + mover + kOut);
    const std::string op = std::string(mover).substr(0, std::string(mover).find_first_of("<("));
    EXPECT_EQ(g.Operators(), "QuantizeLinear " + op) << g.Text();
  }
  EXPECT_EQ(Moved(std::string(kIn) + "m = Reshape(xd, shape)" + kOut, "uint8[p,q] y").Operators(),
            "QuantizeLinear Reshape");
}

TEST(MoveQuantization, MovesInOldOpsetsToo) {
  for (const std::int64_t opset : {10, 13, 19}) {
    EXPECT_EQ(
        Moved(std::string(kIn) + "m = Transpose<perm = [2, 0, 1]>(xd)" + kOut, "uint8[p,q,r] y", opset).Operators(),
        "QuantizeLinear Transpose");
  }
}

TEST(MoveQuantization, ResultsThatStayFloatAreDequantizedLast) {
  const PassedGraph g =
      Moved(std::string(kIn) + "m = Transpose(xd) u = Gather(m, picked) y = Abs(u)", "float[p,q,r] y");
  EXPECT_EQ(g.Operators(), "QuantizeLinear Transpose Gather DequantizeLinear Abs");
  const PassedGraph split =
      Moved(std::string(kIn) + "y, u = Split<num_outputs = 2>(xd)", "float[p,q,r] y, float[p,q,r] u");
  EXPECT_EQ(split.Operators(), "QuantizeLinear Split DequantizeLinear DequantizeLinear");
}

TEST(MoveQuantization, FloatsAreQuantizedBeforeTheyAreMoved) {
  EXPECT_EQ(Moved(std::string("m = Transpose(x)") + kOut).Operators(), "QuantizeLinear Transpose");
  EXPECT_EQ(Moved(std::string("a = Add(x, v) m = MaxPool<kernel_shape = [2]>(a)") + kOut).Operators(),
            "Add QuantizeLinear MaxPool");
  // Not where fewer elements are quantized behind it.
  EXPECT_EQ(Moved(std::string("m = Slice(x, first, two, first)") + kOut).Operators(), "Slice QuantizeLinear");
}

TEST(MoveQuantization, JoinsTensorsOfEqualParameters) {
  const std::string both = std::string(kIn) + "vq = QuantizeLinear(v, s, z) vd = DequantizeLinear(vq, s, z) ";
  EXPECT_EQ(Moved(both + "m = Concat<axis = 1>(vd, xd)" + kOut).Operators(), "QuantizeLinear QuantizeLinear Concat");
  EXPECT_EQ(Moved(both + "m = Where(which, vd, xd)" + kOut).Operators(), "QuantizeLinear QuantizeLinear Where");
  const std::string differ = std::string(kIn) + "vq = QuantizeLinear(v, t, z) vd = DequantizeLinear(vq, t, z) ";
  EXPECT_EQ(Moved(differ + "m = Concat<axis = 1>(vd, xd)" + kOut).Operators(),
            "QuantizeLinear DequantizeLinear QuantizeLinear DequantizeLinear Concat QuantizeLinear");
}

TEST(MoveQuantization, ChoosesBetweenAConstantAndIntegers) {
  for (const char* choice : {"Where(which, low, xd)", "Where(which, xd, low)"}) {
    const PassedGraph g = Moved(std::string(kIn) + "m = " + choice + kOut);
    EXPECT_EQ(g.Operators(), "QuantizeLinear QuantizeLinear Where") << g.Text();
  }
}

TEST(MoveQuantization, ScalesOfTransposedWeightsKeepTheirAxis) {
  const std::string text =
      "g (float[2,3] x) => (float[2,4] y) <int8[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,-12}, "
      "float[4] rows = {0.1, 0.2, 0.3, 0.4}, float[3] columns = {0.1, 0.2, 0.3}> {"
      "d = DequantizeLinear<axis = AXIS>(w, SCALES) t = Transpose PERM(d) y = MatMul(x, t)}";
  for (const char* perm : {"", "<perm = [1, 0]>"}) {
    for (const bool rows : {false, true}) {
      std::string given = text;
      given.replace(given.find("AXIS"), 4, rows ? "0" : "-1");
      given.replace(given.find("SCALES"), 6, rows ? "rows" : "columns");
      given.replace(given.find(" PERM"), 5, perm);
      const PassedGraph g(given, {&kMoveQuantization});
      EXPECT_EQ(g.Operators(), "Transpose DequantizeLinear MatMul");
      EXPECT_NE(g.Text().find(rows ? "axis = 1" : "axis = 0"), std::string::npos) << g.Text();
    }
  }
}

TEST(MoveQuantization, TakesShapesFromIntegers) {
  EXPECT_EQ(Moved(std::string(kIn) + "y = Shape(xd)", "int64[3] y").Operators(), "QuantizeLinear Shape");
}

TEST(MoveQuantization, LeavesOtherParametersAndOperatorsAlone) {
  EXPECT_EQ(Moved(std::string(kIn) + "y = QuantizeLinear(xd, t, z)").Operators(),
            "QuantizeLinear DequantizeLinear QuantizeLinear");
  EXPECT_EQ(Moved(std::string(kIn) + "y = QuantizeLinear(xd, s, n)", "int8[p,q,r] y").Operators(),
            "QuantizeLinear DequantizeLinear QuantizeLinear");
  EXPECT_EQ(Moved(std::string(kIn) + "m = Pad(xd, pads, one)" + kOut).Operators(),
            "QuantizeLinear DequantizeLinear Pad QuantizeLinear");
  EXPECT_EQ(Moved(std::string(kIn) + "m = Resize<mode = \"linear\">(xd, , scales)" + kOut).Operators(),
            "QuantizeLinear DequantizeLinear Resize QuantizeLinear");
  // A scale for each channel.
  EXPECT_EQ(Moved(std::string("xq = QuantizeLinear<axis = 1>(x, ws) xd = DequantizeLinear<axis = 1>(xq, ws) "
                              "m = Transpose(xd)") +
                  kOut)
                .Operators(),
            "QuantizeLinear DequantizeLinear Transpose QuantizeLinear");
}

}  // namespace
}  // namespace sardonyx::optimizer
