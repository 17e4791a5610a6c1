// optimizer/semantics_test.cpp - what optimization must not change: NaN, infinities, empty tensors and sizes of 1 that
// were not declared, values that have other readers or names, and errors of the author's graph.
#include "testing/fusion_matrix.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::GraphOf;
using ::sardonyx::testing::InputsFor;
using ::sardonyx::testing::RandomTensors;
using ::sardonyx::testing::RunPipeline;
using ::sardonyx::testing::Sizes;

std::pair<Graph, Graph> PlainAndOptimized(const std::string& text, const ops::Registry& registry) {
  Graph plain = GraphOf(text, registry), graph = plain;
  OptimizeOptions off;
  off.level = Level::kDisable;
  RunPipeline(plain, registry, off);
  RunPipeline(graph, registry, {});
  return {std::move(plain), std::move(graph)};
}

std::string In21(const std::string& text) { return "<ir_version: 10, opset_import: [\"\" : 21]> " + text; }

// Elements of every kind, NaN and infinities among them.
const std::vector<std::string> kElementwise = {
    "y = Add(x, zero)",
    "y = Sub(x, zero)",
    "y = Mul(x, one)",
    "y = Div(x, one)",
    "y = Pow(x, one)",
    "y = Div(x, four)",
    "a = Mul(x, zero) y = Add(a, one)",
    "a = Relu(x) y = Clip(a, zero, six)",
    "a = Clip(x, zero, six) y = Relu(a)",
    "a = Relu(x) y = Relu(a)",
    "a = Clip(x, one, zero) y = Relu(a)",
    "a = Sigmoid(x) y = Mul(x, a)",
    "a = Mul(x, k) b = Sigmoid(a) y = Mul(x, b)",
    "a = Add(x, three) b = Clip(a, zero, six) c = Mul(x, b) y = Div(c, six)",
    "a = Add(x, three) b = Clip(a, zero, six) y = Div(b, six)",
    "a = Softplus(x) b = Tanh(a) y = Mul(x, b)",
    "a = Cast<to = 11>(x) b = Cast<to = 1>(a) y = Neg(b)",
    "a = Cast<to = 10>(x) b = Cast<to = 1>(a) y = Neg(b)",
    "a = IsNaN(x) b = Not(a) y = Where(b, x, zero)",
    "a = Neg(x) b = Neg(a) y = Abs(b)",
    "a = Exp(x) b = Log(a) c = Sqrt(b) y = Sub(c, x)",
    "a = Max(x) b = Min(a) c = Sum(b) y = Mean(c)",
    "a = Max(x, z) y = Min(a, one)",
    "m = ReduceMean(x, last) d = Sub(x, m) q = Mul(d, d) v = ReduceMean(q, last) e = Add(v, tiny) r = Sqrt(e) y = "
    "Div(d, r)",
    "q = Pow(x, two) v = ReduceMean(q, last) e = Add(v, tiny) r = Sqrt(e) i = Reciprocal(r) y = Mul(x, i)",
    "a = Softmax(x) b = IsNaN(a) y = Where(b, zero, a)",
    "a = MatMul(x, w) b = Mul(a, half) y = Add(b, bias)",
    "a = MatMul(x, w) b = Add(a, bias) y = Relu(b)",
    "a = MatMul(x, w) y = Clip(a, zero, six)",
    "t = Transpose<perm = [1, 0]>(x) a = MatMul(t, x) y = Transpose<perm = [1, 0]>(a)",
};

TEST(Semantics, NaNAndInfinitiesStayWhereTheyAre) {
  const ops::Registry registry;
  RandomTensors random;
  for (const std::string& body : kElementwise) {
    SCOPED_TRACE(body);
    const bool square = body[0] == 't';
    const auto [plain, graph] = PlainAndOptimized(
        In21(
            "g (float[n,4] x, float[n,4] z) => (float[" + std::string(square ? "4" : "n") +
            ",4] y) <float zero = {0}, float one = "
            "{1}, float two = {2}, float three = {3}, float four = {4}, float six = {6}, float half = {0.5}, float k = "
            "{1.702}, float root = {1.41421356}, float tiny = {1e-5}, int64[1] last = {-1}, float[4] bias = {1, 2, 3, "
            "4},"
            " float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, 0.5, 0.25, 0, 1}> {" +
            body + " }"),
        registry);
    for (const std::int64_t rows : {5, 1, 0}) {
      std::vector<Value> inputs = InputsFor(plain, {{"n", rows}}, random);
      testing::ExpectSameValues(graph, plain, registry, inputs);
      for (Value& input : inputs) input = Value(random.WithSpecialValues(input.tensor(), 0.3));
      testing::ExpectSameValues(graph, plain, registry, inputs);
    }
  }
}

