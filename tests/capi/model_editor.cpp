// tests/capi/model_editor.cpp - builds, augments and runs models with the model editor of the library given on the
// command line, and prints what comes of it.
//
// usage: capi_model_editor LIBRARY MODEL CHOICE
//   MODEL   y = Relu(x * w) with float x[N,4], w[4,3] and opset 17
//   CHOICE  z = If(c) { s + k } else { Neg(x) } with s = Exp(x), a constant k and opset 17
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "onnxruntime_c_api.h"

namespace {

const OrtApi* ort = nullptr;
const OrtModelEditorApi* editor = nullptr;
const OrtEnv* env = nullptr;
OrtMemoryInfo* host = nullptr;

void Must(OrtStatusPtr status) {
  if (status == nullptr) return;
  std::fprintf(stderr, "%s\n", ort->GetErrorMessage(status));
  std::exit(2);
}

// Both libraries refuse the same, with words and codes of their own.
bool Refused(OrtStatusPtr status, const char* what) {
  std::printf("%s: %s\n", what, status == nullptr ? "accepted" : "refused");
  if (status != nullptr) std::fprintf(stderr, "%s: %s\n", what, ort->GetErrorMessage(status));
  ort->ReleaseStatus(status);
  return status != nullptr;
}

struct Dimension {
  std::int64_t size;
  const char* symbol = "";
};

OrtTypeInfo* TensorType(ONNXTensorElementDataType element, const std::vector<Dimension>& dimensions) {
  OrtTensorTypeAndShapeInfo* tensor = nullptr;
  Must(ort->CreateTensorTypeAndShapeInfo(&tensor));
  Must(ort->SetTensorElementType(tensor, element));
  std::vector<std::int64_t> sizes;
  std::vector<const char*> symbols;
  for (const Dimension& dimension : dimensions) {
    sizes.push_back(dimension.size);
    symbols.push_back(dimension.symbol);
  }
  Must(ort->SetDimensions(tensor, sizes.data(), sizes.size()));
  Must(ort->SetSymbolicDimensions(tensor, symbols.data(), symbols.size()));
  OrtTypeInfo* type = nullptr;
  Must(editor->CreateTensorTypeInfo(tensor, &type));
  ort->ReleaseTensorTypeAndShapeInfo(tensor);
  return type;
}

OrtValueInfo* Declare(const char* name, const std::vector<Dimension>& dimensions,
                      ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
  OrtTypeInfo* type = TensorType(element, dimensions);
  OrtValueInfo* value = nullptr;
  Must(editor->CreateValueInfo(name, type, &value));
  ort->ReleaseTypeInfo(type);
  return value;
}

OrtNode* MakeNode(const char* op_type, const std::vector<const char*>& inputs, const std::vector<const char*>& outputs,
                  const char* name = "") {
  OrtNode* node = nullptr;
  Must(editor->CreateNode(op_type, "", name, inputs.data(), inputs.size(), outputs.data(), outputs.size(), nullptr, 0,
                          &node));
  return node;
}

template <typename T>
OrtValue* Copied(const std::vector<T>& numbers, const std::vector<std::int64_t>& shape,
                 ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
  OrtAllocator* allocator = nullptr;
  Must(ort->GetAllocatorWithDefaultOptions(&allocator));
  OrtValue* value = nullptr;
  Must(ort->CreateTensorAsOrtValue(allocator, shape.data(), shape.size(), element, &value));
  void* data = nullptr;
  Must(ort->GetTensorMutableData(value, &data));
  for (std::size_t i = 0; i < numbers.size(); ++i) static_cast<T*>(data)[i] = numbers[i];
  return value;
}

OrtValue* View(std::vector<float>& numbers, const std::vector<std::int64_t>& shape) {
  OrtValue* value = nullptr;
  Must(ort->CreateTensorWithDataAsOrtValue(host, numbers.data(), numbers.size() * sizeof(float), shape.data(),
                                           shape.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  return value;
}

OrtModel* ModelOf(OrtGraph* graph, int opset = 17) {
  const char* domain = "";
  OrtModel* model = nullptr;
  Must(editor->CreateModel(&domain, &opset, 1, &model));
  Must(editor->AddGraphToModel(model, graph));
  return model;
}

void Set(OrtGraph* graph, std::vector<OrtValueInfo*> inputs, std::vector<OrtValueInfo*> outputs) {
  if (!inputs.empty()) Must(editor->SetGraphInputs(graph, inputs.data(), inputs.size()));
  if (!outputs.empty()) Must(editor->SetGraphOutputs(graph, outputs.data(), outputs.size()));
  for (const OrtValueInfo* value : inputs) std::printf("input %s\n", value == nullptr ? "moved" : "kept");
  for (const OrtValueInfo* value : outputs) std::printf("output %s\n", value == nullptr ? "moved" : "kept");
}

OrtGraph* NewGraph() {
  OrtGraph* graph = nullptr;
  Must(editor->CreateGraph(&graph));
  return graph;
}

void PrintPorts(const OrtSession* session) {
  OrtAllocator* allocator = nullptr;
  Must(ort->GetAllocatorWithDefaultOptions(&allocator));
  size_t inputs = 0, outputs = 0;
  Must(ort->SessionGetInputCount(session, &inputs));
  Must(ort->SessionGetOutputCount(session, &outputs));
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const bool input = i < inputs;
    char* name = nullptr;
    OrtTypeInfo* type = nullptr;
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    Must(input ? ort->SessionGetInputName(session, i, allocator, &name)
               : ort->SessionGetOutputName(session, i - inputs, allocator, &name));
    Must(input ? ort->SessionGetInputTypeInfo(session, i, &type)
               : ort->SessionGetOutputTypeInfo(session, i - inputs, &type));
    Must(ort->CastTypeInfoToTensorInfo(type, &tensor));
    std::printf("%s %s:", input ? "in" : "out", name);
    size_t rank = 0;
    Must(ort->GetDimensionsCount(tensor, &rank));
    std::vector<std::int64_t> sizes(rank);
    std::vector<const char*> symbols(rank);
    Must(ort->GetDimensions(tensor, sizes.data(), rank));
    Must(ort->GetSymbolicDimensions(tensor, symbols.data(), rank));
    for (size_t d = 0; d < rank; ++d) std::printf(" %lld'%s'", static_cast<long long>(sizes[d]), symbols[d]);
    std::printf("\n");
    ort->ReleaseTypeInfo(type);
    Must(ort->AllocatorFree(allocator, name));
  }
}

void RunAndPrint(OrtSession* session, const std::vector<std::pair<const char*, OrtValue*>>& inputs,
                 const std::vector<const char*>& outputs) {
  std::vector<const char*> names;
  std::vector<const OrtValue*> values;
  for (const auto& [name, value] : inputs) {
    names.push_back(name);
    values.push_back(value);
  }
  std::vector<OrtValue*> results(outputs.size());
  Must(ort->Run(session, nullptr, names.data(), values.data(), names.size(), outputs.data(), outputs.size(),
                results.data()));
  for (std::size_t i = 0; i < results.size(); ++i) {
    OrtTensorTypeAndShapeInfo* info = nullptr;
    size_t count = 0;
    void* data = nullptr;
    Must(ort->GetTensorTypeAndShape(results[i], &info));
    Must(ort->GetTensorShapeElementCount(info, &count));
    Must(ort->GetTensorMutableData(results[i], &data));
    std::printf("%s =", outputs[i]);
    for (size_t k = 0; k < count; ++k) std::printf(" %.4f", static_cast<double>(static_cast<float*>(data)[k]));
    std::printf("\n");
    ort->ReleaseTensorTypeAndShapeInfo(info);
    ort->ReleaseValue(results[i]);
  }
  for (const auto& input : inputs) ort->ReleaseValue(input.second);
}

// Two layers, one with the caller's own weights; nodes against their order; an input that is missing.
void BuildPerceptron() {
  std::printf("-- perceptron\n");
  OrtGraph* graph = NewGraph();
  Must(editor->AddNodeToGraph(graph, MakeNode("Softmax", {"logits"}, {"y"}, "last")));
  Must(editor->AddNodeToGraph(graph, MakeNode("MatMul", {"hidden", "w2"}, {"logits"})));
  Must(editor->AddNodeToGraph(graph, MakeNode("Clip", {"sum", "", "most"}, {"hidden"})));
  Must(editor->AddNodeToGraph(graph, MakeNode("Add", {"product", "b1"}, {"sum"})));
  Must(editor->AddNodeToGraph(graph, MakeNode("MatMul", {"x", "w1"}, {"product"})));
  std::vector<float> first(4 * 16), second(16 * 3);
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = static_cast<float>(i % 7) / 4 - 1;
  for (std::size_t i = 0; i < second.size(); ++i) second[i] = static_cast<float>(i % 5) / 2 - 1;
  Must(editor->AddInitializerToGraph(graph, "w1", View(first, {4, 16}), false));
  Must(editor->AddInitializerToGraph(graph, "w2", View(second, {16, 3}), true));
  Must(editor->AddInitializerToGraph(graph, "b1", Copied<float>(std::vector<float>(16, 0.25f), {16}), false));
  Must(editor->AddInitializerToGraph(graph, "most", Copied<float>({2}, {}), false));
  Set(graph, {Declare("x", {{-1, "batch"}, {4}})}, {Declare("y", {{-1, "batch"}, {3}})});
  OrtModel* model = ModelOf(graph);
  OrtSession* session = nullptr;
  Must(editor->CreateSessionFromModel(env, model, nullptr, &session));
  OrtSession* again = nullptr;
  Must(editor->CreateSessionFromModel(env, model, nullptr, &again));  // the model stays the caller's
  ort->ReleaseSession(again);
  ort->ReleaseModel(model);
  std::fill(first.begin(), first.end(), 0.0f);  // was copied
  PrintPorts(session);
  RunAndPrint(session, {{"x", Copied<float>({1, 2, 3, 4, -1, 0, 1, 0.5f}, {2, 4})}}, {"y"});
  ort->ReleaseSession(session);
}

OrtSession* Open(const char* path, bool from_bytes) {
  OrtSession* session = nullptr;
  if (!from_bytes) {
    Must(editor->CreateModelEditorSession(env, path, nullptr, &session));
    return session;
  }
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Must(editor->CreateModelEditorSessionFromArray(env, bytes.data(), bytes.size(), nullptr, &session));
  return session;
}

// Reads the model's output, adds nodes behind it and an input, and names new outputs.
void AppendNodes(const char* path, bool from_bytes) {
  std::printf("-- append\n");
  OrtSession* session = Open(path, from_bytes);
  PrintPorts(session);
  int opset = 0;
  Must(editor->SessionGetOpsetForDomain(session, "", &opset));
  std::printf("opset %d\n", opset);
  Must(editor->SessionGetOpsetForDomain(session, "com.microsoft", &opset));
  std::printf("opset of com.microsoft %d\n", opset);
  Refused(editor->SessionGetOpsetForDomain(session, "nobody", &opset), "an unknown domain");
  OrtValue* nothing = nullptr;
  const char *in = "x", *out = "y";
  const OrtValue* x = Copied<float>({1, 2, 3, 4}, {1, 4});
  Refused(ort->Run(session, nullptr, &in, &x, 1, &out, 1, &nothing), "a run before the end of editing");
  ort->ReleaseValue(const_cast<OrtValue*>(x));

  OrtGraph* other = NewGraph();
  OrtModel* newer = ModelOf(other, 18);
  Refused(editor->ApplyModelToModelEditorSession(session, newer), "another opset");
  ort->ReleaseModel(newer);

  OrtGraph* graph = NewGraph();
  Must(editor->AddNodeToGraph(graph, MakeNode("Mul", {"y", "factor"}, {"scaled"})));
  Must(editor->AddNodeToGraph(graph, MakeNode("Add", {"scaled", "offset"}, {"z"})));
  Must(editor->AddInitializerToGraph(graph, "offset", Copied<float>({0.5f, 0.25f, 0.125f}, {3}), false));
  Set(graph, {Declare("x", {{-1, "N"}, {4}}), Declare("factor", {{1}})},
      {Declare("z", {{-1, "N"}, {3}}), Declare("y", {{-1, "N"}, {3}})});
  OrtModel* model = ModelOf(graph);
  Must(editor->ApplyModelToModelEditorSession(session, model));
  ort->ReleaseModel(model);
  PrintPorts(session);
  Must(editor->FinalizeModelEditorSession(session, nullptr, nullptr));
  PrintPorts(session);
  RunAndPrint(session, {{"x", Copied<float>({1, 2, 3, 4}, {1, 4})}, {"factor", Copied<float>({3}, {1})}}, {"z", "y"});

  OrtModel* late = ModelOf(NewGraph());
  Refused(editor->ApplyModelToModelEditorSession(session, late), "a change after the end of editing");
  ort->ReleaseModel(late);
  ort->ReleaseSession(session);
}

// The model keeps its inputs and outputs; its body reads what the editor leaves alone.
void AppendToChoice(const char* path) {
  std::printf("-- choice\n");
  OrtSession* session = Open(path, false);
  OrtGraph* graph = NewGraph();
  Must(editor->AddNodeToGraph(graph, MakeNode("Abs", {"z"}, {"positive"})));
  Must(editor->AddNodeToGraph(graph, MakeNode("Sub", {"positive", "s"}, {"difference"})));
  Set(graph, {}, {Declare("difference", {{2}}), Declare("z", {{2}})});
  OrtModel* model = ModelOf(graph);
  Must(editor->ApplyModelToModelEditorSession(session, model));
  ort->ReleaseModel(model);
  Must(editor->FinalizeModelEditorSession(session, nullptr, nullptr));
  PrintPorts(session);
  for (const bool choice : {true, false}) {
    RunAndPrint(session,
                {{"c", Copied<char>({static_cast<char>(choice)}, {}, ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL)},
                 {"x", Copied<float>({0.5f, -1}, {2})}},
                {"difference", "z"});
  }
  ort->ReleaseSession(session);
}

void ExpectRefusal(const char* what, OrtGraph* graph) {
  OrtModel* model = ModelOf(graph);
  OrtSession* session = nullptr;
  Refused(editor->CreateSessionFromModel(env, model, nullptr, &session), what);
  ort->ReleaseSession(session);
  ort->ReleaseModel(model);
}

void MakeMistakes() {
  std::printf("-- mistakes\n");
  OrtGraph* graph = NewGraph();
  OrtNode* node = MakeNode("Relu", {"x"}, {"y"});
  Must(editor->AddNodeToGraph(graph, node));
  Refused(editor->AddNodeToGraph(graph, node), "a node twice");
  OrtValueInfo* x = Declare("x", {{2}});
  OrtValueInfo* twice[] = {x, x};
  Refused(editor->SetGraphInputs(graph, twice, 2), "a value twice");
  OrtValueInfo* with_nothing[] = {nullptr};
  Refused(editor->SetGraphInputs(graph, with_nothing, 1), "no value");
  ort->ReleaseValueInfo(x);
  OrtValue* small = Copied<float>({1, 2}, {2});
  Refused(editor->AddInitializerToGraph(graph, "w", small, true), "a small external initializer");
  Refused(editor->AddInitializerToGraph(graph, "", small, false), "an initializer without a name");
  Must(editor->AddInitializerToGraph(graph, "w", small, false));
  OrtValue* other = Copied<float>({1, 2}, {2});
  Refused(editor->AddInitializerToGraph(graph, "w", other, false), "an initializer of the same name");
  ort->ReleaseValue(other);
  OrtTypeInfo* type = TensorType(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {{2}});
  OrtValueInfo* unnamed = nullptr;
  Refused(editor->CreateValueInfo("", type, &unnamed), "a value without a name");
  ort->ReleaseTypeInfo(type);
  ExpectRefusal("a node without its input", graph);

  graph = NewGraph();
  Must(editor->AddNodeToGraph(graph, MakeNode("Nonesuch", {"x"}, {"y"})));
  Set(graph, {Declare("x", {{2}})}, {Declare("y", {{2}})});
  ExpectRefusal("an unknown operator", graph);

  graph = NewGraph();
  Must(editor->AddNodeToGraph(graph, MakeNode("Add", {"x", "b"}, {"a"})));
  Must(editor->AddNodeToGraph(graph, MakeNode("Neg", {"a"}, {"b"})));
  Set(graph, {Declare("x", {{2}})}, {Declare("b", {{2}})});
  ExpectRefusal("a cycle", graph);

  const char* domain = "com.microsoft";
  const int version = 1;
  OrtModel* model = nullptr;
  OrtSession* session = nullptr;
  Must(editor->CreateModel(&domain, &version, 1, &model));
  Must(editor->AddGraphToModel(model, NewGraph()));
  OrtGraph* second = NewGraph();
  Refused(editor->AddGraphToModel(model, second), "a second graph");
  Refused(editor->CreateSessionFromModel(env, model, nullptr, &session), "a model without an opset of ai.onnx");
  ort->ReleaseModel(model);
  ort->ReleaseGraph(second);
  ort->ReleaseNode(MakeNode("Relu", {"x"}, {"y"}));
  ort->ReleaseGraph(nullptr);
  ort->ReleaseModel(nullptr);
  ort->ReleaseNode(nullptr);
  ort->ReleaseValueInfo(nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 1;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  const OrtApiBase* (*get_base)() = nullptr;
  if (library != nullptr) *reinterpret_cast<void**>(&get_base) = dlsym(library, "OrtGetApiBase");
  if (get_base == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  ort = get_base()->GetApi(ORT_API_VERSION);
  editor = ort->GetModelEditorApi();
  OrtEnv* own = nullptr;
  Must(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "model_editor", &own));
  env = own;
  Must(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &host));
  BuildPerceptron();
  AppendNodes(argv[2], false);
  AppendNodes(argv[2], true);
  AppendToChoice(argv[3]);
  MakeMistakes();
  ort->ReleaseMemoryInfo(host);
  ort->ReleaseEnv(own);
}
