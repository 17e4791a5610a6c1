// planner/plan_facts.cpp - when two facts are the same, and the steps for which that saves inference.
//
// Layers repeat: the attention of the second layer has the attributes of the first one's, and inputs of the same types.
// Inference is a function of these, so that one layer's results are those of all layers. Comparing a few numbers is
// many times cheaper than inferring, which is what a token of a growing cache mostly waits for while it is planned.
#include "planner/plan_facts.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "planner/plan_builder.h"

namespace sardonyx::planner {
namespace {

constexpr std::size_t kMostCompared = 16384;  // bytes

bool Same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (a.raw() == b.raw() && a.buffer() == b.buffer()) return true;
  if (IsString(a.dtype()) || a.byte_size() > kMostCompared) return false;
  return a.byte_size() == 0 || std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
}

}  // namespace

bool PlanFact::operator==(const PlanFact& other) const {
  if (is_static != other.is_static || !(type == other.type)) return false;
  if (known.is_tensor() && other.known.is_tensor()) return Same(known.tensor(), other.known.tensor());
  return !known.has_value() && !other.known.has_value();
}

// Whether the steps, which are of one kind, have the same facts about their inputs.
bool PlanBuilder::IsTwin(const Step& step, int other) const {
  const Step& twin = outline_.steps()[other];
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const int a = step.inputs[i], b = twin.inputs[i];
    if (a != b && !(facts_[a] == facts_[b])) return false;
  }
  // Contents that follow from shapes, and results that somebody else may be waiting for, are left to inference.
  return std::all_of(twin.outputs.begin(), twin.outputs.end(), [&](int slot) {
    return slot == kNoSlot || (facts_[slot].is_static && !facts_[slot].known.has_value());
  });
}

// In place, so that nothing is allocated for a value that had as many dimensions before.
void PlanBuilder::TakeFactsOf(const Step& twin, const Step& step) {
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i] == kNoSlot) continue;
    const Fact& source = facts_[twin.outputs[i]];
    Fact& fact = facts_[step.outputs[i]];
    if (has_facts_before_) SetChanged(step.outputs[i], !(fact == source));
    if (changed_[step.outputs[i]]) fact = source;
  }
}

// Plans the step as a walked one of its kind with equal facts; false if there is none among the last ones.
bool PlanBuilder::PlanLikeTwin(int index) {
  constexpr int kMostCompared = 4;
  const Step& step = outline_.steps()[index];
  if (step.kind < 0 || IsSurprising(index)) return false;
  int twin = latest_[step.kind];
  for (int compared = 0; twin >= 0 && !IsTwin(step, twin); twin = previous_[twin])
    if (++compared == kMostCompared) return false;
  if (twin < 0) return false;
  TakeFactsOf(outline_.steps()[twin], step);
  plan_->steps.push_back({index, false, -1, nullptr});
  same_outcomes_ = same_outcomes_ && outcomes_[index] == Outcome::kRuns;
  outcomes_[index] = Outcome::kRuns;
  walked_.push_back(index);
  return true;
}

}  // namespace sardonyx::planner
