// planner/outline.h - what planning knows about a graph that is ready to run: slots for its values, steps for its
// nodes.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"
#include "ops/op_def.h"
#include "ops/registry.h"
#include "providers/provider.h"

namespace sardonyx::planner {

inline constexpr int kNoSlot = -1;

class Outline;

// A node as the planner sees it. Slots are indices into Outline::slots.
struct Step {
  NodeId node = kNoNode;
  const ops::OpDef* op = nullptr;
  std::vector<int> inputs, outputs;
  std::vector<std::unique_ptr<const Outline>> bodies;  // one for each subgraph attribute, in order
  std::vector<std::vector<int>> captures;              // by body: the slot of this graph for each captured input
  bool is_if = false;
  bool on_cpu = true;  // else another provider's kernel: never computed while planning, never in place
  // The provider (index in the ProviderSet) whose stream takes its work; -1: its work is done when it returns.
  int stream = -1;
  // Steps of one kind (a number below Outline::kinds()) are alike in all that inference and folding see but the facts
  // about their inputs: the layers of a network repeat them. -1: of a kind of its own.
  int kind = -1;
};

// What is the same about a value in all plans.
struct SlotInfo {
  ValueId value = kNoValue;
  const Type* type = nullptr;        // as inferred when the model was loaded; of the graph
  const Tensor* constant = nullptr;  // of the graph; without bytes where kernels packed them
  int producer = -1;                 // step
  int memory = 0;                    // index into Outline::memories: where its bytes lie
  std::vector<int> readers;          // steps, in order; those whose bodies capture it are not listed
};

// Immutable. Bodies are outlines of their own, whose inputs are the explicit ones, then the captured ones.
class Outline {
 public:
  // Every node of `graph` has its provider, and its types are inferred. All arguments must outlive the outline.
  Outline(const Graph& graph, const ops::Registry& registry, const providers::ProviderSet& providers);

  const Graph& graph() const { return graph_; }
  const ops::Registry& registry() const { return registry_; }
  const std::vector<SlotInfo>& slots() const { return slots_; }
  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<int>& inputs() const { return inputs_; }  // explicit inputs, then captures
  std::size_t explicit_inputs() const { return explicit_inputs_; }
  const std::vector<int>& outputs() const { return outputs_; }
  // Where values lie: the host first, then the memory of each provider that has its own device.
  const std::vector<std::shared_ptr<Allocator>>& memories() const { return memories_; }
  int kinds() const { return kinds_; }
  bool has_streams() const { return has_streams_; }  // it or a body has a step whose work a stream takes
  // `error` with the step's node named.
  Error AtStep(const Step& step, const Error& error) const;

 private:
  void AddSlots();
  void AddStep(const Node& node, const providers::ProviderSet& providers);
  void SetKinds();
  bool AreAlike(const Step& a, const Step& b) const;
  int MemoryOf(const Device& device) const;
  int SlotOf(ValueId value) const { return value == kNoValue ? kNoSlot : slot_of_[value]; }

  const Graph& graph_;
  const ops::Registry& registry_;
  std::vector<std::shared_ptr<Allocator>> memories_;
  std::vector<int> slot_of_;  // by ValueId, only while it is made
  std::vector<SlotInfo> slots_;
  std::vector<Step> steps_;
  std::vector<int> inputs_, outputs_;
  std::size_t explicit_inputs_ = 0;
  int kinds_ = 0;
  bool has_streams_ = false;
};

}  // namespace sardonyx::planner
