// planner/plan_stages.cpp - parallel mode: divides the steps of a plan into stages of tasks, and gives no two tasks the
// same memory.
#include <algorithm>

#include "planner/memory.h"
#include "planner/plan_builder.h"
#include "planner/stages.h"

namespace sardonyx::planner {
namespace {

constexpr std::int64_t kWorthATask = 32768;  // elements read and written; handing over less costs more than it saves
constexpr std::size_t kMaxTasks = 16;        // of a stage: each has scratch memory of its own

}  // namespace

std::int64_t PlanBuilder::WorkOf(const PlannedStep& planned) const {
  const Step& step = outline_.steps()[planned.step];
  if (planned.late || !step.bodies.empty()) return kWorthATask;  // nobody knows yet
  if ((step.op->traits & ops::kView) != 0) return 0;
  std::int64_t work = 0;
  for (const auto* slots : {&step.inputs, &step.outputs})
    for (const int slot : *slots)
      if (slot != kNoSlot) work += plan_->slots[slot].count;
  return work;
}

// Puts the steps into the order of their stages.
void PlanBuilder::OrderStages() {
  std::vector<StagedStep> staged(plan_->steps.size());
  std::vector<int> writer(plan_->slots.size(), -1);
  for (std::size_t at = 0; at < staged.size(); ++at) {
    const Step& step = outline_.steps()[plan_->steps[at].step];
    const auto read = [&](int slot) {
      if (slot != kNoSlot && writer[slot] >= 0) staged[at].before.push_back(writer[slot]);
    };
    for (const int slot : step.inputs) read(slot);
    for (const auto& captures : step.captures)
      for (const int slot : captures) read(slot);
    for (const int slot : step.outputs)
      if (slot != kNoSlot) writer[slot] = static_cast<int>(at);
    staged[at].work = WorkOf(plan_->steps[at]);
  }
  const std::vector<Stage> stages = FindStages(staged, kWorthATask, kMaxTasks);
  if (std::all_of(stages.begin(), stages.end(), [](const Stage& stage) { return stage.size() == 1; })) return;
  std::vector<PlannedStep> ordered;
  for (const Stage& stage : stages) {
    std::vector<StepRange>& ranges = plan_->stages.emplace_back();
    for (const Task& task : stage) {
      const int begin = static_cast<int>(ordered.size());
      for (const int at : task) ordered.push_back(plan_->steps[at]);
      ranges.push_back({begin, static_cast<int>(ordered.size())});
    }
  }
  plan_->steps = std::move(ordered);
  stage_of_.resize(plan_->steps.size());
  task_of_.resize(plan_->steps.size());
  for (std::size_t stage = 0; stage < plan_->stages.size(); ++stage)
    for (std::size_t task = 0; task < plan_->stages[stage].size(); ++task)
      for (int at = plan_->stages[stage][task].begin; at < plan_->stages[stage][task].end; ++at)
        stage_of_[at] = static_cast<int>(stage), task_of_[at] = static_cast<int>(task);
}

// The task that a storage belongs to from its first write to its last read, as a range of steps; nullptr if there is
// none or the task has its stage for itself.
const StepRange* PlanBuilder::TaskOf(int first, int last) const {
  if (last < first || last >= static_cast<int>(stage_of_.size()) || stage_of_[first] != stage_of_[last] ||
      task_of_[first] != task_of_[last] || plan_->stages[stage_of_[first]].size() == 1)
    return nullptr;
  return &plan_->stages[stage_of_[first]][task_of_[first]];
}

// What more than one task may touch lives as long as the whole stage: nobody knows which task is how far.
void PlanBuilder::ExtendLifetimes() {
  const int steps = static_cast<int>(stage_of_.size());
  for (std::size_t slot = 0; slot < root_.size(); ++slot) {
    int& first = first_[slot];
    int& last = last_[slot];
    if (root_[slot] != static_cast<int>(slot) || last < first || first >= steps || TaskOf(first, last) != nullptr)
      continue;
    first = plan_->stages[stage_of_[first]].size() == 1 ? first : plan_->stages[stage_of_[first]].front().begin;
    if (last < steps && plan_->stages[stage_of_[last]].size() > 1) last = plan_->stages[stage_of_[last]].back().end - 1;
  }
}

// Blocks that live within one task share the task's own part of the arena, which lives as long as its stage.
Placement PlanBuilder::PlaceByTask(std::span<const Block> blocks) const {
  std::vector<std::vector<std::size_t>> members(plan_->steps.size());  // of the task that begins at a step
  std::vector<Block> shared;
  std::vector<std::size_t> shared_at(blocks.size());  // by block: among `shared`, its task's part or itself
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (const StepRange* task = TaskOf(blocks[i].first, blocks[i].last)) {
      members[task->begin].push_back(i);
    } else {
      shared_at[i] = shared.size();
      shared.push_back(blocks[i]);
    }
  }
  Placement result;
  result.offsets.resize(blocks.size());
  for (std::size_t begin = 0; begin < members.size(); ++begin) {
    if (members[begin].empty()) continue;
    std::vector<Block> own;
    for (const std::size_t i : members[begin]) own.push_back(blocks[i]);
    const Placement inside = PlaceBlocks(own);
    const auto& stage = plan_->stages[stage_of_[begin]];
    for (std::size_t k = 0; k < own.size(); ++k) {
      result.offsets[members[begin][k]] = inside.offsets[k];
      shared_at[members[begin][k]] = shared.size();
    }
    shared.push_back({inside.arena_bytes, stage.front().begin, stage.back().end - 1});
  }
  const Placement outside = PlaceBlocks(shared);
  for (std::size_t i = 0; i < blocks.size(); ++i) result.offsets[i] += outside.offsets[shared_at[i]];
  result.arena_bytes = outside.arena_bytes;
  return result;
}

}  // namespace sardonyx::planner
