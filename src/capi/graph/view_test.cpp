// capi/graph/view_test.cpp - what the C interface says of a graph: links, inputs that are missing, bodies, defaults of
// attributes, initializers, and a part of a graph.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "capi/handles/graph_view.h"
#include "ir/text.h"
#include "model/load.h"
#include "model/save.h"
#include "onnxruntime_c_api.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace sardonyx::capi {
namespace {

const OrtApi& Api() { return *OrtGetApiBase()->GetApi(ORT_API_VERSION); }

void Must(OrtStatusPtr status) { ASSERT_EQ(status, nullptr) << Api().GetErrorMessage(status); }

std::string MessageOf(OrtStatusPtr status, OrtErrorCode code = ORT_INVALID_ARGUMENT) {
  if (status == nullptr) return "no failure";
  std::string message = Api().GetErrorMessage(status);
  EXPECT_EQ(Api().GetErrorCode(status), code) << message;
  Api().ReleaseStatus(status);
  return message;
}

Model Resolved(std::string_view text) {
  Model model = ParseModel(text);
  const ops::Registry registry;
  ops::ResolveVersions(model.graph, registry, model);
  ops::Infer(model.graph, registry);
  return model;
}

template <typename Owner, typename Item>
std::vector<const Item*> ListOf(const Owner* owner, OrtStatusPtr(ORT_API_CALL* count)(const Owner*, size_t*) noexcept,
                                OrtStatusPtr(ORT_API_CALL* copy)(const Owner*, const Item**, size_t) noexcept) {
  size_t size = 0;
  Must(count(owner, &size));
  std::vector<const Item*> items(size);
  Must(copy(owner, items.data(), size));
  return items;
}

std::vector<const OrtNode*> NodesOf(const OrtGraph* graph) {
  return ListOf(graph, Api().Graph_GetNumNodes, Api().Graph_GetNodes);
}
std::vector<const OrtValueInfo*> InputsOf(const OrtNode* node) {
  return ListOf(node, Api().Node_GetNumInputs, Api().Node_GetInputs);
}
std::vector<const OrtValueInfo*> OutputsOf(const OrtNode* node) {
  return ListOf(node, Api().Node_GetNumOutputs, Api().Node_GetOutputs);
}

std::string NameOf(const OrtValueInfo* value) {
  if (value == nullptr) return "-";
  const char* name = nullptr;
  Must(Api().GetValueInfoName(value, &name));
  return name;
}

std::string Names(const std::vector<const OrtValueInfo*>& values) {
  std::string text;
  for (const OrtValueInfo* value : values) text += (text.empty() ? "" : " ") + NameOf(value);
  return text;
}
std::string Inputs(const OrtGraph* graph) {
  return Names(ListOf(graph, Api().Graph_GetNumInputs, Api().Graph_GetInputs));
}
std::string Outputs(const OrtGraph* graph) {
  return Names(ListOf(graph, Api().Graph_GetNumOutputs, Api().Graph_GetOutputs));
}
std::string Initializers(const OrtGraph* graph) {
  return Names(ListOf(graph, Api().Graph_GetNumInitializers, Api().Graph_GetInitializers));
}

// "required", "optional", "output", "constant", "outer": what a value is in its graph.
std::string KindsOf(const OrtValueInfo* value) {
  std::string text;
  const auto ask = [&](auto function, const char* name) {
    bool is = false;
    Must(function(value, &is));
    if (is) text += (text.empty() ? "" : " ") + std::string(name);
  };
  ask(Api().ValueInfo_IsRequiredGraphInput, "required");
  ask(Api().ValueInfo_IsOptionalGraphInput, "optional");
  ask(Api().ValueInfo_IsGraphOutput, "output");
  ask(Api().ValueInfo_IsConstantInitializer, "constant");
  ask(Api().ValueInfo_IsFromOuterScope, "outer");
  return text;
}

std::string OpOf(const OrtNode* node) {
  if (node == nullptr) return "-";
  const char* text = nullptr;
  Must(Api().Node_GetOperatorType(node, &text));
  return text;
}

// "Relu:0 If:-1"
std::string ConsumersOf(const OrtValueInfo* value) {
  size_t count = 0;
  Must(Api().ValueInfo_GetValueNumConsumers(value, &count));
  std::vector<const OrtNode*> nodes(count);
  std::vector<std::int64_t> inputs(count);
  Must(Api().ValueInfo_GetValueConsumers(value, nodes.data(), inputs.data(), count));
  std::string text;
  for (size_t i = 0; i < count; ++i) text += (i ? " " : "") + OpOf(nodes[i]) + ":" + std::to_string(inputs[i]);
  return text;
}

std::string ProducerOf(const OrtValueInfo* value) {
  const OrtNode* node = nullptr;
  size_t output = 99;
  Must(Api().ValueInfo_GetValueProducer(value, &node, &output));
  return OpOf(node) + ":" + std::to_string(output);
}

float FirstElement(const OrtValueInfo* value) {
  const OrtValue* tensor = nullptr;
  Must(Api().ValueInfo_GetInitializerValue(value, &tensor));
  if (tensor == nullptr) return -1;
  const void* data = nullptr;
  Must(Api().GetTensorData(tensor, &data));
  return *static_cast<const float*>(data);
}

constexpr const char* kChain = R"(<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1],
    producer_name: "me", metadata_props: ["k": "v"]>
chain (float[N,3] x, float[3] bias) => (float[N,3] y, float[N,3] a) <float[3] w = {4, 5, 6}, float[3] bias = {7, 8, 9}> {
  [first] a = Add(x, w)
  [second] b = Mul(a, a)
  [third] c = Clip(b, , w0)
  [fourth] y = Add(c, bias)
  w0 = Constant<value = float {3}>()
})";

