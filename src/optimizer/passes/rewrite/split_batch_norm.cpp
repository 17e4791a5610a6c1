// optimizer/passes/rewrite/split_batch_norm.cpp - a BatchNormalization that no convolution took in becomes a product
// and a sum, which other passes know how to join with their neighbours.
#include <cmath>

#include "ops/schema/schema.h"
#include "optimizer/fusion/conv_weights.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

bool IsInference(const Graph& graph, const PassContext& context, const Node& norm) {
  for (std::size_t i = 1; i < norm.outputs.size(); ++i)
    if (norm.outputs[i] != kNoValue && graph.UseCount(norm.outputs[i]) != 0)
      return context.No(graph, norm.id, "its statistics are read");
  if (norm.since_version < 9) return context.No(graph, norm.id, "it normalizes each element");
  if (IntAttribute(norm, "training_mode", 0) != 0) return context.No(graph, norm.id, "it is in training mode");
  for (std::size_t i = 1; i < 5; ++i)
    if (graph.value(norm.inputs[i]).constant() == nullptr)
      return context.No(graph, norm.id, "'", graph.value(norm.inputs[i]).name, "' is not constant");
  return true;
}

ValueId AddStep(Graph& graph, const Node& like, std::string_view op_type, ValueId a, ValueId b, const Type& type) {
  Node node;
  node.op_type = op_type;
  node.since_version = ops::FindSchema("", op_type)->since_version;
  node.name = graph.FreshName(like.name + "_" + std::string(op_type));
  node.provider = like.provider;
  node.inputs = {a, b};
  node.outputs = {graph.AddValue(graph.FreshName(graph.value(like.outputs[0]).name), type)};
  const ValueId output = node.outputs[0];
  graph.AddNode(std::move(node));
  return output;
}

// y = (x - mean) * f + shift with f = scale / sqrt(variance + epsilon), as x * f + (shift - mean * f).
bool Split(Graph& graph, const PassContext& context, NodeId id) {
  const Node norm = graph.node(id);
  const Type type = graph.value(norm.inputs[0]).type;
  if (!type.is_tensor() || !type.has_rank || type.rank() < 2)
    return context.No(graph, id, "expected a rank of 2 or more, found ", type.ToText());
  if (!IsInference(graph, context, norm)) return false;
  std::vector<double> parameters[4];
  for (std::size_t i = 0; i < 4; ++i) {
    parameters[i] = FloatsOf(*graph.value(norm.inputs[i + 1]).constant());
    if (parameters[i].size() != parameters[0].size())
      return context.No(graph, id, "its parameters have different lengths");
  }
  auto& [scale, shift, mean, variance] = parameters;
  const AttributeValue* given = norm.FindAttribute("epsilon");
  const double epsilon = given != nullptr && std::holds_alternative<float>(*given) ? std::get<float>(*given) : 1e-5f;
  for (std::size_t c = 0; c < scale.size(); ++c) {
    scale[c] /= std::sqrt(variance[c] + epsilon);
    shift[c] -= mean[c] * scale[c];
    if (!std::isfinite(scale[c]) || !std::isfinite(shift[c]))
      return context.No(graph, id, "the factor of channel ", c, " would be infinite");
  }
  Shape shape;
  shape.Append(static_cast<std::int64_t>(scale.size()));
  for (std::size_t i = 2; i < type.rank(); ++i) shape.Append(1);
  const ValueId factor = graph.AddConstant(norm.name + "_factor", TensorOfFloats(type.dtype, shape, scale));
  const ValueId summand = graph.AddConstant(norm.name + "_summand", TensorOfFloats(type.dtype, shape, shift));
  graph.EraseNode(id);
  const ValueId product = AddStep(graph, norm, "Mul", norm.inputs[0], factor, type);
  const ValueId sum = AddStep(graph, norm, "Add", product, summand, type);
  graph.MoveOutput(graph.value(sum).producer, 0, norm.outputs[0]);
  return true;
}

bool SplitBatchNorm(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) {
    const Node& node = each.node(id);
    return node.op_type == "BatchNormalization" && node.domain.empty() && Split(each, context, id);
  });
}

}  // namespace

constinit const Pass kSplitBatchNorm = {.name = "split_batch_norm", .level = Level::kExtended, .run = SplitBatchNorm};

}  // namespace sardonyx::optimizer
