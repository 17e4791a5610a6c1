// optimizer/passes/fuse_product_epilogue.cpp - what follows a matrix product is done while its sums are in registers.
//
// MatMul + bias + a value of the result's shape + activation becomes ai.sardonyx FusedMatMul, Gemm + activation becomes
// com.microsoft FusedGemm. Runs behind the passes that want a bias, a residual or an activation for themselves
// (SkipLayerNormalization, attention).
#include <algorithm>

#include "ops/schema.h"
#include "optimizer/fused_activation.h"
#include "optimizer/passes.h"

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
  return dtype == DType::kFloat || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

// `bias` is added along the last dimension of `y`, [N] or [1, ..., 1, N] of no higher rank.
bool IsBias(const Type& bias, const Type& y) {
  if (bias.dtype != y.dtype || !bias.has_rank || !y.has_rank) return false;
  if (bias.rank() == 0 || bias.rank() > y.rank() || !SameDim(bias.dims.back(), y.dims.back())) return false;
  return std::all_of(bias.dims.begin(), bias.dims.end() - 1,
                     [](const Dim& dim) { return dim.known() && dim.number() == 1; });
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
bool FuseSum(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ValueId made = node.outputs[0];
  const Node* sum = OnlyReader(graph, made);
  if (sum == nullptr || !sum->domain.empty() || sum->op_type != "Add" || sum->provider != node.provider) return false;
  const ValueId other = sum->inputs[sum->inputs[0] == made ? 1 : 0];
  const Type &y = graph.value(made).type, &addend = graph.value(other).type;
  if (other == made || !y.has_rank || y.rank() < 2) return false;
  const bool bias = !HasInput(node, kBias) && IsBias(addend, y);
  if (!bias && (HasInput(node, kResidual) || !SameShape(addend, y))) return false;
  const NodeId sum_id = sum->id;
  AddInput(graph, id, bias ? kBias : kResidual, other);
  Absorb(graph, id, sum_id);
  return true;
}

// The place for the bias of BiasGelu or FastGelu is free, and it fits.
bool TakesBias(const Graph& graph, const Node& node, ValueId bias) {
  const Type& y = graph.value(node.outputs[0]).type;
  return IsMatMul(node) && !HasInput(node, kBias) && y.has_rank && y.rank() >= 2 && IsBias(graph.value(bias).type, y);
}

bool FuseActivation(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Node* reader = OnlyReader(graph, node.outputs[0]);
  if (reader == nullptr || reader->provider != node.provider) return false;
  if (reader->inputs.empty() || reader->inputs[0] != node.outputs[0]) return false;
  const auto activation = ActivationOf(graph, *reader);
  if (!activation || (activation->bias != kNoValue && !TakesBias(graph, node, activation->bias))) return false;
  const NodeId reader_id = reader->id;
  Node& product = graph.node(id);
  product.SetAttribute("activation", activation->name);
  if (activation->alpha) product.SetAttribute("activation_alpha", *activation->alpha);
  if (activation->beta) product.SetAttribute("activation_beta", *activation->beta);
  product.domain = IsGemm(product) ? "com.microsoft" : "ai.sardonyx";
  product.op_type = product.domain == "com.microsoft" ? "FusedGemm" : "FusedMatMul";
  product.since_version = 1;
  if (activation->bias != kNoValue) AddInput(graph, id, kBias, activation->bias);
  Absorb(graph, id, reader_id);
  return true;
}

bool FuseIn(Graph& graph) {
  bool changed = false, summed = false;
  for (const NodeId id : std::vector<NodeId>(graph.order)) {
    if (graph.node(id).erased) continue;
    bool body_changed = false;
    for (Graph* body : graph.node(id).Subgraphs()) body_changed |= FuseIn(*body);
    if (body_changed) graph.RefreshCaptures(id);
    changed |= body_changed;
    if (!TakesEpilogues(graph, graph.node(id))) continue;
    if (IsMatMul(graph.node(id)))
      while (FuseSum(graph, id)) summed = true;
    changed |= FuseActivation(graph, id);
  }
  if (summed) graph.SortTopologically();  // a summand may be made behind the product
  return changed || summed;
}

bool FuseProductEpilogue(Graph& graph, PassContext& /*context*/) { return FuseIn(graph); }

}  // namespace

constinit const Pass kFuseProductEpilogue = {
    .name = "fuse_product_epilogue", .level = Level::kExtended, .run = FuseProductEpilogue};

}  // namespace sardonyx::optimizer
