// runtime/program.cpp - prepares the nodes of a graph and caches plans and run states.
#include "runtime/program.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "base/current_error.h"
#include "base/debug_build.h"
#include "base/limits.h"
#include "ir/node_error.h"
#include "ops/errors/error_codes.h"
#include "ops/errors/late_errors.h"
#include "ops/input_type.h"
#include "ops/prepare_context.h"
#include "ops/same_rows.h"
#include "planner/foreign_steps.h"
#include "planner/make_plan.h"
#include "runtime/devices/device_copy.h"
#include "runtime/run_state.h"
#include "runtime/sharing/compiled_weights.h"
#include "runtime/sharing/packed_weights.h"
#include "runtime/sharing/shared_parts.h"
#include "runtime/weight_memory.h"
#include "tensor/dropped_bytes.h"
#include "tensor/packing.h"

namespace sardonyx::runtime {
namespace {

// Whether a kernel's state says no more than the graph does: not where weights were packed and are gone, nor where runs
// are counted.
bool FollowsFromGraph(const Graph& graph, const Node& node, const planner::Step& step) {
  if (!step.on_cpu || step.op == &planner::ForeignOperator() || (step.op->traits & ops::kRandom) != 0) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    const Tensor* constant = input == kNoValue ? nullptr : graph.value(input).constant();
    return constant == nullptr || HasData(*constant);
  });
}

}  // namespace

Program::Program(Graph graph, const ops::Registry& registry, std::shared_ptr<const providers::ProviderSet> providers,
                 Parallel& parallel, PackedSources packed)
    : Program(registry, std::move(providers)) {
  Prepare(graph, nullptr, parallel, packed);
  Adopt(SharedGraph(std::make_unique<ReadyGraph>(std::move(graph))));
}

Program::Program(Graph graph, const Program& base) : Program(*base.registry_, base.providers_) {
  Serial serial;
  Prepare(graph, &base, serial, {});
  Adopt(std::make_shared<const ReadyGraph>(std::move(graph)));
}

Program::~Program() {
  for (auto& entry : states_) delete entry.load();  // NOLINT(cppcoreguidelines-owning-memory): see Lease
}

void Program::Prepare(Graph& graph, const Program* base, Parallel& parallel, PackedSources packed) {
  std::unordered_map<NodeId, const Kernel*> made;
  if (base != nullptr)
    for (std::size_t i = 0; i < base->kernels_.size(); ++i) made[base->steps()[i].node] = &base->kernels_[i];
  for (const NodeId id : graph.order) {
    CheckTime();
    const auto known = made.find(id);  // a copy to the host may be new
    AddKernel(graph, id, known != made.end() ? known->second : nullptr, parallel, packed);
  }
  packed_reads_.clear();
  LookAhead();
  rounds_to_bf16_ = base != nullptr ? base->rounds_to_bf16_ : packed.rounds_to_bf16;
}

void Program::Adopt(std::shared_ptr<const ReadyGraph> ready) {
  ready_ = std::move(ready);
  own_outline_ = std::make_unique<const planner::Outline>(ready_->graph(), *registry_, *providers_);
  Adopt(*ready_, *own_outline_);
}

void Program::Adopt(const ReadyGraph& ready, const planner::Outline& outline) {
  outline_ = &outline;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const planner::Step& step = outline.steps()[i];
    const Node& node = graph().node(step.node);
    Kernel& kernel = kernels_[i];
    if (!rounds_to_bf16_ && !ops::WantsSameRows() && FollowsFromGraph(graph(), node, step))
      kernel.prepared = ready.Share(node, *step.op, std::move(kernel.prepared));
    for (std::size_t b = 0; b < kernel.bodies.size(); ++b) kernel.bodies[b]->Adopt(ready, *step.bodies[b]);
  }
}

void Program::AddKernel(Graph& graph, NodeId id, const Kernel* base, Parallel& parallel, PackedSources packed) {
  Kernel kernel;
  if (base != nullptr) {
    kernel.prepared = base->prepared;
    kernel.weights = base->weights;
    kernel.copy = base->copy;
  } else {
    kernel = PrepareNode(graph, graph.node(id), parallel, packed);
  }
  if (planner::IsControlFlow(graph.node(id))) {
    for (Graph* body : graph.node(id).Subgraphs()) {
      const Program* base_body = base != nullptr ? base->bodies[kernel.bodies.size()].get() : nullptr;
      // NOLINTNEXTLINE: the constructor is private
      kernel.bodies.push_back(std::unique_ptr<Program>(new Program(*registry_, providers_)));
      kernel.bodies.back()->Prepare(*body, base_body, parallel, packed);
    }
  }
  kernels_.push_back(std::move(kernel));
}

int Program::NumberCopies(int first) {
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    if (steps()[i].op == &planner::DeviceCopy()) kernels_[i].copy = first++;
    for (const auto& body : kernels_[i].bodies) first = body->NumberCopies(first);
  }
  return first;
}

