// runtime/run_late.cpp - steps whose shapes come with the run: inferred, given memory, and run.
#include <algorithm>

#include "base/limits.h"
#include "ops/infer.h"
#include "ops/schema/schema.h"
#include "ops/tensor_ref.h"
#include "planner/foreign_steps.h"
#include "runtime/run_state.h"

namespace sardonyx::runtime {

using ops::Slot;
using ops::TensorRef;
using planner::kNoSlot;
using planner::Step;

// Under a limit, the longest text given may come out in each element. Operators on strings alone (StringSplit) cut
// texts to pieces, or count what they make (StringConcat).
void CheckTexts(const ops::KernelContext& c, const ops::OpDef& op, Dims shape) {
  if (!IsLimited() || (op.types.Has(DType::kString) && !op.types.Has(DType::kInt8))) return;
  std::size_t longest = 0;
  for (const Slot* input : c.inputs()) {
    if (input == nullptr || !input->ref.present() || !IsString(input->ref.dtype)) continue;
    for (const std::string& text : input->ref.Span<const std::string>())
      longest = std::max(longest, text.size() < sizeof(std::string) ? 0 : text.size());
  }
  const std::size_t bytes = CheckedMul(longest, static_cast<std::size_t>(ElementCount(shape)), "texts");
  ChargeMemory(bytes);
  ReturnMemory(bytes);
}

// The memory a slot keeps from run to run serves again while nobody else holds it.
void AllocateDynamic(Slot& slot, DType dtype, Dims shape, const std::shared_ptr<Allocator>& allocator) {
  slot.value = Value();
  if (shape.size() > ops::kMostDimensions)
    Fail(Code::kNotImplemented, "rank ", shape.size(), " is beyond ", ops::kMostDimensions);
  const std::int64_t count = ElementCount(shape);
  if (IsString(dtype)) {
    slot.value = Tensor(dtype, Shape(shape));
    return ops::ShowTensor(slot);
  }
  const std::size_t bytes = ByteSize(dtype, count);
  if (!slot.retained || slot.retained.use_count() != 1 || slot.retained->size() < bytes)
    slot.retained = Buffer::Allocate(std::max<std::size_t>(bytes, 1), allocator);
  slot.value = Tensor(dtype, Shape(shape), slot.retained);
  ops::ShowTensor(slot);
}

void CheckElementType(const Type& expected, const TensorRef& found, std::size_t input) {
  if (!expected.is_tensor() || expected.dtype == DType::kUndefined || expected.dtype == found.dtype) return;
  Fail(Code::kInvalidArgument, "input ", input, ": expected elements of type ", Name(expected.dtype), ", found ",
       Name(found.dtype));
}

bool RunState::RunLateView(const Step& step) {
  if ((step.op->traits & ops::kView) == 0 || step.inputs[0] == kNoSlot || step.outputs[0] == kNoSlot) return false;
  const Slot& in = slots_[step.inputs[0]];
  Slot& out = slots_[step.outputs[0]];
  if (program_.slots()[step.inputs[0]].memory != program_.slots()[step.outputs[0]].memory) return false;
  if (!in.ref.present() || !out.ref.present() || in.ref.count != out.ref.count || in.ref.dtype != out.ref.dtype)
    return false;
  out.ref.data = in.ref.data;
  const bool owned = in.value.is_tensor() && in.value.tensor().raw() == in.ref.data;
  out.value = Value();
  if (owned) out.value = in.value.tensor().Reshaped(Shape(out.ref.shape));  // keeps the bytes; bodies take it as it is
  return true;
}

bool RunState::MayReadContents(const Step& step, std::size_t input) const {
  const TensorRef& ref = slots_[step.inputs[input]].ref;
  return program_.slots()[step.inputs[input]].memory == 0 && ref.count <= LateShapes::kMaxContents &&
         ref.data != nullptr && !IsString(ref.dtype);
}

void RunState::InferLate(const Step& step, const ops::KernelContext& context, LateShapes& shapes) const {
  std::vector<ops::InferContext::Known> known(step.inputs.size());
  std::vector<Tensor> contents(step.inputs.size());
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    if (step.inputs[i] == kNoSlot) continue;
    const Slot& slot = slots_[step.inputs[i]];
    known[i].present = context.HasInput(i) || !program_.slots()[step.inputs[i]].type->is_tensor();
    if (!slot.ref.present()) {
      known[i].type = *program_.slots()[step.inputs[i]].type;
      continue;
    }
    known[i].type = Type::TensorOf(slot.ref.dtype, slot.ref.shape);
    if (MayReadContents(step, i)) {
      contents[i] = Tensor(slot.ref.dtype, Shape(slot.ref.shape), Buffer::View(slot.ref.data, slot.ref.byte_size()));
      known[i].constant = &contents[i];
    }
  }
  std::vector<ops::InferContext::Output> outputs(step.outputs.size());
  const Node& node = program_.graph().node(step.node);
  const ops::InferContext::SubgraphFn bodies = [&](std::string_view attribute, std::span<const Type> types) {
    const Graph& body = **std::get_if<GraphBox>(node.FindAttribute(attribute));
    if (step.op == &planner::FusedGroup()) return planner::InferGroup(body, program_.outline().registry(), types);
    return std::vector<Type>(body.outputs.size());
  };
  ops::InferNode(program_.graph(), node, *step.op, known, outputs, &bodies);
  shapes.Keep(outputs);
}

