// planner/plan_facts.h - what making one plan found out about values, for the next plan of the same graph.
//
// Two plans often differ in one length, on which few steps depend: those whose inputs are as they were have the outputs
// that they had, and are not inferred again.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ir/type.h"
#include "tensor/value.h"

namespace sardonyx::planner {

struct Plan;

// What is known about a value when a plan is made.
struct PlanFact {
  Type type;    // static when the shape is known
  Value known;  // contents
  bool is_static = false;

  // Whether inference and folding see the same. Contents count as different where comparing them is not worth it.
  bool operator==(const PlanFact& other) const;
};

struct PlanFacts {
  enum class Outcome : std::uint8_t {
    kOpen,     // to be planned anew each time
    kRuns,     // has a kernel to run, all shapes are known
    kNothing,  // has nothing to do: its outputs are known
  };
  std::vector<PlanFact> slots;  // empty: no plan was made
  std::vector<Outcome> steps;
  std::shared_ptr<const Plan> plan;  // that these are the facts of
  int inferred = 0;                  // steps that the last plan looked at
  bool refitted = false;             // the last plan has the places of the one before
  std::shared_ptr<Plan> spare;       // a plan that nobody needs any more, for its memory
};

}  // namespace sardonyx::planner
