// ops/attribute_check_test.cpp - attributes that the schema does not know are refused, wherever the node is.
#include "ops/attribute_check.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/infer.h"

namespace sardonyx::ops {
namespace {

// What loading says of the model; "" if it takes it.
std::string ErrorOf(const std::string& graph) {
  const Registry registry;
  try {
    Model model = ParseModel(
        "<ir_version: 10, opset_import: [\"\": 18, \"ai.onnx.ml\": 3, \"com.microsoft\": 1, \"ai.sardonyx\": 1,"
        " \"com.ms.internal.nhwc\": 1, \"my\": 1]> " +
        graph);
    ResolveVersions(model.graph, registry, model);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidGraph);
    return error.what();
  }
  return "";
}

std::string OneNode(const std::string& node) {
  return "g (float[2,3,4] x, float[3,2,1] w, uint8[2] q, bool c) => (y) { [it] y = " + node + " }";
}

TEST(AttributeCheck, RefusesWhatTheSchemaDoesNotKnow) {
  struct Case {
    std::string node;
    std::vector<std::string> words;
  };
  const Case cases[] = {
      {"Softmax<__flatten = 1>(x)", {"node 'it' (Softmax)", "unknown attribute '__flatten' of Softmax version 13"}},
      {"Softmax<_axis = 1>(x)", {"unknown attribute '_axis'", "did you mean 'axis'?"}},
      {"BatchNormalization<__per_element = 1>(x, x, x, x, x)", {"'__per_element' of BatchNormalization version 15"}},
      {"Dropout<__mask_like_data = 1>(x)", {"'__mask_like_data' of Dropout version 13"}},
      {"com.microsoft.Gelu<__x = 1>(x)", {"node 'it' (com.microsoft.Gelu)", "unknown attribute '__x'"}},
      {"com.microsoft.QuantizeLinear<axes = 1>(x, x, q)", {"unknown attribute 'axes'", "did you mean 'axis'?"}},
      {"com.microsoft.TransposeMatMul<transC = 1>(x, x)", {"unknown attribute 'transC'", "did you mean 'transA'?"}},
      {"ai.onnx.ml.Scaler<ofset = [1.0]>(x)", {"unknown attribute 'ofset'", "did you mean 'offset'?"}},
      {"ai.sardonyx.FusedMatMul<alpa = 1.0>(x, x)", {"unknown attribute 'alpa'", "did you mean 'alpha'?"}},
      {"ai.sardonyx.FusedConv<activatoin = \"Mish\">(x, w)", {"'activatoin'", "did you mean 'activation'?"}},
      {"ai.sardonyx.FusedElementwise<steps = [\"Abs\"], operands = [0, 0]>(x)", {"'parameters' (floats) is required"}},
      {"ai.sardonyx.Lookup8<axis = 1>(q, q)", {"unknown attribute 'axis' of Lookup8 version 1"}},
      {"com.ms.internal.nhwc.Conv<stride = [1]>(x, w)", {"unknown attribute 'stride'", "did you mean 'strides'?"}},
      {"Constant<__name = 1, value_float = 1.0>()", {"unknown attribute '__name' of Constant"}},
      {"If<then_branch = t () => (a) { [inner] a = Relu<alpha = 1.0>(x) }, else_branch = e () => (b) { b = Neg(x) "
       "}>(c)",
       {"node 'inner' (Relu)", "unknown attribute 'alpha' of Relu version 14"}},
  };
  for (const Case& c : cases) {
    const std::string error = ErrorOf(OneNode(c.node));
    for (const std::string& word : c.words) EXPECT_NE(error.find(word), std::string::npos) << c.node << ": " << error;
  }
}

// ONNX Runtime does not look at attributes of these, whatever their names (tools/schema/generate.py tries each one).
TEST(AttributeCheck, DropsWhatOnnxRuntimeIgnores) {
  for (const char* op : {"LayerNormalization", "SimplifiedLayerNormalization"}) {
    Model model = ParseModel("<ir_version: 10, opset_import: [\"\": 18]> g (float[2,3] x, float[3] s) => (y) { y = " +
                             std::string(op) + "<epsilon = 0.1, left_over = 3>(x, s) }");
    ResolveVersions(model.graph, Registry(), model);
    const std::vector<Attribute>& attributes = model.graph.node(model.graph.order[0]).attributes;
    ASSERT_EQ(attributes.size(), 1U) << op;
    EXPECT_EQ(attributes[0].name, "epsilon");
  }
  const std::string error =
      ErrorOf("g (float[2,3] x, float[3] s) => (y) { y = LayerNormalization<axis = \"a\">(x, s) }");
  EXPECT_NE(error.find("attribute 'axis': expected int, found string"), std::string::npos) << error;
}

TEST(AttributeCheck, OfAWholeGraphLooksIntoBodies) {
  Model model = ParseModel(
      "<ir_version: 10, opset_import: [\"\": 18]> g (bool c, float[2] x) => (y) { y = If<then_branch = t () => (a) {"
      " a = Neg(x) }, else_branch = e () => (b) { b = Abs(x) }>(c) }");
  ResolveVersions(model.graph, Registry(), model);
  CheckAllAttributes(model.graph);
  Graph& body = *model.graph.node(model.graph.order[0]).Subgraphs()[1];
  body.node(body.order[0]).SetAttribute("secret", std::int64_t{1});
  EXPECT_THROW(CheckAllAttributes(model.graph), Error);
}

}  // namespace
}  // namespace sardonyx::ops
