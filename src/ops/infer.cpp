// ops/infer.cpp - infers the types and shapes of a whole graph, node by node in order.
#include "ops/infer.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/limits.h"
#include "ops/errors/error_codes.h"
#include "ops/errors/late_errors.h"
#include "ops/input_type.h"
#include "ops/schema/schema.h"
#include "ops/schema/substitute_schema.h"
#include "ops/upgrade.h"

namespace sardonyx::ops {
namespace {

// The types that bodies had for their outputs before the inference of the whole graph began: what their author
// declared, as far as nothing more was known.
using DeclaredOutputs = std::unordered_map<const Graph*, std::vector<Type>>;

std::vector<Type> OutputTypes(const Graph& body) {
  std::vector<Type> types;
  for (const ValueId output : body.outputs) types.push_back(body.value(output).type);
  return types;
}

// The index of a loop's first output in its body that is stacked. It has one shape in all iterations, the declared one,
// while the values before it may change theirs from one to the next.
std::size_t FirstStacked(const Node& node, const Graph& body) {
  return node.op_type == "Loop" && node.domain.empty() ? std::max<std::size_t>(node.inputs.size(), 2) - 1
                                                       : body.outputs.size();
}

// `inferred` with the numbers of `declared` where inference knows nothing.
Type Completed(Type inferred, const Type& declared) {
  if (!inferred.is_tensor() || !declared.is_tensor() || !declared.has_rank || inferred.dtype != declared.dtype)
    return inferred;
  if (!inferred.has_rank) inferred = Type::TensorOf(inferred.dtype, std::vector<Dim>(declared.dims.size()));
  if (inferred.dims.size() != declared.dims.size()) return inferred;
  for (std::size_t i = 0; i < inferred.dims.size(); ++i)
    if (inferred.dims[i] == Dim() && declared.dims[i].known()) inferred.dims[i] = declared.dims[i];
  return inferred;
}

class GraphInference {
 public:
  GraphInference(Graph& graph, const Registry& registry, const InferOptions& options, DeclaredOutputs& declared,
                 bool is_body)
      : graph_(graph), registry_(registry), options_(options), declared_(declared), is_body_(is_body) {}

  void Run() {
    for (const NodeId id : graph_.order) {
      CheckTime();
      InferOne(id);
    }
  }
  void RunOne(NodeId id) { InferOne(id); }

 private:
  template <typename... Parts>
  [[noreturn]] void FailAt(const Node& node, Code code, const Parts&... parts) const {
    Fail(code, "[", node.op_type, "] ", Describe(graph_, node), ": ", parts...);
  }

  InferContext::Known KnownOf(const Canonical& canonical, std::size_t i) const {
    InferContext::Known known;
    known.present = canonical.HasInput(i);
    if (!known.present) return known;
    known.constant = canonical.Constant(graph_, i);
    const ValueId id = i < canonical.node().inputs.size() ? canonical.node().inputs[i] : kNoValue;
    if (id == kNoValue) {
      known.type = Type::TensorOf(known.constant->dtype(), known.constant->shape());
      return known;
    }
    const ValueInfo& value = graph_.value(id);
    known.type = TypeAsInput(canonical.node(), i, value.type);
    if (const auto made = constants_.find(id); known.constant == nullptr && made != constants_.end())
      known.constant = &made->second;
    if (value.shape_data) known.shape_data = &*value.shape_data;
    return known;
  }

