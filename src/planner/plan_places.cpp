// planner/plan_places.cpp - gives every value of a plan its place: views, reuse in place, outputs, arena.
#include <algorithm>
#include <climits>
#include <memory>
#include <utility>

#include "planner/foreign_steps.h"
#include "planner/in_place_op.h"
#include "planner/memory.h"
#include "planner/plan_builder.h"
#include "planner/updates.h"

namespace sardonyx::planner {

using Place = PlannedSlot::Place;

int PlanBuilder::RootOf(int slot) const {
  while (root_[slot] != slot) slot = root_[slot];
  return slot;
}

bool PlanBuilder::IsArenaRoot(int slot) const { return plan_->slots[slot].place == Place::kArena; }

void PlanBuilder::PlaceSlots() {
  const int count = static_cast<int>(outline_.slots().size());
  plan_->slots.assign(outline_.slots().size(), PlannedSlot());
  root_.resize(count);
  first_.assign(count, INT_MAX);
  last_.assign(count, -1);
  for (int slot = 0; slot < count; ++slot) {
    root_[slot] = slot;
    PlannedSlot& planned = plan_->slots[slot];
    planned.memory = outline_.slots()[slot].memory;
    const Fact& fact = facts_[slot];
    if (fact.is_static || fact.known.is_tensor()) {
      planned.dtype = fact.known.is_tensor() ? fact.known.tensor().dtype() : fact.type.dtype;
      planned.shape = fact.known.is_tensor() ? fact.known.tensor().shape() : fact.type.StaticShape();
      planned.count = ElementCount(planned.shape);
    }
    if (input_of_[slot] >= 0) {
      planned.place = Place::kInput;
      planned.source = input_of_[slot];
    } else if (fact.known.is_tensor() || outline_.slots()[slot].constant != nullptr) {
      planned.place = Place::kConstant;
    }
    // An input's contents may be known as well: whoever asks for them needs no run.
    if (fact.known.is_tensor() && outline_.slots()[slot].constant == nullptr) planned.known = fact.known.tensor();
  }
  for (const PlannedStep& step : plan_->steps) {
    for (const int slot : outline_.steps()[step.step].outputs) {
      if (slot == kNoSlot) continue;  // what the key implies is written again if the step has other outputs to make
      plan_->slots[slot].place = facts_[slot].is_static && !step.late ? Place::kArena : Place::kLate;
      if (step.late) {
        plan_->slots[slot].dtype = DType::kUndefined;
        plan_->slots[slot].promised = facts_[slot].is_static;
      }
    }
  }
  if (threads_ > 1) OrderStages();
  PlaceParts();
  LinkViews();
  ExtendLifetimes();
  ReuseInPlace();
  ExtendLifetimes();  // a storage that another one joined may have left its task
  ChooseDeliveries();
  PlaceArena();
}

// Whether a step reads one device and writes another.
bool PlanBuilder::CopiesAcross(const Step& step) const {
  return step.op == &DeviceCopy() && !OnHost(step.inputs[0]) && !OnHost(step.outputs[0]);
}

// Views share the storage of what they view. Lifetimes are those of whole storages.
void PlanBuilder::LinkViews() {
  const int steps = static_cast<int>(plan_->steps.size());
  for (int at = 0; at < steps; ++at) {
    const PlannedStep& planned = plan_->steps[at];
    const Step& step = outline_.steps()[planned.step];
    const bool view = (step.op->traits & ops::kView) != 0 && !step.inputs.empty() && step.inputs[0] != kNoSlot &&
                      !step.outputs.empty() && step.outputs[0] != kNoSlot;
    if (view && plan_->slots[step.outputs[0]].place == Place::kArena) {
      const PlannedSlot& viewed = plan_->slots[step.inputs[0]];
      if (viewed.place != Place::kLate && viewed.place != Place::kNone &&
          viewed.count == plan_->slots[step.outputs[0]].count && viewed.memory == plan_->slots[step.outputs[0]].memory)
        root_[step.outputs[0]] = RootOf(step.inputs[0]);
    }
    const bool across = step.stream >= 0 && CopiesAcross(step);
    const auto use = [&](int slot, int until) {
      if (slot == kNoSlot) return;
      // A stream may read and write host memory, and that of another device, at any time until the run ends.
      if (step.stream >= 0 && (OnHost(slot) || across)) until = steps;
      const int root = RootOf(slot);
      first_[root] = std::min(first_[root], across ? 0 : at);
      last_[root] = std::max(last_[root], until);
    };
    // What a late view may look at must outlive the run: nobody knows yet how far the view travels.
    const int until = planned.late && view ? steps : at;
    for (const int slot : step.inputs) use(slot, until);
    for (const auto& captures : step.captures)
      for (const int slot : captures) use(slot, at);
    for (const int slot : step.outputs) use(slot, at);
  }
  for (const int slot : outline_.outputs())
    if (slot != kNoSlot) last_[RootOf(slot)] = steps;
}

// Whether nothing reads the storage during or after this step but the step itself.
bool PlanBuilder::DiesAt(int root, int at) const {
  if (last_[root] != at) return false;
  // The end of a stage may be this step, and yet another task of the stage a reader at the same time.
  return plan_->stages.empty() || plan_->stages[stage_of_[at]].size() == 1 || TaskOf(first_[root], at) != nullptr;
}

// The slot of the input if an output of this step may have its memory, else kNoSlot.
int PlanBuilder::TakenBy(const Step& step, std::size_t input, int at) const {
  const int in = input < step.inputs.size() ? step.inputs[input] : kNoSlot;
  if (in == kNoSlot) return kNoSlot;
  if (plan_->slots[in].pitch != 0) return kNoSlot;
  const int root = RootOf(in);
  const bool has_memory = IsArenaRoot(root) || plan_->slots[root].place == Place::kLate;
  if (!has_memory || !DiesAt(root, at)) return kNoSlot;
  // A kernel that is given the input twice may read one of them when the other is overwritten.
  const auto readers = std::count_if(step.inputs.begin(), step.inputs.end(),
                                     [&](int other) { return other != kNoSlot && RootOf(other) == root; });
  return readers == 1 ? in : kNoSlot;
}

// Outputs whose shapes only the kernel knows: the run offers the memory, the kernel's shape decides. What leaves the
// run has memory of its own.
void PlanBuilder::TakeInPlace(const Step& step, int at) {
  for (const auto& [input, output] : static_cast<const InPlaceOp&>(*step.op).in_place) {
    const int out = output < step.outputs.size() ? step.outputs[output] : kNoSlot;
    const int in = TakenBy(step, input, at);
    if (out == kNoSlot || in == kNoSlot || plan_->slots[out].place != Place::kLate || plan_->slots[out].takes >= 0 ||
        last_[out] >= static_cast<int>(plan_->steps.size()) || plan_->slots[in].memory != plan_->slots[out].memory)
      continue;
    plan_->slots[out].takes = in;
    for (int slot = in; slot >= 0; slot = plan_->slots[RootOf(slot)].takes)
      last_[RootOf(slot)] = std::max(last_[RootOf(slot)], last_[out]);
  }
}

void PlanBuilder::ReuseInPlace() {
  for (int at = 0; at < static_cast<int>(plan_->steps.size()); ++at) {
    const PlannedStep& planned = plan_->steps[at];
    const Step& step = outline_.steps()[planned.step];
    if ((step.op->traits & ops::kCustom) != 0) TakeInPlace(step, at);
    if ((step.op->traits & ops::kMayAlias) == 0 || !step.on_cpu || planned.late || step.outputs.empty() ||
        step.outputs[0] == kNoSlot)
      continue;
    const int out = step.outputs[0];
    if (root_[out] != out || !IsArenaRoot(out)) continue;
    for (const int in : step.inputs) {
      if (in == kNoSlot) continue;
      const int root = RootOf(in);
      const PlannedSlot& from = plan_->slots[in];
      if (!IsArenaRoot(root) || !DiesAt(root, at) || from.pitch != 0 || !(from.shape == plan_->slots[out].shape) ||
          Bits(from.dtype) != Bits(plan_->slots[out].dtype))
        continue;
      // Another input may read the same storage, but only element for element.
      const bool safe = std::all_of(step.inputs.begin(), step.inputs.end(), [&](int other) {
        return other == kNoSlot || RootOf(other) != root || plan_->slots[other].shape == from.shape;
      });
      if (!safe) continue;
      root_[out] = root;
      last_[root] = std::max(last_[root], last_[out]);
      break;
    }
  }
}

// The input of the run that the step of this slot updates, if nobody reads it any more; else -1.
int PlanBuilder::UpdatedInput(int slot) const {
  const int producer = outline_.slots()[slot].producer;
  if (producer < 0 || RootOf(slot) != slot) return -1;
  const Step& step = outline_.steps()[producer];
  if (step.op == nullptr || !step.on_cpu) return -1;
  for (const Update& update : UpdatesOf(*step.op)) {
    if (update.output >= step.outputs.size() || step.outputs[update.output] != slot) continue;
    const int in = update.input < step.inputs.size() ? step.inputs[update.input] : kNoSlot;
    if (in == kNoSlot || input_of_[in] < 0) return -1;
    const PlannedSlot &from = plan_->slots[in], &to = plan_->slots[slot];
    if (from.dtype != to.dtype || !(from.shape == to.shape)) return -1;
    const auto at = std::find_if(plan_->steps.begin(), plan_->steps.end(),
                                 [&](const PlannedStep& planned) { return planned.step == producer; });
    const auto readers = std::count_if(step.inputs.begin(), step.inputs.end(),
                                       [&](int other) { return other != kNoSlot && RootOf(other) == in; });
    return readers == 1 && DiesAt(in, static_cast<int>(at - plan_->steps.begin())) ? input_of_[in] : -1;
  }
  return -1;
}

// An output is computed in its own memory if a step makes it and no other output shares the storage.
void PlanBuilder::ChooseDeliveries() {
  const auto& outputs = outline_.outputs();
  Plan::SlotLists slots_in(outputs.size());
  plan_->updated_inputs.assign(outputs.size(), -1);
  std::vector<int> output_of(plan_->slots.size(), -1);  // by root
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const int slot = outputs[k];
    const PlannedSlot& planned = plan_->slots[slot];
    if (planned.place == Place::kLate || (planned.place == Place::kInput && planned.dtype == DType::kUndefined)) {
      plan_->deliveries.push_back(Delivery::kLate);
      continue;
    }
    const int root = RootOf(slot);
    const bool direct = IsArenaRoot(root) && output_of[root] < 0 && plan_->slots[root].count == planned.count &&
                        Bits(plan_->slots[root].dtype) == Bits(planned.dtype);
    plan_->deliveries.push_back(direct ? Delivery::kDirect : Delivery::kCopy);
    if (direct) output_of[root] = static_cast<int>(k);
    if (direct && root == slot) plan_->updated_inputs[k] = UpdatedInput(slot);
  }
  for (int slot = 0; slot < static_cast<int>(plan_->slots.size()); ++slot) {
    const int output = output_of[RootOf(slot)];
    if (output < 0) continue;
    plan_->slots[slot].place = Place::kOutput;
    plan_->slots[slot].source = output;
    slots_in[output].push_back(slot);
  }
  plan_->output_slots = std::make_shared<const Plan::SlotLists>(std::move(slots_in));
}

