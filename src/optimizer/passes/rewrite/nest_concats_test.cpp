// optimizer/passes/rewrite/nest_concats_test.cpp - Concats that begin alike are nested; others stay.
#include "optimizer/passes/passes.h"
#include "testing/pass_example.h"
#include "testing/pass_test.h"
#include "testing/random_tensor.h"

namespace sardonyx::optimizer {
namespace {

const testing::PassExample kExample(
    "nest_concats",
    {.changed = "g (float[1,2,3] x) => (float[1,2,18] y, float[1,2,9] z) { a = Neg(x) b = Abs(x) "
                "c = Concat<axis = 2>(x, a, b) z = Tanh(c) d = Concat<axis = 2>(x, a, b, x, a, b) y = Neg(d) }",
     .left = "g (float[1,2,3] x) => (float[1,2,9] y, float[1,2,6] z) { a = Neg(x) b = Abs(x) "
             "c = Concat<axis = 2>(a, x) z = Tanh(c) d = Concat<axis = 2>(x, a, b) y = Neg(d) }",
     .reasons = {"(Concat", "no other Concat joins its first inputs"}});

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::PreparedGraph;
using ::sardonyx::testing::RandomTensors;

// How many inputs each Concat has afterwards, in order.
std::string Inputs(const std::string& body, const std::string& outputs = "float[p,q,r] y") {
  const ops::Registry registry;
  Graph graph = PreparedGraph(
      "g (float[1,2,3] a, float[1,2,2] b, float[1,2,4] c, float[1,2,1] d) => (" + outputs + ") {" + body + "}",
      registry);
  const Graph before = graph;
  PassContext context{registry};
  RunVerified(kNestConcats, graph, context);
  RandomTensors random;
  std::vector<Value> inputs;
  for (const std::int64_t row : {3, 2, 4, 1}) inputs.emplace_back(random.Uniform(DType::kFloat, Shape{1, 2, row}));
  ExpectSameValues(graph, before, registry, inputs);
  std::string counts;
  for (const NodeId id : graph.order)
    if (graph.node(id).op_type == "Concat")
      counts += (counts.empty() ? "" : " ") + std::to_string(graph.node(id).inputs.size());
  return counts;
}

TEST(NestConcats, NestsEachInTheNextOne) {
  EXPECT_EQ(Inputs("x = Concat<axis = 2>(a, b) r = Relu(x) y = Concat<axis = -1>(a, b, c, d) "
                   "m = Concat<axis = 2>(a, b, c)",
                   "float[p,q,r] y, float[k,l,m] r, float[i,j,h] m"),
            "2 2 2");
}

TEST(NestConcats, TakesTheLongest) {
  EXPECT_EQ(Inputs("x = Concat<axis = 2>(a, b, c) z = Concat<axis = 2>(a, b) y = Concat<axis = 2>(a, b, c, d) "
                   "u = Add(z, z) v = Add(x, x)",
                   "float[p,q,r] y, float[k,l,m] u, float[i,j,h] v"),
            "2 2 2");
}

TEST(NestConcats, LeavesOthersAlone) {
  EXPECT_EQ(
      Inputs("x = Concat<axis = 2>(b, a) r = Relu(x) y = Concat<axis = 2>(a, b, c)", "float[p,q,r] y, float[k,l,m] r"),
      "2 3")
      << "another order";
  EXPECT_EQ(
      Inputs("x = Concat<axis = 1>(a, a) r = Relu(x) y = Concat<axis = 1>(a, a, a)", "float[p,q,r] y, float[k,l,m] r"),
      "2 3")
      << "another axis";
  EXPECT_EQ(Inputs("x = Concat<axis = 2>(a, b) y = Concat<axis = 2>(a, b)", "float[p,q,r] y, float[k,l,m] x"), "2 2")
      << "equal";
}

}  // namespace
}  // namespace sardonyx::optimizer