TEST(GraphView, SaysWhatTheModelSays) {
  const Model model = Resolved(kChain);
  const auto view = ViewGraph(model.graph, FactsOf(model));
  const char* text = nullptr;
  Must(Api().Graph_GetName(view.get(), &text));
  EXPECT_STREQ(text, "chain");
  Must(Api().Graph_GetModelPath(view.get(), &text));
  EXPECT_STREQ(text, "");
  std::int64_t version = 0;
  Must(Api().Graph_GetOnnxIRVersion(view.get(), &version));
  EXPECT_EQ(version, 10);
  size_t opsets = 0;
  Must(Api().Graph_GetNumOperatorSets(view.get(), &opsets));
  ASSERT_EQ(opsets, 10u) << "those of the model, then what ONNX Runtime adds";
  const char* domains[10];
  std::int64_t versions[10];
  Must(Api().Graph_GetOperatorSets(view.get(), domains, versions, 10));
  EXPECT_STREQ(domains[0], "");
  EXPECT_STREQ(domains[1], "com.microsoft");
  EXPECT_EQ(versions[0], 21);
  EXPECT_EQ(versions[1], 1);
  std::map<std::string, std::int64_t> by_domain;
  for (int i = 0; i < 10; ++i) by_domain[domains[i]] = versions[i];
  EXPECT_EQ(by_domain["ai.onnx.ml"], 5);
  EXPECT_EQ(by_domain["com.ms.internal.nhwc"], 21);
  EXPECT_EQ(Inputs(view.get()), "x bias");
  EXPECT_EQ(Outputs(view.get()), "y a");
  EXPECT_EQ(Initializers(view.get()), "bias w");
  const OrtNode* parent = reinterpret_cast<const OrtNode*>(view.get());
  Must(Api().Graph_GetParentNode(view.get(), &parent));
  EXPECT_EQ(parent, nullptr);
  OrtModelMetadata* metadata = nullptr;
  Must(Api().Graph_GetModelMetadata(view.get(), &metadata));
  EXPECT_EQ(metadata->producer_name, "me");
  EXPECT_EQ(metadata->graph_name, "chain");
  EXPECT_EQ(metadata->custom.at(0).second, "v");
  Api().ReleaseModelMetadata(metadata);
  size_t room = 1;
  const OrtValueInfo* one = nullptr;
  EXPECT_EQ(MessageOf(Api().Graph_GetInputs(view.get(), &one, room)),
            "argument 'inputs': expected room for 2, found 1");
  EXPECT_NE(MessageOf(Api().Graph_GetNumNodes(nullptr, &room)).find("'graph'"), std::string::npos);
}

