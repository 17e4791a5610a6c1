// tests/providers/plugin/compiled_node.cpp - runs a group of elementwise nodes, one after the other.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <sstream>

#include "plugin.h"

namespace test_plugin {

std::int64_t CountOf(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  return count;
}

namespace {

struct CompiledNode : OrtNodeComputeInfo {
  CompiledNode() : OrtNodeComputeInfo{} { ++counts.compiled_nodes; }
  ~CompiledNode() { --counts.compiled_nodes; }
  std::vector<Step> steps;
  std::map<std::string, Array> constants;
  std::vector<std::string> inputs, outputs;
  bool repeats = false;
};

struct State {
  std::string node_name;
};

// The element of `array`, seen with the shape of the result, at position `at`.
float ElementAt(const Array& array, const std::vector<std::int64_t>& shape, std::int64_t at) {
  std::int64_t index = 0, stride = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t from_end = i + 1;
    const std::int64_t dim = shape[shape.size() - from_end];
    const std::int64_t here = at % dim;
    at /= dim;
    if (from_end > array.shape.size()) continue;
    const std::int64_t own = array.shape[array.shape.size() - from_end];
    if (own != 1) index += here * stride;
    stride *= own;
  }
  return array.data[static_cast<std::size_t>(index)];
}

using Function = std::function<float(float, float)>;
struct Operator {
  const char* name;
  int arity;
  Function function;
};
const Operator kOperators[] = {
    {"Add", 2, [](float a, float b) { return a + b; }},  {"Sub", 2, [](float a, float b) { return a - b; }},
    {"Mul", 2, [](float a, float b) { return a * b; }},  {"Relu", 1, [](float a, float) { return a > 0 ? a : 0; }},
    {"Neg", 1, [](float a, float) { return -a; }},       {"Sqrt", 1, [](float a, float) { return std::sqrt(a); }},
    {"Triple", 1, [](float a, float) { return 3 * a; }},
};

OrtStatus* NamesOf(const std::vector<const OrtValueInfo*>& infos, std::vector<std::string>& names) {
  for (const OrtValueInfo* info : infos) {
    const char* name = "";
    if (info != nullptr) TEST_PLUGIN_TRY(api->GetValueInfoName(info, &name));
    names.emplace_back(name);
  }
  return nullptr;
}

OrtStatus* CheckPool(const Step& step) {
  if (step.domain != kChannelsLast) return Failure(step.op_type + " of domain '" + step.domain + "' is compiled");
  const int wanted = step.op_type == "MaxPool" ? 12 : 1;  // of opset 17
  return step.version == wanted ? nullptr : Failure("version " + std::to_string(step.version) + " of " + step.op_type);
}

std::vector<std::int64_t> PoolShape(const Array& image, std::int64_t height, std::int64_t width) {
  return {image.shape[0], image.shape[1] / height, image.shape[2] / width, image.shape[3]};
}

// The largest elements of windows of an image [N, H, W, C].
void Pool(const Array& image, std::int64_t height, std::int64_t width, Array& result) {
  result.shape = PoolShape(image, height, width);
  const std::int64_t rows = result.shape[1], columns = result.shape[2], channels = result.shape[3];
  result.data.assign(static_cast<std::size_t>(CountOf(result.shape)), -INFINITY);
  for (std::int64_t at = 0; at < CountOf(image.shape); ++at) {
    const std::int64_t c = at % channels, x = at / channels % image.shape[2];
    const std::int64_t y = at / channels / image.shape[2] % image.shape[1];
    const std::int64_t n = at / channels / image.shape[2] / image.shape[1];
    if (y / height >= rows || x / width >= columns) continue;
    float& most = result.data[static_cast<std::size_t>(((n * rows + y / height) * columns + x / width) * channels + c)];
    most = std::max(most, image.data[static_cast<std::size_t>(at)]);
  }
}

OrtStatus* AddConstants(const OrtGraph* graph, CompiledNode& compiled);
OrtStatus* AddSteps(const OrtGraph* graph, std::vector<Step>& steps, CompiledNode& compiled);

OrtStatus* AddBranches(const OrtNode* node, Step& step, CompiledNode& compiled) {
  const OrtGraph* graphs[2] = {};
  const char* names[2] = {};
  TEST_PLUGIN_TRY(api->Node_GetSubgraphs(node, graphs, 2, names));
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t branch = std::strcmp(names[i], "then_branch") == 0 ? 0 : 1;
    TEST_PLUGIN_TRY(AddSteps(graphs[i], step.branches[branch], compiled));
    TEST_PLUGIN_TRY(AddConstants(graphs[i], compiled));
    const OrtValueInfo* output = nullptr;
    TEST_PLUGIN_TRY(api->Graph_GetOutputs(graphs[i], &output, 1));
    std::vector<std::string> made;
    TEST_PLUGIN_TRY(NamesOf({output}, made));
    step.results[branch] = made[0];
  }
  return nullptr;
}

