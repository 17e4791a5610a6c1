// optimizer/passes/fuse/fuse_rotary_embedding_test.cpp - rotary embeddings as Llama's exporters write them become one
// node.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::OperatorsAfter;
using ::sardonyx::testing::PreparedGraph;

Tensor Numbers(const Shape& shape) {
  Tensor t(DType::kFloat, shape);
  for (std::int64_t i = 0; i < t.count(); ++i) t.data<float>()[i] = static_cast<float>(i * 29 % 17 - 8) / 4.0f;
  return t;
}

std::string Fused(const std::string& rotation, const std::string& angles = "c = Concat<axis = -1>(f, f)") {
  std::vector<std::vector<Value>> runs;
  for (const std::int64_t rows : {5, 1}) runs.push_back({Numbers(Shape{2, rows, 12}), Numbers(Shape{2, rows, 2})});
  return OperatorsAfter(
      "g (float[b,s,12] x, float[b,s,2] f) => (float[b,3,s,4] y) <int64[4] heads = {0, 0, 3, 4}, int64[1] one = {1},"
      " int64[1] zero = {0}, int64[1] two = {2}, int64[1] end = {9223372036854775807}, int64[1] last = {3}, int64[2] "
      "halves = {2, 2}> {" +
          angles +
          " co = Cos(c) si = Sin(c) cos = Unsqueeze(co, one) sin = Unsqueeze(si, one)\n"
          " x4 = Reshape(x, heads) q = Transpose<perm = [0, 2, 1, 3]>(x4) " +
          rotation + "}",
      {&kFuseRotaryEmbedding, &kEliminateDeadNodes}, runs);
}

constexpr const char* kBySlices =
    "l = Slice(q, zero, two, last) h = Slice(q, two, end, last) n = Neg(h) r = Concat<axis = -1>(n, l)\n";
constexpr const char* kWant = "Concat Cos Sin Slice Slice RotaryEmbedding Reshape Transpose";

TEST(FuseRotaryEmbedding, TakesSlicesAndSplit) {
  EXPECT_EQ(Fused(std::string(kBySlices) + "a = Mul(q, cos) t = Mul(r, sin) y = Add(a, t)"), kWant);
  EXPECT_EQ(Fused(std::string(kBySlices) + "a = Mul(cos, q) t = Mul(sin, r) y = Add(t, a)"), kWant);
  EXPECT_EQ(Fused("l, h = Split<axis = -1>(q, halves) n = Neg(h) r = Concat<axis = 3>(n, l)\n"
                  "a = Mul(q, cos) t = Mul(r, sin) y = Add(a, t)"),
            kWant);
}

TEST(FuseRotaryEmbedding, LeavesWhatIsNoRotation) {
  const std::string tail = "a = Mul(q, cos) t = Mul(r, sin) y = Add(a, t)";
  EXPECT_EQ(
      Fused("l = Slice(q, zero, two, last) h = Slice(q, two, end, last) n = Neg(l) r = Concat<axis = -1>(n, h)\n" +
            tail)
          .find("Rotary"),
      std::string::npos)
      << "the halves stay in their order";
  EXPECT_EQ(Fused(std::string(kBySlices) + tail, "n2 = Neg(f) c = Concat<axis = -1>(f, n2)").find("Rotary"),
            std::string::npos)
      << "the halves have different angles";
}

// As torch writes GPT-OSS: each half by itself, with one factor for each pair.
TEST(FuseRotaryEmbedding, TakesHalvesThatAreTurnedByThemselves) {
  const std::string angles = "c = Neg(f)", parts = "l, h = Split<axis = -1>(q, halves) ";
  const char* want = "Neg Cos Sin RotaryEmbedding Reshape Transpose";
  const std::string first = "a = Mul(l, cos) t = Mul(h, sin) n = Sub(a, t) ",
                    second = "d = Mul(h, cos) e = Mul(l, sin) r = Add(d, e) ", join = "y = Concat<axis = -1>(n, r)";
  EXPECT_EQ(Fused(parts + first + second + join, angles), want);
  EXPECT_EQ(Fused("l = Slice(q, zero, two, last) h = Slice(q, two, end, last) a = Mul(cos, l) t = Mul(sin, h)"
                  " n = Sub(a, t) d = Mul(cos, h) e = Mul(l, sin) r = Add(e, d) y = Concat<axis = 3>(n, r)",
                  angles),
            want);
  EXPECT_EQ(
      Fused(
          parts + "a = Mul(l, sin) t = Mul(h, cos) n = Sub(a, t) d = Mul(h, sin) e = Mul(l, cos) r = Add(d, e) " + join,
          angles),
      want)
      << "any factors";
  for (const std::string& other : {
           parts + "a = Mul(l, cos) t = Mul(h, sin) n = Sub(t, a) " + second + join,
           parts + "a = Mul(h, cos) t = Mul(l, sin) n = Sub(a, t) d = Mul(l, cos) e = Mul(h, sin) r = Add(d, e) " +
               join,
           parts + first + "d = Mul(h, sin) e = Mul(l, cos) r = Add(d, e) " + join,
           parts + first + "d = Mul(h, cos) e = Mul(l, sin) r = Sub(d, e) " + join,
           parts + first + second + "y = Concat<axis = -1>(r, n)",
       })
    EXPECT_EQ(Fused(other, angles).find("Rotary"), std::string::npos) << other;
}

