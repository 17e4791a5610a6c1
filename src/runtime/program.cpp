// runtime/program.cpp - prepares the nodes of a graph and caches plans and run states.
#include "runtime/program.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

#include "base/limits.h"
#include "ir/node_error.h"
#include "ops/input_type.h"
#include "ops/prepare_context.h"
#include "runtime/foreign_steps.h"
#include "runtime/plan_builder.h"
#include "runtime/run_state.h"
#include "runtime/shared_parts.h"
#include "runtime/weight_memory.h"

namespace sardonyx::runtime {
namespace {

// Whether a kernel's state says no more than the graph does: not where weights were packed and are gone, nor where runs
// are counted.
bool FollowsFromGraph(const Graph& graph, const Node& node, const Step& step) {
  if (!step.on_cpu || step.op == &ForeignOperator() || (step.op->traits & ops::kRandom) != 0) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    const Tensor* constant = input == kNoValue ? nullptr : graph.value(input).constant();
    return constant == nullptr || HasData(*constant);
  });
}

}  // namespace

Program::Program(Graph graph, const ops::Registry& registry, std::shared_ptr<const providers::ProviderSet> providers,
                 Parallel& parallel)
    : Program(registry, std::move(providers)) {
  Prepare(graph, nullptr, parallel);
  ready_ = SharedGraph(std::make_unique<ReadyGraph>(std::move(graph)));
  Adopt(*ready_, ready_->graph());
}

Program::Program(Graph graph, const Program& base) : Program(*base.registry_, base.providers_) {
  Serial serial;
  Prepare(graph, &base, serial);
  ready_ = std::make_shared<const ReadyGraph>(std::move(graph));
  Adopt(*ready_, ready_->graph());
}

Program::~Program() {
  for (auto& entry : states_) delete entry.load();  // NOLINT(cppcoreguidelines-owning-memory): see Lease
}

void Program::Prepare(Graph& graph, const Program* base, Parallel& parallel) {
  graph_ = &graph;
  memories_.push_back(HostAllocator());
  for (const auto& provider : providers_->providers)
    if (!provider->device().IsHost()) memories_.push_back(provider->allocator());
  AddSlots();
  for (const NodeId id : graph_->order) {
    CheckTime();
    AddStep(graph, id, base != nullptr ? &base->steps_[steps_.size()] : nullptr, parallel);
  }
  futile_.assign(steps_.size(), false);
  packed_reads_.clear();
}

void Program::Adopt(const ReadyGraph& ready, const Graph& graph) {
  graph_ = &graph;
  for (SlotInfo& slot : slots_) {
    slot.type = &graph.value(slot.value).type;
    if (slot.constant != nullptr) slot.constant = graph.value(slot.value).constant();
  }
  for (Step& step : steps_) {
    const Node& node = graph.node(step.node);
    if (FollowsFromGraph(graph, node, step)) step.prepared = ready.Share(node, *step.op, std::move(step.prepared));
    if (step.bodies.empty()) continue;
    const std::vector<const Graph*> bodies = node.Subgraphs();
    for (std::size_t i = 0; i < step.bodies.size(); ++i) step.bodies[i]->Adopt(ready, *bodies[i]);
  }
}

int Program::MemoryOf(const Device& device) const {
  for (std::size_t i = 1; i < memories_.size(); ++i)
    if (memories_[i]->device() == device) return static_cast<int>(i);
  return 0;
}

void Program::AddSlots() {
  slot_of_.assign(graph_->values.size(), kNoSlot);
  const auto add = [&](ValueId id) {
    if (id == kNoValue || slot_of_[id] != kNoSlot) return;
    slot_of_[id] = static_cast<int>(slots_.size());
    const ValueInfo& value = graph_->value(id);
    SlotInfo info{id, &value.type, value.constant(), -1, MemoryOf(value.device)};
    slots_.push_back(std::move(info));
  };
  for (const ValueId id : graph_->inputs) {
    add(id);
    if (graph_->value(id).constant() == nullptr) inputs_.push_back(slot_of_[id]);
  }
  explicit_inputs_ = inputs_.size();
  for (const Capture& capture : graph_->captures) {
    add(capture.inner);
    inputs_.push_back(slot_of_[capture.inner]);
    slots_.back().constant = nullptr;  // comes from the enclosing run; its plan knows the contents
  }
  for (const NodeId id : graph_->order) {
    const Node& node = graph_->node(id);
    for (const ValueId input : node.inputs) add(input);
    for (const ValueId input : node.implicit_inputs) add(input);
    for (const ValueId output : node.outputs) add(output);
  }
  for (const ValueId id : graph_->outputs) {
    add(id);
    outputs_.push_back(slot_of_[id]);
  }
}