// Values that are also outputs, are read twice, or are given by the caller.
TEST(Semantics, OtherReadersAndNamesKeepTheirValues) {
  const ops::Registry registry;
  RandomTensors random;
  for (const char* text : {
           "g (float[n,4] x) => (float[n,4] a, float[n,4] y) { a = Relu(x) y = Relu(a) }",
           "g (float[n,4] x) => (float[n,4] y, float[n,4] z) { a = Identity(x) y = Identity(a) z = Identity(a) }",
           "g (float[n,4] x) => (float[n,4] y, float[n,4] x2) { y = Neg(x) x2 = Identity(x) }",
           "g (float[n,4] x) => (float[4,n] a, float[n,4] y) { a = Transpose(x) y = Transpose(a) }",
           "g (float[n,4] x) => (float[n,4] a, float[n,4] y) { a = Sigmoid(x) y = Mul(x, a) }",
           "g (float[n,4] x) => (float[n,4] m, float[n,4] y) <float[4,4] w = {1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8}, "
           "float[4] c = "
           "{1,2,3,4}> { m = MatMul(x, w) y = Add(m, c) }",
           "g (float[n,4] x, float[4] c) => (float[n,4] y) <float[4] c = {1,2,3,4}, float[4] d = {1,1,1,1}> { e = "
           "Add(c, d)"
           " y = Mul(x, e) }",
           "g (float[n,4] x) => (float[n,4] y, float[4] c) <float[4] c = {1,2,3,4}> { d = Neg(c) y = Mul(x, d) }",
           "g (float[n,4] x) => (float[n,4] y, float[n,4] y2) { y = Exp(x) y2 = Exp(x) }",
           "g (float[n,4] x, bool c) => (float[n,4] y) { a = Neg(x) b = Neg(a) y = If (c) <then_branch = t () => "
           "(float[n,4] p)"
           " { p = Add(a, b) }, else_branch = e () => (float[n,4] q) { q = Identity(b) }> }",
           "g (float[n,4] x) => (float[n,4] y) <int64 three = {3}, bool on = {1}> { k = Exp(x) y = Loop (three, on, x)"
           " <body = b (int64 i, bool c, float[n,4] s) => (bool d, float[n,4] r) { d = Identity(c) u = Mul(s, k)"
           " r = Tanh(u) }> }",
           "g (float[n,4] x) => (float[n,2] y, float[n,2] z) <int64[2] two = {2, 2}> { y, z = Split<axis = 1>(x, two) "
           "}",
           "g (float[n,4] x) => (float[n,4] y) <int64[2] two = {2, 2}> { a, b = Split<axis = 1>(x, two)"
           " y = Concat<axis = 1>(a, b) }",
           "g (float[n,4] x) => (float[n,4] y) <int64[2] two = {2, 2}> { a, b = Split<axis = 1>(x, two)"
           " y = Concat<axis = 1>(b, a) }",
           "g (float[n,4] x) => (float[n,4] y) { y = Add(x, x) }",
           "g (string[n,4] x) => (string[n,4] y) { a = Identity(x) b = Transpose(a) y = Transpose(b) }",
           "g (string[n,4] x) => (bool[n,4] y) <string k = {\"a\"}> { y = Equal(x, k) }",
           "g (int32[n,4] x) => (int32[n,4] y) <int32 four = {4}, int32 zero = {0}> { a = Div(x, four) y = Add(a, "
           "zero) }",
           "g (uint8[n,4] x) => (uint8[n,4] y) <uint8 big = {200}> { a = Add(x, big) y = Add(a, big) }",
       }) {
    SCOPED_TRACE(text);
    const auto [plain, graph] = PlainAndOptimized(In21(text), registry);
    ASSERT_EQ(plain.outputs.size(), graph.outputs.size());
    for (std::size_t i = 0; i < plain.outputs.size(); ++i)
      EXPECT_EQ(plain.value(plain.outputs[i]).name, graph.value(graph.outputs[i]).name);
    for (const std::int64_t rows : {3, 1, 0})
      testing::ExpectSameValues(graph, plain, registry, InputsFor(plain, {{"n", rows}}, random));
  }
}

