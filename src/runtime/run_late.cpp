// runtime/run_late.cpp - steps whose shapes come with the run: infers the shapes, allocates the outputs, and runs the
// kernel.
#include <algorithm>

#include "ops/schema/schema.h"
#include "ops/single_node.h"
#include "planner/foreign_steps.h"
#include "runtime/profile/trace.h"
#include "runtime/run_state.h"

namespace sardonyx::runtime {

using ops::Slot;
using ops::TensorRef;
using planner::kNoSlot;
using planner::Step;

void CheckElementType(const Type& expected, const TensorRef& found, std::size_t input) {
  if (!expected.is_tensor() || expected.dtype == DType::kUndefined || expected.dtype == found.dtype) return;
  Fail(Code::kInvalidArgument, "input ", input, ": expected elements of type ", Name(expected.dtype), ", found ",
       Name(found.dtype));
}

bool RunState::RunLateView(const Step& step, const ops::OutputShape& shape) {
  if ((step.op->traits & ops::kView) == 0 || step.outputs[0] == kNoSlot || !shape.known) return false;
  Slot& out = slots_[step.outputs[0]];
  out.shape = shape.shape;
  out.ref = {shape.dtype, nullptr, out.shape, ElementCount(out.shape)};
  out.bytes = nullptr;
  if (step.inputs[0] == kNoSlot) return false;
  const Slot& in = slots_[step.inputs[0]];
  if (program_.slots()[step.inputs[0]].memory != program_.slots()[step.outputs[0]].memory) return false;
  // The plan does not know how far this view travels.
  if (!strange_.empty() && !IsStrange(step.inputs[0])) return false;
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
  std::vector<ops::SeenInput> inputs(step.inputs.size());
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    if (step.inputs[i] == kNoSlot) continue;
    const Type* type = program_.slots()[step.inputs[i]].type;
    const Slot& slot = slots_[step.inputs[i]];
    inputs[i] = {&slot, type, context.HasInput(i) || !type->is_tensor(),
                 slot.ref.present() && MayReadContents(step, i)};
  }
  const Node& node = program_.graph().node(step.node);
  const ops::InferContext::SubgraphFn bodies = [&](std::string_view attribute, std::span<const Type> types) {
    const Graph& body = **std::get_if<GraphBox>(node.FindAttribute(attribute));
    if (step.op == &planner::FusedGroup()) return planner::InferGroup(body, program_.outline().registry(), types);
    return std::vector<Type>(body.outputs.size());
  };
  shapes.Keep(ops::InferSingle(program_.graph(), node, *step.op, inputs, bodies));
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

// An output of the input's type and shape is written over the input, which nothing reads any more. The kernel may ask
// for another shape all the same, and gets other memory then.
void RunState::OfferInputs(const Step& step) {
  if (!strange_.empty()) return;  // the lifetimes are no longer the plan's
  for (const int slot : step.outputs) {
    const int from = slot == kNoSlot ? -1 : plan_->slots[slot].takes;
    if (from < 0) continue;
    const Slot& in = slots_[from];
    Slot& out = slots_[slot];
    if (!in.ref.present() || in.bytes == nullptr || IsString(in.ref.dtype) || out.ref.present()) continue;
    // Its own tensor may have gone into a sequence, which goes on.
    if (in.value.is_tensor() && in.value.tensor().buffer().use_count() > (in.retained ? 2 : 1)) continue;
    out.value = Value();
    out.ref = in.ref;
    out.PlaceAt(in.bytes);
  }
}

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
  const auto promised = [&](std::size_t i) { return Promised(step, context.step(), i); };
  if ((step.op->traits & ops::kCustom) != 0) OfferInputs(step);
  if (!step.outputs.empty() && RunLateView(step, shapes.outputs()[0])) return ops::CheckPromised(context, promised);
  ops::RunSingle(context, *step.op, shapes.outputs(),
                 {[&](std::size_t i, DType dtype, Dims shape) {
                    const int slot = step.outputs[i];
                    const TensorRef& there = slots_[slot].ref;  // memory of the caller
                    if (there.present() && there.dtype == dtype && Shape::Equal(there.shape, shape)) return;
                    ops::AllocateDynamic(slots_[slot], dtype, shape, AllocatorOf(slot));
                  },
                  [&] { RunKernel(context); }, promised});
}

// Only the kernels of other providers know better than inference.
bool RunState::MaySurprise(const Step& step) { return step.op == &planner::FusedGroup(); }

// Whether the run goes on: FinishLate looks after the readers. Tasks that run at once may have read the slot's shape
// already, so that their run starts again.
bool RunState::TakeSurprise(std::size_t step) {
  program_.NoteSurprise(step);
  if (!plan_->stages.empty()) {
    again_ = true;
    return false;
  }
  surprised_ = true;
  return true;
}

const Shape* RunState::Promised(const Step& step, std::size_t index, std::size_t output) {
  const int slot = step.outputs[output];
  const planner::PlannedSlot& planned = plan_->slots[slot];
  if (!planned.promised || IsStrange(slot)) return nullptr;
  const bool kept = Shape::Equal(planned.shape, slots_[slot].ref.shape);
  return kept || !MaySurprise(step) || !TakeSurprise(index) ? &planned.shape : nullptr;
}

void RunState::MarkStrange(const Step& step) {
  for (const int slot : step.outputs)
    if (slot != kNoSlot && !Shape::Equal(slots_[slot].ref.shape, plan_->slots[slot].shape)) strange_[slot] = true;
}

bool RunState::ReadsStrange(const Step& step) const {
  const auto any = [&](const std::vector<int>& slots) {
    return std::any_of(slots.begin(), slots.end(), [&](int slot) { return slot != kNoSlot && IsStrange(slot); });
  };
  return any(step.inputs) || std::any_of(step.captures.begin(), step.captures.end(), any);
}

// The rest of a run whose step `after` made another shape than planned: what depends on it, steps that the plan left
// out among them, infers its shapes now and has memory of its own; everything else runs as planned.
void RunState::FinishLate(int after, TellFn tell) {
  surprised_ = false;
  strange_.assign(slots_.size(), false);
  MarkStrange(program_.steps()[after]);
  auto next = std::find_if(plan_->steps.begin(), plan_->steps.end(),
                           [&](const planner::PlannedStep& planned) { return planned.step > after; });
  for (int index = after + 1; index < static_cast<int>(program_.steps().size()); ++index) {
    const bool is_planned = next != plan_->steps.end() && next->step == index;
    const planner::PlannedStep* planned = is_planned ? &*next++ : nullptr;
    const Step& step = program_.steps()[index];
    const std::int64_t start = NowNanoseconds();
    const planner::PlannedStep late{index, true, -1, nullptr};
    if (ReadsStrange(step)) {
      for (const int slot : step.outputs) {
        if (slot == kNoSlot) continue;
        strange_[slot] = true;
        slots_[slot].value = Value();
        slots_[slot].Clear();
      }
      planned = &late;
    }
    if (planned == nullptr) {
      tell(index, false, start);
      continue;
    }
    CheckTerminated();
    RunStep(*planned);
    if (surprised_.exchange(false)) MarkStrange(step);
    tell(index, true, start);
  }
}

}  // namespace sardonyx::runtime
