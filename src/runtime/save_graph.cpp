// runtime/save_graph.cpp - chooses the opsets, domains and names of the models that sessions save.
#include "runtime/save_graph.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "model/new_file.h"
#include "model/ort_writer.h"
#include "model/save.h"
#include "ops/errors/late_errors.h"
#include "ops/own_domain.h"
#include "ops/schema/schema.h"
#include "ops/schema/type_names.h"
#include "ops/upgrade.h"
#include "planner/constant_nodes.h"
#include "runtime/saving/file_spelling.h"
#include "runtime/saving/own_functions.h"
#include "runtime/sharing/compiled_weights.h"

namespace sardonyx::runtime {
namespace {

// Of inline weights, below the 2 GB that a protobuf holds.
constexpr std::size_t kMostInlineBytes = std::size_t{3} << 29;

// True if every node is of the version that the graph's imports mean; those of inlined functions may not be.
bool FollowsImports(const Graph& graph) {
  return std::all_of(graph.order.begin(), graph.order.end(), [&](NodeId id) {
    const Node& node = graph.node(id);
    const std::int64_t opset = graph.OpsetVersion(node.domain);
    const ops::OpSchema* schema =
        ops::FindSchema(node.domain, node.op_type, opset > 0 ? static_cast<int>(opset) : ops::kNewestVersion);
    if (schema != nullptr && schema->since_version != node.since_version) return false;
    const auto bodies = node.Subgraphs();
    return std::all_of(bodies.begin(), bodies.end(), [](const Graph* body) { return FollowsImports(*body); });
  });
}

bool Accepts(const ops::FormalParam* param, const Graph& graph, ValueId value) {
  if (param == nullptr) return false;
  if (value == kNoValue) return param->option == ops::ParamOption::kOptional;
  const Type& type = graph.value(value).type;
  const bool unknown = type.is_none() || (type.is_tensor() && type.dtype == DType::kUndefined);
  return !unknown && param->types().Contains(type);
}

// The schema has everything that the node says.
bool Expresses(const ops::OpSchema& schema, const Graph& graph, const Node& node) {
  const auto inputs = static_cast<std::int64_t>(node.inputs.size());
  const auto outputs = static_cast<std::int64_t>(node.outputs.size());
  if (schema.deprecated() || schema.runtime_only() || inputs < schema.min_inputs || inputs > schema.max_inputs)
    return false;
  if (outputs < schema.min_outputs || outputs > schema.max_outputs) return false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (!Accepts(schema.Input(i), graph, node.inputs[i])) return false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i] != kNoValue && !Accepts(schema.Output(i), graph, node.outputs[i])) return false;
  return std::all_of(node.attributes.begin(), node.attributes.end(), [&](const Attribute& attribute) {
    const ops::AttributeSpec* spec = schema.FindAttribute(attribute.name);
    return spec != nullptr && AttributeTypeOf(attribute.value) == spec->type;
  });
}

// The oldest version in which a node of the newest spelling means the same as it stands, as in all between.
int OldestVersion(Graph& graph, NodeId id, const ops::Registry& registry) {
  Node& node = graph.node(id);
  const int newest = node.since_version;
  const ops::OpDef* op = registry.Find(node.domain, node.op_type, newest);
  const auto versions = ops::SchemaVersions(node.domain, node.op_type);
  int oldest = newest;
  for (std::size_t i = versions.size(); op != nullptr && i-- > 0;) {
    const ops::OpSchema& schema = versions[i];
    if (schema.since_version >= newest) continue;
    if (!Expresses(schema, graph, node) || !ops::MeansTheSame(graph, node, schema.since_version, registry)) break;
    oldest = schema.since_version;
  }
  return oldest;
}

// Per domain the opset that its nodes need at least; bodies included.
void CollectVersions(Graph& graph, bool newest, const ops::Registry& registry,
                     std::map<std::string, std::int64_t>& versions) {
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    const int needed = newest ? OldestVersion(graph, id, registry) : node.since_version;
    std::int64_t& version = versions[std::string(ops::AuthorsDomain(node.domain))];
    version = std::max<std::int64_t>({version, needed, 1});
    if (node.domain == ops::kOwnDomain) versions[""] = std::max(versions[""], kOwnFunctionsOpset);
    for (Graph* body : graph.node(id).Subgraphs()) CollectVersions(*body, newest, registry, versions);
  }
}

// Nodes that passes made have the name of what they replace; runtimes refuse models with a name twice.
void MakeNamesUnique(Graph& graph, std::set<std::string>& names) {
  for (const NodeId id : graph.order) {
    Node& node = graph.node(id);
    const std::string name = node.name;
    for (int i = 1; !name.empty() && !names.insert(node.name).second; ++i) node.name = name + "_" + std::to_string(i);
    for (Graph* body : node.Subgraphs()) MakeNamesUnique(*body, names);
  }
}

