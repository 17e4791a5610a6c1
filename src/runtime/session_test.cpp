// runtime/session_test.cpp - models from text through sessions: shapes, wrong inputs, bound outputs, control flow,
// threads.
#include "runtime/session.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "ir/text.h"
#include "model/save.h"
#include "runtime/build.h"
#include "runtime/program.h"
#include "tensor/dropped_bytes.h"
#include "testing/environment.h"
#include "testing/evaluate_op.h"
#include "testing/random_tensor.h"
#include "testing/tolerance.h"

namespace sardonyx::runtime {
namespace {

using ::sardonyx::testing::AllClose;
using ::sardonyx::testing::Elements;
using ::sardonyx::testing::Floats;
using ::sardonyx::testing::RandomTensors;
using ::sardonyx::testing::SameBits;

std::unique_ptr<Session> Make(const std::string& graph, SessionOptions options = {}) {
  auto model = std::make_shared<Model>(ParseModel("<ir_version: 10, opset_import: [\"\": 21]>\n" + graph));
  return Session::FromModel(testing::TestEnvironment(), std::move(model), std::move(options));
}

using Inputs = std::vector<std::pair<std::string, Value>>;

std::vector<Value> Compute(Session& session, const Inputs& inputs, const std::vector<std::string>& outputs = {"y"}) {
  return session.Run(RunOptions(), inputs, outputs);
}

std::string ErrorOf(Session& session, const Inputs& inputs, const std::vector<std::string>& outputs = {"y"}) {
  try {
    Compute(session, inputs, outputs);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void ExpectIn(const std::string& text, std::initializer_list<std::string_view> parts) {
  for (const auto part : parts) EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' in: " << text;
}

constexpr const char* kDense = R"(dense (float[N,3] x) => (float[N,2] y)
<float[3,2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {0.5, -100}> {
  m = MatMul(x, w)
  s = Add(m, b)
  y = Relu(s)
})";

TEST(Session, SeveralShapesAndBackWithTheSameBits) {
  const auto session = Make(kDense);
  RandomTensors random;
  const Tensor first = random.Uniform(DType::kFloat, Shape{4, 3});
  const Value once = Compute(*session, {{"x", first}})[0];
  for (const std::int64_t n : {1, 0, 33, 7}) {
    const Value y = Compute(*session, {{"x", random.Uniform(DType::kFloat, Shape{n, 3})}})[0];
    EXPECT_EQ(y.tensor().shape(), (Shape{n, 2}));
  }
  EXPECT_TRUE(SameBits(Compute(*session, {{"x", first}})[0].tensor(), once.tensor()));
}

TEST(Session, WrongInputsAreNamed) {
  const auto session = Make(kDense);
  const Tensor x(DType::kFloat, Shape{1, 3});
  ExpectIn(ErrorOf(*session, {{"xx", x}}), {"the model has no input 'xx'", "did you mean 'x'"});
  ExpectIn(ErrorOf(*session, {{"x", x}}, {"z"}), {"the model has no output 'z'"});
  ExpectIn(ErrorOf(*session, {{"x", Tensor(DType::kDouble, Shape{1, 3})}}), {"input 'x': expected", "double"});
  ExpectIn(ErrorOf(*session, {{"x", Tensor(DType::kFloat, Shape{3})}}), {"input 'x': expected", "[3]"});
  ExpectIn(ErrorOf(*session, {{"x", Tensor(DType::kFloat, Shape{1, 4})}}), {"input 'x': expected", "4"});
  ExpectIn(ErrorOf(*session, {}), {"input 'x'", "is missing"});
  ExpectIn(ErrorOf(*session, {{"x", x}, {"x", x}}), {"input 'x' is given twice"});
  ExpectIn(ErrorOf(*session, {{"x", x}}, {"y", "y"}), {"output 'y' is requested twice"});
}

// Output 0 from input 0 into `target`.
void RunInto(Session& session, const Value& x, Value& target) {
  const std::size_t index[] = {0};
  const Value* inputs[] = {&x};
  session.Run(RunOptions(), index, inputs, index, {&target, 1});
}

TEST(Session, ABoundOutputReceivesTheResultInPlace) {
  const auto session = Make("g (float[N] x) => (float[N] y) { a = Neg(x) y = Exp(a) }");
  const Value x = Floats({0, 0, 0});
  Value y = Floats({7, 7, 7});
  const void* place = y.tensor().raw();
  RunInto(*session, x, y);
  EXPECT_EQ(y.tensor().raw(), place);
  EXPECT_EQ(Elements<float>(y), (std::vector<float>{1, 1, 1}));
  Value small = Floats({7, 7});
  EXPECT_THROW(RunInto(*session, x, small), Error);
}

TEST(Session, AnOutputBoundOverTheInput) {
  // Each row of y needs a whole row of x, so that writing early would show.
  const auto session = Make("g (float[2,2] x) => (float[2,2] y) { t = Transpose<perm = [1, 0]>(x) y = MatMul(t, x) }");
  Value x = Tensor::Of<float>({1, 2, 3, 4}, Shape{2, 2});
  const Value want = Compute(*session, {{"x", Tensor::Of<float>({1, 2, 3, 4}, Shape{2, 2})}})[0];
  Value target = x;  // the same memory
  ASSERT_EQ(target.tensor().raw(), x.tensor().raw());
  RunInto(*session, x, target);
  EXPECT_EQ(Elements<float>(target), Elements<float>(want));
  EXPECT_EQ(Elements<float>(want), (std::vector<float>{10, 14, 14, 20}));
}

TEST(Session, ScatteredUpdatesAreNotOverwrittenByTheData) {
  for (const std::string node : {"ScatterND(data, at, u)", "ScatterElements(data, wide, u)"}) {
    const auto session = Make(R"(g (float[1,2] x) => (float[1,2] y)
<float[1,2] data = {0, 0}, int64[1,1] at = {0}, int64[1,2] wide = {0, 0}> {
  u = Neg(x)
  s = )" + node + R"(
  y = Abs(s)
})");
    const Tensor x = Tensor::Of<float>({1, -2}, Shape{1, 2});
    EXPECT_EQ(Elements<float>(Compute(*session, {{"x", x}})[0]), (std::vector<float>{1, 2})) << node;
  }
}

TEST(Session, OutputsThatAreInputsOrConstants) {
  const auto session =
      Make("g (float[2] x) => (float[2] y, float[2] x, float[2] c) <float[2] c = {3, 4}> { y = Neg(x) }");
  const auto outputs = Compute(*session, {{"x", Floats({1, 2})}}, {"y", "x", "c"});
  EXPECT_EQ(Elements<float>(outputs[0]), (std::vector<float>{-1, -2}));
  EXPECT_EQ(Elements<float>(outputs[1]), (std::vector<float>{1, 2}));
  EXPECT_EQ(Elements<float>(outputs[2]), (std::vector<float>{3, 4}));
}

TEST(Session, BothBranchesOfIf) {
  const auto session = Make(R"(g (bool c, float[N] x) => (float[M] y) {
  n = Neg(x)
  y = If (c) <then_branch = t () => (float[A] p) { p = Exp(n) }, else_branch = e () => (float[B] q) { q = Concat<axis = 0>(n, x) }>
})");
  const Tensor x = Floats({0, 0});
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Elements<float>(Compute(*session, {{"c", Tensor::Of<bool>({true}, Shape{})}, {"x", x}})[0]),
              (std::vector<float>{1, 1}));
    EXPECT_EQ(Compute(*session, {{"c", Tensor::Of<bool>({false}, Shape{})}, {"x", x}})[0].tensor().shape(), (Shape{4}));
  }
}

TEST(Session, LoopCarriesAndCollects) {
  const auto session = Make(R"(g (int64 n, float[2] x) => (float[2] y, float[K,2] all) {
  y, all = Loop (n, , x) <body = b (int64 i, bool go, float[2] s) => (bool stay, float[2] next, float[2] row) {
    stay = Identity(go)
    next = Add(s, x)
    row = Neg(s)
  }>
})");
  for (const std::int64_t n : {3, 0, 2}) {
    const auto outputs =
        Compute(*session, {{"n", Tensor::Of<std::int64_t>({n}, Shape{})}, {"x", Floats({1, 2})}}, {"y", "all"});
    const auto times = static_cast<float>(n + 1);
    EXPECT_EQ(Elements<float>(outputs[0]), (std::vector<float>{times, 2 * times}));
    EXPECT_EQ(outputs[1].tensor().shape(), (Shape{n, 2}));
    for (std::int64_t i = 0; i < n; ++i)
      EXPECT_EQ(outputs[1].tensor().data<float>()[2 * i], -static_cast<float>(i + 1));
  }
}

