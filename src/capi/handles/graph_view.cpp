// capi/handles/graph_view.cpp - makes the handles that show a graph.
#include "capi/handles/graph_view.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "capi/handles/shown_order.h"
#include "ir/domain.h"
#include "ops/channels_last.h"
#include "ops/errors/late_errors.h"
#include "ops/registry.h"
#include "ops/schema/schema.h"

const sardonyx::Attribute* OrtNode::FindAttribute(std::string_view attribute) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const sardonyx::Attribute* own) { return own->name == attribute; });
  return found == attributes.end() ? nullptr : *found;
}

OrtValueInfo* OrtGraph::Find(std::string_view value) const {
  const auto found = by_name.find(value);
  return found == by_name.end() ? nullptr : found->second;
}

namespace sardonyx::capi {
namespace {

// As the model's file would name it: loading made the path absolute, and followed links.
std::string RelativePath(const std::string& file, const std::string& model_path) {
  if (model_path.empty()) return file;
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::path(model_path).parent_path();
  const std::filesystem::path folder = std::filesystem::canonical(parent.empty() ? "." : parent, error);
  const std::filesystem::path relative = std::filesystem::path(file).lexically_relative(folder);
  return error || relative.empty() ? file : relative.string();
}

// Plug-ins look for the version of a domain whose operators stand in the graph, whether the author imported it or not.
std::vector<OpsetImport> AllOpsets(const Graph& graph, const ModelFacts* facts) {
  std::vector<OpsetImport> opsets = graph.opset_imports;
  std::vector<OpsetImport> others = facts != nullptr ? facts->opsets : std::vector<OpsetImport>{};
  const OpsetImport known[] = {{"ai.onnx.ml", 5},
                               {"ai.onnx.preview", 1},
                               {"ai.onnx.preview.training", 1},
                               {"ai.onnx.training", 1},
                               {"com.microsoft", 1},
                               {"com.microsoft.experimental", 1},
                               {"com.microsoft.nchwc", 1},
                               {"com.ms.internal.nhwc", graph.OpsetVersion("")},
                               {"org.pytorch.aten", 1}};
  others.insert(others.end(), std::begin(known), std::end(known));
  for (const OpsetImport& other : others) {
    const bool is_there = std::any_of(opsets.begin(), opsets.end(),
                                      [&](const OpsetImport& opset) { return opset.domain == other.domain; });
    if (!is_there && other.version != 0) opsets.push_back(other);
  }
  return opsets;
}

class Viewer {
 public:
  Viewer(const Graph& graph, std::shared_ptr<const ModelFacts> facts, const OrtNode* parent)
      : graph_(graph), infos_(graph.values.size()), view_(std::make_unique<OrtGraph>()) {
    view_->opsets = AllOpsets(graph, facts.get());
    view_->facts = std::move(facts);
    view_->parent = parent;
    view_->source = &graph;
  }

  std::unique_ptr<OrtGraph> All() {
    view_->name = graph_.name;
    for (const ValueId id : graph_.inputs) AddInput(id);
    for (const ValueId id : graph_.outputs) AddOutput(id);
    for (ValueId id = 0; id < graph_.values.size(); ++id)
      if (IsInitializer(id) && IsUsed(id)) view_->initializers.push_back(InfoOf(id));
    for (const NodeId id : ShownOrder(graph_)) AddNode(id);
    return std::move(view_);
  }

  // The node alone, in no graph; what it reads and makes is its own.
  std::unique_ptr<OrtNode> Alone(NodeId id) {
    auto node = std::make_unique<OrtNode>();
    std::unordered_map<ValueId, OrtValueInfo*> shown;
    const auto info_of = [&](ValueId value) -> OrtValueInfo* {
      if (value == kNoValue) return nullptr;
      const auto [entry, fresh] = shown.try_emplace(value, nullptr);
      if (fresh) {
        entry->second = &node->own_values.emplace_back();
        Describe(value, *entry->second);
      }
      return entry->second;
    };
    Describe(id, *node);
    for (const ValueId input : graph_.node(id).inputs) node->inputs.push_back(info_of(input));
    for (const ValueId input : graph_.node(id).implicit_inputs) node->implicit_inputs.push_back(info_of(input));
    for (const ValueId output : graph_.node(id).outputs) node->outputs.push_back(info_of(output));
    AddAttributes(graph_.node(id), *node);
    return node;
  }