OrtStatus* AddSteps(const OrtGraph* graph, std::vector<Step>& steps, CompiledNode& compiled) {
  std::size_t count = 0;
  TEST_PLUGIN_TRY(api->Graph_GetNumNodes(graph, &count));
  std::vector<const OrtNode*> nodes(count);
  TEST_PLUGIN_TRY(api->Graph_GetNodes(graph, nodes.data(), count));
  for (const OrtNode* node : nodes) {
    Step step;
    const char* op_type = nullptr;
    TEST_PLUGIN_TRY(api->Node_GetOperatorType(node, &op_type));
    step.op_type = op_type;
    const char* domain = nullptr;
    TEST_PLUGIN_TRY(api->Node_GetDomain(node, &domain));
    TEST_PLUGIN_TRY(api->Node_GetSinceVersion(node, &step.version));
    step.domain = domain;
    if (IsPool(op_type)) TEST_PLUGIN_TRY(CheckPool(step));
    std::size_t inputs = 0;
    TEST_PLUGIN_TRY(api->Node_GetNumInputs(node, &inputs));
    std::vector<const OrtValueInfo*> infos(inputs);
    TEST_PLUGIN_TRY(api->Node_GetInputs(node, infos.data(), inputs));
    TEST_PLUGIN_TRY(NamesOf(infos, step.inputs));
    const OrtValueInfo* output = nullptr;
    TEST_PLUGIN_TRY(api->Node_GetOutputs(node, &output, 1));
    std::vector<std::string> names;
    TEST_PLUGIN_TRY(NamesOf({output}, names));
    step.output = names[0];
    if (step.op_type == "If") TEST_PLUGIN_TRY(AddBranches(node, step, compiled));
    steps.push_back(std::move(step));
  }
  return nullptr;
}

OrtStatus* AddConstants(const OrtGraph* graph, CompiledNode& compiled) {
  std::size_t count = 0;
  TEST_PLUGIN_TRY(api->Graph_GetNumInitializers(graph, &count));
  std::vector<const OrtValueInfo*> infos(count);
  TEST_PLUGIN_TRY(api->Graph_GetInitializers(graph, infos.data(), count));
  std::vector<std::string> names;
  TEST_PLUGIN_TRY(NamesOf(infos, names));
  for (std::size_t i = 0; i < count; ++i) {
    const OrtValue* value = nullptr;
    TEST_PLUGIN_TRY(api->ValueInfo_GetInitializerValue(infos[i], &value));
    TEST_PLUGIN_TRY(ReadTensor(value, compiled.constants[names[i]]));
  }
  return nullptr;
}

OrtStatus* ORT_API_CALL CreateState(OrtNodeComputeInfo* /*self*/, OrtNodeComputeContext* context, void** state) {
  TEST_PLUGIN_TRY(Fault("CreateState"));
  *state = new State{ep_api->NodeComputeContext_NodeName(context)};
  ++counts.states;
  return nullptr;
}

void ORT_API_CALL ReleaseState(OrtNodeComputeInfo* /*self*/, void* state) {
  if (state != nullptr) --counts.states;
  delete static_cast<State*>(state);
}

// What a tensor of the run is, for work that is done later.
struct Place {
  std::vector<std::int64_t> shape;
  float* data = nullptr;
  bool is_bool = false;  // the condition of an If
  std::vector<float> Read() const {
    const auto count = CountOf(shape);
    const bool* flags = reinterpret_cast<const bool*>(data);
    return is_bool ? std::vector<float>(flags, flags + count) : std::vector<float>(data, data + count);
  }
};

