// planner/outline.cpp - lists the slots and steps of a graph and its bodies.
#include "planner/outline.h"

#include <algorithm>
#include <map>

#include "ir/equal.h"
#include "ir/node_error.h"
#include "ops/errors/error_codes.h"
#include "planner/copy_nodes.h"
#include "planner/foreign_steps.h"

namespace sardonyx::planner {
namespace {

int StreamOf(const Node& node, const providers::ProviderSet& providers) {
  for (std::size_t i = 0; i < providers.providers.size(); ++i)
    if (providers.providers[i]->name() == node.provider)
      return providers.providers[i]->HasStreams() ? static_cast<int>(i) : -1;
  return -1;
}

}  // namespace

Outline::Outline(const Graph& graph, const ops::Registry& registry, const providers::ProviderSet& providers)
    : graph_(graph), registry_(registry) {
  memories_.push_back(providers.host);
  for (const auto& provider : providers.providers)
    if (!IsOrdinary(provider->device())) memories_.push_back(provider->allocator());
  AddSlots();
  steps_.reserve(graph.order.size());
  for (const NodeId id : graph.order) AddStep(graph.node(id), providers);
  slot_of_ = {};
  SetKinds();
}

int Outline::MemoryOf(const Device& device) const {
  for (std::size_t i = 1; i < memories_.size(); ++i)
    if (memories_[i]->device() == device) return static_cast<int>(i);
  return 0;
}

void Outline::AddSlots() {
  slot_of_.assign(graph_.values.size(), kNoSlot);
  const auto add = [&](ValueId id) {
    if (id == kNoValue || slot_of_[id] != kNoSlot) return;
    slot_of_[id] = static_cast<int>(slots_.size());
    const ValueInfo& value = graph_.value(id);
    slots_.push_back({id, &value.type, value.constant(), -1, MemoryOf(value.device), {}});
  };
  for (const ValueId id : graph_.inputs) {
    add(id);
    if (graph_.value(id).constant() == nullptr) inputs_.push_back(slot_of_[id]);
  }
  explicit_inputs_ = inputs_.size();
  for (const Capture& capture : graph_.captures) {
    add(capture.inner);
    inputs_.push_back(slot_of_[capture.inner]);
    slots_.back().constant = nullptr;  // comes from the enclosing run, whose plan knows the contents
  }
  for (const NodeId id : graph_.order) {
    const Node& node = graph_.node(id);
    for (const ValueId input : node.inputs) add(input);
    for (const ValueId input : node.implicit_inputs) add(input);
    for (const ValueId output : node.outputs) add(output);
  }
  for (const ValueId id : graph_.outputs) {
    add(id);
    outputs_.push_back(slot_of_[id]);
  }
}

void Outline::AddStep(const Node& node, const providers::ProviderSet& providers) {
  Step& step = steps_.emplace_back();
  step.node = graph_.order[steps_.size() - 1];
  step.op = &OperatorOf(node, registry_, providers);
  step.on_cpu = node.provider == providers::kCpuName || IsControlFlow(node);
  if (!step.on_cpu) step.stream = StreamOf(node, providers);
  has_streams_ = has_streams_ || step.stream >= 0;
  step.is_if = step.on_cpu && node.domain.empty() && node.op_type == "If";
  for (const ValueId input : node.inputs) {
    step.inputs.push_back(SlotOf(input));
    if (input != kNoValue) slots_[SlotOf(input)].readers.push_back(static_cast<int>(steps_.size()) - 1);
  }
  for (const ValueId output : node.outputs) {
    step.outputs.push_back(SlotOf(output));
    if (output != kNoValue) slots_[SlotOf(output)].producer = static_cast<int>(steps_.size()) - 1;
  }
  if (!step.on_cpu) return;
  for (const Graph* body : node.Subgraphs()) {
    step.bodies.push_back(std::make_unique<const Outline>(*body, registry_, providers));
    has_streams_ = has_streams_ || step.bodies.back()->has_streams();
    std::vector<int>& captures = step.captures.emplace_back();
    for (const Capture& capture : body->captures) captures.push_back(SlotOf(capture.outer));
  }
}

// Whether inference, which is a function of the operator, the attributes and the facts about inputs, says the same
// about both steps where these facts are the same.
bool Outline::AreAlike(const Step& a, const Step& b) const {
  const auto alike = [&](const std::vector<int>& x, const std::vector<int>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [&](int s, int t) {
      return (s == kNoSlot) == (t == kNoSlot) && (s == kNoSlot || slots_[s].memory == slots_[t].memory);
    });
  };
  const Node &m = graph_.node(a.node), &n = graph_.node(b.node);
  return a.op == b.op && m.op_type == n.op_type && m.domain == n.domain && m.overload == n.overload &&
         m.since_version == n.since_version && m.provider == n.provider && alike(a.inputs, b.inputs) &&
         alike(a.outputs, b.outputs) && SameAttributes(m, n);
}

void Outline::SetKinds() {
  constexpr std::size_t kMostCompared = 32;  // kinds of one operator, the latest first
  std::map<const ops::OpDef*, std::vector<const Step*>> firsts;
  for (Step& step : steps_) {
    // Bodies see more than the inputs; custom operators and other providers may say something else each time.
    if (!step.on_cpu || !step.bodies.empty() || (step.op->traits & (ops::kCustom | ops::kRandom)) != 0) continue;
    std::vector<const Step*>& known = firsts[step.op];
    const auto end = known.size() > kMostCompared ? known.rbegin() + kMostCompared : known.rend();
    const auto like = std::find_if(known.rbegin(), end, [&](const Step* other) { return AreAlike(step, *other); });
    step.kind = like != end ? (*like)->kind : kinds_++;
    if (like == end) known.push_back(&step);
  }
}

Error Outline::AtStep(const Step& step, const Error& error) const {
  const Node& node = graph_.node(step.node);
  return step.on_cpu ? ops::AsRunError(graph_, node, *step.op, error) : AtNode(graph_, node, error);
}

}  // namespace sardonyx::planner
