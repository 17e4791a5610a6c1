// planner/make_plan.h - makes a plan from a graph and what is known about its kernels and inputs.
#pragma once

#include <memory>
#include <span>

#include "planner/outline.h"
#include "planner/plan.h"
#include "planner/plan_facts.h"

namespace sardonyx::planner {

// The plan for these inputs, whose steps run on up to `threads` threads at once. Adds to `learned`. Fails with the
// error of inference, which names the node. `facts`, if given, are those of an earlier plan of the outline, or empty,
// and become those of this one; empty if it fails. Thread-safe: nothing but `learned` and `facts` changes.
std::shared_ptr<const Plan> MakePlan(const Outline& outline, std::span<const InputFact> inputs, int threads,
                                     KeyContents& learned, PlanFacts* facts = nullptr);

}  // namespace sardonyx::planner
