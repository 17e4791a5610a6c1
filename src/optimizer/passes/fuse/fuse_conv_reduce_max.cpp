// optimizer/passes/fuse/fuse_conv_reduce_max.cpp - a channels-last 1x1 Conv, or a product by a constant matrix, and the
// ReduceMax over positions that alone reads it become ai.sardonyx ConvReduceMax, which never writes the image between.
#include <algorithm>
#include <optional>
#include <vector>

#include "ops/activation.h"
#include "ops/channels_last.h"
#include "ops/own_domain.h"
#include "optimizer/fusion/epilogue.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::size_t kX = 0, kW = 1, kB = 2, kZ = 3;

ValueId InputOf(const Node& node, std::size_t i) { return i < node.inputs.size() ? node.inputs[i] : kNoValue; }

bool AllAre(const Node& node, std::string_view attribute, std::int64_t value) {
  const auto* found = AttributeAs<std::vector<std::int64_t>>(node, attribute);
  return found == nullptr || std::all_of(found->begin(), found->end(), [&](auto each) { return each == value; });
}

// How many axes before the last one are reduced; 0 if others are.
std::size_t PositionAxes(const Graph& graph, const Node& reduce) {
  const Type& x = graph.value(reduce.inputs[kX]).type;
  const auto axes = InputOf(reduce, 1) != kNoValue ? IntsOf(graph, reduce.inputs[1]) : std::nullopt;
  if (!x.has_rank || !axes || axes->empty()) return 0;
  const auto last = static_cast<std::int64_t>(x.rank()) - 1;
  std::vector<bool> reduced(x.rank());
  for (const std::int64_t axis : *axes) {
    if (axis < -last - 1 || axis > last) return 0;
    reduced[static_cast<std::size_t>(axis < 0 ? axis + last + 1 : axis)] = true;
  }
  const auto first = static_cast<std::size_t>(std::find(reduced.begin(), reduced.end(), true) - reduced.begin());
  const bool follow = !reduced.back() && std::all_of(reduced.begin() + static_cast<std::ptrdiff_t>(first),
                                                     reduced.end() - 1, [](bool each) { return each; });
  return follow ? x.rank() - 1 - first : 0;
}

// The shape of a constant of floats with elements; empty for others.
Shape FloatsOf(const Graph& graph, ValueId value) {
  const Tensor* w = value != kNoValue ? graph.value(value).constant() : nullptr;
  return w != nullptr && w->dtype() == DType::kFloat && w->count() != 0 ? w->shape() : Shape{};
}

bool IsPointwise(const Graph& graph, const Node& node, const PassContext& context, NodeId reduce) {
  if (node.domain != ops::kChannelsLastDomain || (node.op_type != "Conv" && node.op_type != "FusedConv")) return false;
  const Shape w = FloatsOf(graph, node.inputs[kW]);
  if (w.rank() < 3 || ElementCount(w, 2, w.rank()) != 1 || IntAttribute(node, "group", 1) != 1)
    return context.No(graph, reduce, "the Conv before it is not a 1x1 Conv of one group with constant weights");
  if (IntAttribute(node, "channels_first_input", 0) != 0 || IntAttribute(node, "channels_first_output", 0) != 0)
    return context.No(graph, reduce, "the Conv before it reads or writes channels first");
  if (InputOf(node, kZ) != kNoValue) return context.No(graph, reduce, "the Conv before it adds a summand");
  return (AllAre(node, "strides", 1) && AllAre(node, "pads", 0)) ||
         context.No(graph, reduce, "the Conv before it has strides or pads");
}

