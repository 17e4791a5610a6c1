// capi/model_info.cpp - a model card: what a person wants to know about a model before running it.
#include "capi/model_info.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "ir/model_version.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace sardonyx::capi {
namespace {

using Json = nlohmann::ordered_json;

Json Describe(const ValueInfo& value) {
  Json json = {{"name", value.name}};
  if (!value.type.is_tensor()) {
    json["type"] = value.type.ToText();
    return json;
  }
  json["type"] = Name(value.type.dtype);
  if (!value.type.has_rank) return json;
  Json shape = Json::array();
  for (const Dim& dim : value.type.dims) {
    shape.push_back(dim.known() ? Json(dim.number()) : dim.symbolic() ? Json(dim.ToText()) : Json(nullptr));
  }
  json["shape"] = std::move(shape);
  return json;
}

struct Totals {
  std::int64_t nodes = 0, parameters = 0;
  std::uint64_t parameter_bytes = 0, external_bytes = 0;
  std::map<std::string, std::int64_t> operators;
};

void Count(const Graph& graph, Totals& totals) {
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    ++totals.nodes;
    ++totals.operators[node.domain.empty() ? node.op_type : node.domain + "." + node.op_type];
    for (const Graph* subgraph : node.Subgraphs()) Count(*subgraph, totals);
  }
  for (const ValueInfo& value : graph.values) {
    if (value.initializer == nullptr || value.is_captured) continue;
    const Tensor& tensor = value.initializer->tensor;
    totals.parameters += tensor.count();
    totals.parameter_bytes += tensor.byte_size();
    if (!value.initializer->file.empty()) totals.external_bytes += tensor.byte_size();
  }
}

std::optional<std::uint64_t> BytesOf(const ValueInfo& value) {
  if (!value.type.is_tensor() || !value.type.HasStaticShape()) return std::nullopt;
  return ByteSize(value.type.dtype, ElementCount(value.type.StaticShape()));
}

// The most bytes that values other than weights take at once if each lives from its producer to its last reader.
std::optional<std::uint64_t> PeakBytes(const Graph& graph) {
  std::vector<std::size_t> readers(graph.values.size());
  std::uint64_t alive = 0, peak = 0;
  const auto begin = [&](ValueId id) {
    const ValueInfo& value = graph.value(id);
    if (value.initializer != nullptr) return true;
    const std::optional<std::uint64_t> size = BytesOf(value);
    if (size) alive += *size;
    readers[id] = value.consumers.size() + (value.is_output ? 1 : 0);
    return size.has_value();
  };
  for (const ValueId id : graph.inputs) {
    if (!begin(id)) return std::nullopt;
  }
  peak = alive;
  for (const NodeId node_id : graph.order) {
    const Node& node = graph.node(node_id);
    for (const ValueId id : node.outputs) {
      if (id != kNoValue && !begin(id)) return std::nullopt;
    }
    peak = std::max(peak, alive);
    const auto end = [&](ValueId id) {
      if (id != kNoValue && readers[id] != 0 && --readers[id] == 0) alive -= *BytesOf(graph.value(id));
    };
    std::for_each(node.inputs.begin(), node.inputs.end(), end);
    std::for_each(node.implicit_inputs.begin(), node.implicit_inputs.end(), end);
  }
  return peak;
}

// With inferred types; a model that inference refuses still has a card.
std::optional<std::uint64_t> EstimatePeak(const Model& model) {
  try {
    const ops::Registry registry;
    Graph graph = model.graph;
    ops::ResolveVersions(graph, registry, model);
    ops::Infer(graph, registry);
    return PeakBytes(graph);
  } catch (const Error&) {
    return std::nullopt;
  }
}

Json Inputs(const Graph& graph, bool with_default) {
  Json list = Json::array();
  for (const ValueId id : graph.inputs) {
    if ((graph.value(id).initializer != nullptr) == with_default) list.push_back(Describe(graph.value(id)));
  }
  return list;
}

}  // namespace

std::string ModelCard(const Model& model) {
  Totals totals;
  Count(model.graph, totals);
  Json opsets = Json::object(), outputs = Json::array(), functions = Json::array(), metadata = Json::object();
  for (const OpsetImport& opset : model.opset_imports) opsets[opset.domain] = opset.version;
  for (const ValueId id : model.graph.outputs) outputs.push_back(Describe(model.graph.value(id)));
  for (const Function& function : model.functions)
    functions.push_back(function.domain.empty() ? function.name : function.domain + "." + function.name);
  for (const auto& [key, value] : model.metadata) metadata[key] = value;
  const std::optional<std::uint64_t> peak = EstimatePeak(model);
  const Json card = {{"ir_version", model.ir_version},
                     {"opsets", std::move(opsets)},
                     {"producer_name", model.producer_name},
                     {"producer_version", model.producer_version},
                     {"domain", model.domain},
                     {"model_version", model.model_version == kNoModelVersion ? 0 : model.model_version},
                     {"description", model.doc},
                     {"graph_name", model.graph.name},
                     {"inputs", Inputs(model.graph, false)},
                     {"outputs", std::move(outputs)},
                     {"overridable_initializers", Inputs(model.graph, true)},
                     {"parameter_count", totals.parameters},
                     {"parameter_bytes", totals.parameter_bytes},
                     {"external_data_bytes", totals.external_bytes},
                     {"node_count", totals.nodes},
                     {"operators", totals.operators},
                     {"functions", std::move(functions)},
                     {"metadata", std::move(metadata)},
                     {"peak_activation_bytes", peak ? Json(*peak) : Json(nullptr)}};
  return card.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sardonyx::capi