TEST(GraphView, LinksNodesAndValues) {
  const Model model = Resolved(kChain);
  const auto view = ViewGraph(model.graph, FactsOf(model));
  const auto nodes = NodesOf(view.get());
  std::map<std::string, const OrtNode*> by_name;
  std::string order;
  for (const OrtNode* node : nodes) {
    const char* name = nullptr;
    Must(Api().Node_GetName(node, &name));
    by_name[name] = node;
    order += OpOf(node) + " ";
  }
  EXPECT_EQ(order, "Constant Add Mul Clip Add ") << "as ONNX Runtime shows them";
  const OrtNode* clip = by_name["third"];
  const auto inputs = InputsOf(clip);
  EXPECT_EQ(Names(inputs), "b - w0") << "the missing input is NULL";
  size_t id = 0;
  Must(Api().Node_GetId(clip, &id));
  EXPECT_EQ(model.graph.node(static_cast<NodeId>(id)).op_type, "Clip");
  int since = 0;
  Must(Api().Node_GetSinceVersion(clip, &since));
  EXPECT_EQ(since, 13);
  const char* text = nullptr;
  Must(Api().Node_GetDomain(clip, &text));
  EXPECT_STREQ(text, "");
  Must(Api().Node_GetEpName(clip, &text));
  EXPECT_STREQ(text, "");
  const OrtGraph* owner = nullptr;
  Must(Api().Node_GetGraph(clip, &owner));
  EXPECT_EQ(owner, view.get());

  const OrtValueInfo* a = OutputsOf(by_name["first"])[0];
  EXPECT_EQ(ConsumersOf(a), "Mul:0 Mul:1");
  EXPECT_EQ(ProducerOf(a), "Add:0");
  EXPECT_EQ(KindsOf(a), "output");
  EXPECT_EQ(a, InputsOf(by_name["second"])[0]) << "one address for one value";
  const OrtValueInfo* x = InputsOf(by_name["first"])[0];
  EXPECT_EQ(KindsOf(x), "required");
  EXPECT_EQ(ProducerOf(x), "-:0");
  EXPECT_EQ(FirstElement(x), -1);
  const OrtValueInfo* w = InputsOf(by_name["first"])[1];
  EXPECT_EQ(KindsOf(w), "constant");
  EXPECT_EQ(FirstElement(w), 4);
  const OrtValueInfo* bias = InputsOf(by_name["fourth"])[1];
  EXPECT_EQ(KindsOf(bias), "optional");
  EXPECT_EQ(FirstElement(bias), 7);
  const OrtTypeInfo* type = nullptr;
  Must(Api().GetValueInfoTypeInfo(OutputsOf(clip)[0], &type));
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  Must(Api().CastTypeInfoToTensorInfo(type, &tensor));
  std::int64_t dims[2];
  Must(Api().GetDimensions(tensor, dims, 2));
  EXPECT_EQ(dims[0], -1);
  EXPECT_EQ(dims[1], 3);
  OrtExternalInitializerInfo* external = reinterpret_cast<OrtExternalInitializerInfo*>(1);
  Must(Api().ValueInfo_GetExternalInitializerInfo(w, &external));
  EXPECT_EQ(external, nullptr);
}