OrtStatus* PlaceOf(const OrtValue* value, Place& place) {
  TEST_PLUGIN_TRY(ReadShape(value, place.shape));
  const void* data = nullptr;
  TEST_PLUGIN_TRY(api->GetTensorData(value, &data));
  place.data = static_cast<float*>(const_cast<void*>(data));
  OrtTensorTypeAndShapeInfo* info = nullptr;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  TEST_PLUGIN_TRY(api->GetTensorTypeAndShape(value, &info));
  OrtStatus* status = api->GetTensorElementType(info, &type);
  api->ReleaseTensorTypeAndShapeInfo(info);
  place.is_bool = type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;
  return status;
}

using Places = std::map<std::string, Place>;
using Values = std::map<std::string, Array>;

const Array& Find(const CompiledNode& node, const Values& values, const std::string& name) {
  const auto found = values.find(name);
  return found != values.end() ? found->second : node.constants.at(name);
}

OrtStatus* RunSteps(const CompiledNode& node, const std::vector<Step>& steps, Values& values) {
  for (const Step& step : steps) {
    if (step.op_type == "If") {
      const std::size_t branch = Find(node, values, step.inputs[0]).data[0] != 0 ? 0 : 1;
      TEST_PLUGIN_TRY(RunSteps(node, step.branches[branch], values));
      values[step.output] = Find(node, values, step.results[branch]);
      continue;
    }
    std::vector<const Array*> inputs;
    for (const std::string& name : step.inputs) inputs.push_back(&Find(node, values, name));
    TEST_PLUGIN_TRY(Compute(step.op_type, inputs, values[step.output]));
  }
  return nullptr;
}

// The shapes of all values, without data. Both branches of an If give the same.
OrtStatus* ShapesOf(const CompiledNode& node, const std::vector<Step>& steps, Values& values) {
  for (const Step& step : steps) {
    if (step.op_type == "If") {
      TEST_PLUGIN_TRY(ShapesOf(node, step.branches[0], values));
      values[step.output].shape = Find(node, values, step.results[0]).shape;
      continue;
    }
    std::vector<const Array*> inputs;
    for (const std::string& name : step.inputs) inputs.push_back(&Find(node, values, name));
    std::vector<std::int64_t>& shape = values[step.output].shape;
    if (IsPool(step.op_type.c_str())) {
      const bool global = step.op_type == "GlobalMaxPool";
      shape = PoolShape(*inputs[0], global ? inputs[0]->shape[1] : 2, global ? inputs[0]->shape[2] : 2);
    } else {
      TEST_PLUGIN_TRY(BroadcastShape(step.op_type, inputs, shape));
    }
  }
  return nullptr;
}

OrtStatus* ORT_API_CALL ComputeNode(OrtNodeComputeInfo* self, void* /*state*/, OrtKernelContext* context) {
  TEST_PLUGIN_TRY(Fault("Compute"));
  const auto& node = *static_cast<const CompiledNode*>(self);
  OrtSyncStream* stream = nullptr;
  TEST_PLUGIN_TRY(StreamOf(context, &stream));
  Places from, to;
  std::size_t count = 0;
  TEST_PLUGIN_TRY(api->KernelContext_GetInputCount(context, &count));
  if (count != node.inputs.size())
    return Failure("expected " + std::to_string(node.inputs.size()) + " inputs, found " + std::to_string(count));
  for (std::size_t i = 0; i < count; ++i) {
    const OrtValue* value = nullptr;
    TEST_PLUGIN_TRY(api->KernelContext_GetInput(context, i, &value));
    TEST_PLUGIN_TRY(PlaceOf(value, from[node.inputs[i]]));
  }
  Values shapes;
  for (const auto& [name, place] : from) shapes[name].shape = place.shape;
  TEST_PLUGIN_TRY(ShapesOf(node, node.steps, shapes));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    Array result{shapes.at(node.outputs[i]).shape, {}};
    if (node.repeats) Repeat(result);
    const std::vector<std::int64_t>& shape = result.shape;
    OrtValue* value = nullptr;
    TEST_PLUGIN_TRY(api->KernelContext_GetOutput(context, i, shape.data(), shape.size(), &value));
    if (value != nullptr) TEST_PLUGIN_TRY(PlaceOf(value, to[node.outputs[i]]));
  }
  Do(stream, [&node, from, to] {
    const OpenDevice open;
    Values values;
    for (const auto& [name, place] : from) values[name] = {place.shape, place.Read()};
    if (OrtStatus* failed = RunSteps(node, node.steps, values))
      return api->ReleaseStatus(failed);  // shapes fit: it has none
    for (const auto& [name, place] : to) {
      if (node.repeats) Repeat(values[name]);
      std::copy(values[name].data.begin(), values[name].data.end(), place.data);
    }
  });
  return nullptr;
}