  void InferOne(NodeId id) {
    const Node& node = graph_.node(id);
    const Canonical canonical(graph_, node, registry_);
    CheckTypes(node);
    if (canonical.op() == nullptr || canonical.op()->infer == nullptr) return InferBodies(id);
    if (&canonical.node() != &node) CheckUpgraded(node, canonical);
    std::vector<InferContext::Known> inputs;
    for (std::size_t i = 0; i < canonical.node().inputs.size(); ++i) inputs.push_back(KnownOf(canonical, i));
    std::vector<InferContext::Output> outputs(node.outputs.size());
    const InferContext::SubgraphFn subgraph = [&](std::string_view attribute, std::span<const Type> types) {
      return InferBody(id, attribute, types);
    };
    try {
      InferNode(graph_, canonical.node(), *canonical.op(), inputs, outputs, &subgraph);
    } catch (const Error& error) {  // functions shared with kernels do not know the node
      if (options_.postpones && PostponeAt(id, canonical, error)) return;
      throw AsLoadError(graph_, canonical.node(), *canonical.op(), error);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (node.outputs[i] != kNoValue) SetType(node, graph_.value(node.outputs[i]), std::move(outputs[i]));
    if (node.op_type == "Constant" && node.domain.empty() && !node.outputs.empty()) KeepConstant(node);
  }

  // Sessions make Constant nodes initializers before; a model that is edited has them. Text is no shape, and a sparse
  // value none that exporters write.
  void KeepConstant(const Node& node) {
    for (const Attribute& attribute : node.attributes) {
      Tensor made;
      if (const auto* tensor = std::get_if<Tensor>(&attribute.value)) made = *tensor;
      if (const auto* number = std::get_if<std::int64_t>(&attribute.value)) made = Tensor::Scalar(*number);
      if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&attribute.value))
        made = Tensor::Vector<std::int64_t>(*numbers);
      if (const auto* number = std::get_if<float>(&attribute.value)) made = Tensor::Scalar(*number);
      if (const auto* numbers = std::get_if<std::vector<float>>(&attribute.value))
        made = Tensor::Vector<float>(*numbers);
      if (made.defined()) constants_.insert_or_assign(node.outputs[0], std::move(made));
    }
  }

  // Whether a run is to give the error. Of the outputs, only what their schema says is known then.
  bool PostponeAt(NodeId id, const Canonical& canonical, const Error& error) {
    Node& node = graph_.node(id);
    const std::optional<Error> late = AsLateError(graph_, node, canonical.node(), *canonical.op(), error);
    if (!late) return false;
    std::vector<Type> types;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      types.push_back(Type::TensorOf(OutputDType(node, i)));
      if (types.back().dtype == DType::kUndefined) return false;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNoValue) SetType(node, graph_.value(node.outputs[i]), {types[i], std::nullopt});
    if (options_.logger != nullptr) options_.logger->Warn(late->what(), "; a run that reaches the node fails");
    Postpone(node, *late);
    return true;
  }

  static DType OnlyDType(const TypeSet& types) {
    for (int i = 1; i < kDTypeCount; ++i)
      if (types.Contains(static_cast<DType>(i))) return static_cast<DType>(i);
    return DType::kUndefined;  // not of a tensor
  }

