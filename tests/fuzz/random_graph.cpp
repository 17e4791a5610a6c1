// tests/fuzz/random_graph.cpp - grows a graph node by node. Each node is computed at once, and kept if that succeeds.
#include "fuzz/random_graph.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <unordered_map>

#include "base/error.h"
#include "fuzz/random_nodes.h"
#include "ops/evaluate.h"
#include "ops/schema/schema.h"

namespace sardonyx::fuzz {

GraphGrower::GraphGrower(ByteSource& bytes, const ops::Registry& registry)
    : bytes_(bytes), registry_(registry), random_(static_cast<std::uint32_t>(bytes.Below(65536))) {
  constexpr int kOpsets[] = {13, 17, 18, 20, 21, 23, 24};
  opset_ = kOpsets[bytes.Below(std::size(kOpsets))];
  graph_.name = "fuzzed";
  graph_.opset_imports = {{"", opset_}, {"com.microsoft", 1}};
}

Tensor GraphGrower::Floats(const Shape& shape) {
  Tensor tensor(DType::kFloat, shape);
  for (float& x : tensor.span<float>()) x = static_cast<float>(random_() % 33) / 8 - 2;
  return tensor;
}

ValueId GraphGrower::AddInput() {
  Shape shape;
  const std::size_t rank = 1 + bytes_.Below(4);
  for (std::size_t i = 0; i < rank; ++i) shape.Append(1 + static_cast<std::int64_t>(bytes_.Below(6)));
  return AddInput(Floats(shape), bytes_.Byte());
}

ValueId GraphGrower::AddInput(Tensor tensor, std::uint8_t symbolic) {
  const Shape& shape = tensor.shape();
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < shape.rank(); ++i)
    dims.push_back((symbolic >> i & 1) != 0 ? Dim::Symbol("d" + std::to_string(shape[i])) : Dim(shape[i]));
  const ValueId id = graph_.AddInput("x" + std::to_string(graph_.inputs.size()), Type::TensorOf(tensor.dtype(), dims));
  values_[id] = std::move(tensor);
  pool_.push_back(id);
  return id;
}

ValueId GraphGrower::Constant(Tensor tensor) {
  const ValueId id = graph_.AddConstant("c", tensor);
  values_[id] = std::move(tensor);
  return id;
}

ValueId GraphGrower::Ints(const std::vector<std::int64_t>& elements) {
  return Constant(Tensor::Vector<std::int64_t>(elements));
}

std::optional<ValueId> GraphGrower::Take(DType dtype, std::size_t least_rank) {
  std::vector<ValueId> fitting;
  for (const ValueId id : pool_) {
    const Value& value = values_.at(id);
    if (value.is_tensor() && value.tensor().dtype() == dtype && value.tensor().shape().rank() >= least_rank)
      fitting.push_back(id);
  }
  if (fitting.empty()) return std::nullopt;
  // The newest ones first, so that chains grow.
  const std::size_t back = bytes_.Below(fitting.size() * 2);
  return fitting[fitting.size() - 1 - (back < fitting.size() ? back : 0)];
}

ValueId GraphGrower::Add(std::string_view op_type, std::vector<ValueId> inputs, std::vector<Attribute> attributes,
                         std::size_t outputs) {
  Node node;
  node.op_type = op_type;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  Insert(node, std::vector<ValueId>(outputs, 0));
  return node.outputs.front();
}

namespace {

bool HasNaN(const Value& value) {
  if (!value.is_tensor() || value.tensor().dtype() != DType::kFloat) return false;
  const auto all = value.tensor().span<float>();
  return std::any_of(all.begin(), all.end(), [](float x) { return std::isnan(x); });
}

}  // namespace

// What a session checks of a node's author before it runs it, and an evaluation of one node does not.
void GraphGrower::CheckInputs(const Node& node, const ops::OpSchema& schema) const {
  const auto count = static_cast<std::int64_t>(node.inputs.size());
  if (count < schema.min_inputs || count > schema.max_inputs) Fail(Code::kInvalidGraph, "not so many inputs");
  std::unordered_map<int, DType> bound;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ops::FormalParam& param = *schema.Input(i);
    if (node.inputs[i] == kNoValue) {
      if (param.option != ops::ParamOption::kOptional) Fail(Code::kInvalidGraph, "a missing input");
      continue;
    }
    const Value& value = values_.at(node.inputs[i]);
    if (!value.is_tensor()) continue;
    const DType dtype = value.tensor().dtype();
    if (!param.types().Contains(dtype)) Fail(Code::kInvalidGraph, "another type");
    if (param.constraint < 0 || (param.option == ops::ParamOption::kVariadic && !param.homogeneous)) continue;
    if (bound.emplace(param.constraint, dtype).first->second != dtype) Fail(Code::kInvalidGraph, "mixed types");
  }
}

