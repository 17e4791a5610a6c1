// ops/upgrade.cpp - rewrites old spellings to new ones, for one reader (Canonical) or in the graph itself (Upgrade).
#include "ops/upgrade.h"

#include <algorithm>
#include <utility>

#include "ops/own_domain.h"
#include "ops/schema/schema.h"

namespace sardonyx::ops {
namespace {

// The version whose semantics the row describes: its newest.
int NewestVersion(const OpDef& op) {
  int newest = 0;
  for (const int version : op.since) newest = std::max(newest, version);
  return newest;
}

bool AllowsInputs(const Graph& graph, const Node& node, const OpSchema& schema) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const FormalParam* param = schema.Input(i);
    if (param == nullptr || node.inputs[i] == kNoValue) continue;
    const Type& type = graph.value(node.inputs[i]).type;
    if (!type.is_none() && type.dtype != DType::kUndefined && !param->types().Contains(type)) return false;
  }
  return true;
}

// The newest version of the row whose schema allows the types of the node's inputs: newer versions of some operators
// allow fewer types than older ones, and the kernel serves them all.
int NewestVersionFor(const Graph& graph, const Node& node, const OpDef& op) {
  const int newest = NewestVersion(op);
  int best = 0;
  for (const int version : op.since) {
    if (version <= best) continue;
    const OpSchema* schema = FindSchema(node.domain, node.op_type, version);
    if (schema == nullptr || schema->since_version != version) return newest;
    if (AllowsInputs(graph, node, *schema)) best = version;
  }
  return best > 0 ? best : newest;
}

template <typename T>
Tensor Converted(DType dtype, const std::vector<float>& values, Shape shape) {
  Tensor t(dtype, std::move(shape));
  for (std::size_t i = 0; i < values.size(); ++i) t.data<T>()[i] = static_cast<T>(values[i]);
  return t;
}

Tensor FloatTensor(DType dtype, const std::vector<float>& values, const Shape& shape) {
  Tensor out;
  const bool done = VisitDType<float, double, Half, BFloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                               std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(
      dtype, [&]<typename T>() { out = Converted<T>(dtype, values, shape); });
  return done ? out : Converted<float>(DType::kFloat, values, shape);
}

}  // namespace

const Type* UpgradeContext::InputType(std::size_t i) const {
  if (i >= node.inputs.size() || node.inputs[i] == kNoValue) return nullptr;
  const Type& type = graph_->value(node.inputs[i]).type;
  return type.is_none() ? nullptr : &type;
}

std::optional<AttributeValue> UpgradeContext::Take(std::string_view name) {
  AttributeValue* found = node.FindAttribute(name);
  if (found == nullptr) return std::nullopt;
  AttributeValue value = std::move(*found);
  node.RemoveAttribute(name);
  return value;
}

void UpgradeContext::SetConstantInput(std::size_t index, Tensor tensor) {
  if (node.inputs.size() <= index) node.inputs.resize(index + 1, kNoValue);
  node.inputs[index] = kNoValue;
  constants.emplace_back(index, std::move(tensor));
}

void UpgradeContext::AttributeToInput(std::string_view name, std::size_t index, bool as_input0) {
  auto value = Take(name);
  if (!value) return;
  const Type* type = InputType(0);
  const DType dtype = as_input0 && type != nullptr ? type->dtype : DType::kFloat;
  if (const auto* number = std::get_if<std::int64_t>(&*value)) {
    SetConstantInput(index, Tensor::Scalar<std::int64_t>(*number));
  } else if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&*value)) {
    SetConstantInput(index, Tensor::Vector<std::int64_t>(*numbers));
  } else if (const auto* real = std::get_if<float>(&*value)) {
    SetConstantInput(index, FloatTensor(dtype, {*real}, Shape{}));
  } else if (const auto* reals = std::get_if<std::vector<float>>(&*value)) {
    SetConstantInput(index, FloatTensor(dtype, *reals, Shape{static_cast<std::int64_t>(reals->size())}));
  } else if (const auto* tensor = std::get_if<Tensor>(&*value)) {
    SetConstantInput(index, *tensor);
  } else {
    attributes().Fail(Code::kInvalidGraph, "attribute '", name, "': expected numbers or a tensor, found ",
                      AttributeTypeName(AttributeTypeOf(*value)));
  }
}

namespace {

// What has no equality (tensors, graphs) counts as the same: an upgrade that changes it also moves or renames it.
template <typename... T>
bool SameAs(const AttributeValue& a, const AttributeValue& b) {
  return ((!std::holds_alternative<T>(a) || std::get<T>(a) == std::get<T>(b)) && ...);
}
bool SameValue(const AttributeValue& a, const AttributeValue& b) {
  return a.index() == b.index() && SameAs<float, std::int64_t, std::string, std::vector<float>,
                                          std::vector<std::int64_t>, std::vector<std::string>>(a, b);
}

}  // namespace