void RenameValue(Graph& graph, ValueId id, const std::string& name) {
  if (const auto clash = graph.Find(name); clash && *clash != id) graph.Rename(*clash, graph.FreshName(name));
  graph.Rename(id, name);
}

// A value of a body may not have the name of one of the graphs around it: passes make names that are new in theirs.
void MakeValuesUnique(Graph& graph, std::set<std::string> outer) {
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const std::string name = graph.value(id).name;
    if (name.empty() || graph.value(id).is_captured || outer.insert(name).second) continue;
    std::string other = name;
    for (int i = 1; outer.count(other) != 0 || graph.Find(other); ++i) other = name + "_" + std::to_string(i);
    graph.Rename(id, other);
    outer.insert(other);
  }
  for (const NodeId id : graph.order) {
    for (Graph* body : graph.node(id).Subgraphs()) {
      for (const Capture& capture : body->captures) RenameValue(*body, capture.inner, graph.value(capture.outer).name);
      MakeValuesUnique(*body, outer);
    }
  }
}

void RestoreDomains(Graph& graph) {
  for (const NodeId id : graph.order) {
    Node& node = graph.node(id);
    node.domain = std::string(ops::AuthorsDomain(node.domain));
    for (Graph* body : node.Subgraphs()) RestoreDomains(*body);
  }
}

void SetImports(Graph& graph, const std::vector<OpsetImport>& imports) {
  graph.opset_imports = imports;
  for (const NodeId id : graph.order)
    for (Graph* body : graph.node(id).Subgraphs()) SetImports(*body, imports);
}

std::size_t WeightBytes(const Graph& graph) {
  std::size_t bytes = 0;
  for (const ValueInfo& value : graph.values)
    if (const Tensor* constant = value.constant(); constant != nullptr && !IsString(constant->dtype()))
      bytes += constant->byte_size();
  return bytes;
}

model::SaveOptions FileOptions(const Graph& graph, const SessionOptions& options) {
  model::SaveOptions save;
  save.external_data_file = options.Config("session.optimized_model_external_initializers_file_name", "");
  const std::string least = options.Config("session.optimized_model_external_initializers_min_size_in_bytes", "");
  if (!least.empty()) save.external_data_min_bytes = std::stoull(least);
  if (save.external_data_file.empty() && WeightBytes(graph) > kMostInlineBytes)
    save.external_data_file = std::filesystem::path(options.optimized_model_path).filename().string() + ".data";
  return save;
}

// The schema of a node by the file's opsets; null for custom operators.
const ops::OpSchema* SchemaOf(const Graph& graph, const Node& node) {
  const std::int64_t opset = graph.OpsetVersion(node.domain);
  return ops::FindSchema(node.domain, node.op_type, opset > 0 ? static_cast<int>(opset) : ops::kNewestVersion);
}

void CollectOperators(const Graph& graph, model::OrtOperators& operators) {
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (const ops::OpSchema* schema = SchemaOf(graph, node)) {
      auto& names = operators[node.domain + ":" + node.op_type + ":" + std::to_string(schema->since_version)];
      if (names.empty())
        for (const auto& [name, arguments] : ops::TypeNamesOf(*schema))
          for (const ops::TypeArgument& argument : arguments)
            names[name].push_back({argument.is_output, argument.index});
    }
    for (const Graph* body : node.Subgraphs()) CollectOperators(*body, operators);
  }
}

// ONNX Runtime has no kernel for Constant: files in its format have initializers instead.
std::string OrtBytes(Model model, const ops::Registry& registry) {
  planner::MakeConstantsInitializers(model.graph, registry);
  model::OrtOperators operators;
  CollectOperators(model.graph, operators);
  return model::SaveOrtBytes(model, operators, [](const Graph& graph, const Node& node) {
    const ops::OpSchema* schema = SchemaOf(graph, node);
    if (schema == nullptr)
      return model::OrtNodeFacts{node.since_version, std::vector<std::int32_t>(node.inputs.size(), 1)};
    return model::OrtNodeFacts{schema->since_version, ops::InputCounts(*schema, node.inputs.size())};
  });
}

void WriteFile(const std::string& path, std::string_view bytes) {
  model::NewFile file(path);
  file.Write(bytes);
  file.Close();
  file.Rename();
}

}  // namespace

