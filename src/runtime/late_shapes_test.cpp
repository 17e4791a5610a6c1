// runtime/late_shapes_test.cpp - when two calls count as the same, and models whose shapes come with the data.
#include "runtime/late_shapes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "planner/plan_text.h"
#include "runtime/program.h"
#include "runtime/session.h"
#include "testing/environment.h"
#include "testing/evaluate_op.h"

namespace sardonyx::runtime {
namespace {

ops::TensorRef RefTo(std::vector<std::int64_t>& data, const Shape& shape) {
  return {DType::kInt64, data.data(), shape, ElementCount(shape)};
}

bool Same(LateShapes& shapes, const ops::TensorRef& ref, bool contents) {
  shapes.Begin();
  shapes.Add(ref, contents);
  return shapes.Same();
}

std::unique_ptr<Session> Open(const std::string& graph, SessionOptions options = {}) {
  auto model = std::make_shared<Model>(ParseModel("<ir_version: 10, opset_import: [\"\" : 21]>\n" + graph));
  return Session::FromModel(testing::TestEnvironment(), std::move(model), std::move(options));
}

// As the author wrote it, and as optimized as it gets.
std::vector<std::unique_ptr<Session>> OpenPlainAndOptimized(const std::string& graph) {
  std::vector<std::unique_ptr<Session>> sessions;
  for (const OptimizationLevel level : {OptimizationLevel::kDisable, OptimizationLevel::kAll}) {
    SessionOptions options;
    options.optimization_level = level;
    sessions.push_back(Open(graph, std::move(options)));
  }
  return sessions;
}

std::string ErrorOf(Session& session, const std::vector<std::pair<std::string, Value>>& inputs,
                    std::vector<Value>* outputs, const std::vector<std::string>& names) {
  try {
    *outputs = session.Run({}, inputs, names);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(LateShapes, AreTheSameForEqualShapesAndContents) {
  std::vector<std::int64_t> a = {1, 2}, b = {1, 3};
  const Shape shape{2}, other{1, 2};
  LateShapes shapes;
  EXPECT_FALSE(Same(shapes, RefTo(a, shape), true));
  const ops::InferContext::Output inferred[] = {{Type::TensorOf(DType::kFloat, Dims(other)), std::nullopt}, {}};
  shapes.Keep(inferred);
  EXPECT_TRUE(Same(shapes, RefTo(a, shape), true));
  EXPECT_TRUE(shapes.outputs()[0].known);
  EXPECT_EQ(shapes.outputs()[0].shape, other);
  EXPECT_FALSE(shapes.outputs()[1].known);
  EXPECT_FALSE(Same(shapes, RefTo(b, shape), true));
  EXPECT_FALSE(Same(shapes, RefTo(a, other), true));
  EXPECT_FALSE(Same(shapes, RefTo(a, shape), false));
  shapes.Begin();
  shapes.AddMissing(true);
  EXPECT_FALSE(shapes.Same());
}

// The elements of x at the places where m is not zero, as a column, behind a slice that the count bounds.
TEST(LateShapes, FollowTheDataFromRunToRun) {
  const auto session = Open(R"(g (float[n] x, float[n] m) => (float[k,1] y, float[j] z)
<int64[1] zero = {0}, int64[1] one = {1}, int64[2] column = {-1, 1}> {
  p = NonZero(m)
  q = Squeeze(p, zero)
  v = Gather(x, q)
  y = Reshape(v, column)
  s = Shape(v)
  h = Sub(s, one)
  z = Slice(v, zero, h)
})");
  const std::vector<std::vector<float>> masks = {{1, 0, 1, 1}, {1, 0, 1, 1}, {0, 1, 1, 1}, {0, 0, 0, 1}, {1, 1, 1, 1}};
  const Tensor x = Tensor::Of<float>({5, 6, 7, 8}, Shape{4});
  for (const std::vector<float>& mask : masks) {
    std::vector<float> want;
    for (std::size_t i = 0; i < 4; ++i)
      if (mask[i] != 0) want.push_back(x.data<float>()[i]);
    const std::vector<Value> got =
        session->Run(RunOptions(), {{"x", x}, {"m", Tensor::Vector<float>(std::span<const float>(mask))}}, {"y", "z"});
    const auto y = got[0].tensor().span<float>(), z = got[1].tensor().span<float>();
    EXPECT_EQ(got[0].tensor().shape(), (Shape{static_cast<std::int64_t>(want.size()), 1}));
    EXPECT_EQ(std::vector<float>(y.begin(), y.end()), want);
    want.pop_back();
    EXPECT_EQ(std::vector<float>(z.begin(), z.end()), want);
  }
}

// One plan for all of them: a plan for each content of a small input would be one for each run.
TEST(LateShapes, ElementsThatAreCountedMakeNoPlans) {
  const auto session = Open(R"(g (float[n] x, bool[n] keep) => (int64[1,k] p, float[j] c, float[m] u, int64[b,3] s)
<int64[3] list = {1, 1, -1}, float[1,3,4] boxes = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}, int64 three = {3},
 float half = {0.5}> {
  p = NonZero(x)
  c = Compress<axis = 0>(x, keep)
  u = Unique(x)
  scores = Reshape(x, list)
  s = NonMaxSuppression(boxes, scores, three, half, half)
})");
  const auto run = [&](std::initializer_list<float> x, std::initializer_list<bool> keep) {
    const Tensor values = Tensor::Of<float>(x, Shape{3}), kept = Tensor::Of<bool>(keep, Shape{3});
    return session->Run(RunOptions(), {{"x", values}, {"keep", kept}}, {"p", "c", "u", "s"});
  };
  const auto first = run({1, 0, 2}, {true, false, false});
  EXPECT_EQ(first[0].tensor().count(), 2);
  EXPECT_EQ(first[3].tensor().shape(), (Shape{2, 3}));
  const auto plan = session->program().LastPlan();
  const std::string text = planner::PlanText(session->program().outline(), *plan);
  EXPECT_EQ(text.substr(0, text.find('\n')), "plan of g(float[3] x, bool[3] keep)");
  const auto others = run({1, 4, 4}, {true, true, false});
  EXPECT_EQ(others[0].tensor().count(), 3);
  EXPECT_EQ(others[1].tensor().count(), 2);
  EXPECT_EQ(others[2].tensor().count(), 2);
  EXPECT_EQ(others[3].tensor().shape(), (Shape{3, 3}));
  EXPECT_EQ(session->program().LastPlan(), plan);
}

// The type of y follows from w alone; what x leaves must go with it all the same.
TEST(LateShapes, InputsOfAStepWhoseOutputIsKnownAreChecked) {
  const auto sessions =
      OpenPlainAndOptimized(R"(g (float[n] x, bool[n] keep, float[4] w) => (float[4] y, float[2,2] square) {
  some = Compress<axis = 0>(x, keep)
  y = Add(some, w)
  two = Constant<value = int64[2] {2, 2}>()
  square = Reshape(y, two)
})");
  for (const auto& session : sessions) {
    const Tensor w = Tensor::Of<float>({10, 20, 30, 40}, Shape{4});
    const Tensor x = Tensor::Of<float>({1, 2, 3, 4, 5, 6}, Shape{6});
    for (const int count : {4, 3, 1, 0, 6, 5, 4}) {
      Tensor keep(DType::kBool, Shape{6});
      for (int i = 0; i < 6; ++i) keep.data<bool>()[i] = i < count;
      std::vector<Value> outputs;
      const std::string error = ErrorOf(*session, {{"x", x}, {"keep", keep}, {"w", w}}, &outputs, {"y", "square"});
      if (count == 4 || count == 1) {
        ASSERT_EQ(error, "") << count;
        for (int i = 0; i < 4; ++i) {
          const float want = w.data<float>()[i] + x.data<float>()[count == 1 ? 0 : i];
          EXPECT_EQ(outputs[0].tensor().data<float>()[i], want);
          EXPECT_EQ(outputs[1].tensor().data<float>()[i], want);
        }
      } else {
        EXPECT_NE(error.find("Add"), std::string::npos) << count << ": " << error;
        EXPECT_NE(error.find(std::to_string(count)), std::string::npos) << count << ": " << error;
      }
    }
  }
}

// Sequences and bodies take a view with its own shape, not with that of what it looks at.
TEST(LateShapes, ViewsKeepTheirShapeInSequencesAndBodies) {
  const auto sessions = OpenPlainAndOptimized(
      R"(g (float[n] x, bool[n] keep) => (float[1,m] y, float[1,m] z) <int64[1] first = {0}, int64 at = {0}> {
  some = Compress<axis = 0>(x, keep)
  row = Unsqueeze(some, first)
  list = SequenceConstruct(row)
  y = SequenceAt(list, at)
  z, sums = Scan<num_scan_inputs = 1, body = each (float[1,m] state, float[m] r) => (float[1,m] kept, float[m] sum) {
    kept = Identity(state)
    sum = Add(r, r)
  }>(row, row)
})");
  for (const auto& session : sessions) {
    Tensor keep(DType::kBool, Shape{4});
    for (int i = 0; i < 4; ++i) keep.data<bool>()[i] = i != 1;
    const std::vector<Value> outputs =
        session->Run({}, {{"x", Tensor::Of<float>({1, 2, 3, 4}, Shape{4})}, {"keep", keep}}, {"y", "z"});
    for (const Value& output : outputs) {
      EXPECT_EQ(output.tensor().shape(), (Shape{1, 3}));
      EXPECT_EQ(output.tensor().data<float>()[2], 4);
    }
  }
}

// An optional may stand where its element is wanted; without one, the run ends before a kernel reads it.
TEST(LateShapes, AnOptionalWithoutItsElementIsNoTensor) {
  const auto sessions = OpenPlainAndOptimized(R"(g (optional(float[2]) x) => (float y, bool there) {
  y = ReduceMin<keepdims = 0>(x)
  there = OptionalHasElement(x)
})");
  for (const auto& session : sessions) {
    std::vector<Value> outputs = session->Run({}, {{"x", Tensor::Of<float>({3, 2}, Shape{2})}}, {"y", "there"});
    EXPECT_EQ(*outputs[0].tensor().data<float>(), 2);
    EXPECT_TRUE(*outputs[1].tensor().data<bool>());
    const std::string error = ErrorOf(*session, {{"x", Value()}}, &outputs, {"y"});
    EXPECT_NE(error.find("ReduceMin"), std::string::npos) << error;
    EXPECT_NE(error.find("found an optional without an element"), std::string::npos) << error;
  }
}