// But for the version.
bool Canonical::IsUnchanged() const {
  if (!upgraded_) return true;
  const Node &newest = upgraded_->node, &node = *original_;
  return upgraded_->constants.empty() && newest.op_type == node.op_type && newest.domain == node.domain &&
         newest.inputs == node.inputs && newest.attributes.size() == node.attributes.size() &&
         std::all_of(newest.attributes.begin(), newest.attributes.end(), [&](const Attribute& attribute) {
           const AttributeValue* was = node.FindAttribute(attribute.name);
           return was != nullptr && SameValue(*was, attribute.value);
         });
}

bool IsNewestSpelling(const Graph& graph, const Node& node, const Registry& registry) {
  const Canonical canonical(graph, node, registry);
  if (!canonical.IsUnchanged()) return false;
  return canonical.op() == nullptr || registry.IsNewest(*canonical.op());
}

bool MeansTheSame(const Graph& graph, Node& node, int version, const Registry& registry) {
  const int own = std::exchange(node.since_version, version);
  bool same = false;
  try {
    const Canonical other(graph, node, registry);
    same = other.op() == registry.Find(node.domain, node.op_type, own) && other.IsUnchanged();
  } catch (const Error&) {  // the version has no such node
  }
  node.since_version = own;
  return same;
}

Canonical::Canonical(const Graph& graph, const Node& node, const Registry& registry)
    : original_(&node), op_(registry.Find(node.domain, node.op_type, node.since_version)) {
  if (op_ == nullptr || op_->upgrade == nullptr) return;
  // Where a row that is superseded finds that a node means the same in the newest version, its upgrade gives the node a
  // version of that row; other nodes keep their version, which says what they mean.
  if (node.since_version == NewestVersion(*op_) && registry.IsNewest(*op_)) return;
  upgraded_ = std::make_unique<UpgradeContext>(graph, node);
  op_->upgrade(*upgraded_);
  Node& copy = upgraded_->node;
  // An upgrade may lead to another row, of another operator, too (Upsample to Resize): that is the one that counts
  // then.
  if (copy.since_version != node.since_version || copy.op_type != node.op_type || copy.domain != node.domain) {
    op_ = registry.Find(copy.domain, copy.op_type, copy.since_version);
    if (op_ == nullptr)
      Fail(Code::kNotImplemented, "the conversion of ", node.op_type, " version ", node.since_version,
           " to its newest version is not implemented");
  }
  copy.since_version = NewestVersion(*op_);
}

const Tensor* Canonical::Constant(const Graph& graph, std::size_t i) const {
  if (upgraded_)
    for (const auto& [index, tensor] : upgraded_->constants)
      if (index == i) return &tensor;
  const Node& n = node();
  return i < n.inputs.size() && n.inputs[i] != kNoValue ? graph.value(n.inputs[i]).constant() : nullptr;
}

namespace {

// Passes may count the inputs of the standard's and of ONNX Runtime's operators, so none without a name is at the end.
// Kernels of custom operators count those, too.
void DropEmptyInputs(Node& node) {
  if (node.domain == kOwnDomain || NewestOpset(node.domain) == 0) return;
  while (!node.inputs.empty() && node.inputs.back() == kNoValue) node.inputs.pop_back();
}

}  // namespace

bool Canonical::HasInput(std::size_t i) const {
  if (upgraded_)
    for (const auto& entry : upgraded_->constants)
      if (entry.first == i) return true;
  const Node& n = node();
  return i < n.inputs.size() && n.inputs[i] != kNoValue;
}

void Upgrade(Graph& graph, const Registry& registry) {
  for (const NodeId id : std::vector<NodeId>(graph.order)) {
    Canonical canonical(graph, graph.node(id), registry);
    if (canonical.upgraded_) {
      UpgradeContext& c = *canonical.upgraded_;
      const std::vector<ValueId> wanted = c.node.inputs;
      Node& node = graph.node(id);
      node.op_type = c.node.op_type;
      node.domain = c.node.domain;
      node.since_version = c.node.since_version;
      // Only the attributes may differ from the copy; subgraphs stay where they are, so that ids keep their meaning.
      node.attributes = std::move(c.node.attributes);
      for (std::size_t i = 0; i < std::max(wanted.size(), node.inputs.size()); ++i)
        graph.SetInput(id, i, i < wanted.size() ? wanted[i] : kNoValue);
      for (auto& [index, tensor] : c.constants)
        graph.SetInput(
            id, index,
            graph.AddConstant(node.name + "_" + node.op_type + "_" + std::to_string(index), std::move(tensor)));
      if (graph.node(id).since_version == NewestVersion(*canonical.op()))
        graph.node(id).since_version = NewestVersionFor(graph, graph.node(id), *canonical.op());
    } else if (canonical.op() != nullptr) {  // one semantics for all versions of the row
      graph.node(id).since_version = NewestVersionFor(graph, graph.node(id), *canonical.op());
    }
    if (canonical.op() != nullptr) DropEmptyInputs(graph.node(id));
    for (Graph* body : graph.node(id).Subgraphs()) Upgrade(*body, registry);
  }
  for (OpsetImport& import : graph.opset_imports)
    import.version = std::max<std::int64_t>(import.version, NewestOpset(import.domain));
}

}  // namespace sardonyx::ops