  std::unique_ptr<OrtGraph> Some(std::span<const NodeId> nodes) {
    view_->name = "sub_graph";
    std::vector<bool> chosen(graph_.nodes.size());
    for (const NodeId id : nodes) chosen[id] = true;
    for (const ValueId id : InputsOf(nodes, chosen)) AddInput(id);
    for (const NodeId id : nodes)
      for (const ValueId output : graph_.node(id).outputs)
        if (output != kNoValue && IsReadElsewhere(output, chosen)) AddOutput(output);
    std::vector<bool> listed(graph_.values.size());
    for (const NodeId id : nodes) {
      for (const ValueId input : ReadBy(graph_.node(id))) {
        if (!IsInitializer(input) || listed[input]) continue;
        listed[input] = true;
        view_->initializers.push_back(InfoOf(input));
      }
    }
    for (const NodeId id : ShownOrder(graph_))
      if (chosen[id]) AddNode(id);
    return std::move(view_);
  }

 private:
  static std::vector<ValueId> ReadBy(const Node& node) {
    std::vector<ValueId> values;
    for (const std::vector<ValueId>* list : {&node.inputs, &node.implicit_inputs})
      std::copy_if(list->begin(), list->end(), std::back_inserter(values), [](ValueId id) { return id != kNoValue; });
    return values;
  }

  bool IsReadElsewhere(ValueId id, const std::vector<bool>& chosen) const {
    const ValueInfo& value = graph_.value(id);
    return value.is_output ||
           std::any_of(value.consumers.begin(), value.consumers.end(), [&](NodeId node) { return !chosen[node]; });
  }

  // Inference shows constants of an enclosing graph to a body, which does not hold them.
  bool IsInitializer(ValueId id) const {
    return graph_.value(id).initializer != nullptr && !graph_.value(id).is_captured;
  }

  bool IsUsed(ValueId id) const {
    const ValueInfo& value = graph_.value(id);
    return value.is_input || value.is_output || !value.consumers.empty();
  }

  bool IsConstant(ValueId id) const {
    const ValueInfo& value = graph_.value(id);
    if (value.constant() != nullptr || !value.is_captured) return value.constant() != nullptr;
    const OrtValueInfo* outer = Outer(value.name);
    return outer != nullptr && outer->is_constant;
  }

  const OrtValueInfo* Outer(const std::string& name) const {
    if (view_->parent == nullptr) return nullptr;
    if (view_->parent->graph != nullptr) return view_->parent->graph->Find(name);
    const auto& values = view_->parent->own_values;
    const auto found = std::find_if(values.begin(), values.end(), [&](const auto& own) { return own.name == name; });
    return found != values.end() ? &*found : nullptr;
  }

