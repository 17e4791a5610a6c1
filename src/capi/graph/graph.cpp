// capi/graph/graph.cpp - the functions that read an OrtGraph.
#include <set>

#include "capi/functions.h"
#include "capi/graph/copy_array.h"
#include "capi/handles/graph_view.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"

namespace sardonyx::capi {
namespace {

const ModelFacts& FactsOf(const OrtGraph* graph) {
  static const ModelFacts none;
  const std::shared_ptr<const ModelFacts>& facts = Need(graph, "graph").facts;
  return facts != nullptr ? *facts : none;
}

template <typename List>
OrtStatusPtr Count(const OrtGraph* graph, List OrtGraph::*list, const char* name, size_t* out) noexcept {
  return Guard([&] { Need(out, name) = (Need(graph, "graph").*list).size(); });
}

template <typename List, typename T>
OrtStatusPtr Copy(const OrtGraph* graph, List OrtGraph::*list, const char* name, T* out, size_t room) noexcept {
  return Guard([&] { CopyArray(Need(graph, "graph").*list, out, room, name); });
}

}  // namespace

// A model releases its graph itself, a node its bodies.
void ORT_API_CALL ReleaseGraph(OrtGraph* input) noexcept {
  if (input != nullptr && (IsOther(input) || (!input->in_model && !input->in_node))) ReleaseHandle(input);
}

OrtStatusPtr ORT_API_CALL Graph_GetName(const OrtGraph* graph, const char** graph_name) noexcept {
  return Guard([&] { Need(graph_name, "graph_name") = Need(graph, "graph").name.c_str(); });
}

OrtStatusPtr ORT_API_CALL Graph_GetModelPath(const OrtGraph* graph, const ORTCHAR_T** model_path) noexcept {
  return Guard([&] { Need(model_path, "model_path") = FactsOf(graph).path.c_str(); });
}

OrtStatusPtr ORT_API_CALL Graph_GetOnnxIRVersion(const OrtGraph* graph, int64_t* onnx_ir_version) noexcept {
  return Guard([&] { Need(onnx_ir_version, "onnx_ir_version") = FactsOf(graph).ir_version; });
}

OrtStatusPtr ORT_API_CALL Graph_GetModelMetadata(const OrtGraph* graph, OrtModelMetadata** out) noexcept {
  return Guard([&] {
    auto& result = Need(out, "out");
    result = std::make_unique<OrtModelMetadata>(FactsOf(graph).metadata).release();
  });
}

OrtStatusPtr ORT_API_CALL Graph_GetNumOperatorSets(const OrtGraph* graph, size_t* num_operator_sets) noexcept {
  return Count(graph, &OrtGraph::opsets, "num_operator_sets", num_operator_sets);
}

OrtStatusPtr ORT_API_CALL Graph_GetOperatorSets(const OrtGraph* graph, const char** domains, int64_t* opset_versions,
                                                size_t num_operator_sets) noexcept {
  return Guard([&] {
    const std::vector<OpsetImport>& opsets = Need(graph, "graph").opsets;
    CopyArray(opsets, domains, num_operator_sets, "domains",
              [](const OpsetImport& opset) { return opset.domain.c_str(); });
    CopyArray(opsets, opset_versions, num_operator_sets, "opset_versions",
              [](const OpsetImport& opset) { return opset.version; });
  });
}

OrtStatusPtr ORT_API_CALL Graph_GetNumInputs(const OrtGraph* graph, size_t* num_inputs) noexcept {
  return Count(graph, &OrtGraph::inputs, "num_inputs", num_inputs);
}

OrtStatusPtr ORT_API_CALL Graph_GetInputs(const OrtGraph* graph, const OrtValueInfo** inputs,
                                          size_t num_inputs) noexcept {
  return Copy(graph, &OrtGraph::inputs, "inputs", inputs, num_inputs);
}

OrtStatusPtr ORT_API_CALL Graph_GetNumOutputs(const OrtGraph* graph, size_t* num_outputs) noexcept {
  return Count(graph, &OrtGraph::outputs, "num_outputs", num_outputs);
}

OrtStatusPtr ORT_API_CALL Graph_GetOutputs(const OrtGraph* graph, const OrtValueInfo** outputs,
                                           size_t num_outputs) noexcept {
  return Copy(graph, &OrtGraph::outputs, "outputs", outputs, num_outputs);
}

OrtStatusPtr ORT_API_CALL Graph_GetNumInitializers(const OrtGraph* graph, size_t* num_initializers) noexcept {
  return Count(graph, &OrtGraph::initializers, "num_initializers", num_initializers);
}

OrtStatusPtr ORT_API_CALL Graph_GetInitializers(const OrtGraph* graph, const OrtValueInfo** initializers,
                                                size_t num_initializers) noexcept {
  return Copy(graph, &OrtGraph::initializers, "initializers", initializers, num_initializers);
}

OrtStatusPtr ORT_API_CALL Graph_GetNumNodes(const OrtGraph* graph, size_t* num_nodes) noexcept {
  return Count(graph, &OrtGraph::nodes, "num_nodes", num_nodes);
}

OrtStatusPtr ORT_API_CALL Graph_GetNodes(const OrtGraph* graph, const OrtNode** nodes, size_t num_nodes) noexcept {
  return Copy(graph, &OrtGraph::nodes, "nodes", nodes, num_nodes);
}

OrtStatusPtr ORT_API_CALL Graph_GetParentNode(const OrtGraph* graph, const OrtNode** node) noexcept {
  return Guard([&] { Need(node, "node") = Need(graph, "graph").parent; });
}

OrtStatusPtr ORT_API_CALL Graph_GetGraphView(const OrtGraph* src_graph, const OrtNode** nodes, size_t num_nodes,
                                             OrtGraph** dst_graph) noexcept {
  return Guard([&] {
    const OrtGraph& graph = Need(src_graph, "src_graph");
    auto& result = Need(dst_graph, "dst_graph");
    if (graph.source == nullptr) {
      Fail(Code::kInvalidArgument,
           "argument 'src_graph': expected a graph that a provider was given, found one made by the model editor");
    }
    if (num_nodes == 0) Fail(Code::kInvalidArgument, "argument 'num_nodes': expected 1 or more, found 0");
    NeedArray(nodes, num_nodes, "nodes");
    std::vector<NodeId> ids;
    std::set<NodeId> seen;
    for (std::size_t i = 0; i < num_nodes; ++i) {
      const OrtNode& node = Need(nodes[i], "nodes");
      if (node.graph == nullptr || node.graph->source != graph.source)
        Fail(Code::kInvalidArgument, "argument 'nodes': node '", node.name, "' is not of the graph '", graph.name, "'");
      const auto id = static_cast<NodeId>(node.id);
      if (!seen.insert(id).second)
        Fail(Code::kInvalidArgument, "argument 'nodes': expected each node once, found '", node.name, "' twice");
      ids.push_back(id);
    }
    result = ViewNodes(*graph.source, ids, graph.facts, graph.parent).release();
  });
}

}  // namespace sardonyx::capi
