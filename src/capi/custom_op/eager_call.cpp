// capi/custom_op/eager_call.cpp - infers and prepares when the types are new, else only runs the kernel.
#include "capi/custom_op/eager_call.h"

#include <algorithm>

#include "base/current_error.h"
#include "base/limits.h"
#include "ir/node_error.h"
#include "ops/infer.h"
#include "ops/kernel_context.h"
#include "ops/single_node.h"
#include "ops/tensor_ref.h"

namespace sardonyx::capi {

using ops::OutputRef;
using ops::OutputShape;
using ops::Slot;

namespace {

bool Overlaps(const Tensor& a, const Tensor& b) {
  const auto* begin = static_cast<const std::byte*>(a.raw());
  const auto* other = static_cast<const std::byte*>(b.raw());
  return begin < other + b.byte_size() && other < begin + a.byte_size();
}

}  // namespace

// What the kernel asks its executor for.
struct EagerCall::Host {
  static EagerCall& Self(ops::KernelContext& c) { return *static_cast<EagerCall*>(c.executor()); }
  static OutputRef AllocateOutput(ops::KernelContext& c, std::size_t i, DType dtype, Dims shape) {
    EagerCall& self = Self(c);
    self.Allocate(i, dtype == DType::kUndefined ? self.output_types_[i].dtype : dtype, shape);
    return self.outputs_[i].output();
  }
  static void SetOutput(ops::KernelContext& c, std::size_t i, Value value) {
    Slot& slot = Self(c).outputs_[i];
    slot.value = std::move(value);
    ops::ShowTensor(slot);
  }
  static void RunSubgraph(ops::KernelContext&, std::size_t, std::span<const Value>, std::span<Value>) {
    Fail(Code::kFail, "a node without subgraphs runs one");
  }
  static void* Scratch(ops::KernelContext& c, std::size_t bytes) {
    std::shared_ptr<Buffer>& scratch = Self(c).scratch_;
    if (!scratch || scratch->size() < bytes) scratch = Buffer::Allocate(std::max<std::size_t>(bytes, 64));
    return scratch->data();
  }
  static void CheckCancelled(ops::KernelContext&) { CheckTime(); }
};

EagerCall::EagerCall(const Graph& graph, const Node& node, const ops::Registry& registry)
    : graph_(graph), original_(node), canonical_(graph, node, registry) {
  const Node& newest = canonical_.node();
  if (canonical_.op() == nullptr)
    Fail(Code::kNotImplemented, ErrorPrefix(graph, node), newest.op_type, " version ", newest.since_version,
         " of domain '", newest.domain, "' is not implemented");
  inputs_.resize(std::max(newest.inputs.size(), node.inputs.size()));
  outputs_.resize(newest.outputs.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor* constant = canonical_.HasInput(i) ? canonical_.Constant(graph, i) : nullptr;
    if (constant != nullptr) inputs_[i].value = *constant;  // an attribute that the newest version takes as an input
    ops::ShowTensor(inputs_[i]);
    input_pointers_.push_back(constant != nullptr || i < node.inputs.size() ? &inputs_[i] : nullptr);
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    output_pointers_.push_back(newest.outputs[i] != kNoValue ? &outputs_[i] : nullptr);
}

void EagerCall::Show(std::span<const Value* const> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs_[i].ref = ops::RefOf(inputs[i]->tensor());
}

bool EagerCall::Remembers() {
  shapes_.Begin();
  for (const Slot& slot : inputs_) {
    if (!slot.ref.present()) {
      shapes_.AddMissing(false);
      continue;
    }
    const bool readable = !IsString(slot.ref.dtype) && slot.ref.count <= runtime::LateShapes::kMaxContents;
    if (reads_contents_ && !readable) return false;
    shapes_.Add(slot.ref, reads_contents_);
  }
  return prepared_.run != nullptr && shapes_.Same();
}

void EagerCall::Infer(bool with_contents) {
  std::vector<ops::SeenInput> seen(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const ops::TensorRef& ref = inputs_[i].ref;
    const bool readable = ref.present() && !IsString(ref.dtype);
    seen[i] = {&inputs_[i], nullptr, ref.present(), readable && (with_contents || inputs_[i].value.has_value())};
  }
  const ops::InferContext::SubgraphFn no_bodies = [](std::string_view, std::span<const Type>) {
    return std::vector<Type>();
  };
  const std::vector<ops::InferContext::Output> inferred =
      ops::InferSingle(graph_, canonical_.node(), *canonical_.op(), seen, no_bodies);
  output_types_.clear();
  for (const ops::InferContext::Output& output : inferred) output_types_.push_back(output.type);
  reads_contents_ = with_contents;
  Remembers();  // the key, with or without contents
  shapes_.Keep(inferred);
}

std::ptrdiff_t EagerCall::CountKnown() const {
  const auto outputs = shapes_.outputs();
  return std::count_if(outputs.begin(), outputs.end(), [](const OutputShape& output) { return output.known; });
}

void EagerCall::CheckType() const {
  const ops::OpDef& op = *canonical_.op();
  if (op.types.empty()) return;
  const auto at = static_cast<std::size_t>(op.typed_input);
  const DType dtype = inputs_.empty()       ? output_types_[0].dtype
                      : at < inputs_.size() ? inputs_[at].ref.dtype
                                            : DType::kUndefined;
  if (dtype == DType::kUndefined || op.types.Has(dtype)) return;
  Fail(Code::kNotImplemented, op.name, " version ", original_.since_version, " is not implemented for type ",
       Name(dtype));
}

void EagerCall::Prepare(Parallel& parallel) {
  prepared_ = {};
  Infer(false);
  if (const std::ptrdiff_t known = CountKnown(); known < std::ssize(output_types_)) {
    Infer(true);
    if (CountKnown() == known) Infer(false);  // the elements do not help: only the kernel knows
  }
  CheckType();
  std::vector<ops::PrepareContext::Input> inputs(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const ops::TensorRef& ref = inputs_[i].ref;
    if (!ref.present()) continue;
    const Tensor* constant = inputs_[i].value.has_value() ? &inputs_[i].value.tensor() : nullptr;
    inputs[i] = {Type::TensorOf(ref.dtype, ref.shape), constant, true};
  }
  ops::PrepareContext context(graph_, canonical_.node(), *canonical_.op(), inputs, output_types_, parallel);
  prepared_ = canonical_.op()->prepare(context);
}

// Outputs are computed where the caller wants them, unless that is where an input lies.
void EagerCall::Place(std::span<const Value* const> inputs, std::span<Value* const> outputs) {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Slot& slot = outputs_[i];
    slot.value = Value();
    slot.Clear();
    if (i >= outputs.size() || !outputs[i]->is_tensor()) continue;
    Tensor& target = outputs[i]->tensor();
    const bool taken = IsString(target.dtype()) || target.raw() == nullptr ||
                       std::any_of(inputs.begin(), inputs.end(),
                                   [&](const Value* input) { return Overlaps(input->tensor(), target); });
    if (taken) continue;
    slot.ref = ops::RefOf(target);
    slot.PlaceAt(target.raw());
  }
}

void EagerCall::Allocate(std::size_t output, DType dtype, Dims shape) {
  Slot& slot = outputs_[output];
  if (slot.ref.present() && slot.ref.dtype == dtype && Shape::Equal(slot.ref.shape, shape)) return;
  ops::AllocateDynamic(slot, dtype, shape);
}

void EagerCall::Deliver(std::size_t output, Value& target) {
  Slot& slot = outputs_[output];
  if (!target.is_tensor() || !slot.ref.present()) {
    target = std::move(slot.value);
    slot.retained.reset();  // the caller's now
    return;
  }
  const Tensor& to = target.tensor();
  if (slot.ref.dtype != to.dtype() || !Shape::Equal(slot.ref.shape, to.shape())) {
    Fail(Code::kInvalidArgument, "output ", output, ": expected a tensor for the computed ", Name(slot.ref.dtype),
         ToText(slot.ref.shape), ", found one of ", Name(to.dtype()), ToText(to.shape()));
  }
  if (slot.ref.data != to.raw()) ops::CopyTensor(slot.ref, target.tensor().raw());
}

void EagerCall::RunKernel(std::span<Value* const> outputs, Parallel& parallel) {
  static constexpr ops::KernelHost kHost = {Host::AllocateOutput, Host::SetOutput, Host::RunSubgraph, Host::Scratch,
                                            Host::CheckCancelled};
  ops::KernelContext context(kHost, this, input_pointers_, output_pointers_, prepared_.state.get());
  context.set_parallel(&parallel);
  ops::RunSingle(context, *canonical_.op(), shapes_.outputs(),
                 {[&](std::size_t i, DType dtype, Dims shape) { Allocate(i, dtype, shape); },
                  [&] { prepared_.run(context); }, [](std::size_t) -> const Shape* { return nullptr; }});
  for (std::size_t i = 0; i < outputs.size(); ++i) Deliver(i, *outputs[i]);
}

void EagerCall::Run(std::span<const Value* const> inputs, std::span<Value* const> outputs, Parallel& parallel) {
  try {
    Show(inputs);
    if (!Remembers()) Prepare(serial_);
    Place(inputs, outputs);
    RunKernel(outputs, parallel);
  } catch (...) {
    throw AtNode(graph_, original_, CurrentError());
  }
}

}  // namespace sardonyx::capi
