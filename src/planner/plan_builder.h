// planner/plan_builder.h - makes a Plan from an Outline and what is known about its inputs.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/infer.h"
#include "planner/memory.h"
#include "planner/plan.h"
#include "planner/plan_facts.h"

namespace sardonyx::planner {

// Walks over the steps once: infers shapes with numbers, computes small values that the key implies, and chooses the
// branch of an If whose condition is known. Then gives every value its place.
class PlanBuilder {
 public:
  // The arguments but `before`, the facts of another plan of the outline, must outlive it; `learned.futile` has an
  // entry for each step.
  PlanBuilder(const Outline& outline, std::span<const InputFact> inputs, int threads, const KeyContents& learned,
              PlanFacts before = {});
  std::shared_ptr<Plan> Build();
  // After Build: the steps that lack contents of inputs, with the inputs that would help.
  const std::vector<std::pair<int, std::set<int>>>& wanted() const { return wanted_; }
  const std::vector<int>& late_steps() const { return late_steps_; }
  PlanFacts TakeFacts() { return {std::move(facts_), std::move(outcomes_), plan_, inferred_, refitted_, nullptr}; }

 private:
  using Fact = PlanFact;
  using Outcome = PlanFacts::Outcome;
  static std::shared_ptr<Plan> Reusable(PlanFacts& before);
  void BeginFacts();
  Fact InitialFact(int slot) const;
  void AddInputs();
  Fact FactOfInput(std::size_t input);
  void SetChanged(int slot, bool changed);
  void FindUnsettled();
  void ResetOutputs(const Step& step);
  void NoteOutcome(int index, std::size_t steps_before);
  void LendTypes(const Step& step);
  void TakeTypesBack(const Step& step);
  bool MayDifferInSizeOnly(std::size_t input) const;
  bool HasLateInput(const Step& step) const;
  void PlanStep(int index);
  bool PlanLikeTwin(int index);
  bool IsTwin(const Step& step, int other) const;
  void TakeFactsOf(const Step& twin, const Step& step);
  void WalkStep(int index);
  void PlanIf(int index, PlannedStep& planned);
  void AdoptBranch(const Step& step, const Outline& body, const PlannedStep& planned);
  bool IsSurprising(int index) const {
    return static_cast<std::size_t>(index) < learned_.surprising.size() && learned_.surprising[index];
  }
  void ForgetOutputs(const Step& step);  // their shapes come with the run
  std::vector<Type> BodyTypes(const Step& step, std::string_view attribute, std::span<const Type> inputs) const;
  bool CopiesAcross(const Step& step) const;
  bool OnHost(int slot) const { return outline_.slots()[slot].memory == 0; }
  bool Foldable(const Step& step) const;
  bool FoldStep(const Step& step);
  void InferStep(const Step& step);
  void AskForContents(int index);
  bool CollectInputs(int slot, std::set<int>* inputs, int depth) const;
  std::vector<InputFact> BodyFacts(const Step& step, std::size_t body) const;

  std::int64_t WorkOf(const PlannedStep& planned) const;
  void OrderStages();
  const StepRange* TaskOf(int first, int last) const;
  void ExtendLifetimes();
  Placement PlaceByTask(std::span<const Block> blocks) const;

  bool Refit();
  bool RefitInto();
  void TakeSlotsBefore();
  void NoteResized();
  bool Resize(int slot);
  bool IsUnlike(int slot, int other) const;
  bool KeepsSharing(const Step& step) const;
  bool ResizeBuffers();
  std::size_t RoomFor(int slot, std::size_t bytes) const;

  void PlaceSlots();
  int RootOf(int slot) const;
  bool TakesPitch(const PlannedStep& planned, bool output, std::size_t port) const;
  bool IsImage(int slot) const;
  bool IsAlongRows(const PlannedStep& planned, int wide) const;
  std::optional<std::int64_t> CutBefore(const Step& step) const;
  void PlaceWithin(int slot, int wide, std::int64_t before);
  bool MayBePart(int slot, int wide) const;
  bool JoinWhereComputed(const PlannedStep& planned);
  bool CutWhereItLies(const PlannedStep& planned);
  void FindRows();
  void PlaceParts();
  void LinkViews();
  void ReuseInPlace();
  bool DiesAt(int root, int at) const;
  int TakenBy(const Step& step, std::size_t input, int at) const;
  void TakeInPlace(const Step& step, int at);
  void ChooseDeliveries();
  int UpdatedInput(int slot) const;
  void PlaceArena();
  void EraseViews();
  void PlaceMemory(int memory);
  bool IsArenaRoot(int slot) const;

  const Outline& outline_;
  std::span<const InputFact> inputs_;
  int threads_;
  const KeyContents& learned_;
  std::shared_ptr<Plan> plan_;
  std::vector<Fact> facts_;             // by slot
  std::vector<Outcome> outcomes_;       // by step
  std::shared_ptr<const Plan> before_;  // the plan of the facts that were given
  std::vector<bool> changed_;           // by slot: its fact is not that of the plan before
  std::vector<bool> unsettled_;         // by step: the plan before does not say all about it
  bool has_facts_before_ = false;
  bool same_outcomes_ = true;  // every step is planned, or not, as in the plan before
  std::vector<int> walked_;    // steps that were not settled
  std::vector<int> latest_;    // by kind: the last step that was walked and runs with shapes that are known, or -1
  std::vector<int> previous_;  // by step: the one of its kind before, or -1
  // Of the step that is walked: what was known about its outputs, what inference is given, and what it gave.
  std::vector<Fact> outputs_before_;
  std::vector<ops::InferContext::Known> given_;
  std::vector<ops::InferContext::Output> inferred_outputs_;
  int inferred_ = 0;
  bool refitted_ = false;
  std::vector<int> input_of_;  // by slot: input, or -1
  std::vector<std::pair<int, std::set<int>>> wanted_;
  std::vector<int> late_steps_;
  std::vector<int> root_;                        // by slot: the slot whose storage it shares
  std::vector<int> first_, last_;                // by root: planned step of the first write and last read
  std::vector<int> stage_of_, task_of_;          // by planned step, if the plan has stages
  std::vector<bool> idle_;                       // by planned step: its outputs lie where they belong without it
  std::vector<bool> needs_rows_, writes_apart_;  // by slot, see FindRows
};

}  // namespace sardonyx::planner
