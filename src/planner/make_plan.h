// planner/make_plan.h - makes a plan from a graph and what is known about its kernels and inputs.
#pragma once

#include <memory>
#include <span>

#include "planner/outline.h"
#include "planner/plan.h"

namespace sardonyx::planner {

// The plan for these inputs, whose steps run on up to `threads` threads at once. Adds to `learned`. Fails with the
// error of inference, which names the node. Thread-safe: nothing but `learned` changes.
std::shared_ptr<const Plan> MakePlan(const Outline& outline, std::span<const InputFact> inputs, int threads,
                                     KeyContents& learned);

}  // namespace sardonyx::planner
