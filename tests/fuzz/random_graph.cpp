// tests/fuzz/random_graph.cpp - grows a graph node by node. Each node is computed at once, and kept if that succeeds.
#include "fuzz/random_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

namespace {

// One of so many inputs has special numbers: mostly one of them, in some places or in all.
constexpr unsigned kSpecialInputs = 6;

void AddSpecialNumbers(Tensor& tensor, std::mt19937& random) {
  constexpr float kNumbers[] = {std::numeric_limits<float>::quiet_NaN(),
                                HUGE_VALF,
                                -HUGE_VALF,
                                0.0F,
                                -0.0F,
                                1e19F,  // its square overflows
                                3.4e38F,
                                -3.4e38F,
                                1e-30F,
                                1e-40F,  // its reciprocal overflows
                                1000.0F,
                                -1000.0F};
  const float most = kNumbers[random() % std::size(kNumbers)];
  const unsigned one_in = 1 + random() % 24;
  for (float& x : tensor.span<float>())
    if (random() % one_in == 0) x = random() % 4 != 0 ? most : kNumbers[random() % std::size(kNumbers)];
}

}  // namespace

ValueId GraphGrower::AddInput(Tensor tensor, std::uint8_t symbolic) {
  const Shape& shape = tensor.shape();
  if (tensor.dtype() == DType::kFloat && random_() % kSpecialInputs == 0) AddSpecialNumbers(tensor, random_);
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

}  // namespace sardonyx::fuzz
