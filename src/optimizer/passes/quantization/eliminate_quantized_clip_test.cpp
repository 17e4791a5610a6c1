// optimizer/passes/quantization/eliminate_quantized_clip_test.cpp - limits of 8-bit integers that are kept already go;
// others stay.
#include "testing/pass_example.h"
#include "testing/quantized_graph.h"

namespace sardonyx::optimizer {
namespace {

using testing::PassedGraph;

std::string ClipGraph(std::string_view body, std::string_view outputs = "uint8[p,q] y") {
  return "g (uint8[2,4] x, uint8[2,4] v, uint8 u) => (" + std::string(outputs) +
         ") <uint8 low = {3}, uint8 high = {127}, uint8 more = {200}, int64[2] shape = {4, 2}> {" + std::string(body) +
         "}";
}

const testing::PassExample kExample("eliminate_quantized_clip",
                                    {.changed = ClipGraph("a = Clip(x, , high) b = Transpose(a) y = Clip(b, , high)"),
                                     .left = ClipGraph("a = Clip(x, , more) b = Transpose(a) y = Clip(b, , high)"),
                                     .reasons = {"(Clip, output 'y')",
                                                 "nothing before it keeps its integers between 0 and 127"}});

std::string Left(const std::string& body) {
  return PassedGraph(ClipGraph(body), {&kEliminateQuantizedClip}).Operators();
}

TEST(EliminateQuantizedClip, RemovesWhatComesAgain) {
  EXPECT_EQ(Left("a = Clip(x, , high) y = Clip(a, , high)"), "Clip");
  EXPECT_EQ(Left("a = Clip(x, low, high) b = Reshape(a, shape) c = Transpose(b) y = Clip(c, , more)"),
            "Clip Reshape Transpose");
  EXPECT_EQ(Left("a = Clip(x, , high) b = Clip(v, low, high) c = Concat<axis = 0>(a, b) y = Clip(c, , high)"),
            "Clip Clip Concat");
}

TEST(EliminateQuantizedClip, LeavesWhatLimits) {
  EXPECT_EQ(Left("a = Clip(x, , more) y = Clip(a, , high)"), "Clip Clip");
  EXPECT_EQ(Left("a = Clip(x, , high) y = Clip(a, low, high)"), "Clip Clip");
  EXPECT_EQ(Left("a = Clip(x, , high) c = Concat<axis = 0>(a, v) y = Clip(c, , high)"), "Clip Concat Clip");
  EXPECT_EQ(Left("a = Clip(x, , u) y = Clip(a, , high)"), "Clip Clip");
}

TEST(EliminateQuantizedClip, JoinsATable) {
  std::string table;
  for (int i = 0; i < 256; ++i) table += (i == 0 ? "" : ", ") + std::to_string(255 - i);
  const std::string text = "g (uint8[2,4] x) => (uint8[2,4] y) <uint8[256] t = {" + table +
                           "}, uint8 high = {127}> { a = ai.sardonyx.Lookup8(x, t) y = Clip(a, , high) }";
  EXPECT_EQ(PassedGraph(text, {&kEliminateQuantizedClip}).Operators(), "Lookup8");
}

}  // namespace
}  // namespace sardonyx::optimizer