TEST(FuseRotaryEmbedding, TakesAnyFactorsOfEqualHalves) {
  EXPECT_EQ(Fused(std::string(kBySlices) + "a = Mul(q, sin) t = Mul(r, cos) y = Add(a, t)"), kWant);
}

// Heads behind the rows: a projection's result is read as it is.
std::string Turned(const std::string& rotation) {
  std::vector<std::vector<Value>> runs;
  for (const std::int64_t rows : {5, 1}) runs.push_back({Numbers(Shape{2, rows, 12}), Numbers(Shape{2, rows, 2})});
  return OperatorsAfter(
      "g (float[b,s,12] x, float[b,s,2] f) => (float[b,s,3,4] y) <int64[4] heads = {0, 0, 3, 4}, int64[1] one = {1},"
      " int64[1] zero = {0}, int64[1] two = {2}, int64[1] end = {9223372036854775807}, int64[1] last = {-1}, int64[4] "
      "same = {0, 0, 1, 4}, int64[4] twice = {1, 1, 1, 2}> {"
      "co = Cos(f) si = Sin(f) c1 = Unsqueeze(co, last) s1 = Unsqueeze(si, last) c2 = Tile(c1, twice)"
      " s2 = Tile(s1, twice) cos = Reshape(c2, same) sin = Reshape(s2, same) q = Reshape(x, heads) " +
          rotation + " a = Mul(q, cos) t = Mul(r, sin) y = Add(a, t) }",
      {&kFuseRotaryEmbedding, &kEliminateDeadNodes}, runs);
}

TEST(FuseRotaryEmbedding, TakesNeighbours) {
  const std::string parts = "o = Slice(q, one, end, last, two) e = Slice(q, zero, end, last, two) n = Neg(o) ";
  const std::string behind = "n1 = Unsqueeze(n, last) e1 = Unsqueeze(e, last) ";
  EXPECT_EQ(Turned(parts + behind + "s3 = Concat<axis = -1>(n1, e1) r = Reshape(s3, heads)"),
            "Cos Sin RotaryEmbedding Reshape");
  for (const char* other : {"s3 = Concat<axis = -1>(e1, n1) r = Reshape(s3, heads)",
                            "s3 = Concat<axis = -2>(n1, e1) r = Reshape(s3, heads)"})
    EXPECT_EQ(Turned(parts + behind + other).find("Rotary"), std::string::npos) << other;
  EXPECT_EQ(Turned("o = Slice(q, zero, end, last, two) e = Slice(q, one, end, last, two) n = Neg(o) " + behind +
                   "s3 = Concat<axis = -1>(n1, e1) r = Reshape(s3, heads)")
                .find("Rotary"),
            std::string::npos)
      << "the first of each pair is negated";
}

TEST(FuseRotaryEmbedding, HalvesDoNotTakeFactorsOfNeighbours) {
  EXPECT_EQ(Turned("l = Slice(q, zero, two, last) h = Slice(q, two, end, last) n = Neg(h) r = Concat<axis = -1>(n, l)")
                .find("Rotary"),
            std::string::npos);
}