TEST(LateShapes, AnOptionalIsOfItsElementsType) {
  const auto sessions = OpenPlainAndOptimized(R"(g (float16[2] x) => (float16[2] y, float16[2] z, float16[2] coins) {
  o = Optional(x)
  y = Relu(o)
  z = Add(x, o)
  coins = Bernoulli<seed = 1.0>(o)
})");
  const auto halves = [](float a, float b) { return Tensor::Of<Half>({Half(a), Half(b)}, Shape{2}); };
  for (const auto& session : sessions) {
    const std::vector<Value> outputs = session->Run({}, {{"x", halves(-3, 1)}}, {"y", "z", "coins"});
    EXPECT_EQ(testing::Elements<Half>(outputs[0]), testing::Elements<Half>(halves(0, 1)));
    EXPECT_EQ(testing::Elements<Half>(outputs[1]), testing::Elements<Half>(halves(-6, 2)));
    EXPECT_EQ(testing::Elements<Half>(outputs[2]), testing::Elements<Half>(halves(0, 1)));
  }
}

// An operator of somebody else's whose kernel makes as many elements as it reads, though its types promise four.
void PromiseFour(ops::InferContext& c) { c.SetOutput(0, DType::kFloat, {Dim(4)}); }
void MakeAsMany(ops::KernelContext& c) {
  const ops::TensorRef& x = c.Input(0);
  std::copy_n(x.As<float>(), x.count, c.Output(0, x.shape).As<float>());
}
ops::Prepared PrepareAsMany(ops::PrepareContext& /*c*/) { return {MakeAsMany, nullptr}; }
constexpr ops::OpDef kAsMany = {
    .domain = "test", .name = "AsMany", .since = {1}, .infer = PromiseFour, .prepare = PrepareAsMany};

