// ops/layout.cpp - axes, costs and nodes of the channels-last layout; looks up what a node's row says about it.
#include "ops/layout.h"

#include <algorithm>

#include "ops/evaluate.h"
#include "ops/schema/schema.h"

namespace sardonyx::ops {

std::int64_t AxisToLast(std::int64_t axis, std::size_t rank) {
  if (axis == 0) return 0;
  return axis == 1 ? static_cast<std::int64_t>(rank) - 1 : axis - 1;
}

std::vector<std::int64_t> PermToLast(std::size_t rank) {
  std::vector<std::int64_t> perm = {0};
  for (std::size_t i = 2; i < rank; ++i) perm.push_back(static_cast<std::int64_t>(i));
  perm.push_back(1);
  return perm;
}

std::vector<std::int64_t> PermToFirst(std::size_t rank) {
  std::vector<std::int64_t> perm = {0, static_cast<std::int64_t>(rank) - 1};
  for (std::size_t i = 1; i + 1 < rank; ++i) perm.push_back(static_cast<std::int64_t>(i));
  return perm;
}

Type TypeToLast(const Type& type) {
  Type last = type;
  if (!type.has_rank || type.rank() < 3) return last;
  std::rotate(last.dims.begin() + 1, last.dims.begin() + 2, last.dims.end());
  return last;
}

double MovingCost(const Type& type) {
  constexpr double kOverhead = 2000;   // what a node costs, in elements moved
  constexpr double kGuessedSize = 32;  // of an unknown axis of an image
  constexpr double kGuessedBatch = 1;
  double count = 1;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    const Dim& dim = type.dims[i];
    count *= dim.known() ? static_cast<double>(dim.number()) : i == 0 ? kGuessedBatch : kGuessedSize;
  }
  return count + kOverhead;
}

std::vector<std::int64_t> ViewShape(const Type& type, bool to_first) {
  if (!type.has_rank || type.rank() < 3 || !type.dims[1].known() || type.dims[1].number() == 0) return {};
  bool one_pixel = true;
  for (std::size_t i = 2; i < type.rank(); ++i) {
    if (!type.dims[i].known() || type.dims[i].number() == 0) return {};
    one_pixel = one_pixel && type.dims[i].number() == 1;
  }
  if (!one_pixel && type.dims[1].number() != 1) return {};
  const Type target = to_first ? type : TypeToLast(type);
  std::vector<std::int64_t> shape = {0};  // 0: as the input has it
  for (std::size_t i = 1; i < target.rank(); ++i) shape.push_back(target.dims[i].number());
  return shape;
}

double ChangingCost(const Type& type) {
  constexpr double kView = 500;
  return ViewShape(type, false).empty() ? 2 * MovingCost(type) : kView;
}

bool HasInput(const Node& node, std::size_t i) { return i < node.inputs.size() && node.inputs[i] != kNoValue; }

const Type& InputType(const Graph& graph, const Node& node, std::size_t i) {
  static const Type none;
  return HasInput(node, i) ? graph.value(node.inputs[i]).type : none;
}

const Type& OutputType(const Graph& graph, const Node& node, std::size_t i) {
  static const Type none;
  return i < node.outputs.size() && node.outputs[i] != kNoValue ? graph.value(node.outputs[i]).type : none;
}

bool IsImage(const Type& type) { return type.is_tensor() && type.has_rank && type.rank() >= 3; }

bool NormalizeAxes(std::vector<std::int64_t>& axes, std::size_t rank) {
  std::vector<char> seen(rank, 0);
  for (std::int64_t& axis : axes) {
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank) || seen[static_cast<std::size_t>(axis)]++ != 0)
      return false;
  }
  return true;
}

void StayFirst(const Node& node, NodeLayout& layout) {
  layout.inputs.assign(node.inputs.size(), kStaysFirst);
  layout.outputs.assign(node.outputs.size(), kStaysFirst);
}

void FollowMain(const Node& node, NodeLayout& layout) {
  StayFirst(node, layout);
  layout.variables.resize(1);
  layout.inputs[0] = layout.outputs[0] = 0;
}

bool DescribeMain(const Graph& graph, const Node& node, NodeLayout& layout) {
  const Type &x = InputType(graph, node, 0), &y = OutputType(graph, node);
  if (!IsImage(x) || !IsImage(y) || x.rank() != y.rank()) return false;
  FollowMain(node, layout);
  return true;
}

