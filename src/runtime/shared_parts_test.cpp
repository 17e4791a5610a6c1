// runtime/shared_parts_test.cpp - sessions share equal parts, and nothing else.
#include "runtime/sharing/shared_parts.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/text.h"
#include "model/save.h"
#include "runtime/program.h"
#include "runtime/session.h"
#include "testing/environment.h"
#include "testing/random_tensor.h"
#include "testing/tolerance.h"

namespace sardonyx::runtime {
namespace {

using ::sardonyx::testing::RandomTensors;
using ::sardonyx::testing::SameBits;

std::unique_ptr<Session> Open(const std::string& text, SessionOptions options = {}) {
  const std::string bytes = model::SaveBytes(ParseModel(text));
  return Session::FromBytes(testing::TestEnvironment(), std::as_bytes(std::span(bytes)), nullptr, std::move(options));
}

Tensor Compute(Session& session, const Tensor& x) {
  return session.Run(RunOptions(), {{"x", x}}, {session.outputs()[0].name})[0].tensor();
}

const Graph* GraphOf(const Session& session) { return &session.program().graph(); }

const void* StateOf(const Session& session, const std::string& op_type) {
  const Program& program = session.program();
  for (std::size_t i = 0; i < program.steps().size(); ++i)
    if (program.graph().node(program.steps()[i].node).op_type == op_type)
      return program.kernels()[i].prepared.state.get();
  ADD_FAILURE() << "no " << op_type << " in " << session.ProgramText();
  return nullptr;
}

// A weight that a kernel packs: its bytes leave the graph.
std::string Product(const std::string& first) {
  std::string weight = first;
  for (int i = 1; i < 64 * 64; ++i) weight += ", " + std::to_string(i % 7 - 3);
  return R"(<ir_version: 10, opset_import: ["" : 21]> product (float[N,64] x) => (float[N,64] y)
<float[64,64] w = {)" +
         weight + R"(}> { y = MatMul(x, w) })";
}

constexpr const char* kChain = R"(<ir_version: 10, opset_import: ["" : 21]> chain (float[N,4] x) => (float[N,4] y)
<float[4] b = {1, 2, 3, -0.5}> { s = Sin(x) t = Add(s, b) y = Cos(t) })";

constexpr const char* kTree = R"(<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]>
tree (float[N,2] x) => (float[N,1] y) {
  y = ai.onnx.ml.TreeEnsembleRegressor<n_targets = 1, nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2],
    nodes_featureids = [1, 0, 0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_values = [0.5, 0.0, 0.0],
    nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], target_treeids = [0, 0], target_nodeids = [1, 2],
    target_ids = [0, 0], target_weights = [3.0, WEIGHT]>(x)
})";

std::string Tree(const std::string& weight) {
  std::string text = kTree;
  return text.replace(text.find("WEIGHT"), 6, weight);
}

TEST(SharedParts, SessionsOfOneModelRunOneGraph) {
  const auto first = Open(kChain), second = Open(kChain);
  EXPECT_EQ(GraphOf(*first), GraphOf(*second));
  const Tensor x = RandomTensors(1).Uniform(DType::kFloat, Shape{3, 4});
  EXPECT_TRUE(SameBits(Compute(*first, x), Compute(*second, x)));
}

TEST(SharedParts, AGraphOutlivesTheSessionThatMadeIt) {
  auto first = Open(kChain);
  const auto second = Open(kChain);
  const Tensor x = RandomTensors(1).Uniform(DType::kFloat, Shape{3, 4}), y = Compute(*first, x);
  first.reset();
  const auto third = Open(kChain);
  ASSERT_EQ(GraphOf(*third), GraphOf(*second)) << "nobody held the graph any more";
  EXPECT_TRUE(SameBits(Compute(*second, x), y));
  EXPECT_EQ(second->placement().size(), second->program().steps().size());
}