Error Program::AtStep(const Step& step, const Error& error) const {
  return AtNode(*graph_, graph_->node(step.node), error);
}

void Program::AddStep(Graph& graph, NodeId id, const Step* base, Parallel& parallel) {
  const Node& node = graph.node(id);
  Step step;
  step.node = id;
  step.on_cpu = node.provider == providers::kCpuName;
  step.is_if = step.on_cpu && node.domain.empty() && node.op_type == "If";
  for (const ValueId input : node.inputs) step.inputs.push_back(SlotOf(input));
  for (const ValueId output : node.outputs) {
    step.outputs.push_back(SlotOf(output));
    if (output != kNoValue) slots_[SlotOf(output)].producer = static_cast<int>(steps_.size());
  }
  if (base == nullptr) {
    PrepareStep(graph, node, step, parallel);
  } else {
    step.op = base->op;
    step.prepared = base->prepared;
  }
  if (step.on_cpu) {
    for (Graph* body : graph.node(id).Subgraphs()) {
      const Program* base_body = base != nullptr ? base->bodies[step.bodies.size()].get() : nullptr;
      // NOLINTNEXTLINE: the constructor is private
      step.bodies.push_back(std::unique_ptr<Program>(new Program(*registry_, providers_)));
      step.bodies.back()->Prepare(*body, base_body, parallel);
      std::vector<int>& captures = step.captures.emplace_back();
      for (const Capture& capture : body->captures) captures.push_back(SlotOf(capture.outer));
    }
  }
  steps_.push_back(std::move(step));
}

int Program::NumberCopies(int first) {
  for (Step& step : steps_) {
    if (IsCopy(graph_->node(step.node))) step.copy = first++;
    for (const auto& body : step.bodies) first = body->NumberCopies(first);
  }
  return first;
}

void Program::PrepareStep(Graph& graph, const Node& node, Step& step, Parallel& parallel) {
  providers::Provider* provider = providers_->Find(node.provider);
  if (provider == nullptr)
    Fail(Code::kFail, Describe(*graph_, node), ": expected a provider of this session, found '", node.provider, "'");
  if (const auto compiled = providers_->compiled.find(node.op_type);
      compiled != providers_->compiled.end() && node.domain == provider->name()) {
    step.op = &FusedGroup();
    step.prepared = compiled->second;
    return;
  }
  if (IsCopy(node)) {
    step.op = &DeviceCopy();
    step.prepared = PrepareCopy(*provider, *graph_, node);
    return;
  }
  step.op = registry_->Find(node.domain, node.op_type, node.since_version);
  if (step.op == nullptr) step.op = &ForeignOperator();
  std::vector<ops::PrepareContext::Input> inputs;
  for (const ValueId input : node.inputs) {
    if (input == kNoValue) {
      inputs.emplace_back();
    } else {
      const ValueInfo& value = graph_->value(input);
      inputs.push_back({ops::TypeAsInput(node, inputs.size(), value.type), value.constant(), true});
    }
  }
  std::vector<Type> outputs;
  for (const ValueId output : node.outputs) outputs.push_back(output == kNoValue ? Type() : graph_->value(output).type);
  ops::PrepareContext context(*graph_, node, *step.op, inputs, outputs, parallel);
  try {
    step.prepared = provider->Prepare(context);
  } catch (const Error& error) {
    throw AtStep(step, error);
  } catch (const std::bad_alloc&) {
    throw AtStep(step, OutOfMemory());
  } catch (const std::length_error&) {
    throw AtStep(step, OutOfMemory());
  }
  ReleasePacked(graph, node, context);
}