// Sizes that the graph leaves open and that turn out to be 1, or 0, or different from each other.
struct Surprise {
  const char* text;
  std::vector<Sizes> runs;
};
TEST(Semantics, SizesMayTurnOutOtherwise) {
  const ops::Registry registry;
  RandomTensors random;
  const std::vector<Surprise> surprises = {
      {"g (float[a,b] x, float[c,d] z) => (float[e,f] y) { s = Add(x, z) r = Relu(s) y = Mul(r, x) }",
       {{{"a", 1}, {"b", 3}, {"c", 2}, {"d", 3}},
        {{"a", 2}, {"b", 1}, {"c", 1}, {"d", 3}},
        {{"a", 0}, {"b", 3}, {"c", 1}, {"d", 1}}}},
      {"g (float[a,b] x, float[c,d] w, float[e] k) => (float[f,h] y) { m = MatMul(x, w) y = Add(m, k) }",
       {{{"a", 2}, {"b", 3}, {"c", 3}, {"d", 1}, {"e", 4}}, {{"a", 2}, {"b", 3}, {"c", 3}, {"d", 4}, {"e", 1}}}},
      {"g (float[a,b] x, float[c,d] k) => (float[e,f] y) { s = Sigmoid(x) m = Mul(x, s) r = Add(m, k) y = Tanh(r) }",
       {{{"a", 1}, {"b", 1}, {"c", 4}, {"d", 5}}, {{"a", 4}, {"b", 5}, {"c", 1}, {"d", 5}}}},
      {"g (float[a,b,c] x, float[d,b,c] z, float[c] w) => (float[e,b,c] y) { s = Add(x, z) y = LayerNormalization(s, "
       "w) }",
       {{{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}}, {{"a", 4}, {"b", 2}, {"c", 3}, {"d", 1}}}},
      {"g (float[a,2,s,4] q, float[a,2,t,4] k, float[a,2,t,4] v, float[b,m,r,u] mask) => (float[e,f,h,4] y) {"
       " kt = Transpose<perm = [0, 1, 3, 2]>(k) p = MatMul(q, kt) c = Add(p, mask) w = Softmax(c) y = MatMul(w, v) }",
       {{{"a", 1}, {"s", 1}, {"t", 5}, {"b", 3}, {"m", 2}, {"r", 4}, {"u", 5}},
        {{"a", 2}, {"s", 3}, {"t", 5}, {"b", 1}, {"m", 1}, {"r", 1}, {"u", 1}},
        {{"a", 2}, {"s", 3}, {"t", 5}, {"b", 2}, {"m", 1}, {"r", 3}, {"u", 5}}}},
      {"g (float[a,2,s,4] q, float[a,2,s,4] k, float[a,2,s,4] v, float[1,2,5,5] mask) => (float[a,2,h,4] y) {"
       " kt = Transpose<perm = [0, 1, 3, 2]>(k) p = MatMul(q, kt) c = Add(p, mask) w = Softmax(c) y = MatMul(w, v) }",
       {{{"a", 2}, {"s", 5}}, {{"a", 1}, {"s", 5}}}},
      {"g (float[a,b] x, int64[1] from) => (float[c,b] y) <int64[1] end = {100}, int64[1] first = {0}> {"
       " s = Slice(x, from, end, first) z = Shape(s) y = Expand(s, z) }",
       {{{"a", 3}, {"b", 2}}, {{"a", 1}, {"b", 1}}}},
      {"g (float[a,b] x) => (float[c,b] y) { z = NonZero(x) f = Cast<to = 1>(z) t = Transpose(f) u = Transpose(t)"
       " r = Relu(u) y = Concat<axis = 0>(r, r) }",
       {{{"a", 3}, {"b", 2}}, {{"a", 0}, {"b", 2}}}},
  };
  for (const Surprise& surprise : surprises) {
    SCOPED_TRACE(surprise.text);
    const auto [plain, graph] = PlainAndOptimized(In21(surprise.text), registry);
    for (const Sizes& sizes : surprise.runs)
      testing::ExpectSameValues(graph, plain, registry, InputsFor(plain, sizes, random));
  }
}

bool Fails(const Graph& graph, const ops::Registry& registry, const std::vector<Value>& inputs) {
  try {
    ops::EvaluateGraph(graph, registry, inputs);
  } catch (const Error&) {
    return true;
  }
  return false;
}