// Offsets of the storages in one memory's arena.
void PlanBuilder::PlaceMemory(int memory) {
  std::vector<Block> blocks;
  std::vector<int> block_slots;
  std::vector<std::size_t> sizes;
  for (int slot = 0; slot < static_cast<int>(plan_->slots.size()); ++slot) {
    const PlannedSlot& planned = plan_->slots[slot];
    if (root_[slot] != slot || planned.place != Place::kArena || planned.memory != memory) continue;
    block_slots.push_back(slot);
    sizes.push_back(ByteSize(planned.dtype, planned.count));
    blocks.push_back({RoomFor(slot, sizes.back()), first_[slot], last_[slot]});
  }
  const Placement placement = plan_->stages.empty() ? PlaceBlocks(blocks) : PlaceByTask(blocks);
  plan_->arena_bytes.push_back(placement.arena_bytes);
  const auto step_at = [&](int at) {
    return at < static_cast<int>(plan_->steps.size()) ? plan_->steps[at].step
                                                      : static_cast<int>(outline_.steps().size());
  };
  for (std::size_t i = 0; i < block_slots.size(); ++i) {
    plan_->slots[block_slots[i]].offset = placement.offsets[i];
    if (blocks[i].bytes == 0) continue;
    plan_->has_room = plan_->has_room || blocks[i].bytes > sizes[i];
    plan_->buffers.push_back({block_slots[i], memory, placement.offsets[i], sizes[i], step_at(blocks[i].first),
                              step_at(blocks[i].last), blocks[i].bytes});
  }
}