Model SavedModel(const Graph& graph, const Model& model, bool newest, const ops::Registry& registry) {
  Model saved = model;
  saved.graph = graph;
  ops::RestorePostponed(saved.graph);
  saved.functions.clear();
  if (!newest && !FollowsImports(graph)) {
    ops::Upgrade(saved.graph, registry);
    newest = true;
  }
  std::set<std::string> names;
  MakeNamesUnique(saved.graph, names);
  MakeValuesUnique(saved.graph, {});
  ops::ToOwnDomain(saved.graph);
  std::map<std::string, std::int64_t> versions;
  CollectVersions(saved.graph, newest, registry, versions);
  std::vector<OpsetImport> imports = model.opset_imports;
  for (OpsetImport& import : imports) {
    const auto used = versions.find(import.domain == "ai.onnx" ? "" : import.domain);
    if (used == versions.end()) continue;
    if (newest) import.version = std::max(import.version, used->second);
    versions.erase(used);
  }
  for (const auto& [domain, version] : versions) imports.push_back({domain, version});
  for (const OpsetImport& import : imports)
    if (import.domain.empty() || import.domain == "ai.onnx") SpellForOpset(saved.graph, import.version, registry);
  RestoreDomains(saved.graph);
  AddExpectedOutputs(saved.graph);
  saved.opset_imports = imports;
  SetImports(saved.graph, imports);
  return saved;
}

ModelFormat FormatOf(const SessionOptions& options) {
  constexpr const char* kKey = "session.save_model_format";
  const std::string& path = options.optimized_model_path;
  const char* by_name = path.ends_with(".sdx") ? "SDX" : path.ends_with(".ort") ? "ORT" : "ONNX";
  const std::string format = options.Config(kKey, by_name);
  if (format == "ONNX") return ModelFormat::kOnnx;
  if (format == "SDX") return ModelFormat::kCompiled;
  if (format == "ORT") return ModelFormat::kOrt;
  Fail(Code::kInvalidArgument, kKey, ": expected ONNX, ORT or SDX, found '", format, "'");
}

bool Compiles(const SessionOptions& options) {
  return options.compiled_sink ||
         (!options.optimized_model_path.empty() && FormatOf(options) == ModelFormat::kCompiled);
}

SessionOptions OptionsOfCompiled(const SessionOptions& options) {
  SessionOptions compiled = options;
  compiled.optimized_model_path.clear();
  compiled.compiled_sink = nullptr;
  compiled.initializers.clear();
  compiled.external_initializers.clear();
  compiled.fixed_inputs.clear();
  compiled.free_dimensions_by_name.clear();
  compiled.free_dimensions_by_denotation.clear();
  compiled.kept_values.clear();
  compiled.config.clear();
  compiled.disabled_passes.clear();
  compiled.compiled = std::make_shared<CompiledWeights>();
  return compiled;
}

Model CompiledModel(const Graph& graph, const Model& model, const ops::Registry& registry,
                    const providers::ProviderSet& set) {
  for (const auto& provider : set.providers) {
    if (provider->name() != providers::kCpuName)
      Fail(Code::kNotImplemented, "compiling a model for provider '", provider->name(),
           "' is not implemented; compiled models are for the CPU alone");
  }
  Model compiled = model;
  compiled.graph = graph;
  ops::RestorePostponed(compiled.graph);
  compiled.functions.clear();
  MakeValuesUnique(compiled.graph, {});
  ops::ToOwnDomain(compiled.graph);
  RestoreDomains(compiled.graph);
  std::map<std::string, std::int64_t> versions;
  CollectVersions(compiled.graph, false, registry, versions);
  std::vector<OpsetImport> imports = compiled.graph.opset_imports;
  for (const OpsetImport& import : imports) versions.erase(import.domain);
  for (const auto& [domain, version] : versions) imports.push_back({domain, version});
  SetImports(compiled.graph, imports);
  compiled.opset_imports = imports;
  return compiled;
}

void SaveCompiled(const Model& model, const model::CompiledParts& parts, const SessionOptions& options) {
  if (options.compiled_sink) return model::WriteCompiled(model, parts, options.compiled_sink);
  model::NewFile file(options.optimized_model_path);
  model::WriteCompiled(model, parts, [&](std::string_view bytes) { file.Write(bytes); });
  file.Close();
  file.Rename();
}

void SaveGraph(const Graph& graph, const Model& model, bool newest, const ops::Registry& registry,
               const SessionOptions& options) {
  Model saved = SavedModel(graph, model, newest, registry);
  if (FormatOf(options) == ModelFormat::kOrt) return WriteFile(options.optimized_model_path, OrtBytes(saved, registry));
  AddOwnFunctions(saved);
  model::SaveFile(saved, options.optimized_model_path, FileOptions(saved.graph, options));
}

}  // namespace sardonyx::runtime
