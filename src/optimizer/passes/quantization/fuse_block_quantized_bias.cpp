// optimizer/passes/quantization/fuse_block_quantized_bias.cpp - a constant that is added to each row of a com.microsoft
// MatMulNBits becomes its bias. Runs behind the passes that want the sum for themselves (attention, BiasGelu).
#include "optimizer/fusion/epilogue.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::size_t kBias = 5;  // input of MatMulNBits

bool TakesBias(const Node& node) {
  if (node.domain != "com.microsoft" || node.op_type != "MatMulNBits") return false;
  return node.inputs.size() <= kBias || node.inputs[kBias] == kNoValue;
}

// The constant as [N], which is all that ONNX Runtime takes.
ValueId AsVector(Graph& graph, ValueId id) {
  const ValueInfo& info = graph.value(id);
  const Tensor& bias = *info.constant();
  if (bias.shape().rank() == 1) return id;
  return graph.AddConstant(info.name, bias.Reshaped(Shape{bias.count()}));
}

bool FuseBias(Graph& graph, const PassContext& context, NodeId id) {
  if (!TakesBias(graph.node(id))) return false;
  const auto summand = SummandBehind(graph, context, id);
  if (!summand) return false;
  const Type& y = graph.value(graph.node(id).outputs[0]).type;
  const ValueInfo& bias = graph.value(summand->other);
  if (bias.constant() == nullptr || !IsBias(bias.type, y))
    return context.No(graph, summand->sum, "expected a constant row for ", y.ToText(), ", found ", bias.type.ToText());
  const ValueId row = AsVector(graph, summand->other);
  while (graph.node(id).inputs.size() < kBias) graph.SetInput(id, graph.node(id).inputs.size(), kNoValue);
  graph.SetInput(id, kBias, row);
  Absorb(graph, id, summand->sum);
  return context.Yes(graph, id, "adds the bias");
}

bool FuseBlockQuantizedBias(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return FuseBias(each, context, id); });
}

}  // namespace

constinit const Pass kFuseBlockQuantizedBias = {
    .name = "fuse_block_quantized_bias", .level = Level::kExtended, .run = FuseBlockQuantizedBias};

}  // namespace sardonyx::optimizer
