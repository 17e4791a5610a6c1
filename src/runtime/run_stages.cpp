// runtime/run_stages.cpp - parallel mode: runs the tasks of a stage on several threads.
#include "runtime/run_state.h"
#include "runtime/thread_pool.h"

namespace sardonyx::runtime {

using planner::StepRange;

// The first error of a task ends the run when the others of its stage are done.
void RunState::RunStages() {
  for (const std::vector<StepRange>& stage : plan_->stages) {
    if (stage.size() == 1) {
      RunRange(stage.front());
      continue;
    }
    program_.branch_pool()->ForTasks(program_.branch_threads(), static_cast<std::int64_t>(stage.size()),
                                     [&](std::int64_t task, std::int64_t /*end*/) { RunRange(stage[task]); });
  }
}

void RunState::RunRange(const StepRange& range) {
  for (int at = range.begin; at < range.end; ++at) {
    CheckTerminated();
    RunStep(plan_->steps[at]);
  }
}

// Tasks of one stage have scratch memory of their own.
void RunState::SetLanes() {
  std::size_t lanes = 1;
  lanes_.assign(program_.steps().size(), 0);
  for (const std::vector<StepRange>& stage : plan_->stages) {
    lanes = std::max(lanes, stage.size());
    for (std::size_t task = 0; task < stage.size(); ++task)
      for (int at = stage[task].begin; at < stage[task].end; ++at)
        lanes_[plan_->steps[at].step] = static_cast<std::uint8_t>(task);
  }
  if (scratch_.size() < lanes) scratch_.resize(lanes);
}

}  // namespace sardonyx::runtime
