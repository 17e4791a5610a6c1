// ops/resolve.cpp - finds the schema that each node follows, and checks the node against it.
#include <algorithm>

#include "base/limits.h"
#include "ops/attribute_check.h"
#include "ops/infer.h"
#include "ops/own_domain.h"
#include "ops/schema/schema.h"
#include "ops/schema/substitute_schema.h"

namespace sardonyx::ops {
namespace {

constexpr const char* kCustomHint =
    "; if a library of custom operators has it, register that library with the session options before the session is "
    "created (RegisterCustomOpsLibrary_V2, register_custom_ops_library in Python)";

class Resolver {
 public:
  Resolver(Graph& graph, const Registry& registry, const FunctionIndex& functions, UnknownOperators unknown)
      : graph_(graph), registry_(registry), functions_(functions), unknown_(unknown) {}

  void Run() {
    for (const NodeId id : graph_.order) {
      CheckTime();
      Node& node = graph_.node(id);
      if (node.domain == "ai.onnx") node.domain = "";
      if (node.domain == kOwnDomain) {
        CheckOwnOpset(node);
        FromOwnDomain(node);
      }
      const bool calls_function =
          functions_.Find(node.domain, node.op_type, node.overload) != nullptr && !IsOperator(node);
      const bool is_left_alone = calls_function || IsLeftAlone(node);
      if (!ResolveCustom(node, is_left_alone) && !is_left_alone) Resolve(node);
      for (Graph* body : node.Subgraphs()) Resolver(*body, registry_, functions_, unknown_).Run();
    }
  }

 private:
  template <typename... Parts>
  [[noreturn]] void FailAt(const Node& node, Code code, const Parts&... parts) const {
    Fail(code, "[", node.op_type, "] ", Describe(graph_, node), ": ", parts...);
  }

  std::string FullName(const Node& node) const {
    return node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
  }

  // A function of the model with the name of an operator of this library is never called, as in ONNX Runtime.
  bool IsOperator(const Node& node) const {
    const std::int64_t imported = graph_.OpsetVersion(node.domain);
    const std::int64_t opset = imported > 0 ? imported : NewestOpset(node.domain);
    const OpSchema* schema =
        FindSchema(node.domain, node.op_type, static_cast<int>(std::min<std::int64_t>(opset, kNewestVersion)));
    return schema != nullptr && registry_.Find(node.domain, node.op_type, schema->since_version) != nullptr;
  }

  // What is left alone by its name: no operator of this library has it, in whatever version.
  bool IsLeftAlone(const Node& node) const {
    if (unknown_ == UnknownOperators::kRefused) return false;
    if (unknown_ == UnknownOperators::kAllButStandard && !node.domain.empty()) return true;
    return SchemaVersions(node.domain, node.op_type).empty() && !registry_.HasName(node.domain, node.op_type);
  }

  void CheckOwnOpset(const Node& node) const {
    const std::int64_t version = graph_.OpsetVersion(kOwnDomain);
    if (version <= kOwnOpset) return;
    FailAt(node, Code::kInvalidGraph, "expected version 1 to ", kOwnOpset, " of domain '", kOwnDomain, "', found ",
           version, ": the model was saved by a newer Sardonyx; optimize the original model again, or update");
  }

  // A custom operator counts before a function of the model and before a built-in operator, as in ONNX Runtime. It
  // checks its nodes itself, where their types are known.
  bool ResolveCustom(Node& node, bool calls_function) const {
    const std::int64_t opset = graph_.OpsetVersion(node.domain);
    if (const OpDef* custom = registry_.FindCustom(node.domain, node.op_type, opset)) {
      node.domain = custom->domain;
      node.since_version = custom->since.items[0];
      return true;
    }
    const std::vector<int> versions = registry_.CustomVersions(node.domain, node.op_type);
    if (versions.empty() || calls_function || FindSchema(node.domain, node.op_type) != nullptr) return false;
    FailAt(node, Code::kInvalidGraph, "custom operator ", FullName(node), " exists since version ",
           *std::min_element(versions.begin(), versions.end()), " of its domain, and the model imports version ",
           opset);
  }

  int Opset(const Node& node) const {
    const auto version = graph_.OpsetVersion(node.domain);
    if (version > 0) return static_cast<int>(std::min<std::int64_t>(version, kNewestVersion));
    // Contributed domains have one version; ONNX Runtime does not insist on the import either.
    if (node.domain != "" && node.domain.rfind("com.", 0) == 0) return 1;
    if (!registry_.HasName(node.domain, node.op_type) && NewestOpset(node.domain) == 0) {
      FailAt(node, Code::kInvalidGraph, "unknown operator ", FullName(node),
             ": no operator of this library, function of the model or custom operator library defines it", kCustomHint);
    }
    // ONNX Runtime imports the newest version of the domains that it knows and the model does not import.
    if (const int newest = NewestOpset(node.domain); newest > 0) return newest;
    FailAt(node, Code::kInvalidGraph, "expected an opset import for domain '", node.domain, "', found none");
  }