TEST(GraphView, GivesAttributesWithTheDefaultsOfTheSchema) {
  const Model model = Resolved(R"(<ir_version: 10, opset_import: ["" : 21]>
g (float[1,1,4,4] x, float[1,1,3,3] w) => (y) {
  y = Conv<pads = [1, 1, 1, 1], kernel_shape = [3, 3]>(x, w)
  c = Constant<value = int64[2] {5, 6}>()
})");
  const auto view = ViewGraph(model.graph, FactsOf(model));
  const OrtNode* conv = NodesOf(view.get())[1];
  std::map<std::string, OrtOpAttrType> types;
  for (const OrtOpAttr* attribute : ListOf(conv, Api().Node_GetNumAttributes, Api().Node_GetAttributes)) {
    const char* name = nullptr;
    Must(Api().OpAttr_GetName(attribute, &name));
    Must(Api().OpAttr_GetType(attribute, &types[name]));
  }
  EXPECT_EQ(types, (std::map<std::string, OrtOpAttrType>{{"pads", ORT_OP_ATTR_INTS},
                                                         {"kernel_shape", ORT_OP_ATTR_INTS},
                                                         {"group", ORT_OP_ATTR_INT},
                                                         {"auto_pad", ORT_OP_ATTR_STRING}}));
  const OrtOpAttr* attribute = nullptr;
  Must(Api().Node_GetAttributeByName(conv, "group", &attribute));
  EXPECT_EQ(std::get<std::int64_t>(reinterpret_cast<const Attribute*>(attribute)->value), 1);
  Must(Api().Node_GetAttributeByName(conv, "strides", &attribute));
  EXPECT_EQ(attribute, nullptr) << "known to the schema, without a default";
  EXPECT_EQ(MessageOf(Api().Node_GetAttributeByName(conv, "stride", &attribute), ORT_NOT_FOUND),
            "node '' (Conv) has no attribute 'stride'");
  const OrtOpAttr* value = nullptr;
  Must(Api().Node_GetAttributeByName(NodesOf(view.get())[0], "value", &value));
  OrtValue* tensor = nullptr;
  Must(Api().OpAttr_GetTensorAttributeAsOrtValue(value, &tensor));
  void* data = nullptr;
  Must(Api().GetTensorMutableData(tensor, &data));
  EXPECT_EQ(static_cast<std::int64_t*>(data)[1], 6);
  static_cast<std::int64_t*>(data)[1] = 0;  // the caller's copy
  EXPECT_EQ(std::get<Tensor>(*model.graph.node(1).FindAttribute("value")).data<std::int64_t>()[1], 6);
  Api().ReleaseValue(tensor);
  Must(Api().Node_GetAttributeByName(conv, "pads", &attribute));
  EXPECT_EQ(MessageOf(Api().OpAttr_GetTensorAttributeAsOrtValue(attribute, &tensor)),
            "attribute 'pads': expected a tensor, found ints");
}

constexpr const char* kChoice = R"(<ir_version: 10, opset_import: ["" : 21]>
g (bool c, float[2] x, float[2] d) => (float[2] y) <float[2] w = {1, 2}, float[2] d = {8, 9}> {
  a = Neg(x)
  y = If<then_branch = t () => (o) { i = Add(a, w) o = Mul(i, d) },
         else_branch = e () => (o) { o = If<then_branch = tt () => (p) { p = Sub(x, w) },
                                           else_branch = ee () => (p) { p = Identity(x) }>(c) }>(c)
})";