  DType OutputDType(const Node& node, std::size_t output) const {
    const OpSchema* schema = FindSchema(node.domain, node.op_type, node.since_version);
    const FormalParam* param = schema == nullptr ? nullptr : schema->Output(output);
    if (param == nullptr) return DType::kUndefined;
    if (param->types().Names().size() == 1) return OnlyDType(param->types());
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const FormalParam* input = schema->Input(i);
      if (input != nullptr && input->constraint == param->constraint && node.inputs[i] != kNoValue)
        return graph_.value(node.inputs[i]).type.dtype;
    }
    return DType::kUndefined;
  }

  // An attribute that the author's version lets be missing may have become an input that must be there.
  void CheckUpgraded(const Node& node, const Canonical& canonical) const {
    const Node& newest = canonical.node();
    const OpSchema* schema = FindSchema(newest.domain, newest.op_type, newest.since_version);
    if (schema == nullptr) return;
    for (std::size_t i = 0; i < static_cast<std::size_t>(schema->min_inputs); ++i) {
      const FormalParam* param = schema->Input(i);
      if (canonical.HasInput(i) || param == nullptr || param->option != ParamOption::kSingle) continue;
      FailAt(node, Code::kInvalidGraph, "expected attribute '", param->name(), "' in version ", node.since_version,
             " (input ", i, " of version ", newest.since_version, "), found none");
    }
  }

  // A node without a row: its bodies still get what is known of the values they capture.
  void InferBodies(NodeId id) {
    for (Graph* body : graph_.node(id).Subgraphs()) Descend(*body, {});
  }

  std::vector<Type> InferBody(NodeId id, std::string_view attribute, std::span<const Type> types) {
    auto* box = std::get_if<GraphBox>(graph_.node(id).FindAttribute(attribute));
    Graph& body = **box;
    Descend(body, types);
    const std::vector<Type>& declared = declared_.at(&body);
    for (std::size_t i = FirstStacked(graph_.node(id), body); i < body.outputs.size(); ++i) {
      Type& type = body.value(body.outputs[i]).type;
      type = Completed(std::move(type), declared[i]);
    }
    return OutputTypes(body);
  }

  void Descend(Graph& body, std::span<const Type> types) {
    if (!declared_.contains(&body)) declared_.emplace(&body, OutputTypes(body));
    for (const Capture& capture : body.captures) {
      const ValueInfo& outer = graph_.value(capture.outer);
      ValueInfo& inner = body.value(capture.inner);
      inner.type = outer.type;
      inner.shape_data = outer.shape_data;
      if (outer.constant() != nullptr) inner.initializer = outer.initializer;
    }
    for (std::size_t i = 0; i < std::min(types.size(), body.inputs.size()); ++i)
      if (!types[i].is_none()) body.value(body.inputs[i]).type = types[i];
    GraphInference inner(body, registry_, options_, declared_, true);
    for (const Capture& capture : body.captures)
      if (const auto made = constants_.find(capture.outer); made != constants_.end())
        inner.constants_.emplace(capture.inner, made->second);
    inner.Run();
  }

  // Inside of bodies the inferred type alone counts: a loop infers its body again with wider types.
  void SetType(const Node& node, ValueInfo& value, InferContext::Output output) {
    value.shape_data = std::move(output.shape_data);
    if (output.type.is_none()) return;
    // A newer version of the operator may take optionals, where the author's took what is in them.
    if (output.type.kind == TypeKind::kOptional && output.type.element != nullptr && !value.type.is_none() &&
        value.type.kind != TypeKind::kOptional)
      output.type = Type(*output.type.element);
    if (is_body_ || value.type.is_none()) {
      value.type = std::move(output.type);
      return;
    }
    // Its element type did not follow before, behind an operator whose results were not known.
    if (value.type.is_tensor() && output.type.is_tensor() && value.type.dtype == DType::kUndefined)
      value.type.dtype = output.type.dtype;
    if (value.type.kind != output.type.kind || value.type.dtype != output.type.dtype) {
      if (value.type.kind == output.type.kind && output.type.dtype == DType::kUndefined) return;
      FailAt(node, Code::kFail, "output '", value.name, "' is declared as ", value.type.ToText(), " and computed as ",
             output.type.ToText());
    }
    try {
      value.type = Merge(value.type, output.type);
    } catch (const Error& conflict) {
      if (options_.strict) FailAt(node, Code::kFail, "output '", value.name, "': ", conflict.what());
      if (options_.logger != nullptr)
        options_.logger->Warn(Describe(graph_, node), ": output '", value.name, "' is declared as ",
                              value.type.ToText(), " and computed as ", output.type.ToText(),
                              "; the computed type is used");
      value.type = std::move(output.type);
    }
  }

  static bool IsKnown(const Type& type) {
    if (type.is_none()) return false;
    if (type.kind == TypeKind::kTensor || type.kind == TypeKind::kSparseTensor) return type.dtype != DType::kUndefined;
    return type.element != nullptr && IsKnown(*type.element);
  }

  // Element types against the schema of the author's version: each allowed, and one type for each type parameter.
  void CheckTypes(const Node& node) const {
    if (node.since_version == 0) return;
    const OpSchema* schema = FindSchema(node.domain, node.op_type, node.since_version);
    if (schema == nullptr) {
      schema = SubstituteSchema(node.domain, node.op_type);
      if (schema == nullptr) return;
    } else if (schema->since_version != node.since_version) {
      return;
    }
    std::vector<const Type*> bound(schema->type_constraints().size(), nullptr);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const FormalParam* param = schema->Input(i);
      if (param == nullptr || node.inputs[i] == kNoValue) continue;
      const ValueInfo& value = graph_.value(node.inputs[i]);
      const Type& type = TypeAsInput(node, i, value.type);
      if (!IsKnown(type)) continue;
      if (!param->types().Contains(type)) {
        // The words in parentheses are those that programs look for in ONNX Runtime's message.
        FailAt(node, Code::kInvalidGraph, "input ", i, " ('", param->name(), "'): expected ", param->types().ToText(),
               " in version ", node.since_version, ", found ", type.ToText(), " ('", value.name, "')",
               type.is_tensor() ? " (Type Error: Type 'tensor(" + std::string(Name(type.dtype)) + ")')" : "");
      }
      if (param->constraint < 0 || (param->option == ParamOption::kVariadic && !param->homogeneous)) continue;
      const Type*& first = bound[static_cast<std::size_t>(param->constraint)];
      if (first != nullptr && (first->kind != type.kind || first->dtype != type.dtype)) {
        FailAt(node, Code::kInvalidGraph, "input ", i, " ('", param->name(),
               "'): expected the type of the other inputs of type parameter ", param->type(), ", ", first->ToText(),
               ", found ", type.ToText(), " ('", value.name, "')");
      }
      first = &type;
    }
  }

  Graph& graph_;
  const Registry& registry_;
  const InferOptions& options_;
  DeclaredOutputs& declared_;
  bool is_body_;
  std::unordered_map<ValueId, Tensor> constants_;  // what Constant nodes make
};