void GraphGrower::Insert(Node& node, const std::vector<ValueId>& wanted) {
  constexpr std::int64_t kMostElements = 4096;
  const ops::OpSchema* schema = ops::FindSchema(node.domain, node.op_type, node.domain.empty() ? opset_ : 1);
  if (schema == nullptr) Fail(Code::kInvalidGraph, "not in this opset");
  for (const Attribute& attribute : node.attributes)
    if (schema->FindAttribute(attribute.name) == nullptr) Fail(Code::kInvalidGraph, "not in this opset");
  CheckInputs(node, *schema);
  node.since_version = schema->since_version;
  for (const ValueId id : wanted) node.outputs.push_back(id == kNoValue ? kNoValue : graph_.AddValue(""));
  std::vector<Value> arguments;
  for (const ValueId id : node.inputs) arguments.push_back(id == kNoValue ? Value() : values_.at(id));
  const std::vector<Value> results = ops::EvaluateNode(graph_, node, registry_, arguments);
  for (const Value& value : results)
    if (value.is_tensor() && value.tensor().count() > kMostElements) Fail(Code::kInvalidGraph, "too large");
  // Nothing says what NaN is as an integer.
  if (node.op_type == "QuantizeLinear" && HasNaN(arguments[0])) Fail(Code::kInvalidGraph, "no number");
  // Nothing says what -1 stands for where there are no elements.
  if (node.op_type == "Reshape" && results[0].tensor().count() == 0) Fail(Code::kInvalidGraph, "ambiguous");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (node.outputs[i] == kNoValue) continue;
    values_[node.outputs[i]] = results[i];
    fresh_.push_back(node.outputs[i]);
  }
  graph_.AddNode(node);
}

void GraphGrower::Grow() {
  for (std::size_t i = 1 + bytes_.Below(3); i > 0; --i) AddInput();
  constexpr std::size_t kMostNodes = 40;
  for (int attempt = 0; attempt < 40 && graph_.order.size() < kMostNodes && !bytes_.done(); ++attempt) {
    fresh_.clear();
    try {
      AddSome();
    } catch (const Error&) {
      // What was added before the failure stays: it is valid, and becomes an output if nobody reads it.
    }
    pool_.insert(pool_.end(), fresh_.begin(), fresh_.end());
  }
}

RandomGraph GraphGrower::Finish() {
  RandomGraph made;
  made.model = std::make_shared<Model>();
  for (const ValueId id : graph_.inputs) made.inputs.emplace_back(graph_.value(id).name, values_.at(id));
  for (const NodeId node : graph_.order) {
    for (const ValueId id : graph_.node(node).outputs) {
      if (id == kNoValue) continue;
      const bool wanted = graph_.value(id).consumers.empty() || bytes_.Below(8) == 1;
      if (wanted && values_.at(id).is_tensor()) graph_.AddOutput(id);
    }
  }
  for (const ValueId id : graph_.outputs) {
    made.outputs.push_back(graph_.value(id).name);
    made.results.push_back(values_.at(id));
  }
  made.model->ir_version = 10;
  made.model->opset_imports = graph_.opset_imports;
  made.model->graph = std::move(graph_);
  made.seed = random_();
  made.discontinuous = discontinuous_;
  return made;
}

RandomGraph MakeRandomGraph(ByteSource bytes, const ops::Registry& registry) {
  GraphGrower grower(bytes, registry);
  grower.Grow();
  return grower.Finish();
}