TEST(Session, ASequenceOutput) {
  const auto session = Make("g (float[2] x) => (seq(float[2]) y) { n = Neg(x) y = SequenceConstruct(x, n) }");
  const Value y = Compute(*session, {{"x", Floats({1, 2})}})[0];
  EXPECT_FALSE(y.is_tensor());
  const auto back = Make("g (seq(float[2]) s) => (float[2,2] y) { y = ConcatFromSequence<axis = 0, new_axis = 1>(s) }");
  EXPECT_EQ(Elements<float>(Compute(*back, {{"s", y}})[0]), (std::vector<float>{1, 2, -1, -2}));
}

TEST(Session, ManyThreadsAtOnce) {
  const auto session = Make(kDense);
  std::vector<int> wrong(8, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::int64_t round = 0; round < 20; ++round) {
        const std::int64_t n = 1 + (round + static_cast<std::int64_t>(t)) % 5;
        Tensor x(DType::kFloat, Shape{n, 3});
        for (std::int64_t i = 0; i < 3 * n; ++i) x.data<float>()[i] = static_cast<float>(t);
        const Value y = Compute(*session, {{"x", x}})[0];
        for (std::int64_t i = 0; i < n; ++i)
          wrong[t] += y.tensor().data<float>()[2 * i] != 9 * static_cast<float>(t) + 0.5f;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

TEST(Session, TerminateEndsTheRunAndTheNextOneWorks) {
  const auto session = Make(kDense);
  const Inputs inputs = {{"x", Tensor::Of<float>({1, 1, 1}, Shape{1, 3})}};
  RunOptions options;
  options.terminate = true;
  try {
    session->Run(options, inputs, {"y"});
    FAIL() << "not terminated";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFail);
  }
  EXPECT_EQ(Elements<float>(Compute(*session, inputs)[0]), (std::vector<float>{9.5f, 0}));
}

TEST(Session, FreeDimensionsByName) {
  SessionOptions options;
  options.free_dimensions_by_name = {{"N", 2}};
  const auto session = Make(kDense, std::move(options));
  EXPECT_EQ(Compute(*session, {{"x", Tensor::Of<float>({1, 1, 1, 1, 1, 1}, Shape{2, 3})}})[0].tensor().shape(),
            (Shape{2, 2}));
  ExpectIn(ErrorOf(*session, {{"x", Tensor(DType::kFloat, Shape{4, 3})}}), {"input 'x': expected", "2,3"});
}

TEST(Session, AddedInitializersReplaceTheModels) {
  SessionOptions options;
  options.initializers["b"] = Floats({1, 1});
  const auto session = Make(kDense, options);
  EXPECT_EQ(Elements<float>(Compute(*session, {{"x", Tensor::Of<float>({1, 1, 1}, Shape{1, 3})}})[0]),
            (std::vector<float>{10, 13}));
  options.initializers["b"] = Floats({1, 1, 1});
  EXPECT_THROW(Make(kDense, options), Error);
}

TEST(Session, AnOptimizedModelComputesTheSameWhenLoadedAgain) {
  const std::string graph = R"(g (float[N,4] x) => (float[N,4] y)
<float half = {0.5}, float one = {1}, float root = {1.41421356}, float[4] a = {1, 2, 3, 4}, float[4] b = {1, 0, 0, 1}> {
  c = Add(a, b)
  i = Identity(x)
  z = Mul(i, c)
  q = Div(z, root)
  e = Erf(q)
  s = Add(e, one)
  p = Mul(z, s)
  y = Mul(p, half)
})";
  RandomTensors random;
  const Inputs inputs = {{"x", random.Uniform(DType::kFloat, Shape{3, 4})}};
  const Value plain = Compute(*Make(graph, {.optimization_level = OptimizationLevel::kDisable}), inputs)[0];
  for (const auto level : {OptimizationLevel::kBasic, OptimizationLevel::kAll}) {
    const auto path = std::filesystem::path(::testing::TempDir()) /
                      ("sdx_session_test_" + std::to_string(static_cast<int>(level)) + ".onnx");
    SessionOptions options;
    options.optimization_level = level;
    options.optimized_model_path = path.string();
    const Value optimized = Compute(*Make(graph, std::move(options)), inputs)[0];
    const auto loaded = Session::FromFile(testing::TestEnvironment(), path.string(), {});
    EXPECT_TRUE(AllClose(optimized, plain));
    EXPECT_TRUE(AllClose(Compute(*loaded, inputs)[0], plain));
    EXPECT_LT(loaded->model().graph.order.size(), 7u);
    std::filesystem::remove(path);
  }
}

