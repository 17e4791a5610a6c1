// optimizer/passes/fuse/fuse_product_epilogue.cpp - what follows a matrix product is done while its sums are in
// registers.
//
// MatMul + bias + a value of the result's shape + activation becomes ai.sardonyx FusedMatMul, Gemm + activation becomes
// com.microsoft FusedGemm. Runs after the passes that need the bias, residual or activation themselves
// (SkipLayerNormalization, attention).
#include "optimizer/fusion/epilogue.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::size_t kBias = 2, kResidual = 3;  // inputs of ai.sardonyx FusedMatMul

bool IsMatMul(const Node& node) {
  return (node.domain.empty() && node.op_type == "MatMul") ||
         ((node.domain == "com.microsoft" || node.domain == "ai.sardonyx") && node.op_type == "FusedMatMul");
}
bool IsGemm(const Node& node) {
  return (node.domain.empty() && node.op_type == "Gemm") ||
         (node.domain == "com.microsoft" && node.op_type == "FusedGemm");
}

bool HasInput(const Node& node, std::size_t i) { return i < node.inputs.size() && node.inputs[i] != kNoValue; }

bool TakesEpilogues(const Graph& graph, const Node& node) {
  if (!IsMatMul(node) && !IsGemm(node)) return false;
  if (node.FindAttribute("activation") != nullptr) return false;
  const DType dtype = graph.value(node.outputs[0]).type.dtype;
  // com.microsoft FusedGemm has no bfloat16.
  return dtype == DType::kFloat || dtype == DType::kFloat16 || (dtype == DType::kBFloat16 && !IsGemm(node));
}

void AddInput(Graph& graph, NodeId id, std::size_t index, ValueId value) {
  Node& node = graph.node(id);
  node.domain = "ai.sardonyx";
  node.op_type = "FusedMatMul";
  node.since_version = 1;
  while (node.inputs.size() < index) graph.SetInput(id, node.inputs.size(), kNoValue);
  graph.SetInput(id, index, value);
}

// Add(product, other): `other` becomes bias or residual.
bool FuseSum(Graph& graph, const PassContext& context, NodeId id) {
  const Node& node = graph.node(id);
  const auto summand = SummandBehind(graph, context, id);
  if (!summand) return false;
  const Type &y = graph.value(node.outputs[0]).type, &addend = graph.value(summand->other).type;
  if (!y.has_rank || y.rank() < 2) return context.No(graph, id, "expected a result of rank 2 or more");
  const bool bias = !HasInput(node, kBias) && IsBias(addend, y);
  if (!bias && (HasInput(node, kResidual) || addend.dtype != y.dtype || !SameDims(addend, y)))
    return context.No(graph, summand->sum, addend.ToText(), " is neither a bias nor of the shape ", y.ToText());
  AddInput(graph, id, bias ? kBias : kResidual, summand->other);
  Absorb(graph, id, summand->sum);
  return context.Yes(graph, id, bias ? "adds the bias" : "adds the residual");
}

// The place for the bias of BiasGelu or FastGelu is free, and it fits.
bool TakesBias(const Graph& graph, const Node& node, ValueId bias) {
  const Type& y = graph.value(node.outputs[0]).type;
  return IsMatMul(node) && !HasInput(node, kBias) && y.has_rank && y.rank() >= 2 && IsBias(graph.value(bias).type, y);
}

bool FuseActivation(Graph& graph, const PassContext& context, NodeId id) {
  const auto behind = FindActivationBehind(graph, context, id);
  if (!behind) return false;
  const ops::NodeActivation& activation = behind->activation;
  if (activation.bias != kNoValue && !TakesBias(graph, graph.node(id), activation.bias))
    return context.No(graph, id, "it has no input for the bias of ", activation.def->name);
  Node& product = graph.node(id);
  ops::WriteProductActivation(product, activation);
  product.domain = IsGemm(product) ? "com.microsoft" : "ai.sardonyx";
  product.op_type = product.domain == "com.microsoft" ? "FusedGemm" : "FusedMatMul";
  product.since_version = 1;
  if (activation.bias != kNoValue) AddInput(graph, id, kBias, activation.bias);
  Absorb(graph, id, behind->node);
  return context.Yes(graph, id, "applies ", activation.def->name);
}

bool FuseProductEpilogue(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) {
    if (!TakesEpilogues(each, each.node(id))) return false;
    bool summed = false;
    while (IsMatMul(each.node(id)) && FuseSum(each, context, id)) summed = true;
    return FuseActivation(each, context, id) || summed;
  });
}

}  // namespace

constinit const Pass kFuseProductEpilogue = {
    .name = "fuse_product_epilogue", .level = Level::kExtended, .run = FuseProductEpilogue};

}  // namespace sardonyx::optimizer
