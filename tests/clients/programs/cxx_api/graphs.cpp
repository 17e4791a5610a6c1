// tests/clients/programs/cxx_api/graphs.cpp - models made in memory: Graph, Node, ValueInfo, OpAttr, Model.
#include "report.h"

#if ORT_API_VERSION >= 23
namespace {

Ort::ValueInfo Floats(const std::string& name, const std::vector<int64_t>& shape) {
  const Ort::TensorTypeAndShapeInfo tensor(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, shape);
  const Ort::TypeInfo type = Ort::TypeInfo::CreateTensorInfo(tensor.GetConst());
  return Ort::ValueInfo(name, type.GetConst());
}

Ort::Value Constant(const std::vector<float>& data, const std::vector<int64_t>& shape) {
  Ort::AllocatorWithDefaultOptions allocator;
  Ort::Value value = Ort::Value::CreateTensor<float>(allocator, shape.data(), shape.size());
  std::copy(data.begin(), data.end(), value.GetTensorMutableData<float>());
  return value;
}

Ort::Graph MakeGraph() {
  Ort::Graph graph;
  std::vector<Ort::ValueInfo> inputs, outputs;
  inputs.push_back(Floats("x", {-1, 3}));
  outputs.push_back(Floats("y", {-1, 2}));
  Say("value", inputs[0].GetName(), inputs[0].GetConst().TypeInfo().GetTensorTypeAndShapeInfo().GetShape());
  graph.SetInputs(inputs);
  graph.SetOutputs(outputs);
  Ort::Value weights = Constant({1, 2, 3, 4, 5, 6}, {2, 3}), bias = Constant({0.5F, -0.5F}, {2});
  graph.AddInitializer("weights", weights, false);
  graph.AddInitializer("bias", bias, false);
  const int64_t transposed = 1;
  const float alpha = 2;
  std::vector<Ort::OpAttr> attributes;
  attributes.emplace_back("transB", &transposed, 1, ORT_OP_ATTR_INT);
  attributes.emplace_back("alpha", &alpha, 1, ORT_OP_ATTR_FLOAT);
  Ort::Node product("Gemm", "", "product", {"x", "weights", "bias"}, {"p"}, attributes);
  Ort::Node activation("Relu", "", "activation", {"p"}, {"y"});
  graph.AddNode(product);
  graph.AddNode(activation);
  return graph;
}

std::vector<float> Compute(Ort::Session& session) {
  std::vector<float> data{1, 2, 3};
  const Ort::Value input = Tensor(data, {1, 3});
  const char *in = "x", *out = "y";
  return Elements<float>(session.Run({}, &in, &input, 1, &out, 1)[0]);
}

void FromNothing() {
  Ort::Graph graph = MakeGraph();
  Ort::Model model({{"", 18}});
  model.AddGraph(graph);
  Ort::Session session(TheEnv(), model, Ort::SessionOptions{});
  Say("a model made in memory", Compute(session), session.GetOpset(""), session.GetInputNames(),
      session.GetInputTypeInfo(0).GetTensorTypeAndShapeInfo().GetShape());
}

void Augmented(const Places& places) {
  Ort::SessionOptions options;
  const std::string path = places.models + "/linear.onnx";
  Ort::Session session = Ort::Session::CreateModelEditorSession(TheEnv(), path.c_str(), options);
  Say("opset of the model", session.GetOpset(""));
  SayOutcome("run before it is made", [&] { Compute(session); });
  Ort::Graph graph;
  std::vector<Ort::ValueInfo> inputs = session.GetInputs(), outputs;
  outputs.push_back(Floats("absolute", {-1, 2}));
  graph.SetOutputs(outputs);
  Ort::Node node("Neg", "", "negation", {"y"}, {"absolute"});
  graph.AddNode(node);
  Ort::Model model({{"", session.GetOpset("")}});
  model.AddGraph(graph);
  session.FinalizeModelEditorSession(model, options);
  std::vector<float> data{1, 2, 3};
  const Ort::Value input = Tensor(data, {1, 3});
  const char *in = "x", *out = "absolute";
  Say("a model with a node more", Elements<float>(session.Run({}, &in, &input, 1, &out, 1)[0]), inputs.size());
}

void Wrong() {
  SayOutcome("a model with an unknown operator", [] {
    Ort::Graph graph;
    std::vector<Ort::ValueInfo> inputs, outputs;
    inputs.push_back(Floats("x", {1}));
    outputs.push_back(Floats("y", {1}));
    graph.SetInputs(inputs);
    graph.SetOutputs(outputs);
    Ort::Node node("Nobody", "", "nobody", {"x"}, {"y"});
    graph.AddNode(node);
    Ort::Model model({{"", 18}});
    model.AddGraph(graph);
    Ort::Session(TheEnv(), model, Ort::SessionOptions{});
  });
}

}  // namespace

void Graphs(const Places& places) {
  FromNothing();
  Augmented(places);
  Wrong();
  const Ort::ExternalInitializerInfo external("weights.bin", 16, 24);
  Say("bytes of a file", external.GetFilePath(), external.GetFileOffset(), external.GetByteSize(),
      external.GetConst().GetByteSize());
}
#else
void Graphs(const Places&) {}
#endif