void PlanBuilder::PlaceArena() {
  for (std::size_t memory = 0; memory < outline_.memories().size(); ++memory) PlaceMemory(static_cast<int>(memory));
  Plan::SlotLists viewers(outline_.inputs().size());
  for (int slot = 0; slot < static_cast<int>(plan_->slots.size()); ++slot) {
    PlannedSlot& planned = plan_->slots[slot];
    const int root = RootOf(slot);
    const PlannedSlot& storage = plan_->slots[root];
    if (storage.place == Place::kArena) planned.offset = storage.offset + planned.window;
    if (root != slot && storage.place != Place::kArena && storage.place != Place::kOutput) {
      planned.place = storage.place;  // a view of an input or a constant
      planned.source = storage.place == Place::kConstant ? root : storage.source;
    }
    if (planned.place == Place::kInput) viewers[planned.source].push_back(slot);
  }
  plan_->input_slots = std::make_shared<const Plan::SlotLists>(std::move(viewers));
  EraseViews();
}

// A view that shares its input's storage has nothing to do, unless a run brings what its shape is to be: that may be
// impossible, which only its kernel says.
void PlanBuilder::EraseViews() {
  const auto asks = [&](const Step& step) {
    return step.inputs.size() > 1 && step.inputs[1] != kNoSlot && step.stream < 0 && OnHost(step.inputs[0]) &&
           plan_->slots[step.inputs[1]].place != Place::kConstant && !plan_->slots[step.inputs[1]].known.defined();
  };
  const auto is_idle_view = [&](const PlannedStep& planned) {
    const Step& step = outline_.steps()[planned.step];
    return (step.op->traits & ops::kView) != 0 && !planned.late && step.outputs[0] != kNoSlot &&
           step.inputs[0] != kNoSlot && plan_->slots[step.outputs[0]].place != Place::kLate &&
           root_[step.outputs[0]] != step.outputs[0] && RootOf(step.outputs[0]) == RootOf(step.inputs[0]) &&
           !asks(step);
  };
  std::vector<int> kept_before(1, 0);  // by step: how many of those before it stay
  std::vector<PlannedStep> kept;
  for (std::size_t at = 0; at < plan_->steps.size(); ++at) {
    if (!idle_[at] && !is_idle_view(plan_->steps[at])) kept.push_back(std::move(plan_->steps[at]));
    kept_before.push_back(static_cast<int>(kept.size()));
  }
  plan_->steps = std::move(kept);
  for (auto& stage : plan_->stages)
    for (StepRange& task : stage) task = {kept_before[task.begin], kept_before[task.end]};
}

}  // namespace sardonyx::planner
