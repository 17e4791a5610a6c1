// optimizer/rules/half_weights.cpp - recognizes weights of float16 that kernels read as they are.
#include "optimizer/rules/half_weights.h"

#include <algorithm>
#include <vector>

namespace sardonyx::optimizer {
namespace {

constexpr std::int64_t kFewest = std::int64_t{1} << 15;  // elements; products keep smaller weights as floats

// Whether an input may be of float16 where the other inputs are of float. Convolutions are left out: they pack floats,
// and several passes change their weights.
bool TakesHalves(const ops::OpDef& op, std::size_t input) {
  if ((op.traits & ops::kPacksWeights) != 0) return input == 1 && op.name.find("Conv") == std::string_view::npos;
  return op.name == "EmbedLayerNormalization" && input >= 2 && input <= 4;
}

// Nobody's yet, or the provider's with this name.
bool IsOf(const Node& node, std::string_view provider) { return node.provider.empty() || node.provider == provider; }

bool WidensLargeConstant(const Graph& graph, const Node& node, std::string_view provider) {
  if (node.op_type != "Cast" || !node.domain.empty() || !IsOf(node, provider) || node.outputs.size() != 1) return false;
  const Tensor* constant = graph.value(node.inputs[0]).constant();
  const ValueInfo& wide = graph.value(node.outputs[0]);
  return constant != nullptr && constant->dtype() == DType::kFloat16 && constant->count() >= kFewest &&
         constant->shape().rank() >= 2 && wide.type.is_tensor() && wide.type.dtype == DType::kFloat && !wide.is_output;
}

bool WidensWeightsOf(const Graph& graph, const Node& node, const ops::Registry& registry, std::string_view provider) {
  if (!WidensLargeConstant(graph, node, provider)) return false;
  const ValueId wide = node.outputs[0];
  const std::vector<NodeId>& readers = graph.value(wide).consumers;
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](NodeId id) {
    const Node& reader = graph.node(id);
    const ops::OpDef* op = registry.Find(reader.domain, reader.op_type, reader.since_version);
    if (op == nullptr || !IsOf(reader, provider)) return false;
    std::size_t reads = 0;
    for (std::size_t i = 0; i < reader.inputs.size(); ++i) {
      if (reader.inputs[i] != wide) continue;
      if (!TakesHalves(*op, i)) return false;
      ++reads;
    }
    return reads != 0;  // else a body reads it
  });
}

}  // namespace

bool WidensWeights(const Graph& graph, const Node& node, const ops::Registry& registry) {
  return WidensWeightsOf(graph, node, registry, "");
}

void ReadHalfWeights(Graph& graph, const ops::Registry& registry, std::string_view cpu) {
  std::vector<NodeId> casts;
  for (const NodeId id : graph.order) {
    for (Graph* body : graph.node(id).Subgraphs()) ReadHalfWeights(*body, registry, cpu);
    if (WidensWeightsOf(graph, graph.node(id), registry, cpu)) casts.push_back(id);
  }
  for (const NodeId id : casts) {
    const ValueId half = graph.node(id).inputs[0], wide = graph.node(id).outputs[0];
    const std::vector<NodeId> readers = graph.value(wide).consumers;
    for (const NodeId reader : readers) {
      for (std::size_t i = 0; i < graph.node(reader).inputs.size(); ++i)
        if (graph.node(reader).inputs[i] == wide) graph.SetInput(reader, i, half);
    }
  }
  graph.EraseNodes(casts);
}

}  // namespace sardonyx::optimizer