  // A Constant may have a value in a form of a later version, which ONNX Runtime takes in any.
  static const OpSchema* SchemaOf(const Node& node, int opset) {
    const OpSchema* schema = FindSchema(node.domain, node.op_type, opset);
    if (schema == nullptr || !node.domain.empty() || node.op_type != "Constant" || node.attributes.empty())
      return schema;
    const std::string& form = node.attributes[0].name;
    const OpSchema* newest = FindSchema(node.domain, node.op_type, kNewestVersion);
    return schema->FindAttribute(form) == nullptr && newest->FindAttribute(form) != nullptr ? newest : schema;
  }

  void Resolve(Node& node) {
    // The domain of nodes that a custom operator has taken over is the session's own: no file can ask for it.
    if (node.since_version == 0 && AuthorsDomain(node.domain) != node.domain)
      FailAt(node, UnknownCode(node), "unknown operator ", FullName(node), kCustomHint);
    const int opset = Opset(node);
    const OpSchema* schema = SchemaOf(node, opset);
    if (schema == nullptr) {
      if (registry_.HasName(node.domain, node.op_type)) {
        node.since_version = NewestCustom(node, opset);
        if (const OpSchema* substitute = SubstituteSchema(node.domain, node.op_type)) {
          CheckCounts(node, *substitute);
          CheckAttributes(graph_, node, *substitute);
          NameRequiredOutputs(node, *substitute);
        }
        return;
      }
      FailUnknown(node, opset);
    }
    if (schema->deprecated() && registry_.Find(node.domain, node.op_type, schema->since_version) == nullptr) {
      FailAt(node, Code::kInvalidGraph, FullName(node), " is deprecated since opset ", schema->since_version,
             ", and the model imports opset ", opset);
    }
    node.since_version = schema->since_version;
    CheckCounts(node, *schema);
    if (schema->takes_any_attribute())
      std::erase_if(node.attributes,
                    [&](const Attribute& attribute) { return schema->FindAttribute(attribute.name) == nullptr; });
    CheckAttributes(graph_, node, *schema);
    NameRequiredOutputs(node, *schema);
  }

  // Only an optional output may be without a name. One that the author does not name is computed all the same, so that
  // no kernel has to ask for what it always makes.
  void NameRequiredOutputs(Node& node, const OpSchema& schema) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const FormalParam* param = schema.Output(i);
      if (node.outputs[i] != kNoValue || param == nullptr || param->option == ParamOption::kOptional) continue;
      node.outputs[i] = graph_.AddValue("");
      graph_.value(node.outputs[i]).producer = node.id;
    }
  }

  int NewestCustom(const Node& node, int opset) const {
    for (int version = opset; version > 0; --version)
      if (registry_.Find(node.domain, node.op_type, version) != nullptr) return version;
    FailUnknown(node, opset);
  }

  // As in ONNX Runtime, which programs rely on: a model with an operator that ONNX does not have is invalid; one with
  // an operator of another domain may lack a library of custom operators only.
  Code UnknownCode(const Node& node) const {
    const bool standard = node.domain.empty() || node.domain == "ai.onnx.ml" || node.domain == "ai.onnx.training";
    return standard || graph_.OpsetVersion(node.domain) == 0 ? Code::kInvalidGraph : Code::kFail;
  }

  [[noreturn]] void FailUnknown(const Node& node, int opset) const {
    const auto versions = SchemaVersions(node.domain, node.op_type);
    if (!versions.empty()) {
      FailAt(node, Code::kInvalidGraph, FullName(node), " exists since opset ", versions.front().since_version,
             " of its domain, and the model imports opset ", opset);
    }
    const std::string closest = ClosestName(node.op_type, AllOpTypes(node.domain));
    FailAt(node, UnknownCode(node), "unknown operator ", FullName(node), " (opset ", opset, ")",
           closest.empty() ? "" : "; did you mean " + closest + "?", NewestOpset(node.domain) == 0 ? kCustomHint : "");
  }

  void CheckCounts(const Node& node, const OpSchema& schema) const {
    CheckCount(node, "inputs", node.inputs.size(), schema.min_inputs, schema.max_inputs);
    CheckCount(node, "outputs", node.outputs.size(), schema.min_outputs, schema.max_outputs);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const FormalParam* param = schema.Input(i);
      if (node.inputs[i] != kNoValue || param == nullptr || param->option == ParamOption::kOptional) continue;
      FailAt(node, Code::kInvalidGraph, "input ", i, " ('", param->name(), "') is required and missing");
    }
  }

  void CheckCount(const Node& node, std::string_view what, std::size_t count, std::int32_t least,
                  std::int32_t most) const {
    if (count >= static_cast<std::size_t>(least) && count <= static_cast<std::size_t>(most)) return;
    std::string range = std::to_string(least);
    if (most == kUnlimited) range += " or more";
    if (most != least && most != kUnlimited) range += " to " + std::to_string(most);
    FailAt(node, Code::kInvalidGraph, "expected ", range, " ", what, ", found ", count);
  }

  Graph& graph_;
  const Registry& registry_;
  const FunctionIndex& functions_;
  const UnknownOperators unknown_;
};

}  // namespace

void ResolveVersions(Graph& graph, const Registry& registry, const FunctionIndex& functions, UnknownOperators unknown) {
  Resolver(graph, registry, functions, unknown).Run();
}

}  // namespace sardonyx::ops
