// runtime/saving/file_spelling.cpp - spells each node as its operator's row says.
#include "runtime/saving/file_spelling.h"

#include <string>
#include <vector>

#include "ops/schema/schema.h"
#include "ops/spell_context.h"
#include "ops/upgrade.h"

namespace sardonyx::runtime {
namespace {

// What no row covers must not be written as something else.
void Check(const ops::SpellContext& c, const ops::Registry& registry) {
  const Node& node = c.node();
  const ops::OpSchema* schema = ops::FindSchema("", node.op_type, static_cast<int>(c.opset()));
  if (schema == nullptr) return;
  const ops::OpDef* meant = registry.Find("", node.op_type, node.since_version);
  const bool same = meant == nullptr || meant == registry.Find("", node.op_type, schema->since_version) ||
                    ops::MeansTheSame(c.graph(), c.node(), schema->since_version, registry);
  if (schema->deprecated() || !same) c.Fail("the model's meaning of " + node.op_type + " cannot be written");
}

}  // namespace

void SpellForOpset(Graph& graph, std::int64_t opset, const ops::Registry& registry) {
  for (const NodeId id : std::vector<NodeId>(graph.order)) {
    for (Graph* body : graph.node(id).Subgraphs()) SpellForOpset(*body, opset, registry);
    const Node& node = graph.node(id);
    if (!node.domain.empty()) continue;
    ops::SpellContext c(graph, id, opset);
    const ops::OpDef* op = registry.Find("", node.op_type, node.since_version);
    if (op != nullptr && op->spell.rewrite != nullptr && opset >= op->spell.opset) {
      op->spell.rewrite(c);
      c.node().since_version = ops::VersionAt(c.node().op_type, opset);
    }
    Check(c, registry);
  }
  graph.SortTopologically();
}

void AddExpectedOutputs(Graph& graph) {
  constexpr std::size_t kMaskIndex = 1;
  for (const NodeId id : std::vector<NodeId>(graph.order)) {
    for (Graph* body : graph.node(id).Subgraphs()) AddExpectedOutputs(*body);
    const Node& node = graph.node(id);
    if (node.domain != "com.microsoft" || node.op_type != "EmbedLayerNormalization") continue;
    if (node.outputs.size() > kMaskIndex && node.outputs[kMaskIndex] != kNoValue) continue;
    const Type& y = graph.value(node.outputs[0]).type;
    const Type type = y.is_tensor() && y.has_rank && y.rank() == 3 ? Type::TensorOf(DType::kInt32, {y.dims[0]})
                                                                   : Type::TensorOf(DType::kInt32);
    const std::string name = graph.FreshName(graph.value(node.outputs[0]).name + "_mask_index");
    graph.MoveOutput(id, kMaskIndex, graph.AddValue(name, type));
  }
}

}  // namespace sardonyx::runtime