// A kernel's packed copy takes the place of the weight. The pages of a mapped file leave memory at once (another reader
// gets them back by reading); memory of our own is given back when the last reader has packed it.
void Program::ReleasePacked(Graph& graph, const Node& node, const ops::PrepareContext& context) {
  constexpr std::size_t kWorthReleasing = 4096;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue || !context.IsPacked(i)) continue;
    const ValueInfo& value = graph_->value(node.inputs[i]);
    const Tensor* constant = value.constant();
    if (constant == nullptr || constant->byte_size() < kWorthReleasing || constant->buffer() == nullptr) continue;
    ReleasePages(*constant);
    if (IsMapped(*constant) || value.is_captured || value.is_input) continue;
    if (++packed_reads_[node.inputs[i]] < graph_->UseCount(node.inputs[i])) continue;
    auto released = std::make_shared<Initializer>(*value.initializer);
    released->tensor = WithoutData(*constant);
    released->sparse.reset();
    graph.SetInitializer(node.inputs[i], std::move(released));
    slots_[SlotOf(node.inputs[i])].constant = graph_->value(node.inputs[i]).constant();
  }
}

bool Plan::Matches(std::span<const Program::InputFact> inputs) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ops::TensorRef& ref = inputs[i].ref;
    if (input_shapes[i].has_value() != ref.present()) return false;
    if (ref.present() && !Shape::Equal(*input_shapes[i], ref.shape)) return false;
  }
  for (const auto& [input, bytes] : contents) {
    if (!bytes.empty() && std::memcmp(inputs[input].ref.data, bytes.data(), bytes.size()) != 0) return false;
  }
  return true;
}

std::shared_ptr<const Plan> Program::FindPlan(std::span<const InputFact> inputs) {
  const std::scoped_lock lock(mutex_);
  for (auto it = plans_.begin(); it != plans_.end(); ++it) {
    if (!(*it)->Matches(inputs)) continue;
    plans_.splice(plans_.begin(), plans_, it);
    return plans_.front();
  }
  // Each round learns which inputs' contents belong to the key, or that knowing them was in vain.
  std::shared_ptr<Plan> plan;
  std::vector<std::pair<int, std::set<int>>> asked;
  for (;;) {
    PlanBuilder builder(*this, inputs, content_inputs_, futile_);
    plan = builder.Build();
    for (const auto& [step, wanted] : asked) {
      const auto& late = builder.late_steps();
      if (std::find(late.begin(), late.end(), step) != late.end()) futile_[step] = true;
    }
    bool grew = false;
    for (const auto& [step, wanted] : builder.wanted()) {
      if (futile_[step]) continue;
      for (const int input : wanted) {
        if (std::find(content_inputs_.begin(), content_inputs_.end(), input) != content_inputs_.end()) continue;
        content_inputs_.push_back(input);
        grew = true;
      }
      asked.emplace_back(step, wanted);
    }
    if (!grew) break;
  }
  plans_.push_front(plan);
  if (plans_.size() > kMaxPlans) plans_.pop_back();
  return plan;
}

std::shared_ptr<const Plan> Program::LastPlan() {
  const std::scoped_lock lock(mutex_);
  return plans_.empty() ? nullptr : plans_.front();
}

std::shared_ptr<const Plan> Program::MakePlan(std::span<const InputFact> inputs, std::vector<int>* wanted) {
  static const std::vector<int> no_contents;
  const std::vector<bool> futile(steps_.size(), false);
  PlanBuilder builder(*this, inputs, no_contents, futile);
  std::shared_ptr<const Plan> plan = builder.Build();
  std::set<int> all;
  for (const auto& entry : builder.wanted()) all.insert(entry.second.begin(), entry.second.end());
  wanted->assign(all.begin(), all.end());
  return plan;
}

void Program::RunBranchesOn(ThreadPool& pool, int threads) {
  branch_pool_ = &pool;
  branch_threads_ = threads;
  for (const Step& step : steps_)
    for (const auto& body : step.bodies) body->RunBranchesOn(pool, threads);
}

void Program::Trim() {
  {
    const std::scoped_lock lock(mutex_);
    plans_.clear();
  }
  for (auto& entry : states_) const std::unique_ptr<RunState> idle(entry.exchange(nullptr));
  for (const Step& step : steps_)
    for (const auto& body : step.bodies) body->Trim();
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
