// ops/evaluate.cpp - an interpreter: infers, prepares and runs one node after the other.
#include "ops/evaluate.h"

#include <unordered_map>

#include "base/current_error.h"
#include "base/limits.h"
#include "ir/node_error.h"
#include "ops/infer.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/single_node.h"
#include "ops/tensor_ref.h"
#include "ops/upgrade.h"

namespace sardonyx::ops {
namespace {

Type TypeOf(const Value& value) {
  if (value.is_tensor()) return Type::TensorOf(value.tensor().dtype(), value.tensor().shape());
  if (value.is_sequence()) {
    const Sequence& sequence = value.sequence();
    if (!sequence.items.empty()) {
      Type element = TypeOf(sequence.items[0]);
      for (const Value& item : sequence.items) element = Union(element, TypeOf(item));
      return Type::SequenceOf(std::move(element));
    }
    return Type::SequenceOf(Type::TensorOf(sequence.element_dtype));
  }
  if (value.is_map()) return Type::MapOf(value.map().keys.dtype(), Type::TensorOf(value.map().values.dtype()));
  if (value.is_sparse()) {
    Type type = Type::TensorOf(value.sparse().values.dtype(), value.sparse().dense_shape);
    type.kind = TypeKind::kSparseTensor;
    return type;
  }
  return {};
}

// One node under way: its slots and what its kernel may ask for.
class Evaluation {
 public:
  Evaluation(const Graph& graph, const Node& node, const Registry& registry, std::span<const Value> inputs,
             const EvaluateOptions& options)
      : graph_(graph),
        original_(node),
        registry_(registry),
        options_(options),
        canonical_(graph, node, registry),
        values_(inputs) {}

  std::vector<Value> Run() {
    const Node& node = canonical_.node();
    if (canonical_.op() == nullptr) {
      Fail(Code::kNotImplemented, "[", node.op_type, "] ", Describe(graph_, original_), ": ", node.op_type, " version ",
           node.since_version, " of domain '", node.domain, "' is not implemented");
    }
    const OpDef& op = *canonical_.op();
    FillInputs(node);
    const InferContext::SubgraphFn no_bodies = [&](std::string_view attribute, std::span<const Type>) {
      const auto* box = std::get_if<GraphBox>(node.FindAttribute(attribute));
      return std::vector<Type>((*box)->outputs.size());
    };
    outputs_ = InferSingle(graph_, node, op, seen_, no_bodies);
    CheckType(op);
    const Prepared prepared = PrepareNode(node, op);
    return RunKernel(prepared);
  }

 private:
  void FillInputs(const Node& node) {
    const std::size_t count = std::max(node.inputs.size(), values_.size());
    slots_.resize(count);
    seen_.resize(count);
    prepare_inputs_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      Slot& slot = slots_[i];
      PrepareContext::Input& input = prepare_inputs_[i];
      seen_[i] = {&slot, &input.type, false, true};
      const bool from_node = i < node.inputs.size() && node.inputs[i] != kNoValue;
      if (from_node && i < values_.size()) slot.value = values_[i];
      if (!slot.value.has_value() && canonical_.HasInput(i) && canonical_.Constant(graph_, i) != nullptr) {
        slot.value = *canonical_.Constant(graph_, i);
      }
      if (slot.value.has_value()) {
        ShowTensor(slot);
        input = {TypeOf(slot.value), canonical_.Constant(graph_, i), true};
      } else if (from_node) {
        input = {graph_.value(node.inputs[i]).type, nullptr, true};
      }
      seen_[i].present = input.present;
    }
  }

  void CheckType(const OpDef& op) {
    if (op.types.empty()) return;
    const auto at = static_cast<std::size_t>(op.typed_input);
    const DType dtype = prepare_inputs_.empty() ? outputs_[0].type.dtype
                        : at < seen_.size()     ? prepare_inputs_[at].type.dtype
                                                : DType::kUndefined;
    if (dtype == DType::kUndefined || op.types.Has(dtype)) return;
    Fail(Code::kNotImplemented, "[", op.name, "] ", Describe(graph_, original_), ": ", op.name, " version ",
         original_.since_version, " is not implemented for type ", Name(dtype));
  }

  Prepared PrepareNode(const Node& node, const OpDef& op) {
    std::vector<Type> types;
    for (const auto& output : outputs_) types.push_back(output.type);
    PrepareContext context(graph_, node, op, prepare_inputs_, types, serial_);
    return op.prepare(context);
  }

