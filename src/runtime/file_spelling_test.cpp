// runtime/file_spelling_test.cpp - old operators in files whose opset was raised by a pass.
#include "runtime/saving/file_spelling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "ir/text.h"
#include "model/load.h"
#include "runtime/session.h"
#include "testing/environment.h"
#include "testing/evaluate_op.h"

namespace sardonyx::runtime {
namespace {

using ::sardonyx::testing::Elements;

using Inputs = std::vector<std::pair<std::string, Value>>;

Tensor Counted(const Shape& shape) {
  Tensor t(DType::kFloat, shape);
  for (std::int64_t i = 0; i < t.count(); ++i) t.data<float>()[i] = static_cast<float>(i * 7 % 23) / 11 - 1;
  return t;
}

// The node beside a normalization that only opset 23 has as one node.
std::string Beside(int opset, const std::string& node) {
  const std::string mean = opset < 18 ? "ReduceMean<axes = [-1]>(q)" : "ReduceMean(q, last)";
  return "<ir_version: 8, opset_import: [\"\": " + std::to_string(opset) +
         "]> g (float[2,4,3,5] x, float[4] s, float[2,8] l) => (y, n) <float[8] w = {1, 2, 3, 4, 5, 6, 7, 8}, float two"
         " = {2}, float e = {0.1}, int64[1] last = {-1}, int64[1,1,1,1] i = {2}, float[1,1,1,1] u = {9}, float[4] grow"
         " = {1, 1, 2, 3}, float[4] shrink = {1, 1, 0.7, 1}, float[4] both = {1, 1, 0.7, 2.5}, float[2,1,1,2] h = {0.1,"
         " 0.3, -0.4, 0.9}, float[2] k = {2, 3}> { " +
         node + " q = Pow(l, two) m = " + mean + " v = Add(m, e) r = Sqrt(v) d = Div(l, r) n = Mul(d, w) }";
}

std::unique_ptr<Session> Open(Model model, SessionOptions options = {}) {
  return Session::FromModel(testing::TestEnvironment(), std::make_shared<Model>(std::move(model)), std::move(options));
}

Model Saved(const std::string& text) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "sdx_file_spelling_test.onnx";
  SessionOptions options;
  options.optimization_level = OptimizationLevel::kExtended;
  options.optimized_model_path = path.string();
  Open(ParseModel(text), options);
  Model model = model::LoadFile(path.string());
  std::filesystem::remove(path);
  return model;
}

bool HasNode(const Graph& graph, std::string_view op_type) {
  return std::any_of(graph.order.begin(), graph.order.end(),
                     [&](NodeId id) { return graph.node(id).op_type == op_type; });
}

struct Case {
  int opset;
  const char* node;
  std::vector<std::string_view> written;
};

void ExpectTheSame(const Case& c) {
  SCOPED_TRACE(c.node);
  const std::string text = Beside(c.opset, c.node);
  Model saved = Saved(text);
  ASSERT_GE(saved.graph.OpsetVersion(""), 23) << ToText(saved);
  for (const std::string_view op_type : c.written) EXPECT_TRUE(HasNode(saved.graph, op_type)) << ToText(saved);
  EXPECT_EQ(ToText(saved).find("__"), std::string::npos) << ToText(saved);
  const Inputs inputs = {{"x", Counted(Shape{2, 4, 3, 5})},
                         {"s", Tensor::Of<float>({1, 1, 1.5f, 0.6f}, Shape{4})},
                         {"l", Counted(Shape{2, 8})}};
  SessionOptions off;
  off.optimization_level = OptimizationLevel::kDisable;
  const std::vector<std::string> outputs = {"y"};
  const auto want = Open(ParseModel(text), off)->Run(RunOptions(), inputs, outputs);
  const auto found = Open(std::move(saved))->Run(RunOptions(), inputs, outputs);
  EXPECT_EQ(found[0].tensor().shape(), want[0].tensor().shape());
  const auto a = Elements<float>(found[0]), b = Elements<float>(want[0]);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5f) << i;
}

TEST(FileSpelling, OldOperatorsMeanTheSameInANewerOpset) {
  const Case cases[] = {
      {10, "y = Resize(x, s)", {"Resize", "Max", "Min"}},
      {10, "y = Resize(x, grow)", {"Resize"}},
      {10, "y = Resize(x, shrink)", {"Resize"}},
      {10, "y = Resize(x, both)", {"Resize", "Max", "Min"}},
      {10, "y = Resize<mode = \"linear\">(x, s)", {"Resize"}},
      {9, "y = Upsample(x, grow)", {"Resize"}},
      {7, "y = Upsample<scales = [1.0, 1.0, 2.0, 1.5], mode = \"linear\">(x)", {"Resize"}},
      {11, "y = Softmax<axis = 1>(x)", {"Softmax", "Flatten", "Reshape"}},
      {12, "y = LogSoftmax<axis = -2>(x)", {"LogSoftmax", "Flatten", "Reshape"}},
      {7, "y = Hardmax<axis = 0>(x)", {"Hardmax", "Flatten", "Reshape"}},
      {11, "y = Softmax<axis = 3>(x)", {"Softmax"}},
      {10, "y = Scatter<axis = 3>(x, i, u)", {"ScatterElements"}},
      {13, "a, b = Split<axis = 1>(x) y = Concat<axis = 1>(b, a)", {"Split"}},
      {16, "y = GridSample<mode = \"bicubic\">(x, h)", {"GridSample"}},
      {16, "y = GridSample<mode = \"bilinear\">(x, h)", {"GridSample"}},
      {18, "y = GroupNormalization<num_groups = 2>(x, k, k)", {"GroupNormalization", "Expand"}},
  };
  for (const Case& c : cases) ExpectTheSame(c);
}

TEST(FileSpelling, BodiesToo) {
  const std::string text =
      "<ir_version: 8, opset_import: [\"\": 11]> g (bool c, float[2,3,4] x) => (float[2,3,4] y) { y = If"
      " <then_branch = t () => (float[2,3,4] a) { a = Softmax<axis = 1>(x) },"
      " else_branch = e () => (float[2,3,4] b) { b = Neg(x) }>(c) }";
  Model saved = Saved(text);
  EXPECT_EQ(ToText(saved).find("__"), std::string::npos) << ToText(saved);
  const Inputs inputs = {{"c", Tensor::Scalar<bool>(true)}, {"x", Counted(Shape{2, 3, 4})}};
  const std::vector<std::string> outputs = {"y"};
  const auto want = Open(ParseModel(text))->Run(RunOptions(), inputs, outputs);
  EXPECT_EQ(Elements<float>(Open(std::move(saved))->Run(RunOptions(), inputs, outputs)[0]), Elements<float>(want[0]));
}

// What the table does not know must not be written as something else.
TEST(FileSpelling, RefusesWhatHasNoForm) {
  Model model = ParseModel(
      "<ir_version: 8, opset_import: [\"\": 7]> g (float[2,3] x) => (float[2,3] y, float[2,3] m) { [it] y, m = "
      "Dropout(x) }");
  Graph& graph = model.graph;
  graph.node(graph.order[0]).since_version = 7;
  const ops::Registry registry;
  SpellForOpset(graph, 9, registry);  // where a mask still has the type of the data
  try {
    SpellForOpset(graph, 23, registry);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotImplemented);
    EXPECT_NE(std::string(error.what())
                  .find("node 'it' (Dropout): the model's meaning of Dropout cannot be written in opset 23"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace sardonyx::runtime
