// capi/graph/editor_test.cpp - graphs of the model editor: what can be read from them, who owns what, whose memory
// weights use, and what becomes of mistakes. Whole models run in tests/capi.
#include "capi/graph/editor.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capi/handles/op_attr.h"
#include "capi/handles/value.h"
#include "capi/session.h"
#include "ir/text.h"
#include "model/save.h"
#include "onnxruntime_c_api.h"

namespace sardonyx::capi {
namespace {

const OrtApi& Api() { return *OrtGetApiBase()->GetApi(ORT_API_VERSION); }
const OrtModelEditorApi& Editor() { return *Api().GetModelEditorApi(); }

void Must(OrtStatusPtr status) { ASSERT_EQ(status, nullptr) << Api().GetErrorMessage(status); }

std::string MessageOf(OrtStatusPtr status, OrtErrorCode code = ORT_INVALID_ARGUMENT) {
  if (status == nullptr) return "no failure";
  std::string message = Api().GetErrorMessage(status);
  EXPECT_EQ(Api().GetErrorCode(status), code) << message;
  Api().ReleaseStatus(status);
  return message;
}

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

OrtValueInfo* Declare(const char* name, const Type& type) {
  const auto info = MakeTypeInfo(type);
  OrtValueInfo* value = nullptr;
  Must(Editor().CreateValueInfo(name, info.get(), &value));
  return value;
}

OrtNode* MakeNode(const char* op_type, std::vector<const char*> inputs, std::vector<const char*> outputs,
                  std::vector<OrtOpAttr*> attributes = {}) {
  OrtNode* node = nullptr;
  Must(Editor().CreateNode(op_type, "ai.onnx", op_type, inputs.data(), inputs.size(), outputs.data(), outputs.size(),
                           attributes.data(), attributes.size(), &node));
  return node;
}

OrtGraph* NewEditorGraph() {
  OrtGraph* graph = nullptr;
  Must(Editor().CreateGraph(&graph));
  return graph;
}

std::unique_ptr<OrtModel> ModelWith(OrtGraph* graph, int opset = 21) {
  const char* domain = "ai.onnx";
  OrtModel* model = nullptr;
  Must(Editor().CreateModel(&domain, &opset, 1, &model));
  Must(Editor().AddGraphToModel(model, graph));
  return std::unique_ptr<OrtModel>(model);
}

OrtEnv* Env() {
  static OrtEnv* const env = [] {
    OrtEnv* made = nullptr;
    Must(Api().CreateEnv(ORT_LOGGING_LEVEL_ERROR, "editor_test", &made));
    return made;
  }();
  return env;
}

const Type kPair = Type::TensorOf(DType::kFloat, {Dim(2)});

TEST(ModelEditor, ItsGraphsMayBeRead) {
  OrtGraph* graph = NewEditorGraph();
  OrtNode* last = MakeNode("Add", {"a", "w"}, {"y"});
  const OrtValueInfo* before[2] = {};
  Must(Api().Node_GetInputs(last, before, 2));
  EXPECT_EQ(before[0]->name, "a") << "a node may be read before it is in a graph";
  const OrtGraph* owner = graph;
  Must(Api().Node_GetGraph(last, &owner));
  EXPECT_EQ(owner, nullptr);
  Must(Editor().AddNodeToGraph(graph, last));
  OrtNode* first = MakeNode("Clip", {"x", "", "x"}, {"a"});
  Must(Editor().AddNodeToGraph(graph, first));
  Must(Editor().AddInitializerToGraph(graph, "w", NewHandle(Tensor::Of<float>({1, 2}, Shape{2})), false));
  Must(Editor().AddInitializerToGraph(graph, "d", NewHandle(Tensor::Of<float>({3, 4}, Shape{2})), false));
  OrtValueInfo* inputs[] = {Declare("x", kPair), Declare("d", kPair)};
  const OrtValueInfo* x = inputs[0];
  Must(Editor().SetGraphInputs(graph, inputs, 2));
  EXPECT_EQ(inputs[0], nullptr);
  OrtValueInfo* outputs[] = {Declare("y", kPair)};
  Must(Editor().SetGraphOutputs(graph, outputs, 1));

  const OrtValueInfo* read[3] = {};
  Must(Api().Node_GetInputs(first, read, 3));
  EXPECT_EQ(read[0], x) << "the declared value, not the one that the node brought";
  EXPECT_EQ(read[1], nullptr);
  EXPECT_EQ(read[2], x);
  EXPECT_EQ(x->consumers.size(), 2u);
  bool required = false, optional = false, constant = false;
  Must(Api().ValueInfo_IsRequiredGraphInput(x, &required));
  Must(Api().ValueInfo_IsOptionalGraphInput(graph->Find("d"), &optional));
  Must(Api().ValueInfo_IsConstantInitializer(graph->Find("w"), &constant));
  EXPECT_TRUE(required && optional && constant);
  const OrtNode* producer = nullptr;
  Must(Api().ValueInfo_GetValueProducer(graph->Find("a"), &producer, nullptr));
  EXPECT_EQ(producer, first);
  size_t id = 9, count = 0;
  Must(Api().Node_GetId(first, &id));
  Must(Api().Graph_GetNumInitializers(graph, &count));
  EXPECT_EQ(id, 1u);
  EXPECT_EQ(count, 2u);
  const char* domain = nullptr;
  Must(Api().Node_GetDomain(first, &domain));
  EXPECT_STREQ(domain, "");
  OrtGraph* part = nullptr;
  const OrtNode* nodes[] = {first};
  EXPECT_TRUE(Contains(MessageOf(Api().Graph_GetGraphView(graph, nodes, 1, &part)), "made by the model editor"));

  const auto parts = ModelWith(graph);
  const Model model = MakeModel(*parts);
  EXPECT_EQ(ToText(model.graph),
            R"(ModelEditorGraph (float[2] x, float[2] d = {3, 4}) => (float[2] y) <float[2] w = {1, 2}> {
  a = Clip(x, "", x)
  y = Add(a, w)
}
)");
  EXPECT_EQ(model.graph.OpsetVersion(""), 21);
  Must(Api().Graph_GetNumOperatorSets(graph, &count));
  EXPECT_EQ(count, 1u);
}

TEST(ModelEditor, TakesAttributesOver) {
  auto axis = std::make_unique<Attribute>(Attribute{"axis", std::int64_t{1}});
  OrtOpAttr* attributes[] = {AsHandle(axis.release())};
  const char *in = "x", *out = "y";
  OrtNode* node = nullptr;
  Must(Editor().CreateNode("Softmax", "", "s", &in, 1, &out, 1, attributes, 1, &node));
  EXPECT_EQ(attributes[0], nullptr);
  const OrtOpAttr* read = nullptr;
  Must(Api().Node_GetAttributeByName(node, "axis", &read));
  EXPECT_EQ(std::get<std::int64_t>(AsAttribute(read)->value), 1);
  Api().ReleaseNode(node);

  Attribute one{"alpha", 1.0f}, two{"alpha", 2.0f};
  OrtOpAttr* twice[] = {AsHandle(&one), AsHandle(&two)};
  EXPECT_TRUE(Contains(MessageOf(Editor().CreateNode("Elu", "", "e", &in, 1, &out, 1, twice, 2, &node)), "'alpha'"));
  EXPECT_EQ(twice[0], AsHandle(&one)) << "what is refused stays the caller's";
}

TEST(ModelEditor, MakesTypesOfEveryKind) {
  const auto pair = MakeTypeInfo(kPair);
  OrtTypeInfo *sequence = nullptr, *map = nullptr, *optional = nullptr, *sparse = nullptr, *tensor = nullptr;
  Must(Editor().CreateSequenceTypeInfo(pair.get(), &sequence));
  Must(Editor().CreateMapTypeInfo(ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, sequence, &map));
  Must(Editor().CreateOptionalTypeInfo(map, &optional));
  Must(Editor().CreateSparseTensorTypeInfo(pair->tensor.get(), &sparse));
  Must(Editor().CreateTensorTypeInfo(pair->tensor.get(), &tensor));
  EXPECT_EQ(FromTypeInfo(*optional).ToText(), "optional(map(string, seq(float[2])))");
  EXPECT_EQ(FromTypeInfo(*sparse).ToText(), "sparse_tensor(float[2])");
  EXPECT_EQ(FromTypeInfo(*tensor).ToText(), "float[2]");
  for (OrtTypeInfo* type : {sequence, map, optional, sparse, tensor}) Api().ReleaseTypeInfo(type);
  EXPECT_TRUE(Contains(MessageOf(Editor().CreateSequenceTypeInfo(nullptr, &sequence)), "'sequence_type'"));
  EXPECT_TRUE(Contains(MessageOf(Editor().CreateTensorTypeInfo(pair->tensor.get(), nullptr)), "'type_info'"));
}

TEST(ModelEditor, KeepsTheSymbolOfADimensionThatHasANumber) {
  const auto info = MakeTypeInfo(kPair);
  info->tensor->symbols = {"pair"};
  OrtTypeInfo *tensor = nullptr, *sequence = nullptr, *element = nullptr;
  Must(Editor().CreateTensorTypeInfo(info->tensor.get(), &tensor));
  Must(Editor().CreateSequenceTypeInfo(tensor, &sequence));
  Must(Api().GetSequenceElementType(sequence->sequence.get(), &element));
  for (const OrtTypeInfo* type : {tensor, element}) {
    EXPECT_EQ(type->tensor->dims, (std::vector<std::int64_t>{2}));
    EXPECT_EQ(type->tensor->symbols, std::vector<std::string>{"pair"});
  }
  for (OrtTypeInfo* type : {tensor, sequence, element}) Api().ReleaseTypeInfo(type);
}

TEST(ModelEditor, CopiesWeightsUnlessTheyAreExternal) {
  std::vector<float> mine(32, 1.0f);
  const auto view = [&] {
    return NewHandle(Tensor(DType::kFloat, Shape{32}, Buffer::View(mine.data(), mine.size() * sizeof(float))));
  };
  OrtGraph* graph = NewEditorGraph();
  Must(Editor().AddInitializerToGraph(graph, "shared", view(), true));
  Must(Editor().AddInitializerToGraph(graph, "copied", view(), false));
  const Model model = MakeModel(*ModelWith(graph));
  EXPECT_EQ(model.graph.value(*model.graph.Find("shared")).constant()->raw(), mine.data());
  EXPECT_NE(model.graph.value(*model.graph.Find("copied")).constant()->raw(), mine.data());
}

TEST(ModelEditor, RefusesWhatContradictsItself) {
  OrtGraph* graph = NewEditorGraph();
  Must(Editor().AddNodeToGraph(graph, MakeNode("Neg", {"x"}, {"y"})));
  OrtNode* again = MakeNode("Abs", {"x"}, {"y"});
  EXPECT_EQ(MessageOf(Editor().AddNodeToGraph(graph, again)),
            "argument 'node': node 'Abs' makes 'y', which node 'Neg' of the graph makes already");
  Api().ReleaseNode(again);
  OrtValue* tensor = NewHandle(Tensor::Of<float>({1, 2}, Shape{2}));
  Must(Editor().AddInitializerToGraph(graph, "w", tensor, false));
  EXPECT_TRUE(Contains(MessageOf(Editor().AddInitializerToGraph(graph, "v", tensor, false)), "already part"));
  OrtValueInfo* outputs[] = {Declare("nobody", kPair)};
  OrtValueInfo* held = outputs[0];
  Must(Editor().SetGraphOutputs(graph, outputs, 1));
  OrtGraph* elsewhere = NewEditorGraph();
  EXPECT_TRUE(Contains(MessageOf(Editor().SetGraphInputs(elsewhere, &held, 1)), "already part of a graph"));
  Api().ReleaseGraph(elsewhere);
  Api().ReleaseValueInfo(held);  // the graph's: stays
  EXPECT_EQ(graph->outputs[0]->name, "nobody");
  const auto parts = ModelWith(graph);
  Api().ReleaseGraph(graph);  // the model's: stays
  OrtSession* session = nullptr;
  EXPECT_TRUE(
      Contains(MessageOf(Editor().CreateSessionFromModel(Env(), parts.get(), nullptr, &session), ORT_INVALID_GRAPH),
               "expected 'x' to be defined"));
  EXPECT_TRUE(Contains(MessageOf(Editor().CreateSessionFromModel(nullptr, parts.get(), nullptr, &session)), "'env'"));
  const char* domains[] = {"", "ai.onnx"};
  const int versions[] = {21, 20};
  OrtModel* model = nullptr;
  EXPECT_TRUE(Contains(MessageOf(Editor().CreateModel(domains, versions, 2, &model)), "twice"));
  const int none = 0;
  EXPECT_TRUE(Contains(MessageOf(Editor().CreateModel(domains, &none, 1, &model)), "expected 1 or more, found 0"));
}

TEST(ModelEditor, NewInputsDecideWhatIsConstant) {
  const Model base = ParseModel(R"(<ir_version: 10, opset_import: ["" : 21]>
base (float[2] x, float[2] d = {1, 2}) => (float[2] y) <float[2] w = {5, 6}> { a = Add(x, w) y = Mul(a, d) })");
  OrtGraph* graph = NewEditorGraph();
  OrtValueInfo* inputs[] = {Declare("w", kPair), Declare("x", kPair)};
  Must(Editor().SetGraphInputs(graph, inputs, 2));
  const Model model = Augmented(base, *ModelWith(graph));
  EXPECT_EQ(ToText(model.graph), R"(base (float[2] w = {5, 6}, float[2] x) => (float[2] y) <float[2] d = {1, 2}> {
  a = Add(x, w)
  y = Mul(a, d)
}
)");
  const auto kind = [](const Graph& in, const char* name) { return in.value(*in.Find(name)).initializer->kind; };
  EXPECT_EQ(kind(model.graph, "d"), Initializer::Kind::kConstant);
  EXPECT_EQ(kind(model.graph, "w"), Initializer::Kind::kInputDefault);
  EXPECT_EQ(kind(base.graph, "w"), Initializer::Kind::kConstant) << "the session's own model stays as it was";
}