TEST(GraphView, ShowsBodiesAndWhatTheyReadOutside) {
  const Model model = Resolved(kChoice);
  const auto view = ViewGraph(model.graph, FactsOf(model));
  const OrtNode* choice = NodesOf(view.get())[1];
  ASSERT_EQ(OpOf(choice), "If");
  EXPECT_EQ(Names(InputsOf(choice)), "c");
  const auto implicit = ListOf(choice, Api().Node_GetNumImplicitInputs, Api().Node_GetImplicitInputs);
  std::map<std::string, const OrtValueInfo*> outer;
  for (const OrtValueInfo* value : implicit) outer[NameOf(value)] = value;
  EXPECT_EQ(outer.size(), 5u) << Names(implicit);
  EXPECT_EQ(ConsumersOf(outer["a"]), "If:-1");
  EXPECT_EQ(ConsumersOf(outer["c"]), "If:0 If:-1");
  const OrtOpAttr* branch = nullptr;
  OrtOpAttrType type = ORT_OP_ATTR_UNDEFINED;
  Must(Api().Node_GetAttributeByName(choice, "then_branch", &branch));
  Must(Api().OpAttr_GetType(branch, &type));
  EXPECT_EQ(type, ORT_OP_ATTR_GRAPH);

  const OrtGraph* graphs[2];
  const char* names[2];
  Must(Api().Node_GetSubgraphs(choice, graphs, 2, names));
  EXPECT_STREQ(names[0], "then_branch");
  EXPECT_STREQ(names[1], "else_branch");
  const OrtNode* parent = nullptr;
  Must(Api().Graph_GetParentNode(graphs[0], &parent));
  EXPECT_EQ(parent, choice);
  EXPECT_EQ(Inputs(graphs[0]), "");
  EXPECT_EQ(Initializers(graphs[0]), "") << "those of the enclosing graph are not its own";
  const auto add = InputsOf(NodesOf(graphs[0])[0]);
  EXPECT_EQ(KindsOf(add[0]), "outer");
  EXPECT_EQ(ProducerOf(add[0]), "-:0");
  EXPECT_EQ(KindsOf(add[1]), "constant outer");
  EXPECT_EQ(FirstElement(add[1]), 1);
  const OrtValueInfo* d = InputsOf(NodesOf(graphs[0])[1])[1];
  EXPECT_EQ(KindsOf(d), "optional outer");
  EXPECT_EQ(FirstElement(d), 8);

  size_t count = 0;
  const OrtNode* inner = NodesOf(graphs[1])[0];
  Must(Api().Node_GetNumSubgraphs(inner, &count));
  ASSERT_EQ(count, 2u);
  Must(Api().Node_GetSubgraphs(inner, graphs, 2, nullptr));
  const auto sub = InputsOf(NodesOf(graphs[0])[0]);
  EXPECT_EQ(KindsOf(sub[0]), "outer");
  EXPECT_EQ(KindsOf(sub[1]), "constant outer") << "through two bodies";
  EXPECT_EQ(FirstElement(sub[1]), 1);
}

TEST(GraphView, ShowsAPart) {
  const Model model = Resolved(R"(<ir_version: 10, opset_import: ["" : 21]>
g (float[2] unused, float[2] x, float[2] z) => (float[2] y, float[2] d) <float[2] w = {1, 2}> {
  a = Neg(x)
  b = Add(a, w)
  c, m = Dropout(b)
  d = Mul(c, z)
  e = Exp(d)
  y = Sub(e, b)
})");
  const auto view = ViewGraph(model.graph, FactsOf(model));
  const auto nodes = NodesOf(view.get());
  const OrtNode* chosen[] = {nodes[3], nodes[1], nodes[2], nodes[4]};  // Mul Add Dropout Exp, in any order
  OrtGraph* part = nullptr;
  Must(Api().Graph_GetGraphView(view.get(), chosen, 4, &part));
  const char* name = nullptr;
  Must(Api().Graph_GetName(part, &name));
  EXPECT_STREQ(name, "sub_graph");
  EXPECT_EQ(Inputs(part), "a z") << "z is the third input of the graph";
  EXPECT_EQ(Outputs(part), "d b e") << "d is an output of the graph, b and e are read outside";
  EXPECT_EQ(Initializers(part), "w");
  auto inside = NodesOf(part);
  ASSERT_EQ(inside.size(), 4u);
  EXPECT_EQ(OpOf(inside[0]) + OpOf(inside[1]) + OpOf(inside[2]) + OpOf(inside[3]), "AddDropoutMulExp");
  size_t id = 0, id_there = 0;
  Must(Api().Node_GetId(inside[0], &id));
  Must(Api().Node_GetId(nodes[1], &id_there));
  EXPECT_EQ(id, id_there);
  const OrtValueInfo* a = InputsOf(inside[0])[0];
  EXPECT_EQ(KindsOf(a), "required");
  EXPECT_EQ(ProducerOf(a), "-:0") << "made outside";
  const OrtValueInfo* b = OutputsOf(inside[0])[0];
  EXPECT_EQ(KindsOf(b), "output");
  EXPECT_EQ(ConsumersOf(b), "Dropout:0") << "Sub is not in the part";
  OrtGraph* again = nullptr;
  Must(Api().Graph_GetGraphView(part, &inside[3], 1, &again));
  EXPECT_EQ(Inputs(again), "d");
  EXPECT_EQ(Outputs(again), "e");
  Api().ReleaseGraph(again);
  Api().ReleaseGraph(part);

  EXPECT_NE(MessageOf(Api().Graph_GetGraphView(view.get(), chosen, 0, &part)).find("'num_nodes'"), std::string::npos);
  const OrtNode* twice[] = {nodes[0], nodes[0]};
  EXPECT_NE(MessageOf(Api().Graph_GetGraphView(view.get(), twice, 2, &part)).find("twice"), std::string::npos);
  const Model stranger = Resolved(kChain);
  const auto other = ViewGraph(stranger.graph, nullptr);
  const OrtNode* foreign[] = {NodesOf(other.get())[0]};
  EXPECT_NE(MessageOf(Api().Graph_GetGraphView(view.get(), foreign, 1, &part)).find("not of the graph"),
            std::string::npos);
}

