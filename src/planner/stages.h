// planner/stages.h - which steps of a sequence may run at once.
//
// A step's level is the length of the longest path to it. Where a level has one step only, nothing runs beside it:
// these steps cut the sequence into stages. The connected parts of a stage between two cuts are its tasks, which may
// run at once; within a task steps keep their order. So the order of steps that depend on each other is fixed by the
// graph alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sardonyx::planner {

struct StagedStep {
  std::vector<int> before;  // earlier steps that it needs
  std::int64_t work = 0;    // elements read and written, or another measure of what it costs
};

// A task is a list of steps that run one after another; a stage has one task or several. Stages run one after another.
using Task = std::vector<int>;
using Stage = std::vector<Task>;

// Every step is in one task. Stages with one task never follow each other. Tasks of a stage come in the order of their
// work, the heaviest first, and are no more than `max_tasks`; a stage whose second task has less than `least_work` is
// one task.
std::vector<Stage> FindStages(std::span<const StagedStep> steps, std::int64_t least_work, std::size_t max_tasks);

}  // namespace sardonyx::planner