TEST(ModelEditor, AChangeThatIsRefusedLeavesTheSessionAsItWas) {
  const std::string bytes = model::SaveBytes(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21]>
base (float[2] x) => (float[2] y) <float[2] w = {5, 6}> { y = Add(x, w) })"));
  OrtSession* session = nullptr;
  Must(Editor().CreateModelEditorSessionFromArray(Env(), bytes.data(), bytes.size(), nullptr, &session));
  OrtGraph* graph = NewEditorGraph();
  Must(Editor().AddNodeToGraph(graph, MakeNode("Neg", {"y"}, {"z"})));
  Must(Editor().AddNodeToGraph(graph, MakeNode("Abs", {"x"}, {"w"})));
  const auto bad = ModelWith(graph);
  EXPECT_TRUE(Contains(MessageOf(Editor().ApplyModelToModelEditorSession(session, bad.get()), ORT_INVALID_GRAPH),
                       "expected a new name for its output 'w', found an initializer"));
  OrtIoBinding* binding = nullptr;
  EXPECT_TRUE(Contains(MessageOf(Api().CreateIoBinding(session, &binding), ORT_FAIL), "FinalizeModelEditorSession"));
  Must(Editor().FinalizeModelEditorSession(session, nullptr, nullptr));
  Must(Editor().FinalizeModelEditorSession(session, nullptr, nullptr));  // nothing to do
  EXPECT_EQ(BuiltSession(session).model().graph.nodes.size(), 1u);
  const auto results = BuiltSession(session).Run({}, {{"x", Value(Tensor::Of<float>({1, 2}, Shape{2}))}}, {"y"});
  EXPECT_EQ(results[0].tensor().data<float>()[1], 8);
  Api().ReleaseSession(session);
}

}  // namespace
}  // namespace sardonyx::capi