// MatMul packs w and v; Gather reads v, too.
Model ModelWithWeights() {
  Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 13}};
  model.graph.opset_imports = model.opset_imports;
  model.graph.name = "weights";
  RandomTensors random(3);
  Graph& graph = model.graph;
  const Type type = Type::TensorOf(DType::kFloat);
  const ValueId x = graph.AddInput("x", Type::TensorOf(DType::kFloat, Shape{3, 64}));
  const ValueId w = graph.AddConstant("w", random.Uniform(DType::kFloat, Shape{64, 64}));
  const ValueId v = graph.AddConstant("v", random.Uniform(DType::kFloat, Shape{64, 64}));
  const ValueId row = graph.AddInput("row", Type::TensorOf(DType::kInt64, Shape{1}));
  const ValueId h = graph.AddNode("", "MatMul", {x, w}, {}, type);
  const ValueId r = graph.AddNode("", "MatMul", {h, v}, {}, type);
  const ValueId gathered = graph.AddNode("", "Gather", {v, row}, {}, type);
  graph.AddOutput(graph.AddNode("", "Add", {r, gathered}, {}, type, "y"));
  return model;
}

TEST(Session, APackedWeightIsGoneUnlessSomebodyElseReadsIt) {
  const auto& environment = testing::TestEnvironment();
  auto set = std::make_shared<providers::ProviderSet>(MakeProviders(*environment, {}, Logger()));
  Graph graph = BuildGraph(*environment, ModelWithWeights(), {}, *set, Logger());
  Serial serial;
  const Program program(std::move(graph), environment->registry(), set, serial);
  int gone = 0, there = 0;
  for (const planner::SlotInfo& slot : program.slots()) {
    if (slot.constant == nullptr || slot.constant->byte_size() < 4096) continue;
    const std::string& name = program.graph().value(slot.value).name;
    EXPECT_EQ(HasData(*slot.constant), name != "w") << name;
    ++(HasData(*slot.constant) ? there : gone);
  }
  EXPECT_EQ(gone, 1);
  EXPECT_EQ(there, 1);
}