  std::vector<Value> RunKernel(const Prepared& prepared) {
    std::vector<Slot> results(outputs_.size());
    std::vector<Slot*> in, out;
    for (Slot& slot : slots_) in.push_back(slot.value.has_value() ? &slot : nullptr);
    std::vector<OutputShape> shapes;
    for (std::size_t i = 0; i < results.size(); ++i) {
      out.push_back(canonical_.node().outputs[i] != kNoValue ? &results[i] : nullptr);
      shapes.push_back(OutputShapeOf(outputs_[i].type));
    }
    static constexpr KernelHost kHost = {AllocateOutput, SetOutput, RunSubgraph, Scratch, CheckCancelled};
    KernelContext context(kHost, this, in, out, prepared.state.get());
    context.set_parallel(options_.parallel != nullptr ? options_.parallel : &serial_);
    RunSingle(context, *canonical_.op(), shapes,
              {[&](std::size_t i, DType dtype, Dims shape) { Allocate(results[i], dtype, shape); },
               [&] { prepared.run(context); }, [](std::size_t) -> const Shape* { return nullptr; }});
    std::vector<Value> values;
    for (Slot& slot : results) values.push_back(std::move(slot.value));
    return values;
  }

  void Allocate(Slot& slot, DType dtype, Dims shape) {
    if (ByteSize(dtype, ElementCount(shape)) > options_.max_output_bytes)
      Fail(Code::kInvalidArgument, "expected an output of at most ", options_.max_output_bytes, " bytes, found ",
           ByteSize(dtype, ElementCount(shape)));
    AllocateDynamic(slot, dtype, shape);
  }

  static Evaluation& Self(KernelContext& c) { return *static_cast<Evaluation*>(c.executor()); }

  static OutputRef AllocateOutput(KernelContext& c, std::size_t i, DType dtype, Dims shape) {
    Slot& slot = *c.outputs()[i];
    if (dtype == DType::kUndefined) dtype = Self(c).outputs_[i].type.dtype;
    if (!slot.ref.present() || slot.ref.dtype != dtype || !Shape::Equal(slot.ref.shape, shape))
      Self(c).Allocate(slot, dtype, shape);
    return slot.output();
  }
  static void SetOutput(KernelContext& c, std::size_t i, Value value) {
    Slot& slot = *c.outputs()[i];
    slot.value = std::move(value);
    ShowTensor(slot);
  }
  static void RunSubgraph(KernelContext& c, std::size_t index, std::span<const Value> inputs,
                          std::span<Value> outputs) {
    Evaluation& self = Self(c);
    const Graph& body = *self.original_.Subgraphs().at(index);
    std::unordered_map<ValueId, Value> captured;
    for (const Capture& capture : body.captures)
      captured[capture.inner] = self.options_.captured ? self.options_.captured(capture.outer) : Value();
    EvaluateOptions options = self.options_;
    options.captured = [&](ValueId inner) { return captured.at(inner); };
    const std::vector<Value> results = EvaluateGraph(body, self.registry_, inputs, options);
    std::copy(results.begin(), results.end(), outputs.begin());
  }
  static void* Scratch(KernelContext& c, std::size_t bytes) {
    Self(c).scratch_ = Buffer::Allocate(bytes == 0 ? 1 : bytes);
    return Self(c).scratch_->data();
  }
  static void CheckCancelled(KernelContext&) { CheckTime(); }

  const Graph& graph_;
  const Node& original_;
  const Registry& registry_;
  const EvaluateOptions& options_;
  Canonical canonical_;
  std::span<const Value> values_;
  std::vector<Slot> slots_;
  std::vector<SeenInput> seen_;
  std::vector<PrepareContext::Input> prepare_inputs_;
  std::vector<InferContext::Output> outputs_;
  std::shared_ptr<Buffer> scratch_;
  Serial serial_;
};

}  // namespace

std::vector<Value> EvaluateNode(const Graph& graph, const Node& node, const Registry& registry,
                                std::span<const Value> inputs, const EvaluateOptions& options) {
  try {
    return Evaluation(graph, node, registry, inputs, options).Run();
  } catch (...) {
    throw AtNode(graph, node, CurrentError());
  }
}

std::vector<Value> EvaluateGraph(const Graph& graph, const Registry& registry, std::span<const Value> inputs,
                                 const EvaluateOptions& options) {
  std::unordered_map<ValueId, Value> values;
  for (std::size_t i = 0; i < graph.inputs.size() && i < inputs.size(); ++i) values[graph.inputs[i]] = inputs[i];
  const auto get = [&](ValueId id) -> Value {
    if (id == kNoValue) return {};
    if (const auto found = values.find(id); found != values.end()) return found->second;
    const ValueInfo& info = graph.value(id);
    if (info.is_captured && options.captured) return options.captured(id);
    if (info.initializer) return info.initializer->tensor;
    return {};
  };
  EvaluateOptions inner = options;
  inner.captured = get;
  for (const NodeId id : graph.order) {
    CheckTime();
    const Node& node = graph.node(id);
    std::vector<Value> arguments;
    for (const ValueId input : node.inputs) arguments.push_back(get(input));
    std::vector<Value> results = EvaluateNode(graph, node, registry, arguments, inner);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (node.outputs[i] != kNoValue) values[node.outputs[i]] = std::move(results[i]);
  }
  std::vector<Value> outputs;
  for (const ValueId output : graph.outputs) outputs.push_back(get(output));
  return outputs;
}

}  // namespace sardonyx::ops
