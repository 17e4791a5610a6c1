// optimizer/passes/quantization/eliminate_quantization.cpp - removes QuantizeLinear with the DequantizeLinear behind it
// if the user asks for it, by the config entry "session.enable_quant_qdq_cleanup" = "1" as in ONNX Runtime. The pairs
// that are left once integer operators are made only round, so results change by up to half a quantum for each pair.
#include <algorithm>

#include "optimizer/passes/passes.h"
#include "optimizer/quantization/quantization.h"

namespace sardonyx::optimizer {
namespace {

bool Eliminate(Graph& graph, const PassContext& context, NodeId id) {
  if (graph.node(id).erased || !IsQuantize(graph.node(id))) return false;
  const auto q = QuantizedBy(graph, id);
  if (!q) return context.No(graph, id, "its scale and zero point are not constant, or not of 8 or 16 bits");
  const std::vector<NodeId> readers = graph.value(q->data).consumers;
  if (readers.empty() || graph.value(q->data).is_output) return context.No(graph, id, "its integers are an output");
  for (const NodeId reader : readers) {
    if (!IsDequantize(graph.node(reader)))
      return context.No(graph, id, Describe(graph, graph.node(reader)), " reads its integers");
    const auto d = DequantizedFrom(graph, graph.node(reader).outputs[0]);
    if (!d || d->data != q->data || !d->SameAs(*q))
      return context.No(graph, id, Describe(graph, graph.node(reader)), " has another scale or zero point");
  }
  const ValueId floats = graph.node(id).inputs[0];
  for (const NodeId reader : readers) {
    if (graph.node(reader).erased) continue;  // the same node may read twice
    Rewrite rewrite(graph, context.registry, reader);
    rewrite.Replace(graph.node(reader).outputs[0], floats);
  }
  return true;
}

bool EliminateQuantization(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return Eliminate(each, context, id); });
}

}  // namespace

constinit const Pass kEliminateQuantization = {
    .name = "eliminate_quantization",
    .level = Level::kExtended,
    .run = EliminateQuantization,
    .consent = {&PassContext::clean_quantization, "session.enable_quant_qdq_cleanup"}};

}  // namespace sardonyx::optimizer