// After the last step comes the first one: runs follow each other, and so do the iterations of a body.
void Program::LookAhead() {
  std::span<const std::byte> next;
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = kernels_.size(); i-- > 0;) {
      Kernel& kernel = kernels_[i];
      if (!kernel.weights.defined()) continue;
      kernel.ahead = next;
      next = {static_cast<const std::byte*>(kernel.weights.raw()), kernel.weights.byte_size()};
    }
  }
}

void Program::ReadAheadOn(ThreadPool& pool, int threads) {
  ahead_pool_ = &pool;
  ahead_threads_ = threads;
  for (const Kernel& kernel : kernels_)
    for (const auto& body : kernel.bodies) body->ReadAheadOn(pool, threads);
}

void Program::AnnounceWeights(const Kernel& kernel) const {
  if (ahead_pool_ != nullptr && !kernel.ahead.empty()) ahead_pool_->Announce(ahead_threads_, kernel.ahead);
}

// The largest, if it is worth reading ahead.
static Tensor LargestWeights(const std::vector<Tensor>& packed) {
  constexpr std::size_t kMuch = std::size_t{32} << 10;
  const auto largest = std::max_element(packed.begin(), packed.end(),
                                        [](const Tensor& a, const Tensor& b) { return a.byte_size() < b.byte_size(); });
  return largest == packed.end() || largest->byte_size() < kMuch ? Tensor() : *largest;
}

Kernel Program::PrepareNode(Graph& graph, const Node& node, Parallel& parallel, PackedSources packed) {
  providers::Provider* provider = providers_->Find(planner::IsControlFlow(node) ? "" : node.provider);
  if (provider == nullptr)
    Fail(Code::kFail, Describe(graph, node), ": expected a provider of this session, found '", node.provider, "'");
  const ops::OpDef& op = planner::OperatorOf(node, *registry_, *providers_);
  if (&op == &planner::FusedGroup()) return {providers_->compiled.at(node.op_type)};
  if (&op == &planner::DeviceCopy()) return {PrepareCopy(*provider, graph, node)};
  std::vector<ops::PrepareContext::Input> inputs;
  for (const ValueId input : node.inputs) {
    if (input == kNoValue) {
      inputs.emplace_back();
    } else {
      const ValueInfo& value = graph.value(input);
      inputs.push_back({ops::TypeAsInput(node, inputs.size(), value.type), value.constant(), true});
    }
  }
  std::vector<Type> outputs;
  for (const ValueId output : node.outputs) outputs.push_back(output == kNoValue ? Type() : graph.value(output).type);
  std::optional<Digest> compiled_key;
  if (packed.compiled != nullptr && node.provider == providers::kCpuName)
    compiled_key = CompiledWeights::KeyOf(graph, node, inputs, outputs, packed.rounds_to_bf16);
  const std::vector<Tensor>* known = compiled_key ? packed.compiled->Find(*compiled_key) : nullptr;
  std::optional<PackedWeights::Key> key;
  if (packed.shared != nullptr && known == nullptr && !ops::WantsSameRows())
    key = PackedWeights::KeyOf(graph, node, op, inputs, outputs, parallel.ThreadCount());
  if (key) key->rounds_to_bf16 = packed.rounds_to_bf16;
  if (key) {
    if (const std::optional<PackedWeights::Entry> found = packed.shared->Find(*key)) {
      ReleasePacked(graph, node, found->packed);
      return {found->prepared, found->weights};
    }
  }
  ops::PrepareContext context(graph, node, op, inputs, outputs, parallel, packed.rounds_to_bf16);
  ops::Prepared prepared;
  Tensor weights;
  try {
    const PackingScope scope(known);
    prepared = provider->Prepare(context);
    weights = LargestWeights(scope.packed());
    if (compiled_key) packed.compiled->Add(*compiled_key, scope.packed());
  } catch (...) {
    const Error error = CurrentError();
    if (node.provider != providers::kCpuName) throw AtNode(graph, node, error);
    const std::optional<Error> late = ops::AsLateError(graph, node, node, op, error);
    if (!late) throw ops::AsLoadError(graph, node, op, error);
    return {ops::FailingKernel(*late)};
  }
  std::vector<bool> is_packed;
  for (std::size_t i = 0; i < inputs.size(); ++i) is_packed.push_back(context.IsPacked(i));
  if (key) prepared = packed.shared->Add(std::move(*key), graph, node, {std::move(prepared), is_packed, weights});
  ReleasePacked(graph, node, is_packed);
  return {std::move(prepared), std::move(weights)};
}