// Factors that the batch shares, and factors from rows of a table.
TEST(FuseRotaryEmbedding, TakesSharedFactorsAndTables) {
  const ops::Registry registry;
  const auto left = [&](const std::string& inputs, const std::string& table, const std::string& factors,
                        const std::vector<Value>& values) {
    const std::string text =
        "g (float[b,s,12] x" + inputs +
        ") => (float[b,3,s,4] y) <int64[4] heads = {0, 0, 3, 4},"
        " int64[1] one = {1}, int64[1] zero = {0}, int64[1] two = {2}, int64[1] four = {4}, int64[1] last = {3}, "
        "float[6,4] table = {" +
        table + "}> {" + factors +
        " x4 = Reshape(x, heads) q = Transpose<perm = [0, 2, 1, 3]>(x4) "
        "l = Slice(q, zero, two, last) h = Slice(q, two, four, last) n = Neg(h) r = Concat<axis = -1>(n, l)"
        " a = Mul(q, cos) t = Mul(r, sin) y = Add(a, t) }";
    SCOPED_TRACE(text);
    Graph graph = PreparedGraph(text, registry);
    const Graph before = graph;
    PassContext context{registry};
    RunVerified(kFuseRotaryEmbedding, graph, context);
    RunVerified(kEliminateDeadNodes, graph, context);
    ExpectSameValues(graph, before, registry, values);
    return ToText(graph).find("RotaryEmbedding") != std::string::npos;
  };
  const std::string equal = "1,2,1,2, 3,4,3,4, 5,6,5,6, 7,8,7,8, 9,1,9,1, 2,3,2,3",
                    other = "1,2,1,2, 3,4,3,5, 5,6,5,6, 7,8,7,8, 9,1,9,1, 2,3,2,3";
  const std::string shared =
      "c = Concat<axis = -1>(f, f) co = Cos(c) si = Sin(c) cos = Unsqueeze(co, one) sin = Unsqueeze(si, one)";
  const std::string rows = "co = Gather(table, i) cos = Unsqueeze(co, one) sin = Unsqueeze(co, one)";
  const Value x = Numbers(Shape{2, 5, 12});
  EXPECT_TRUE(left(", float[1,s,2] f", equal, shared, {x, Numbers(Shape{1, 5, 2})}));
  const Value positions = Tensor::Of<std::int64_t>({0, 2, 1, 5, 4, 3, 3, 0, 1, 2}, Shape{2, 5});
  EXPECT_TRUE(left(", int64[b,s] i", equal, rows, {x, positions}));
  EXPECT_FALSE(left(", int64[b,s] i", other, rows, {x, positions})) << "a row whose halves differ";
}

// As torch.onnx writes it from opset 23 on.
TEST(FuseRotaryEmbedding, ReadsProjectionsInARotaryEmbeddingThatTheAuthorWrote) {
  const auto rewritten = [](const std::string& node) {
    return OperatorsAfter(
        "g (float[b,s,12] x, float[b,s,2] cos, float[b,s,2] sin) => (float[b,3,s,4] y) <int64[4] heads = {0, 0, 3, 4}> "
        "{ x4 = Reshape(x, heads) q = Transpose<perm = [0, 2, 1, 3]>(x4) " +
            node + " }",
        {&kFuseRotaryEmbedding, &kMergeViews, &kEliminateDeadNodes},
        {{Numbers(Shape{2, 5, 12}), Numbers(Shape{2, 5, 2}), Numbers(Shape{2, 5, 2})},
         {Numbers(Shape{1, 1, 12}), Numbers(Shape{1, 1, 2}), Numbers(Shape{1, 1, 2})}});
  };
  EXPECT_EQ(rewritten("y = RotaryEmbedding(q, cos, sin)"), "RotaryEmbedding Reshape Transpose");
  EXPECT_EQ(rewritten("y = RotaryEmbedding<num_heads = 3, interleaved = 1>(q, cos, sin)"),
            "RotaryEmbedding Reshape Transpose");
  EXPECT_EQ(rewritten("n = Neg(q) y = RotaryEmbedding(n, cos, sin)"), "Reshape Transpose Neg RotaryEmbedding");
}

// As torch.onnx writes it for Phi-4.
TEST(FuseRotaryEmbedding, TakesWholeHeadsOfARotaryEmbeddingThatTheAuthorWrote) {
  const auto rewritten = [](const std::string& nodes) {
    return OperatorsAfter(
        "g (float[b,s,12] x, float[b,s,1] cos, float[b,s,1] sin) => (float[b,3,s,4] y) <int64[4] heads = {0, 0, 3, 4},"
        " int64[2] halves = {2, 2}> { x4 = Reshape(x, heads) q = Transpose<perm = [0, 2, 1, 3]>(x4) " +
            nodes + " }",
        {&kFuseRotaryEmbedding, &kMergeViews, &kEliminateDeadNodes},
        {{Numbers(Shape{2, 5, 12}), Numbers(Shape{2, 5, 1}), Numbers(Shape{2, 5, 1})}});
  };
  EXPECT_EQ(rewritten("l, h = Split<axis = 3>(q, halves) r = RotaryEmbedding(l, cos, sin) y = Concat<axis = -1>(r, h)"),
            "RotaryEmbedding Reshape Transpose");
  EXPECT_EQ(rewritten("n = Neg(q) l, h = Split<axis = 3>(n, halves) r = RotaryEmbedding(l, cos, sin)"
                      " y = Concat<axis = -1>(r, h)"),
            "Reshape Transpose Neg RotaryEmbedding");
  EXPECT_EQ(rewritten("l, h = Split<axis = 3>(q, halves) r = RotaryEmbedding(h, cos, sin) y = Concat<axis = -1>(r, l)"),
            "Reshape Transpose Split RotaryEmbedding Concat")
      << "the second part is rotated";
}

}  // namespace
}  // namespace sardonyx::optimizer