TEST(GraphView, SaysWhereExternalDataLie) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "graph_view_external";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "m.onnx").string();
  model::SaveOptions options;
  options.external_data_file = "weights.bin";
  options.external_data_min_bytes = 0;
  model::SaveFile(ParseModel(kChain), path, options);
  OrtExternalInitializerInfo* info = nullptr;
  for (const std::string& spelling : {path, std::filesystem::relative(path).string()}) {
    const Model model = model::LoadFile(spelling);
    const auto view = ViewGraph(model.graph, FactsOf(model));
    Must(Api().ValueInfo_GetExternalInitializerInfo(view->Find("w"), &info));
    ASSERT_NE(info, nullptr);
    EXPECT_STREQ(Api().ExternalInitializerInfo_GetFilePath(info), "weights.bin") << spelling;
    Api().ReleaseExternalInitializerInfo(info);
  }
  const Model model = model::LoadFile(path);
  const auto view = ViewGraph(model.graph, FactsOf(model));
  const OrtValueInfo* w = view->Find("w");
  ASSERT_NE(w, nullptr);
  Must(Api().ValueInfo_GetExternalInitializerInfo(w, &info));
  EXPECT_EQ(Api().ExternalInitializerInfo_GetFileOffset(info) % 64, 0);
  EXPECT_EQ(Api().ExternalInitializerInfo_GetByteSize(info), 12u);
  Api().ReleaseExternalInitializerInfo(info);
  EXPECT_EQ(FirstElement(w), 4);
  const char* where = nullptr;
  Must(Api().Graph_GetModelPath(view.get(), &where));
  EXPECT_EQ(where, path);
  std::filesystem::remove_all(folder);

  Must(Api().CreateExternalInitializerInfo("other.bin", 128, 64, &info));
  EXPECT_STREQ(Api().ExternalInitializerInfo_GetFilePath(info), "other.bin");
  EXPECT_EQ(Api().ExternalInitializerInfo_GetFileOffset(info), 128);
  EXPECT_EQ(Api().ExternalInitializerInfo_GetByteSize(info), 64u);
  Api().ReleaseExternalInitializerInfo(info);
  EXPECT_NE(MessageOf(Api().CreateExternalInitializerInfo(nullptr, 0, 1, &info)).find("'filepath'"), std::string::npos);
}

}  // namespace
}  // namespace sardonyx::capi