// A product [..., P, K] x [K, M] without a sum other than a bias.
bool IsProduct(const Graph& graph, const Node& node, const PassContext& context, NodeId reduce) {
  const bool gemm = node.op_type == "Gemm" || node.op_type == "FusedGemm";
  if (!gemm && node.op_type != "MatMul" && node.op_type != "FusedMatMul") return false;
  const ValueId bias = InputOf(node, kB);
  const Type& y = graph.value(node.outputs[0]).type;
  if (FloatsOf(graph, node.inputs[kW]).rank() != 2 || OnlyReader(graph, node.inputs[kW]) == nullptr)
    return context.No(graph, reduce, "the product before it is not by a constant matrix of its own");
  if (IntAttribute(node, "transA", 0) != 0 || IntAttribute(node, "transBatchA", 0) != 0 ||
      IntAttribute(node, "transBatchB", 0) != 0)
    return context.No(graph, reduce, "the product before it reads its operands transposed");
  if (InputOf(node, kZ) != kNoValue || FloatAttribute(node, "alpha", 1) != 1 || FloatAttribute(node, "beta", 1) != 1)
    return context.No(graph, reduce, "the product before it adds a summand or has a factor");
  return bias == kNoValue || IsBias(graph.value(bias).type, y) ||
         context.No(graph, reduce, "the product before it adds more than a bias");
}

// W [M, K] of a product.
ValueId TransposedWeights(Graph& graph, const Node& product) {
  const ValueId given = product.inputs[kW];
  if (IntAttribute(product, "transB", 0) != 0) return given;
  const Tensor& w = *graph.value(given).constant();
  const std::int64_t k = w.shape()[0], m = w.shape()[1];
  Tensor transposed(DType::kFloat, Shape{m, k});
  for (std::int64_t i = 0; i < k; ++i)
    for (std::int64_t j = 0; j < m; ++j) transposed.data<float>()[j * k + i] = w.data<float>()[i * m + j];
  return graph.AddConstant(graph.value(given).name + "_transposed", std::move(transposed));
}

// The activation of a Conv or product, as a Conv spells it.
void CopyActivation(const Node& from, Node& to) {
  const ops::ActivationDef* def = ops::FindActivation(TextAttribute(from, "activation", ""));
  if (def == nullptr) return;
  if (from.domain != ops::kChannelsLastDomain) {
    const auto parameter = [&](const ops::FloatParameter& p) {
      return FloatAttribute(from, "activation_" + std::string(p.attribute), p.otherwise);
    };
    return ops::WriteConvActivation(to, {def, parameter(def->function.a), parameter(def->function.b)});
  }
  for (const std::string_view name : {"activation", "activation_params"})
    if (const AttributeValue* found = from.FindAttribute(name)) to.SetAttribute(std::string(name), *found);
}

bool Fuse(Graph& graph, const PassContext& context, NodeId id) {
  if (!Is(graph.node(id), "ReduceMax")) return false;
  const ValueId image = graph.node(id).inputs[kX];
  const NodeId product_id = graph.value(image).producer;
  if (product_id == kNoNode || graph.node(product_id).provider != graph.node(id).provider) return false;
  const Node product = graph.node(product_id);
  const bool conv = IsPointwise(graph, product, context, id);
  if (!conv && !IsProduct(graph, product, context, id)) return false;
  const std::size_t axes = PositionAxes(graph, graph.node(id));
  if (axes == 0) return context.No(graph, id, "it does not reduce the axes before the last one, and only those");
  if (OnlyReader(graph, image) == nullptr)
    return context.No(graph, id, "other nodes read what the node before it makes, or it is an output");
  const std::string_view activation = TextAttribute(product, "activation", "");
  if (!activation.empty() && ops::FindActivation(activation) == nullptr)
    return context.No(graph, id, "the activation ", activation, " before it is not known");
  Rewrite rewrite(graph, context.registry, id);
  const ValueId y = rewrite.Add(
      ops::kOwnDomain, "ConvReduceMax",
      {product.inputs[kX], conv ? product.inputs[kW] : TransposedWeights(graph, product), InputOf(product, kB)},
      {{"position_axes", static_cast<std::int64_t>(axes)}, {"keepdims", IntAttribute(graph.node(id), "keepdims", 1)}});
  CopyActivation(product, graph.node(graph.value(y).producer));
  rewrite.Replace(graph.node(id).outputs[0], y);
  return true;
}

bool FuseConvReduceMax(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return Fuse(each, context, id); });
}

}  // namespace

constinit const Pass kFuseConvReduceMax = {
    .name = "fuse_conv_reduce_max", .level = Level::kLayout, .run = FuseConvReduceMax};

}  // namespace sardonyx::optimizer