std::unique_ptr<CompiledNode> NewCompiled() {
  auto node = std::make_unique<CompiledNode>();
  node->ort_version_supported = Version();
  node->CreateState = CreateState;
  node->Compute = ComputeNode;
  node->ReleaseState = ReleaseState;
  return node;
}

}  // namespace

bool IsPool(const char* op_type) {
  return std::strcmp(op_type, "MaxPool") == 0 || std::strcmp(op_type, "GlobalMaxPool") == 0;
}

bool IsSupported(const char* domain, const char* op_type) {
  const bool channels_last = std::strcmp(domain, kChannelsLast) == 0;
  if (IsPool(op_type)) return channels_last || *domain == '\0';
  if (*domain != '\0' && std::strcmp(domain, kDomain) != 0) return false;
  return std::any_of(std::begin(kOperators), std::end(kOperators),
                     [&](const Operator& op) { return std::strcmp(op.name, op_type) == 0; });
}

OrtStatus* BroadcastShape(const std::string& op_type, const std::vector<const Array*>& inputs,
                          std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> made = inputs[0]->shape;
  for (const Array* input : inputs) {
    if (input->shape.size() > made.size()) made.insert(made.begin(), input->shape.size() - made.size(), 1);
    for (std::size_t i = 1; i <= input->shape.size(); ++i) {
      std::int64_t& dim = made[made.size() - i];
      const std::int64_t own = input->shape[input->shape.size() - i];
      if (dim == 1) dim = own;
      if (own != dim && own != 1) return Failure(op_type + ": shapes do not fit");
    }
  }
  shape = made;
  return nullptr;
}

OrtStatus* Compute(const std::string& op_type, const std::vector<const Array*>& inputs, Array& result) {
  if (IsPool(op_type.c_str())) {
    const Array& image = *inputs[0];
    if (image.shape.size() != 4) return Failure(op_type + ": expected an image");
    const bool global = op_type == "GlobalMaxPool";
    Pool(image, global ? image.shape[1] : 2, global ? image.shape[2] : 2, result);
    return nullptr;
  }
  for (const Operator& op : kOperators) {
    if (op_type != op.name) continue;
    TEST_PLUGIN_TRY(BroadcastShape(op_type, inputs, result.shape));
    result.data.resize(static_cast<std::size_t>(CountOf(result.shape)));
    for (std::size_t i = 0; i < result.data.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      result.data[i] = op.function(ElementAt(*inputs[0], result.shape, at),
                                   op.arity == 2 ? ElementAt(*inputs[1], result.shape, at) : 0);
    }
    return nullptr;
  }
  return Failure("unknown operator " + op_type);
}

OrtStatus* ReadShape(const OrtValue* value, std::vector<std::int64_t>& shape) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  TEST_PLUGIN_TRY(api->GetTensorTypeAndShape(value, &info));
  std::size_t rank = 0;
  OrtStatus* status = api->GetDimensionsCount(info, &rank);
  shape.resize(rank);
  if (status == nullptr) status = api->GetDimensions(info, shape.data(), rank);
  api->ReleaseTensorTypeAndShapeInfo(info);
  return status;
}

