// planner/stages.cpp - levels, cuts and connected parts.
#include "planner/stages.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace sardonyx::planner {
namespace {

// Disjoint sets, each known by its least member.
class Sets {
 public:
  explicit Sets(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
  int Find(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Join(int a, int b) {
    a = Find(a), b = Find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<int> parent_;
};

std::vector<int> Levels(std::span<const StagedStep> steps) {
  std::vector<int> levels(steps.size(), 0);
  for (std::size_t i = 0; i < steps.size(); ++i)
    for (const int before : steps[i].before) levels[i] = std::max(levels[i], levels[before] + 1);
  return levels;
}

// The steps between two cuts as tasks. `section`: ascending; `of`: by step, its section.
Stage TasksOf(std::span<const StagedStep> steps, const std::vector<int>& section, const std::vector<int>& of,
              Sets& sets) {
  for (const int step : section)
    for (const int before : steps[step].before)
      if (of[before] == of[step]) sets.Join(step, before);
  std::map<int, Task> parts;
  for (const int step : section) parts[sets.Find(step)].push_back(step);
  Stage stage;
  for (auto& [least, task] : parts) stage.push_back(std::move(task));
  return stage;
}

std::int64_t WorkOf(std::span<const StagedStep> steps, const Task& task) {
  std::int64_t work = 0;
  for (const int step : task) work += steps[step].work;
  return work;
}

// One task of all, in the steps' order.
void Merge(Task& into, const Task& from) {
  const auto middle = static_cast<std::ptrdiff_t>(into.size());
  into.insert(into.end(), from.begin(), from.end());
  std::inplace_merge(into.begin(), into.begin() + middle, into.end());
}

void Balance(std::span<const StagedStep> steps, std::int64_t least_work, std::size_t max_tasks, Stage& stage) {
  std::stable_sort(stage.begin(), stage.end(),
                   [&](const Task& a, const Task& b) { return WorkOf(steps, a) > WorkOf(steps, b); });
  if (stage.size() > 1 && WorkOf(steps, stage[1]) < least_work) max_tasks = 1;
  for (std::size_t i = max_tasks; i < stage.size(); ++i) Merge(stage[i % max_tasks], stage[i]);
  if (stage.size() > max_tasks) stage.resize(max_tasks);
}

}  // namespace

std::vector<Stage> FindStages(std::span<const StagedStep> steps, std::int64_t least_work, std::size_t max_tasks) {
  const std::vector<int> levels = Levels(steps);
  std::vector<int> width(steps.size() + 1, 0);
  for (const int level : levels) ++width[level];
  // Sections: neighbouring levels that are wide, and each level that is not.
  std::vector<int> section_of_level(steps.size() + 1, 0);
  int sections = 0;
  for (std::size_t level = 0; level < steps.size() && width[level] != 0; ++level) {
    const bool joins = level > 0 && (width[level] > 1) == (width[level - 1] > 1);
    section_of_level[level] = joins ? sections - 1 : sections++;
  }
  std::vector<std::vector<int>> members(static_cast<std::size_t>(sections));
  std::vector<int> of(steps.size(), 0);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    of[i] = section_of_level[levels[i]];
    members[of[i]].push_back(static_cast<int>(i));
  }
  Sets sets(steps.size());
  std::vector<Stage> stages;
  for (const std::vector<int>& section : members) {
    Stage stage = TasksOf(steps, section, of, sets);
    Balance(steps, least_work, max_tasks, stage);
    if (stage.size() == 1 && !stages.empty() && stages.back().size() == 1) {
      Task& last = stages.back().front();  // everything in it comes before this section: no merge by index
      last.insert(last.end(), stage.front().begin(), stage.front().end());
    } else {
      stages.push_back(std::move(stage));
    }
  }
  return stages;
}

}  // namespace sardonyx::planner
