// optimizer/passes/quantization/move_quantization_test.cpp - operators that move elements run on 8 or 16 bits; others
// and those with other parameters stay. Values never change.
#include "testing/quantized_graph.h"

namespace sardonyx::optimizer {
namespace {

using testing::PassedGraph;

constexpr const char* kConstants =
    "<float s = {0.03}, uint8 z = {120}, int8 n = {-7}, uint16 z16 = {40000}, uint16 other = {3}, int16 three = {3}, "
    "uint8 three8 = {3}, int16 n16 = {-7}, "
    "float t = {0.05}, int64[2] shape = {0, 24}, "
    "int64[3] wide = {2, 4, 6}, int64[2] picked = {1, 0}, int64[6] pads = {0, 1, 0, 0, 0, 2}, float one = {1}, "
    "int64[1] two = {2}, int64[1] first = {0}, int64[3] repeats = {1, 2, 1}, float[3] scales = {1, 2, 2}, "
    "float low = {-0.9}, float[4] ws = {0.01, 0.02, 0.03, 0.04}, uint16[4] zs = {1, 2, 3, "
    "4}, int64[1] zero = {0}, int64[1] four = {4}, "
    "int64[2,4,6] elements = "
    "{1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,0,0,0,0,0,0,1,1,1,1,1,1,0,0,1,1,0,0,1,1,0,0,1,1}, "
    "int64[3,2] nd = {0, 1, 1, 3, 0, 0}, bool[1,4,1] which = {1, 0, 1, 0}>";

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
        "Expand(xd, wide)", "Pad(xd, pads)", "Pad<mode = \"edge\">(xd, pads)", "Pad<mode = \"edge\">(xd, pads, one)",
        "Tile(xd, repeats)", "Resize(xd, , scales)", "MaxPool<kernel_shape = [2]>(xd)", "Identity(xd)"}) {
    const PassedGraph g = Moved(std::string(kIn) + "m = " + mover + kOut);
    const std::string op = std::string(mover).substr(0, std::string(mover).find_first_of("<("));
    EXPECT_EQ(g.Operators(), "QuantizeLinear " + op) << g.Text();
  }
  EXPECT_EQ(Moved(std::string(kIn) + "m = Reshape(xd, shape)" + kOut, "uint8[p,q] y").Operators(),
            "QuantizeLinear Reshape");
}

// The text with the zero point z16 or n16 instead of z, and the domain of com.microsoft if wanted.
std::string With16(std::string body, const std::string& zero, bool microsoft = false) {
  for (std::size_t at = 0; (at = body.find(", z)", at)) != std::string::npos;) body.replace(at, 4, ", " + zero + ")");
  if (!microsoft) return body;
  for (const char* name : {" QuantizeLinear", " DequantizeLinear"})
    for (std::size_t at = 0; (at = body.find(name, at)) != std::string::npos; at += 15)
      body.insert(at + 1, "com.microsoft.");
  return body;
}

TEST(MoveQuantization, MoversRunOn16BitsToo) {
  for (const char* mover :
       {"Transpose<perm = [2, 0, 1]>(xd)", "Slice(xd, first, two, first)", "Gather<axis = 1>(xd, picked)",
        "GatherElements(xd, elements)", "GatherND(xd, nd)", "Expand(xd, wide)", "Pad(xd, pads)",
        "Pad<mode = \"edge\">(xd, pads)", "Tile(xd, repeats)", "Resize(xd, , scales)", "Identity(xd)",
        "Reshape(xd, shape)", "Flatten(xd)", "Unsqueeze(xd, first)", "Squeeze(xd)"}) {
    const std::string op = std::string(mover).substr(0, std::string(mover).find_first_of("<("));
    const bool flat = op == "Reshape" || op == "Flatten" || op == "GatherND";
    const std::string dims = flat ? "[p,q] y" : op == "Unsqueeze" ? "[o,p,q,r] y" : "[p,q,r] y";
    const std::string body = std::string(kIn) + "m = " + mover + kOut;
    for (const bool microsoft : {false, true}) {
      for (const std::string zero : {"z16", "n16"}) {
        const PassedGraph g =
            Moved(With16(body, zero, microsoft), (zero == "z16" ? "uint16" : "int16") + dims, microsoft ? 18 : 21);
        EXPECT_EQ(g.Operators(), "QuantizeLinear " + op) << g.Text();
      }
    }
  }
  const std::string image =
      "i = Unsqueeze(x, zero) iq = QuantizeLinear(i, s, z) id = DequantizeLinear(iq, s, z) "
      "m = SpaceToDepth<blocksize = 2>(id) d = DepthToSpace<blocksize = 2>(m) y = QuantizeLinear(d, s, z)";
  EXPECT_EQ(Moved(With16(image, "z16"), "uint16[o,p,q,r] y").Operators(),
            "QuantizeLinear Unsqueeze SpaceToDepth DepthToSpace");
}