TEST(LateShapes, AKernelThatMakesAnotherShapeThanPromisedIsToldOf) {
  const std::shared_ptr<Environment> environment = testing::EnvironmentWith({});
  const_cast<ops::Registry&>(environment->registry()).AddFirst({&kAsMany, 1});
  auto model = std::make_shared<Model>(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21, "test" : 1]>
g (float[n] x, bool[n] keep) => (float[4] y, float[4] z) {
  some = Compress<axis = 0>(x, keep)
  a = test.AsMany(some)
  y = Neg(a)
  b = test.AsMany(x)
  z = Neg(b)
})"));
  const auto session = Session::FromModel(environment, std::move(model), {});
  const auto error = [&](std::initializer_list<bool> keep) {
    const Shape shape{static_cast<std::int64_t>(keep.size())};
    std::vector<Value> outputs;
    return ErrorOf(*session, {{"x", Tensor(DType::kFloat, shape)}, {"keep", Tensor::Of<bool>(keep, shape)}}, &outputs,
                   {"y", "z"});
  };
  EXPECT_EQ(error({true, true, true, true}), "");
  const std::string late = error({true, true, true, false}), planned = error({true, true, true, true, false, false});
  EXPECT_NE(late.find("output 0: expected shape [4], as the types of its inputs imply, found [3]"), std::string::npos)
      << late;
  EXPECT_NE(planned.find("output 0: expected float[4], as the types of its inputs imply, found float[6]"),
            std::string::npos)
      << planned;
}

}  // namespace
}  // namespace sardonyx::runtime