TEST(SharedParts, OtherConstantsOptionsAndNamesGiveOtherGraphs) {
  const auto session = Open(kChain);
  std::string other = kChain;
  other.replace(other.find("-0.5"), 4, "0.75");
  EXPECT_NE(GraphOf(*Open(other)), GraphOf(*session));
  other = kChain;
  other.replace(other.find(" y)"), 3, " z)").replace(other.find("y = "), 4, "z = ");
  EXPECT_NE(GraphOf(*Open(other)), GraphOf(*session));
  SessionOptions options;
  options.optimization_level = OptimizationLevel::kDisable;
  EXPECT_NE(GraphOf(*Open(kChain, options)), GraphOf(*session));
  SessionOptions fixed;
  fixed.free_dimensions_by_name = {{"N", 3}};
  EXPECT_NE(GraphOf(*Open(kChain, fixed)), GraphOf(*session));
}

TEST(SharedParts, AWeightThatIsGoneFromTheGraphIsStillTheSessionsOwn) {
  const auto one = Open(Product("1")), nine = Open(Product("9")), again = Open(Product("9"));
  Tensor x(DType::kFloat, Shape{1, 64});
  std::fill_n(x.data<float>(), 64, 0.0f);
  x.data<float>()[0] = 1;
  EXPECT_EQ(Compute(*one, x).data<float>()[0], 1);
  EXPECT_EQ(Compute(*nine, x).data<float>()[0], 9);
  EXPECT_EQ(Compute(*again, x).data<float>()[0], 9);
}

TEST(SharedParts, KernelsOfEqualNodesHaveOneState) {
  const auto first = Open(Tree("5.0")), second = Open(Tree("5.0")), other = Open(Tree("6.0"));
  const char* const op_type = "TreeEnsembleRegressor";
  EXPECT_EQ(StateOf(*first, op_type), StateOf(*second, op_type));
  EXPECT_NE(StateOf(*first, op_type), StateOf(*other, op_type));
  const Tensor x = Tensor::Of<float>({0, 0, 0, 1}, Shape{2, 2});
  EXPECT_EQ(Compute(*second, x).data<float>()[1], 5);
  EXPECT_EQ(Compute(*other, x).data<float>()[1], 6);
}

TEST(SharedParts, EverySessionHasItsOwnStreamOfRandomNumbers) {
  constexpr const char* kNoise = R"(<ir_version: 10, opset_import: ["" : 21]> noise (float[N] x) => (float[N] y) {
    y = RandomUniformLike<seed = 7.0>(x) })";
  const auto first = Open(kNoise), second = Open(kNoise);
  EXPECT_EQ(GraphOf(*first), GraphOf(*second));
  const Tensor x(DType::kFloat, Shape{32}), y = Compute(*first, x);
  EXPECT_FALSE(SameBits(Compute(*first, x), y));
  EXPECT_TRUE(SameBits(Compute(*second, x), y)) << "the second session's first run";
}

TEST(SharedParts, BodiesOfControlFlowAreShared) {
  constexpr const char* kLoop = R"(<ir_version: 10, opset_import: ["" : 21]>
loop (float[N] x, int64 trips) => (float[N] y) <float[1] w = {3}> {
  y = Loop<body = step (int64 i, bool go, float[N] in) => (bool more, float[N] out) <float[1] v = {0.5}> {
    more = Identity(go)
    a = Mul(in, v)
    out = Add(a, w)
  }>(trips, , x)
})";
  auto first = Open(kLoop);
  const auto second = Open(kLoop);
  EXPECT_EQ(GraphOf(*first), GraphOf(*second));
  first.reset();
  const Tensor x = Tensor::Of<float>({4}, Shape{1});
  const auto y = second->Run(RunOptions(), {{"x", x}, {"trips", Tensor::Scalar<std::int64_t>(2)}}, {"y"});
  EXPECT_EQ(y[0].tensor().data<float>()[0], 5.5f);
}

TEST(SharedParts, NothingStaysWhenTheLastHolderIsGone) {
  std::weak_ptr<const Initializer> seen;
  {
    auto own = std::make_shared<Initializer>();
    own->tensor = Tensor::Of<float>({1, 2, 3}, Shape{3});
    const auto first = SharedInitializer(own);
    EXPECT_EQ(SharedInitializer(std::make_shared<Initializer>(*own)), first);
    seen = first;
  }
  EXPECT_TRUE(seen.expired());
}

}  // namespace
}  // namespace sardonyx::runtime