OrtStatus* ReadTensor(const OrtValue* value, Array& array) {
  TEST_PLUGIN_TRY(ReadShape(value, array.shape));
  const void* data = nullptr;
  TEST_PLUGIN_TRY(api->GetTensorData(value, &data));
  array.data.resize(static_cast<std::size_t>(CountOf(array.shape)));
  if (!array.data.empty()) std::memcpy(array.data.data(), data, array.data.size() * sizeof(float));
  return nullptr;
}

OrtStatus* WriteTensor(OrtValue* value, const Array& array) {
  void* data = nullptr;
  TEST_PLUGIN_TRY(api->GetTensorMutableData(value, &data));
  if (!array.data.empty()) std::memcpy(data, array.data.data(), array.data.size() * sizeof(float));
  return nullptr;
}

void Repeat(Array& array) {
  array.data.insert(array.data.end(), array.data.begin(), array.data.begin() + static_cast<long>(array.data.size()));
  if (!array.shape.empty()) array.shape[0] *= 2;
}

OrtStatus* CompileGraph(const OrtGraph* graph, bool repeats, OrtNodeComputeInfo** info) {
  auto node = NewCompiled();
  node->repeats = repeats;
  TEST_PLUGIN_TRY(AddSteps(graph, node->steps, *node));
  TEST_PLUGIN_TRY(AddConstants(graph, *node));
  std::size_t count = 0;
  TEST_PLUGIN_TRY(api->Graph_GetNumInputs(graph, &count));
  std::vector<const OrtValueInfo*> infos(count);
  TEST_PLUGIN_TRY(api->Graph_GetInputs(graph, infos.data(), count));
  TEST_PLUGIN_TRY(NamesOf(infos, node->inputs));
  TEST_PLUGIN_TRY(api->Graph_GetNumOutputs(graph, &count));
  infos.assign(count, nullptr);
  TEST_PLUGIN_TRY(api->Graph_GetOutputs(graph, infos.data(), count));
  TEST_PLUGIN_TRY(NamesOf(infos, node->outputs));
  *info = node.release();
  return nullptr;
}

std::string Save(const OrtNodeComputeInfo* info) {
  const auto& node = *static_cast<const CompiledNode*>(info);
  std::ostringstream text;
  const auto names = [&](const std::vector<std::string>& list) {
    text << list.size() << '\n';
    for (const std::string& name : list) text << name << '\n';
  };
  text << "SdxTestContext\n" << node.steps.size() << '\n';
  for (const Step& step : node.steps) {
    names({step.op_type, step.output});
    names(step.inputs);
  }
  text << node.constants.size() << '\n' << std::hexfloat;
  for (const auto& [name, array] : node.constants) {
    text << name << '\n' << array.shape.size() << '\n';
    for (const std::int64_t dim : array.shape) text << dim << '\n';
    for (const float element : array.data) text << element << '\n';
  }
  names(node.inputs);
  names(node.outputs);
  return text.str();
}

OrtStatus* Load(const std::string& text, OrtNodeComputeInfo** info) {
  std::istringstream lines(text);
  std::string line;
  const auto next = [&] { return std::getline(lines, line) ? line : std::string(); };
  const auto number = [&] { return static_cast<std::size_t>(std::strtoull(next().c_str(), nullptr, 10)); };
  const auto names = [&] {
    std::vector<std::string> list(number());
    for (std::string& name : list) name = next();
    return list;
  };
  if (next() != "SdxTestContext") return Failure("not a compiled node");
  auto node = NewCompiled();
  node->steps.resize(number());
  for (Step& step : node->steps) {
    const std::vector<std::string> named = names();
    step.op_type = named[0];
    step.output = named[1];
    step.inputs = names();
  }
  for (std::size_t left = number(); left != 0; --left) {
    Array& array = node->constants[next()];
    array.shape.resize(number());
    for (std::int64_t& dim : array.shape) dim = static_cast<std::int64_t>(number());
    array.data.resize(static_cast<std::size_t>(CountOf(array.shape)));
    for (float& element : array.data) element = std::strtof(next().c_str(), nullptr);
  }
  node->inputs = names();
  node->outputs = names();
  *info = node.release();
  return nullptr;
}

void ReleaseCompiled(OrtNodeComputeInfo* info) { delete static_cast<CompiledNode*>(info); }

}  // namespace test_plugin