TEST(Semantics, ErrorsOfTheGraphStayErrors) {
  const ops::Registry registry;
  RandomTensors random;
  const std::vector<Surprise> errors = {
      // A target of another value's sizes.
      {"g (float[a,6] x, float[b,2] z) => (float[b,6] y) <int64[1] six = {6}, int64[1] first = {0}> {"
       " s = Shape(z) n = Gather(s, first) t = Concat<axis = 0>(n, six) r = Reshape(x, t) y = Neg(r) }",
       {{{"a", 3}, {"b", 2}}}},
      {"g (float[a,6] x, float[b,2] z) => (float[b,2,3] y) <int64[2] tail = {2, 3}, int64[1] first = {0}> {"
       " s = Shape(z) n = Gather(s, first) t = Concat<axis = 0>(n, tail) y = Reshape(x, t) }",
       {{{"a", 3}, {"b", 2}}, {{"a", 1}, {"b", 2}}}},
      {"g (float[a,6] x, int64[2] t) => (float[c,6] y) { r = Reshape(x, t) y = Reshape(r, t) }", {{{"a", 3}}}},
      {"g (float[a,b] x, float[c,d] z) => (float[e,f] y) { s = Add(x, z) y = Relu(s) }",
       {{{"a", 2}, {"b", 3}, {"c", 3}, {"d", 3}}}},
      {"g (float[a,b] x, float[c,d] z) => (float[e,f] y) { s = Add(x, z) d1 = Sub(s, z) y = Mul(d1, x) }",
       {{{"a", 2}, {"b", 3}, {"c", 2}, {"d", 2}}}},
      {"g (float[a,b] x, float[c,d] z) => (float[a,b] y) { s = Shape(z) y = Expand(x, s) }",
       {{{"a", 2}, {"b", 3}, {"c", 3}, {"d", 3}}}},
      {"g (float[a,b] x, float[c,d] w) => (float[a,d] y) { m = MatMul(x, w) r = Relu(m) y = Neg(r) }",
       {{{"a", 2}, {"b", 3}, {"c", 4}, {"d", 3}}}},
      {"g (float[a,2,s,4] q, float[a,2,s,4] k, float[a,2,s,4] v, float[1,2,5,5] mask) => (float[a,2,h,4] y) {"
       " kt = Transpose<perm = [0, 1, 3, 2]>(k) p = MatMul(q, kt) c = Add(p, mask) w = Softmax(c) y = MatMul(w, v) }",
       {{{"a", 2}, {"s", 4}}, {{"a", 2}, {"s", 1}}}},
      {"g (float[a,2,s,4] q, float[a,2,t,4] k, float[a,2,u,4] v) => (float[a,2,s,4] y) {"
       " kt = Transpose<perm = [0, 1, 3, 2]>(k) p = MatMul(q, kt) w = Softmax(p) y = MatMul(w, v) }",
       {{{"a", 2}, {"s", 4}, {"t", 3}, {"u", 5}}}},
      {"g (float[a,4] x) => (float[a,2] y) <int64[2] parts = {2, 3}> { p, q = Split<axis = 1>(x, parts) y = Neg(p) }",
       {{{"a", 2}}}},
      {"g (float[a,4] x) => (float[b,4] y) <int64[1] i = {7}> { t = Gather<axis = 1>(x, i) y = Neg(t) }", {{{"a", 2}}}},
      {"g (float[a,4] x, float[b,5] z) => (float[c,4] y) { t = Concat<axis = 0>(x, z) y = Neg(t) }",
       {{{"a", 2}, {"b", 2}}}},
      {"g (float[a,b] x) => (float[b] y) <int64[1] first = {0}> { t = Squeeze(x, first) y = Neg(t) }",
       {{{"a", 2}, {"b", 2}}}},
      {"g (float[a,b,c] x, float[c] w, float[d,b,c] z) => (float[a,b,c] y) { s = Add(x, z) n = LayerNormalization(s, w)"
       " y = Neg(n) }",
       {{{"a", 2}, {"b", 2}, {"c", 3}, {"d", 3}}}},
  };
  for (const Surprise& error : errors) {
    SCOPED_TRACE(error.text);
    for (const Sizes& sizes : error.runs) {
      try {
        const auto [plain, graph] = PlainAndOptimized(In21(error.text), registry);
        const std::vector<Value> inputs = InputsFor(plain, sizes, random);
        ASSERT_TRUE(Fails(plain, registry, inputs)) << "the test's graph is no error";
        EXPECT_TRUE(Fails(graph, registry, inputs)) << ToText(graph);
      } catch (const Error&) {
        // Found while the graph was prepared: as good.
      }
    }
  }
}

}  // namespace
}  // namespace sardonyx::optimizer
