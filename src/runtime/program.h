// runtime/program.h - a graph that is ready to run: its outline, a kernel for each step, and the cache of plans and run
// states.
#pragma once

#include <array>
#include <atomic>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/fork_mutex.h"
#include "ir/graph.h"
#include "ops/op_def.h"
#include "ops/registry.h"
#include "planner/outline.h"
#include "planner/plan.h"
#include "planner/plan_facts.h"
#include "providers/provider.h"
#include "runtime/options.h"

namespace sardonyx::runtime {

class RunState;
class ThreadPool;
class Program;
class ReadyGraph;

// What runs a step.
struct Kernel {
  ops::Prepared prepared;
  Tensor weights;                                // constant ones, as the kernel reads them; undefined: none, or few
  std::span<const std::byte> ahead;              // where there are weights: those of the next step that has some
  std::vector<std::unique_ptr<Program>> bodies;  // one for each body of the step, in order
  int copy = -1;                                 // of a copy between devices: its number (NumberCopies)
};

// Where weights are taken from that are packed already, and where others are added; either may be null.
struct PackedSources {
  PackedWeights* shared = nullptr;
  CompiledWeights* compiled = nullptr;  // asked first
  bool rounds_to_bf16 = false;          // how they are packed: see ops::PrepareContext
};

// Constant except for its caches, which are thread-safe. Bodies are programs of their own, whose inputs are the
// explicit ones, then the captured ones.
class Program : public std::enable_shared_from_this<Program> {
 public:
  // `graph` must be in its newest spelling with types inferred, every node with its provider. The program keeps it, or
  // an equal graph that another program has. Fails with kNotImplemented naming the node.
  Program(Graph graph, const ops::Registry& registry, std::shared_ptr<const providers::ProviderSet> providers,
          Parallel& parallel, PackedSources packed = {});
  // The program `base`, whose kernels are shared, with more outputs or without some nodes: `graph` is a copy of its
  // graph.
  Program(Graph graph, const Program& base);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const planner::Outline& outline() const { return *outline_; }
  const Graph& graph() const { return outline_->graph(); }
  const std::shared_ptr<const providers::ProviderSet>& providers() const { return providers_; }
  const std::vector<planner::SlotInfo>& slots() const { return outline_->slots(); }
  const std::vector<planner::Step>& steps() const { return outline_->steps(); }
  const std::vector<Kernel>& kernels() const { return kernels_; }  // by step
  const std::vector<int>& inputs() const { return outline_->inputs(); }
  const std::vector<int>& outputs() const { return outline_->outputs(); }

  // The plan for these inputs, made if it is new. Thread-safe.
  std::shared_ptr<const planner::Plan> FindPlan(std::span<const planner::InputFact> inputs);
  // A plan for these inputs that leaves no room for values that grow; takes the place of the one that FindPlan
  // returned. Thread-safe.
  std::shared_ptr<const planner::Plan> MakeExactPlan(std::span<const planner::InputFact> inputs);
  std::shared_ptr<const planner::Plan> LastPlan();  // returned by FindPlan; null before the first. Thread-safe.
  // The kernel of this step made another shape than the plan had: later plans leave its shapes open. Thread-safe.
  void NoteSurprise(std::size_t step);
  // A run state that nobody uses; give it back when the run is over. Never waits: if no free one is at hand, makes one.
  std::unique_ptr<RunState> Lease();
  void GiveBack(std::unique_ptr<RunState> state);
  // Workers of the pool that wait for work bring weights that the next step reads into their caches; loops have up to
  // `threads` threads. Before the first run.
  void ReadAheadOn(ThreadPool& pool, int threads);
  // Tells them what this kernel's successor reads.
  void AnnounceWeights(const Kernel& kernel) const;
  // Parallel mode: independent branches of this program and its bodies run on up to `threads` threads of the pool.
  // Before the first plan.
  void RunBranchesOn(ThreadPool& pool, int threads);
  ThreadPool* branch_pool() const { return branch_pool_; }
  int branch_threads() const { return branch_threads_; }
  // Numbers the copies between devices, bodies included, in their order from `first` on, and returns the next number.
  // To be called before the first run.
  int NumberCopies(int first);
  // Drops the plans, and the memory of run states that no run uses. Thread-safe.
  void Trim();

 private:
  Program(const ops::Registry& registry, std::shared_ptr<const providers::ProviderSet> providers)
      : registry_(&registry), providers_(std::move(providers)) {}
  // Weights that kernels pack are dropped from the graph. The graph of a body is part of its parent's.
  void Prepare(Graph& graph, const Program* base, Parallel& parallel, PackedSources packed);
  void AddKernel(Graph& graph, NodeId id, const Kernel* base, Parallel& parallel, PackedSources packed);
  Kernel PrepareNode(Graph& graph, const Node& node, Parallel& parallel, PackedSources packed);
  void LookAhead();
  void ReleasePacked(Graph& graph, const Node& node, const std::vector<bool>& packed);
  // Replaces the program's graph and outline by the equal ones of `ready`, and the states of its kernels by those that
  // others made from that graph.
  void Adopt(std::shared_ptr<const ReadyGraph> ready);
  void Adopt(const ReadyGraph& ready, const planner::Outline& outline);

  std::shared_ptr<const planner::Plan> FindCached(std::span<const planner::InputFact> inputs);  // under mutex_; or null
  void DropLastPlan();                                                                          // under mutex_

  std::shared_ptr<const ReadyGraph> ready_;  // shared with programs of the same graph; null for bodies
  const ops::Registry* registry_;
  std::shared_ptr<const providers::ProviderSet> providers_;  // shared with the programs of bodies; kernels live in it
  std::unordered_map<ValueId, std::size_t> packed_reads_;    // of constants: readers that packed them, while preparing
  bool rounds_to_bf16_ = false;                              // PackedSources
  std::unique_ptr<const planner::Outline> own_outline_;      // null for bodies, whose outlines are part of it
  const planner::Outline* outline_ = nullptr;
  std::vector<Kernel> kernels_;

  static constexpr std::size_t kMaxPlans = 16;
  static constexpr std::size_t kStates = 16;
  ForkMutex mutex_;                                        // guards plans_, key_contents_ and facts_
  std::list<std::shared_ptr<const planner::Plan>> plans_;  // most recently used first
  planner::KeyContents key_contents_;
  planner::PlanFacts facts_;  // of the plan made last; empty while another is made from them
  std::array<std::atomic<RunState*>, kStates> states_ = {};
  ThreadPool* ahead_pool_ = nullptr;
  int ahead_threads_ = 1;
  ThreadPool* branch_pool_ = nullptr;
  int branch_threads_ = 1;
};

}  // namespace sardonyx::runtime
