// planner/make_plan.cpp - plans in rounds, until knowing the contents of more inputs no longer helps.
#include "planner/make_plan.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "planner/plan_builder.h"

namespace sardonyx::planner {

std::shared_ptr<const Plan> MakePlan(const Outline& outline, std::span<const InputFact> inputs, int threads,
                                     KeyContents& learned, PlanFacts* facts) {
  learned.futile.resize(outline.steps().size());
  PlanFacts known = facts != nullptr ? std::exchange(*facts, {}) : PlanFacts();
  int inferred = 0;  // in all rounds
  // Each round learns which inputs' contents belong to the key, or that knowing them was in vain.
  std::vector<std::pair<int, std::set<int>>> asked;
  for (;;) {
    PlanBuilder builder(outline, inputs, threads, learned, std::move(known));
    std::shared_ptr<const Plan> plan = builder.Build();
    known = builder.TakeFacts();
    known.inferred = inferred += known.inferred;
    for (const auto& [step, wanted] : asked) {
      const auto& late = builder.late_steps();
      if (std::find(late.begin(), late.end(), step) != late.end()) learned.futile[step] = true;
    }
    bool grew = false;
    for (const auto& [step, wanted] : builder.wanted()) {
      if (learned.futile[step]) continue;
      for (const int input : wanted) grew = learned.AddInput(input) || grew;
      asked.emplace_back(step, wanted);
    }
    if (grew) continue;
    if (facts != nullptr) *facts = std::move(known);
    return plan;
  }
}

}  // namespace sardonyx::planner
