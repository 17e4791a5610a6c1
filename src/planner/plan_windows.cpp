// planner/plan_windows.cpp - values that lie in wider ones: what a Concat along the last axis joins is computed where
// it belongs, and what a Split along it cuts off is read where it lies.
//
// The rows of such a part do not follow each other: its slot has a pitch. So all kernels that write and read it must
// know pitches (OpDef::pitch), or it is copied as ever. Networks of images channels last join and split channels this
// way (DenseNet, YOLO, ShuffleNet, U-Nets).
#include <algorithm>

#include "ir/attributes.h"
#include "planner/plan_builder.h"

namespace sardonyx::planner {
namespace {

using Place = PlannedSlot::Place;

// Kernels that go row by row lose with rows of fewer elements, and what is cut off keeps the whole in memory.
constexpr std::int64_t kLeastRow = 8;
constexpr std::int64_t kLeastShare = 8;

bool IsStandard(const Step& step, std::string_view name) { return step.op->name == name && step.op->domain.empty(); }

bool IsCut(const Step& step) { return IsStandard(step, "Split") || IsStandard(step, "Slice"); }

}  // namespace

// Whether the kernel of a planned step knows that rows of the input or output may lie apart.
bool PlanBuilder::TakesPitch(const PlannedStep& planned, bool output, std::size_t port) const {
  const Step& step = outline_.steps()[planned.step];
  return !planned.late && step.op->pitch != nullptr && step.op->pitch(outline_.graph().node(step.node), {output, port});
}

// Floats in several rows.
bool PlanBuilder::IsImage(int slot) const {
  const PlannedSlot& wide = plan_->slots[slot];
  return wide.place == Place::kArena && wide.dtype == DType::kFloat && wide.shape.size() >= 2 && wide.count != 0 &&
         wide.count > wide.shape.back();
}

// Whether a Concat or Split works along the last axis.
bool PlanBuilder::IsAlongRows(const PlannedStep& planned, int wide) const {
  const Node& node = outline_.graph().node(outline_.steps()[planned.step].node);
  const std::int64_t axis = IntAttribute(node, "axis", 0);
  return axis == -1 || axis + 1 == static_cast<std::int64_t>(plan_->slots[wide].shape.size());
}

// Part `slot` of `wide`, whose rows begin with `before` elements of other parts.
void PlanBuilder::PlaceWithin(int slot, int wide, std::int64_t before) {
  PlannedSlot &part = plan_->slots[slot], &whole = plan_->slots[wide];
  root_[slot] = wide;
  whole.has_parts = true;
  part.pitch = whole.pitch != 0 ? whole.pitch : whole.shape.back();
  part.window = whole.window + ByteSize(part.dtype, before);
}

bool PlanBuilder::MayBePart(int slot, int wide) const {
  const PlannedSlot &part = plan_->slots[slot], &whole = plan_->slots[wide];
  return part.place == Place::kArena && root_[slot] == slot && part.pitch == 0 && part.dtype == whole.dtype &&
         part.memory == whole.memory && part.count != 0 && part.shape.back() < whole.shape.back() &&
         part.shape.back() >= kLeastRow && !needs_rows_[slot];
}

// True if nothing is left for the Concat to do.
bool PlanBuilder::JoinWhereComputed(const PlannedStep& planned) {
  const Step& step = outline_.steps()[planned.step];
  const int wide = step.outputs[0];
  if (wide == kNoSlot || !IsImage(wide) || !IsAlongRows(planned, wide)) return false;
  bool all = true;
  std::int64_t before = 0;
  for (const int part : step.inputs) {
    if (part == kNoSlot || plan_->slots[part].shape.empty()) return false;
    const int producer = outline_.slots()[part].producer;
    const bool once = std::count(step.inputs.begin(), step.inputs.end(), part) == 1;
    const bool fits = once && producer >= 0 && writes_apart_[part] && MayBePart(part, wide);
    if (fits) PlaceWithin(part, wide, before);
    all = all && fits;
    before += plan_->slots[part].shape.back();
  }
  return all;
}

// The elements of each row before those that a Slice takes, if it takes consecutive ones of the last axis alone.
std::optional<std::int64_t> PlanBuilder::CutBefore(const Step& step) const {
  const auto number = [&](std::size_t input) -> std::optional<std::int64_t> {
    const int slot = input < step.inputs.size() ? step.inputs[input] : kNoSlot;
    if (slot == kNoSlot) return std::nullopt;
    const Tensor* known =
        facts_[slot].known.is_tensor() ? &facts_[slot].known.tensor() : outline_.slots()[slot].constant;
    if (known == nullptr || known->count() != 1) return std::nullopt;
    if (known->dtype() == DType::kInt32) return known->data<std::int32_t>()[0];
    return known->dtype() == DType::kInt64 ? std::optional(known->data<std::int64_t>()[0]) : std::nullopt;
  };
  const bool steps = step.inputs.size() > 4 && step.inputs[4] != kNoSlot;
  const Shape& shape = plan_->slots[step.inputs[0]].shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto start = number(1), axis = number(3), by = number(4);
  if (!start || !axis || (*axis != -1 && *axis != rank - 1) || (steps && by != 1)) return std::nullopt;
  return std::clamp<std::int64_t>(*start < 0 ? *start + shape.back() : *start, 0, shape.back());
}

// True if nothing is left for the Split or Slice to do.
bool PlanBuilder::CutWhereItLies(const PlannedStep& planned) {
  const Step& step = outline_.steps()[planned.step];
  const int wide = step.inputs[0];
  const int producer = wide == kNoSlot ? -1 : outline_.slots()[wide].producer;
  if (producer < 0 || (outline_.steps()[producer].op->traits & ops::kView) != 0 || !IsImage(wide)) return false;
  std::int64_t before = 0;
  if (IsStandard(step, "Slice")) {
    const auto cut = CutBefore(step);
    if (!cut) return false;
    before = *cut;
  } else if (!IsAlongRows(planned, wide)) {
    return false;
  }
  bool all = true;
  for (const int part : step.outputs) {
    if (part == kNoSlot) return false;  // its size is not known here
    const bool fits =
        MayBePart(part, wide) && plan_->slots[part].shape.back() * kLeastShare >= plan_->slots[wide].shape.back();
    if (fits) PlaceWithin(part, wide, before);
    all = all && fits;
    before += plan_->slots[part].shape.back();
  }
  return all;
}

// Notes which slots somebody reads as rows that follow each other, and which are written by kernels that can do
// otherwise. What several Concats join is copied by all but one of them, best from rows that follow each other
// (DenseNet).
void PlanBuilder::FindRows() {
  needs_rows_.assign(plan_->slots.size(), false);
  writes_apart_.assign(plan_->slots.size(), false);
  for (const int slot : outline_.outputs())
    if (slot != kNoSlot) needs_rows_[slot] = true;
  std::vector<bool> joined(plan_->slots.size(), false);
  for (const PlannedStep& planned : plan_->steps) {
    const Step& step = outline_.steps()[planned.step];
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const int slot = step.inputs[i];
      if (slot == kNoSlot) continue;
      const bool joins = IsStandard(step, "Concat");
      if (!TakesPitch(planned, false, i) || (joins && joined[slot])) needs_rows_[slot] = true;
      if (joins) joined[slot] = true;
    }
    for (std::size_t i = 0; i < step.outputs.size(); ++i)
      if (step.outputs[i] != kNoSlot) writes_apart_[step.outputs[i]] = TakesPitch(planned, true, i);
    for (const auto& captures : step.captures)
      for (const int slot : captures) needs_rows_[slot] = true;
  }
}

// Sets `idle` for the planned steps that are left without work.
void PlanBuilder::PlaceParts() {
  idle_.assign(plan_->steps.size(), false);
  bool any = false;
  for (const PlannedStep& planned : plan_->steps) {
    const Step& step = outline_.steps()[planned.step];
    // A kernel of another provider may make another shape than planned, and then nothing is where the plan says.
    if (!step.on_cpu) return;
    any = any || (!planned.late && (IsStandard(step, "Concat") || IsCut(step)));
  }
  if (!any) return;
  FindRows();
  for (std::size_t at = plan_->steps.size(); at-- > 0;) {  // what is joined may be a part of what is joined later
    const PlannedStep& planned = plan_->steps[at];
    if (!planned.late && IsStandard(outline_.steps()[planned.step], "Concat")) idle_[at] = JoinWhereComputed(planned);
  }
  for (std::size_t at = 0; at < plan_->steps.size(); ++at) {
    const PlannedStep& planned = plan_->steps[at];
    if (!planned.late && IsCut(outline_.steps()[planned.step])) idle_[at] = CutWhereItLies(planned);
  }
}

}  // namespace sardonyx::planner
