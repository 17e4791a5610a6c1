// tests/fuzz/random_graph.cpp - grows a graph node by node; each is computed at once, and kept if that worked.
#include "fuzz/random_graph.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <unordered_map>

#include "base/error.h"
#include "fuzz/random_nodes.h"
#include "ops/evaluate.h"
#include "ops/schema.h"

namespace sardonyx::fuzz {

GraphGrower::GraphGrower(ByteSource& bytes, const ops::Registry& registry)
    : bytes_(bytes), registry_(registry), random_(static_cast<std::uint32_t>(bytes.Below(65536))) {
  constexpr int kOpsets[] = {13, 17, 18, 20, 21, 23, 24};
  opset_ = kOpsets[bytes.Below(std::size(kOpsets))];
  graph_.name = "fuzzed";
  graph_.opset_imports = {{"", opset_}};
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
  std::vector<Dim> dims;
  const std::uint8_t symbolic = bytes_.Byte();
  for (std::size_t i = 0; i < rank; ++i)
    dims.push_back((symbolic >> i & 1) != 0 ? Dim::Symbol("d" + std::to_string(shape[i])) : Dim(shape[i]));
  const ValueId id = graph_.AddInput("x" + std::to_string(graph_.inputs.size()), Type::TensorOf(DType::kFloat, dims));
  values_[id] = Floats(shape);
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
  constexpr std::int64_t kMostElements = 4096;
  const ops::OpSchema* schema = ops::FindSchema("", op_type, opset_);
  if (schema == nullptr) Fail(Code::kInvalidGraph, "not in this opset");
  for (const Attribute& attribute : attributes)
    if (schema->FindAttribute(attribute.name) == nullptr) Fail(Code::kInvalidGraph, "not in this opset");
  Node node;
  node.op_type = op_type;
  node.since_version = schema->since_version;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  for (std::size_t i = 0; i < outputs; ++i) node.outputs.push_back(graph_.AddValue(""));
  std::vector<Value> arguments;
  for (const ValueId id : node.inputs) arguments.push_back(id == kNoValue ? Value() : values_.at(id));
  const std::vector<Value> results = ops::EvaluateNode(graph_, node, registry_, arguments);
  for (const Value& value : results)
    if (value.is_tensor() && value.tensor().count() > kMostElements) Fail(Code::kInvalidGraph, "too large");
  const ValueId first = node.outputs.front();
  for (std::size_t i = 0; i < outputs; ++i) {
    values_[node.outputs[i]] = results[i];
    fresh_.push_back(node.outputs[i]);
  }
  graph_.AddNode(std::move(node));
  return first;
}

void GraphGrower::Grow() {
  for (std::size_t i = 1 + bytes_.Below(3); i > 0; --i) AddInput();
  constexpr std::size_t kMostNodes = 20;
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
  made.discontinuous = discontinuous_;
  return made;
}

RandomGraph MakeRandomGraph(ByteSource bytes, const ops::Registry& registry) {
  GraphGrower grower(bytes, registry);
  grower.Grow();
  return grower.Finish();
}

namespace {

Value Disturbed(const Value& value, std::mt19937& random) {
  if (!value.is_tensor() || value.tensor().dtype() != DType::kFloat) return value;
  Tensor tensor = value.tensor().Clone();
  float largest = 0;
  for (const float x : tensor.span<float>())
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  for (float& x : tensor.span<float>()) {
    const float unit = static_cast<float>(static_cast<std::int32_t>(random() % 2001) - 1000) / 1000;
    if (std::isfinite(x)) x += unit * (1e-6F * std::abs(x) + 2e-7F * largest);
  }
  return tensor;
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
    return values[id] = constant == nullptr ? Value() : Disturbed(Value(*constant), random);
  };
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    std::vector<Value> arguments;
    for (const ValueId input : node.inputs) arguments.push_back(get(input));
    const std::vector<Value> results = ops::EvaluateNode(graph, node, registry, arguments);
    for (std::size_t i = 0; i < results.size(); ++i) values[node.outputs[i]] = Disturbed(results[i], random);
  }
  std::vector<Value> outputs;
  for (const ValueId id : graph.outputs) outputs.push_back(get(id));
  return outputs;
}

}  // namespace sardonyx::fuzz