// A kernel's packed copy takes the place of the weight. The pages of a mapped file leave memory at once (another reader
// gets them back by reading); memory of our own is given back when the last reader has packed it.
void Program::ReleasePacked(Graph& graph, const Node& node, const std::vector<bool>& packed) {
  constexpr std::size_t kWorthReleasing = 4096;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue || !packed[i]) continue;
    const ValueInfo& value = graph.value(node.inputs[i]);
    const Tensor* constant = value.constant();
    if (constant == nullptr || constant->byte_size() < kWorthReleasing || constant->buffer() == nullptr) continue;
    ReleasePages(*constant);
    if (IsMapped(*constant) || value.is_captured || value.is_input) continue;
    if (++packed_reads_[node.inputs[i]] < graph.UseCount(node.inputs[i])) continue;
    auto released = std::make_shared<Initializer>(*value.initializer);
    released->tensor = WithoutData(*constant);
    released->sparse.reset();
    graph.SetInitializer(node.inputs[i], std::move(released));
  }
}

std::shared_ptr<const planner::Plan> Program::FindCached(std::span<const planner::InputFact> inputs) {
  for (auto it = plans_.begin(); it != plans_.end(); ++it) {
    if (!(*it)->Matches(inputs)) continue;
    plans_.splice(plans_.begin(), plans_, it);
    return plans_.front();
  }
  return nullptr;
}

// Threads with new shapes plan at the same time; of two plans for the same inputs the first that is ready stays.
std::shared_ptr<const planner::Plan> Program::FindPlan(std::span<const planner::InputFact> inputs) {
  planner::KeyContents learned;
  planner::PlanFacts facts;
  {
    const std::scoped_lock lock(mutex_);
    if (std::shared_ptr<const planner::Plan> plan = FindCached(inputs)) return plan;
    learned = key_contents_;
    facts = std::exchange(facts_, {});
  }
  std::shared_ptr<const planner::Plan> made = planner::MakePlan(*outline_, inputs, branch_threads_, learned, &facts);
  const std::scoped_lock lock(mutex_);
  key_contents_.Add(learned);
  facts_ = std::move(facts);
  if (std::shared_ptr<const planner::Plan> plan = FindCached(inputs)) return plan;
  plans_.push_front(std::move(made));
  if (plans_.size() > kMaxPlans) DropLastPlan();
  return plans_.front();
}

// Of a plan that no run uses the next one takes the memory. Only who holds the lock makes more owners of it.
void Program::DropLastPlan() {
  std::shared_ptr<const planner::Plan> last = std::move(plans_.back());
  plans_.pop_back();
  if (kThreadSanitizer || last.use_count() != 1) return;  // it knows no fences, and would take the next plan for a race
  std::atomic_thread_fence(std::memory_order_acquire);    // behind all that its last user did with it
  facts_.spare = std::const_pointer_cast<planner::Plan>(std::move(last));
}

std::shared_ptr<const planner::Plan> Program::MakeExactPlan(std::span<const planner::InputFact> inputs) {
  planner::KeyContents learned;
  {
    const std::scoped_lock lock(mutex_);
    learned = key_contents_;
  }
  std::shared_ptr<const planner::Plan> made = planner::MakePlan(*outline_, inputs, branch_threads_, learned);
  const std::scoped_lock lock(mutex_);
  key_contents_.Add(learned);
  plans_.remove_if([&](const std::shared_ptr<const planner::Plan>& plan) { return plan->Matches(inputs); });
  plans_.push_front(std::move(made));
  if (plans_.size() > kMaxPlans) plans_.pop_back();
  return plans_.front();
}

std::shared_ptr<const planner::Plan> Program::LastPlan() {
  const std::scoped_lock lock(mutex_);
  return plans_.empty() ? nullptr : plans_.front();
}

void Program::NoteSurprise(std::size_t step) {
  const std::scoped_lock lock(mutex_);
  key_contents_.surprising.resize(steps().size());
  key_contents_.surprising[step] = true;
  plans_.clear();
}

void Program::RunBranchesOn(ThreadPool& pool, int threads) {
  branch_pool_ = &pool;
  branch_threads_ = threads;
  for (const Kernel& kernel : kernels_)
    for (const auto& body : kernel.bodies) body->RunBranchesOn(pool, threads);
}

void Program::Trim() {
  {
    const std::scoped_lock lock(mutex_);
    plans_.clear();
    facts_ = {};
  }
  for (auto& entry : states_) const std::unique_ptr<RunState> idle(entry.exchange(nullptr));
  for (const Kernel& kernel : kernels_)
    for (const auto& body : kernel.bodies) body->Trim();
}

// The atomics own what they point to; a unique_ptr can't be exchanged atomically.
std::unique_ptr<RunState> Program::Lease() {
  for (auto& entry : states_) {
    if (entry.load(std::memory_order_relaxed) == nullptr) continue;
    if (RunState* state = entry.exchange(nullptr)) return std::unique_ptr<RunState>(state);
  }
  return std::make_unique<RunState>(*this);
}

void Program::GiveBack(std::unique_ptr<RunState> state) {
  for (auto& entry : states_) {
    RunState* empty = nullptr;
    if (entry.compare_exchange_strong(empty, state.get())) {
      static_cast<void>(state.release());
      return;
    }
  }
}

}  // namespace sardonyx::runtime