TEST(Session, WeightsOfAFileFromMemoryAndOfASharedModelGiveTheSameResults) {
  const Model model = ModelWithWeights();
  const auto path = std::filesystem::path(::testing::TempDir()) / "sdx_weights_test.onnx";
  model::SaveFile(model, path.string(), {});
  RandomTensors random(4);
  const Inputs inputs = {{"x", random.Uniform(DType::kFloat, Shape{3, 64})},
                         {"row", Tensor::Of<std::int64_t>({5}, Shape{1})}};
  const auto shared = std::make_shared<Model>(model);
  const auto first = Session::FromModel(testing::TestEnvironment(), shared, {});
  const auto second = Session::FromModel(testing::TestEnvironment(), shared, {});
  const auto loaded = Session::FromFile(testing::TestEnvironment(), path.string(), {});
  const Value want = Compute(*first, inputs)[0];
  EXPECT_TRUE(AllClose(Compute(*second, inputs)[0], want));
  EXPECT_TRUE(AllClose(Compute(*loaded, inputs)[0], want));
  EXPECT_NE(loaded->ProgramText().find("MatMul"), std::string::npos);
  std::filesystem::remove(path);
}

TEST(Session, AnInputWithoutATypeIsAnError) {
  auto model = std::make_shared<Model>(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21]>
    g (bool[2] x) => (bool[2] y) { y = Not(x) })"));
  model->graph.value(model->graph.inputs[0]).type = Type();
  try {
    Session::FromModel(testing::TestEnvironment(), std::move(model), {});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "input 'x': expected a type that names its element type, found none");
  }
}

}  // namespace
}  // namespace sardonyx::runtime