TEST(MoveQuantization, SplitsAndJoins16Bits) {
  const PassedGraph split =
      Moved(With16(std::string(kIn) + "a, b = Split<num_outputs = 2>(xd) y = QuantizeLinear(a, s, z) "
                                      "u = QuantizeLinear(b, s, z)",
                   "z16"),
            "uint16[p,q,r] y, uint16[p,q,r] u");
  EXPECT_EQ(split.Operators(), "QuantizeLinear Split");
  const std::string both = std::string(kIn) + "vq = QuantizeLinear(v, s, z) vd = DequantizeLinear(vq, s, z) ";
  for (const std::string join : {"Concat<axis = 1>(vd, xd)", "Where(which, vd, xd)"}) {
    const std::string op = join.substr(0, join.find_first_of("<("));
    EXPECT_EQ(Moved(With16(both + "m = " + join + kOut, "n16"), "int16[p,q,r] y").Operators(),
              "QuantizeLinear QuantizeLinear " + op);
  }
}

// 16 bits: what is moved meets a QuantizeLinear of the same parameters, or stays where it is.
TEST(MoveQuantization, Leaves16BitsOfOtherParametersAlone) {
  const auto after = [](const std::string& body, const std::string& output = "uint16[p,q,r] y") {
    return Moved(With16(body, "z16"), output).Operators();
  };
  const std::string in = std::string(kIn) + "m = Transpose(xd) ";
  const std::string stays = "QuantizeLinear DequantizeLinear Transpose QuantizeLinear";
  EXPECT_EQ(after(in + "y = QuantizeLinear(m, t, z)"), stays);
  EXPECT_EQ(after(in + "y = QuantizeLinear(m, s, other)"), stays);
  EXPECT_EQ(after(in + "y = QuantizeLinear(m, s, n16)", "int16[p,q,r] y"), stays);
  EXPECT_EQ(after(in + "y = QuantizeLinear(m, s, n)", "int8[p,q,r] y"), stays);
  EXPECT_EQ(Moved(With16(in + "y = QuantizeLinear(m, s, three)", "other"), "int16[p,q,r] y").Operators(), stays);
  EXPECT_EQ(Moved(With16(in + "y = QuantizeLinear(m, s, three8)", "other"), "uint8[p,q,r] y").Operators(), stays);
  // A scale for each index of an axis that the Transpose moves, with the same constants behind it.
  EXPECT_EQ(after("c = Slice(x, zero, four, two) xq = QuantizeLinear<axis = 1>(c, ws, zs) "
                  "xd = DequantizeLinear<axis = 1>(xq, ws, zs) m = Transpose<perm = [0, 2, 1]>(xd) "
                  "y = QuantizeLinear<axis = 1>(m, ws, zs)"),
            "Slice " + stays);
  EXPECT_EQ(after(std::string(kIn) + "m = Pad(xd, pads, one)" + kOut),
            "QuantizeLinear DequantizeLinear Pad QuantizeLinear");
  EXPECT_EQ(after(std::string(kIn) + "m = Resize<mode = \"linear\">(xd, , scales)" + kOut),
            "QuantizeLinear DequantizeLinear Resize QuantizeLinear");
  EXPECT_EQ(after(std::string(kIn) + "m = MaxPool<kernel_shape = [2]>(xd)" + kOut),  // not of 16 bits
            "QuantizeLinear DequantizeLinear MaxPool QuantizeLinear");
  EXPECT_EQ(after(in + "y = Abs(m)", "float[p,q,r] y"), "QuantizeLinear DequantizeLinear Transpose Abs");
  EXPECT_EQ(after(in + "u = Gather(m, picked) a = Abs(u) y = QuantizeLinear(a, s, z)"),
            "QuantizeLinear DequantizeLinear Transpose Gather Abs QuantizeLinear");
}

TEST(MoveQuantization, MeetsAcrossSeveralMoversOf16Bits) {
  EXPECT_EQ(Moved(With16(std::string(kIn) +
                             "a = Transpose(xd) b = Gather(a, picked) m = Identity(b) y = QuantizeLinear(m, s, z)",
                         "z16"),
                  "uint16[p,q,r] y")
                .Operators(),
            "QuantizeLinear Transpose Gather Identity");
  // Rounding twice with the same parameters is rounding once.
  EXPECT_EQ(Moved(With16(std::string(kIn) + "y = QuantizeLinear(xd, s, z) u = DequantizeLinear(y, s, z)", "n16"),
                  "int16[p,q,r] y, float[p,q,r] u")
                .Operators(),
            "QuantizeLinear DequantizeLinear");
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