ValueId AddLayoutNode(Graph& graph, const Node& like, std::string_view op_type, std::vector<ValueId> inputs,
                      std::vector<Attribute> attributes, Type type) {
  Node node;
  node.op_type = op_type;
  node.since_version = FindSchema("", op_type)->since_version;
  node.name = graph.FreshName(like.name + "_" + std::string(op_type));
  node.provider = like.provider;
  node.attributes = std::move(attributes);
  node.outputs = {graph.AddValue(graph.FreshName(graph.value(inputs[0]).name), std::move(type))};
  node.inputs = std::move(inputs);
  const ValueId output = node.outputs[0];
  graph.AddNode(std::move(node));
  return output;
}

Tensor TensorToLast(const Graph& graph, const Registry& registry, const Tensor& tensor) {
  Node transpose;
  transpose.op_type = "Transpose";
  transpose.since_version = FindSchema("", "Transpose")->since_version;
  transpose.attributes = {{"perm", PermToLast(tensor.shape().rank())}};
  transpose.inputs = {0};
  transpose.outputs = {0};
  const std::vector<Value> inputs = {Value(tensor)};
  return EvaluateNode(graph, transpose, registry, inputs)[0].tensor();
}

void SetInts(const LayoutChange& c, std::size_t input, std::string_view name, const std::vector<std::int64_t>& values) {
  c.graph.SetInput(c.id, input, c.graph.AddConstant(name, Tensor::Vector<std::int64_t>(values)));
}

namespace {

// y[i] = f(a[i], b[i] ...) with broadcasting: inputs of the result's rank follow, shorter ones must be constant or one
// element.
bool DescribeElementwise(const Graph& graph, const Node& node, NodeLayout& layout) {
  const Type& y = OutputType(graph, node);
  if (!IsImage(y) || node.FindAttribute("axis") != nullptr || node.outputs.size() != 1) return false;
  StayFirst(node, layout);
  layout.variables.resize(1);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!HasInput(node, i)) continue;
    const Type& type = InputType(graph, node, i);
    if (!type.is_tensor() || !type.has_rank || type.rank() > y.rank()) return false;
    const bool one = std::all_of(type.dims.begin(), type.dims.end(), [](const Dim& d) { return d == Dim(1); });
    if (type.rank() == y.rank()) {
      layout.inputs[i] = 0;
    } else if (!one && graph.value(node.inputs[i]).constant() == nullptr) {
      return false;
    }
  }
  layout.outputs[0] = 0;
  return true;
}

// Shorter constants get all axes: [C, 1, 1] becomes [1, 1, 1, C].
void ChangeElementwise(const LayoutChange& c) {
  const std::size_t rank = c.output_types[0].rank();
  for (std::size_t i = 0; i < c.node().inputs.size(); ++i) {
    if (!HasInput(c.node(), i) || c.layout.Follows(i)) continue;
    const Tensor* constant = c.graph.value(c.node().inputs[i]).constant();
    if (constant == nullptr || constant->count() == 1) continue;
    Shape full;
    for (std::size_t k = constant->shape().rank(); k < rank; ++k) full.Append(1);
    for (const std::int64_t dim : constant->shape()) full.Append(dim);
    const std::string name = c.graph.value(c.node().inputs[i]).name;
    c.graph.SetInput(c.id, i, c.graph.AddConstant(name, TensorToLast(c.graph, c.registry, constant->Reshaped(full))));
  }
}

constexpr LayoutDef kElementwiseLayout = {"either, with broadcasting", DescribeElementwise, ChangeElementwise};

}  // namespace

const LayoutDef* LayoutOf(const OpDef& op) {
  return op.layout == nullptr && (op.traits & kElementwise) != 0 ? &kElementwiseLayout : op.layout;
}

NodeLayout DescribeLayout(const Graph& graph, const Node& node, const Registry& registry) {
  NodeLayout none;
  StayFirst(node, none);
  if (!node.provider.empty()) return none;  // not the CPU's
  if (node.inputs.empty() || node.outputs.empty() || node.outputs[0] == kNoValue) return none;
  const OpDef* op = registry.Find(node.domain, node.op_type, node.since_version);
  NodeLayout layout;
  layout.def = op != nullptr ? LayoutOf(*op) : nullptr;
  return layout.def != nullptr && layout.def->describe(graph, node, layout) ? layout : none;
}

}  // namespace sardonyx::ops