void RunState::CheckPromised(const Step& step) const {
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i] == kNoSlot || !plan_->slots[step.outputs[i]].promised) continue;
    const Shape& planned = plan_->slots[step.outputs[i]].shape;
    const TensorRef& found = slots_[step.outputs[i]].ref;
    if (!Shape::Equal(planned, found.shape)) {
      Fail(Code::kInvalidArgument, "output ", i, ": expected shape ", ToText(planned),
           ", which its inputs' types say, found ", ToText(found.shape));
    }
  }
}

namespace {

TypeKind KindOf(const Value& value) {
  if (value.is_sequence()) return TypeKind::kSequence;
  if (value.is_map()) return TypeKind::kMap;
  return value.is_sparse() ? TypeKind::kSparseTensor : TypeKind::kOptional;  // without an element
}

// What is no tensor goes only to operators that take its kind. Where types were known, loading has seen to that; an
// optional, though, may stand for its element, which may be missing.
void CheckKind(const Node& node, std::size_t input, const Value& value) {
  const ops::OpSchema* schema = ops::FindSchema(node.domain, node.op_type, node.since_version);
  const ops::FormalParam* param = schema == nullptr ? nullptr : schema->Input(input);
  if (param == nullptr) return;  // a custom operator decides itself
  const ops::TypeSet& allowed = param->types();
  if (allowed.ContainsKind(KindOf(value)) || allowed.ContainsKind(TypeKind::kOptional)) return;
  Fail(Code::kInvalidArgument, "input ", input, " ('", param->name(), "'): expected ", allowed.ToText(), ", found ",
       value.has_value() ? "a " + value.KindName() : "an optional without an element");
}

}  // namespace

void RunState::RunLate(const Step& step, ops::KernelContext& context) {
  LateShapes& shapes = late_shapes_[context.step()];
  shapes.Begin();
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    if (step.inputs[i] == kNoSlot) {
      shapes.AddMissing(false);
    } else if (!slots_[step.inputs[i]].ref.present()) {
      CheckKind(program_.graph().node(step.node), i, slots_[step.inputs[i]].value);
      shapes.AddMissing(context.HasInput(i));
    } else {
      CheckElementType(*program_.slots()[step.inputs[i]].type, slots_[step.inputs[i]].ref, i);
      shapes.Add(slots_[step.inputs[i]].ref, MayReadContents(step, i));
    }
  }
  if (!shapes.Same()) InferLate(step, context, shapes);
  const bool view = (step.op->traits & ops::kView) != 0;
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i] == kNoSlot) continue;
    Slot& slot = slots_[step.outputs[i]];
    const LateShapes::Output& inferred = shapes.outputs()[i];
    if (!inferred.known) continue;
    if (view && i == 0) {
      slot.shape = inferred.shape;
      slot.ref = {inferred.dtype, nullptr, slot.shape, ElementCount(slot.shape)};
      if (RunLateView(step)) return;
    }
    if (IsString(inferred.dtype)) CheckTexts(context, *step.op, inferred.shape);
    AllocateDynamic(slot, inferred.dtype, inferred.shape, AllocatorOf(step.outputs[i]));
  }
  RunKernel(context);
}

}  // namespace sardonyx::runtime
