// providers/provider.h - the interface of an execution provider: which nodes it takes or why not, its kernels, its
// memory, its copies.
//
// To add a provider: a folder with a class that implements this interface, and a ProviderFactory for the environment.
// The planner asks each provider in the user's order (planner/partition.h); the CPU (providers/cpu) gets what no other
// takes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "ir/graph.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "tensor/allocator.h"
#include "tensor/stream.h"

namespace sardonyx::providers {

inline constexpr std::string_view kCpuName = "CPUExecutionProvider";

// One graph (the model's, or the body of a control-flow node) as a provider sees it. Nodes are in the opset that the
// author wrote; functions may still be calls, and DequantizeLinear of weights still stands.
struct GraphView {
  const Graph& graph;
  const ops::Registry& registry;
  std::vector<NodeId> nodes;     // that no provider asked earlier took, in topological order
  const Model* model = nullptr;  // that the graph is part of; null in tests of graphs alone
  const Graph* outer = nullptr;  // if the graph is a body: the graph that has the node `parent` whose body it is
  NodeId parent = kNoNode;
};

// Nodes that the provider takes.
struct Group {
  std::vector<NodeId> nodes;
  bool fused = false;            // compiled into one node (Compile); else each node has a kernel of its own (Prepare)
  bool keeps_constants = false;  // fused: the constants that its nodes read are inputs of the one node, too
  // fused: one node that stays as its author wrote it, for a kernel of the provider that knows this version of the
  // operator. The fused node has its inputs and outputs, missing ones included.
  bool as_written = false;
  // One node of control flow, not fused: the executor runs it for the provider, whose memory its bodies' nodes use.
  bool control_flow = false;
};

// A fused group that stands in its graph as one node. `body` has the group's inputs and outputs in the order of the
// node's (of those that are not missing), constants as initializers.
struct FusedNode {
  const Graph& graph;
  NodeId node;
  const Graph& body;
  bool as_written = false;  // as the provider claimed it
};

// A node that stands for a compiled group in the models that are written, so that no one has to compile it again.
struct ContextNode {
  Node node;                                 // without inputs and outputs
  std::vector<std::string> inputs, outputs;  // values of the group's graph; "" where one is missing
};

struct CompiledGroup {
  ops::Prepared kernel;
  std::optional<ContextNode> context = {};  // if ProviderSet::wants_contexts, and the provider makes such nodes
};

// How well a model's compiled nodes fit the provider that reads them.
enum class Compatibility { kUnknown, kOptimal, kSuboptimal, kUnsupported };

struct Refusal {
  NodeId node = kNoNode;
  std::string reason;  // "takes only float, found int64"
};

struct Claims {
  std::vector<Group> groups;
  std::vector<Refusal> refusals;
};

enum class Layout { kChannelsFirst, kChannelsLast };

class Provider {
 public:
  virtual ~Provider() = default;
  virtual std::string_view name() const = 0;

  // Which nodes it runs. Called for every graph, innermost bodies first; function calls are offered before they are
  // inlined, and again with all other nodes. A node in no group and without a refusal was not looked at.
  virtual Claims Claim(const GraphView& view) = 0;

  // The layout that it wants images in. Channels last: the convolutions, pools and their like that it claims become
  // operators of com.ms.internal.nhwc (ops/channels_last.h) between transpositions, and the graph is offered to it once
  // more. What it does not take of them then runs on the CPU.
  virtual Layout PreferredLayout() const { return Layout::kChannelsFirst; }
  // Whether this operator becomes one on images channels last; nullopt: if com.ms.internal.nhwc has it.
  virtual std::optional<bool> WantsChannelsLast(std::string_view /*domain*/, std::string_view /*op_type*/) const {
    return std::nullopt;
  }

  // The kernel of a node that was claimed alone, seen in its newest spelling.
  virtual ops::Prepared Prepare(ops::PrepareContext& context) = 0;

  // The kernels of fused groups, one each; called once for all that it claimed in a graph. Fails with kNotImplemented
  // unless the provider fuses.
  virtual std::vector<CompiledGroup> Compile(std::span<const FusedNode> groups, const Model* model);

  // What a model with nodes that it has compiled says of the provider (its version ...), for Assess; "" if nothing.
  virtual std::string CompatibilityInfo(const Graph& /*graph*/, const Model* /*model*/) { return ""; }
  virtual Compatibility Assess(const std::string& /*compatibility_info*/) { return Compatibility::kUnknown; }

  // Where its kernels' inputs and outputs lie: memory of this allocator's device, but for those that stay on the host
  // (the target shape of a Reshape ...).
  virtual const std::shared_ptr<Allocator>& allocator() const { return HostAllocator(); }
  virtual bool InputOnHost(const Node& /*node*/, std::size_t /*input*/) const { return false; }
  virtual bool OutputOnHost(const Node& /*node*/, std::size_t /*output*/) const { return false; }

  // Whether its kernels and copies only hand their work to a stream, which they find in CurrentStream(). Without one
  // they return when the work is done.
  virtual bool HasStreams() const { return false; }
  virtual std::shared_ptr<Stream> MakeStream() { return nullptr; }
  // Returns when everything is done that it was given, on any stream.
  virtual void Sync() {}

  // Copies `bytes` between its device and the host, in either direction, within its device, or between the devices that
  // CanCopy names; as work of CurrentStream(), if there is one. Fails with kNotImplemented unless it has a device of its
  // own.
  virtual void CopyBytes(const void* from, Device from_device, void* to, Device to_device, std::size_t bytes);

  // Whether CopyBytes takes these two devices; neither is the host.
  virtual bool CanCopy(const Device& /*from*/, const Device& /*to*/) const { return false; }

  Device device() const { return allocator()->device(); }
};

using ProviderOptions = std::vector<std::pair<std::string, std::string>>;

// How an environment makes a provider for a session. `create` fails with kEpFail or kInvalidArgument naming what is
// missing (a driver, a library, a device) or which option is wrong.
struct ProviderFactory {
  std::string name;
  std::function<std::shared_ptr<Provider>(const ProviderOptions&, const Logger&)> create;
};

// A provider that the user asked for and that is not there, and why.
struct MissingProvider {
  std::string name, reason;
  std::size_t before = 0;  // of ProviderSet::providers: the one that stands in its place
};

// What one provider runs by one claim, of the graph as its author wrote it: a compiled group's nodes, or a single node.
struct AssignedPart {
  struct Member {
    std::string name, domain, op_type;
  };
  std::string provider;
  std::vector<Member> nodes;
};

// The providers of a session in order of priority (the CPU where the user put it, else last), and what they compiled.
struct ProviderSet {
  const Model* model = nullptr;  // while its graph is partitioned
  std::vector<std::shared_ptr<Provider>> providers;
  std::vector<MissingProvider> missing;
  std::shared_ptr<Allocator> host = HostAllocator();        // for values of runs in host memory
  std::unordered_map<std::string, ops::Prepared> compiled;  // fused groups by op_type of their node
  bool may_compile = true;                                  // false: only what is compiled already
  bool wants_contexts = false;                              // a model with compiled nodes is to be written
  std::unordered_map<std::string, ContextNode> contexts;    // of fused groups, likewise
  bool records_assignment = false;                          // the following is filled in
  std::vector<AssignedPart> assigned;                       // by provider, then by graph, innermost bodies first
  Logger logger;                                            // of the session: for what nobody can be told

  Provider* Find(std::string_view name) const;  // "" is the CPU; nullptr if there is none
};

}  // namespace sardonyx::providers