// What is known of a tensor's shape must be possible, so that inference and kernels may multiply its dimensions.
void CheckDims(const Type& type) {
  if (!type.is_tensor() || !type.has_rank) return;
  if (type.rank() > kMostDimensions)
    Fail(Code::kNotImplemented, "expected a rank of at most ", kMostDimensions, ", found rank ", type.rank());
  Shape known;
  for (const Dim& dim : type.dims)
    if (dim.known()) known.Append(dim.number());
  ElementCount(known);
}

}  // namespace

const Type& TypeAsInput(const Node& node, std::size_t i, const Type& type) {
  if (type.kind != TypeKind::kOptional || type.element == nullptr) return type;
  const OpSchema* schema = FindSchema(node.domain, node.op_type, node.since_version);
  const FormalParam* param = schema == nullptr ? nullptr : schema->Input(i);
  return param != nullptr && !param->types().Contains(type) && param->types().Contains(*type.element) ? *type.element
                                                                                                      : type;
}

void InferNode(const Graph& graph, const Node& node, const OpDef& op, std::span<const InferContext::Known> inputs,
               std::span<InferContext::Output> outputs, const InferContext::SubgraphFn* subgraph) {
  InferContext context(graph, node, op, inputs, outputs, subgraph);
  for (const InferContext::Known& input : inputs) CheckDims(input.type);
  op.infer(context);
  for (const InferContext::Output& output : outputs) CheckDims(output.type);
}

void InferAt(Graph& graph, NodeId node, const Registry& registry, const InferOptions& options) {
  DeclaredOutputs declared;
  GraphInference(graph, registry, options, declared, false).RunOne(node);
}

void Infer(Graph& graph, const Registry& registry, const InferOptions& options) {
  for (ValueInfo& value : graph.values)
    if (value.initializer && value.type.is_none())
      value.type = Type::TensorOf(value.initializer->tensor.dtype(), value.initializer->tensor.shape());
  DeclaredOutputs declared;
  GraphInference(graph, registry, options, declared, false).Run();
}

}  // namespace sardonyx::ops