  // In the order of ONNX Runtime: an input of the graph counts as used at its place there.
  std::vector<ValueId> InputsOf(std::span<const NodeId> nodes, const std::vector<bool>& chosen) const {
    std::vector<std::pair<std::size_t, ValueId>> inputs;
    std::vector<bool> seen(graph_.values.size());
    std::size_t uses = 0;
    for (const NodeId node : nodes) {
      for (const ValueId id : ReadBy(graph_.node(node))) {
        const ValueInfo& value = graph_.value(id);
        if (IsConstant(id) || (value.producer != kNoNode && chosen[value.producer])) continue;
        const std::size_t use = uses++;
        if (seen[id]) continue;
        seen[id] = true;
        const auto at = std::find(graph_.inputs.begin(), graph_.inputs.end(), id);
        inputs.emplace_back(at != graph_.inputs.end() ? static_cast<std::size_t>(at - graph_.inputs.begin()) : use, id);
      }
    }
    std::stable_sort(inputs.begin(), inputs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<ValueId> ids;
    for (const auto& input : inputs) ids.push_back(input.second);
    return ids;
  }

  OrtValueInfo* InfoOf(ValueId id) {
    if (id == kNoValue) return nullptr;
    if (infos_[id] != nullptr) return infos_[id];
    OrtValueInfo& info = *view_->own_values.emplace_back(std::make_unique<OrtValueInfo>());
    Describe(id, info);
    info.graph = view_.get();
    view_->by_name.emplace(info.name, &info);
    return infos_[id] = &info;
  }

  void Describe(ValueId id, OrtValueInfo& info) const {
    const ValueInfo& value = graph_.value(id);
    info.name = value.name;
    if (!value.type.is_none()) {
      info.type = MakeTypeInfo(value.type);
      NameDims(*info.type, value.dim_params);
    }
    if (value.initializer != nullptr) SetInitializer(info, *value.initializer);
    if (value.is_captured) ShowOuter(info);
  }

  void SetInitializer(OrtValueInfo& info, const Initializer& initializer) const {
    info.initializer = initializer.tensor;
    info.is_constant = initializer.kind == Initializer::Kind::kConstant;
    info.is_optional_input = !info.is_constant;
    info.external = ExternalInfoOf(initializer, view_->facts ? view_->facts->path : "");
  }

  void ShowOuter(OrtValueInfo& info) const {
    info.is_from_outer = true;
    const OrtValueInfo* outer = Outer(info.name);
    if (outer == nullptr) return;
    info.initializer = outer->initializer;
    info.external = outer->external;
    info.is_constant = outer->is_constant;
    info.is_optional_input = outer->is_optional_input;
  }

  void AddInput(ValueId id) {
    OrtValueInfo* info = InfoOf(id);
    info->is_required_input = graph_.value(id).initializer == nullptr;
    info->is_optional_input = !info->is_required_input;
    view_->inputs.push_back(info);
  }

  void AddOutput(ValueId id) {
    OrtValueInfo* info = InfoOf(id);
    info->is_output = true;
    view_->outputs.push_back(info);
  }

  void AddNode(NodeId id) {
    const Node& node = graph_.node(id);
    OrtNode& shown = *view_->own_nodes.emplace_back(std::make_unique<OrtNode>());
    view_->nodes.push_back(&shown);
    Describe(id, shown);
    shown.graph = view_.get();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      shown.inputs.push_back(InfoOf(node.inputs[i]));
      if (shown.inputs.back() != nullptr)
        shown.inputs.back()->consumers.push_back({&shown, static_cast<std::int64_t>(i)});
    }
    for (const ValueId input : node.implicit_inputs) {
      shown.implicit_inputs.push_back(InfoOf(input));
      shown.implicit_inputs.back()->consumers.push_back({&shown, -1});
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      OrtValueInfo* output = InfoOf(node.outputs[i]);
      shown.outputs.push_back(output);
      if (output == nullptr) continue;
      output->producer = &shown;
      output->producer_output = i;
    }
    AddAttributes(node, shown);
  }

  void Describe(NodeId id, OrtNode& shown) const {
    const Node& node = graph_.node(id);
    shown.id = id;
    shown.name = node.name;
    shown.op_type = node.op_type;
    shown.domain = StandardDomain(ops::AuthorsDomain(node.domain));
    shown.provider = node.provider;
    shown.since_version = VersionOf(node);
  }

  // Operators on images channels last have the versions of those that they stand for, calls that of their domain.
  int VersionOf(const Node& node) const {
    if (node.since_version == 0) return static_cast<int>(graph_.OpsetVersion(node.domain));
    if (node.domain != ops::kChannelsLastDomain) return node.since_version;
    const ops::OpSchema* schema = ops::FindSchema("", node.op_type, static_cast<int>(graph_.OpsetVersion("")));
    return schema != nullptr ? schema->since_version : node.since_version;
  }