namespace {

// A rounding of the type and a little more.
template <typename T>
void Disturb(Tensor& tensor, float relative, std::mt19937& random) {
  float largest = 0;
  for (const T x : tensor.span<T>())
    if (std::isfinite(static_cast<float>(x))) largest = std::max(largest, std::abs(static_cast<float>(x)));
  for (T& x : tensor.span<T>()) {
    const float number = static_cast<float>(x);
    const float unit = static_cast<float>(static_cast<std::int32_t>(random() % 2001) - 1000) / 1000;
    if (std::isfinite(number)) x = T(number + unit * relative * (std::abs(number) + 0.2F * largest));
  }
}

Value Disturbed(const Value& value, std::mt19937& random) {
  if (!value.is_tensor()) return value;
  const DType dtype = value.tensor().dtype();
  if (dtype != DType::kFloat && dtype != DType::kFloat16) return value;
  Tensor tensor = value.tensor().Clone();
  if (dtype == DType::kFloat) Disturb<float>(tensor, 1e-6F, random);
  if (dtype == DType::kFloat16) Disturb<Half>(tensor, 1e-3F, random);
  return tensor;
}

// Biases of integer products are rounded to steps of both scales' product, as ONNX Runtime does it: half a step.
void DisturbBias(const Graph& graph, const Node& node, std::vector<Value>& arguments,
                 const std::function<Value(ValueId)>& get, std::mt19937& random) {
  const bool has_bias = (node.op_type == "Conv" || node.op_type == "Gemm") && node.domain.empty() &&
                        node.inputs.size() > 2 && node.inputs[2] != kNoValue;
  double step = 1;
  for (const std::size_t i : {0U, 1U}) {
    const NodeId maker = has_bias ? graph.value(node.inputs[i]).producer : kNoNode;
    if (maker == kNoNode || graph.node(maker).op_type != "DequantizeLinear") return;
    const Tensor scales = get(graph.node(maker).inputs[1]).tensor();
    const auto all = scales.span<float>();
    step *= all.empty() ? 0 : static_cast<double>(*std::max_element(all.begin(), all.end()));
  }
  Tensor bias = arguments[2].tensor().Clone();
  for (float& x : bias.span<float>())
    x += static_cast<float>(step * (static_cast<double>(random() % 1001) / 1000 - 0.5));
  arguments[2] = std::move(bias);
}

// Whether `node` looks for NaN in probabilities whose scores had NaN or infinity, not just masked keys. Fused attention
// leaves such rows NaN that a guard makes zeros (docs/optimizer.md).
bool GuardsOverflow(const Graph& graph, const Node& node, const std::function<Value(ValueId)>& get) {
  if (node.op_type != "IsNaN") return false;
  const NodeId maker = graph.value(node.inputs[0]).producer;
  if (maker == kNoNode || graph.node(maker).op_type != "Softmax") return false;
  const Tensor scores = get(graph.node(maker).inputs[0]).tensor();
  const auto overflowed = [](auto x) { return !(static_cast<float>(x) < HUGE_VALF); };
  if (scores.dtype() == DType::kFloat) return std::ranges::any_of(scores.span<float>(), overflowed);
  return scores.dtype() == DType::kFloat16 && std::ranges::any_of(scores.span<Half>(), overflowed);
}

bool DecidesShapes(const Graph& graph, ValueId id) {
  const auto& readers = graph.value(id).consumers;
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    const Node& node = graph.node(reader);
    return (node.op_type == "Resize" && node.inputs[0] != id) || node.op_type == "Range";
  });
}

}  // namespace

std::vector<Value> RunWithNoise(const RandomGraph& made, const ops::Registry& registry, unsigned seed) {
  std::mt19937 random(seed);
  const Graph& graph = made.model->graph;
  std::unordered_map<ValueId, Value> values;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    values[graph.inputs[i]] = Disturbed(made.inputs[i].second, random);
  const auto get = [&](ValueId id) -> Value {
    if (id == kNoValue) return {};
    const auto found = values.find(id);
    if (found != values.end()) return found->second;
    const Tensor* constant = graph.value(id).constant();
    if (constant == nullptr) return {};
    return values[id] = DecidesShapes(graph, id) ? Value(*constant) : Disturbed(Value(*constant), random);
  };
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    std::vector<Value> arguments;
    for (const ValueId input : node.inputs) arguments.push_back(get(input));
    DisturbBias(graph, node, arguments, get, random);
    const std::vector<Value> results = ops::EvaluateNode(graph, node, registry, arguments);
    for (std::size_t i = 0; i < results.size(); ++i) values[node.outputs[i]] = Disturbed(results[i], random);
    if (GuardsOverflow(graph, node, get) && random() % 4 == 0)
      for (bool& x : values[node.outputs[0]].tensor().span<bool>()) x = false;
    // Numbers that roundings make equal, or keep from it, are met by no noise.
    if (node.op_type == "Equal" && random() % 4 == 0)
      for (bool& x : values[node.outputs[0]].tensor().span<bool>()) x = random() % 2 == 0;
  }
  std::vector<Value> outputs;
  for (const ValueId id : graph.outputs) outputs.push_back(get(id));
  return outputs;
}

}  // namespace sardonyx::fuzz