  // Operators on images channels last have the attributes of those that they stand for.
  const ops::OpSchema* SchemaOf(const Node& node) const {
    if (node.since_version <= 0) return nullptr;
    if (node.domain != ops::kChannelsLastDomain)
      return ops::FindSchema(ops::AuthorsDomain(node.domain), node.op_type, node.since_version);
    const ops::OpSchema* standard = ops::FindSchema("", node.op_type, VersionOf(node));
    return standard != nullptr ? standard : ops::FindSchema("com.microsoft", node.op_type, 1);
  }

  void AddAttributes(const Node& node, OrtNode& shown) const {
    if (!node.provider.empty() && node.domain == node.provider) return;  // compiled: its body is shown by itself
    for (const Attribute& attribute : node.attributes) {
      if (ops::IsPostponed(node) && ops::IsOfPostponing(attribute.name)) continue;
      shown.attributes.push_back(&attribute);
      if (const auto* one = std::get_if<GraphBox>(&attribute.value)) AddSubgraph(shown, attribute, **one);
      if (const auto* several = std::get_if<std::vector<GraphBox>>(&attribute.value))
        for (const GraphBox& graph : *several) AddSubgraph(shown, attribute, *graph);
    }
    const ops::OpSchema* schema = SchemaOf(node);
    if (schema == nullptr) return;
    for (const ops::AttributeSpec& spec : schema->attributes()) {
      if (!spec.has_default() || node.FindAttribute(spec.name()) != nullptr) continue;
      shown.own_attributes.push_back({std::string(spec.name()), spec.DefaultValue()});
      shown.attributes.push_back(&shown.own_attributes.back());
    }
  }

  void AddSubgraph(OrtNode& shown, const Attribute& attribute, const Graph& graph) const {
    shown.subgraphs.push_back(ViewGraph(graph, view_->facts, &shown));
    shown.subgraphs.back()->in_node = true;
    shown.subgraph_attributes.push_back(attribute.name.c_str());
  }

  const Graph& graph_;
  std::vector<OrtValueInfo*> infos_;  // by ValueId, null until it is met
  std::unique_ptr<OrtGraph> view_;
};

}  // namespace

std::shared_ptr<const ModelFacts> FactsOf(const Model& model) {
  return std::make_shared<const ModelFacts>(
      ModelFacts{model.path, model.ir_version, MetadataOf(model), model.opset_imports});
}

std::optional<OrtExternalInitializerInfo> ExternalInfoOf(const Initializer& initializer,
                                                         const std::string& model_path) {
  if (initializer.file.empty()) return std::nullopt;
  const std::size_t size = initializer.length != 0 ? initializer.length : initializer.tensor.byte_size();
  return OrtExternalInitializerInfo{
      {}, RelativePath(initializer.file, model_path), static_cast<std::int64_t>(initializer.offset), size};
}

std::unique_ptr<OrtGraph> ViewGraph(const Graph& graph, std::shared_ptr<const ModelFacts> facts,
                                    const OrtNode* parent) {
  return Viewer(graph, std::move(facts), parent).All();
}

std::unique_ptr<OrtGraph> ViewBody(const Graph& body, const Graph& outer, NodeId parent,
                                   std::shared_ptr<const ModelFacts> facts) {
  std::unique_ptr<OrtNode> node = Viewer(outer, facts, nullptr).Alone(parent);
  std::unique_ptr<OrtGraph> view = ViewGraph(body, std::move(facts), node.get());
  view->own_parent = std::move(node);
  return view;
}

std::unique_ptr<OrtGraph> ViewNodes(const Graph& graph, std::span<const NodeId> nodes,
                                    std::shared_ptr<const ModelFacts> facts, const OrtNode* parent) {
  return Viewer(graph, std::move(facts), parent).Some(nodes);
}

}  // namespace sardonyx::capi
