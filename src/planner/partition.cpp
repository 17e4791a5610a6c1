// planner/partition.cpp - asks providers for claims, checks these, and writes them into the graph.
#include "planner/partition.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/error.h"
#include "ir/detour.h"
#include "planner/foreign_steps.h"
#include "planner/layout/prefer_layout.h"

namespace sardonyx::planner {
namespace {

using providers::Claims;
using providers::GraphView;
using providers::Group;
using providers::Provider;
using providers::ProviderSet;

bool IsCpu(const Provider& provider) { return provider.name() == providers::kCpuName; }

bool IsContext(const Node& node) { return node.domain == "com.microsoft" && node.op_type == "EPContext"; }

template <typename... Parts>
[[noreturn]] void FailClaim(const Provider& provider, const Parts&... parts) {
  Fail(Code::kEpFail, "provider '", provider.name(), "': ", parts...);
}

void AddNote(Node& node, const Provider& provider, const std::string& reason) {
  if (!node.provider_note.empty()) node.provider_note += "; ";
  node.provider_note += std::string(provider.name()) + ": " + reason;
}

// Each claimed node was offered, and only once.
void CheckClaims(const GraphView& view, const Claims& claims, const Provider& provider) {
  std::set<NodeId> open(view.nodes.begin(), view.nodes.end());
  for (const Group& group : claims.groups) {
    if (group.nodes.empty()) FailClaim(provider, "expected nodes in each claimed group, found an empty one");
    for (const NodeId id : group.nodes) {
      if (id >= view.graph.nodes.size()) FailClaim(provider, "claimed node ", id, ", which the graph does not have");
      const Node& node = view.graph.node(id);
      if (open.erase(id) == 0)
        FailClaim(provider, "claimed ", Describe(view.graph, node), ", which was not offered or is claimed twice");
      if (!group.fused && !group.control_flow && !IsCpu(provider) && !node.Subgraphs().empty()) {
        FailClaim(provider, "claimed ", Describe(view.graph, node),
                  " alone; control flow runs in the executor or inside a fused group");
      }
    }
  }
}

// A path that leaves the group and comes back would make the fused node wait for itself.
void CheckConvex(const Graph& graph, const std::set<NodeId>& group, const Provider& provider) {
  const std::optional<Detour> detour = FindDetour(graph, group);
  if (!detour) return;
  FailClaim(provider, "a claimed group is left at ", Describe(graph, graph.node(detour->left_at)),
            " and entered again at ", Describe(graph, graph.node(detour->entered_at)),
            "; expected no path out and back in");
}

// Makes the graph of a group: values that come from outside become inputs, constants come along.
class BodyBuilder {
 public:
  BodyBuilder(const Graph& graph, const std::set<NodeId>& group, bool keeps_constants)
      : graph_(graph), group_(group), keeps_constants_(keeps_constants) {
    body_.opset_imports = graph.opset_imports;
  }

  void Build() {
    for (const NodeId id : graph_.order)
      if (group_.count(id) != 0) FindOutside(graph_.node(id));
    for (const NodeId id : graph_.order)
      if (group_.count(id) != 0) AddNode(graph_.node(id));
    for (const NodeId id : graph_.order) {
      if (group_.count(id) == 0) continue;
      for (const ValueId output : graph_.node(id).outputs)
        if (output != kNoValue && IsUsedOutside(output)) outputs_.push_back(output);
    }
    for (const ValueId output : outputs_) body_.AddOutput(mapped_.at(output));
  }

  // One node with its inputs and outputs as they are.
  void BuildOne(NodeId id) {
    Node copy = graph_.node(id);
    for (ValueId& input : copy.inputs) {
      inputs_.push_back(input);
      if (input == kNoValue) continue;
      const ValueInfo& value = graph_.value(input);
      input = body_.AddInput(body_.Find(value.name) ? body_.FreshName(value.name) : value.name, value.type);
      if (value.constant() != nullptr) body_.SetInitializer(input, value.initializer);
    }
    for (ValueId& output : copy.outputs) {
      if (output != kNoValue && !IsUsedOutside(output)) output = kNoValue;
      outputs_.push_back(output);
      if (output != kNoValue) output = body_.AddValue(graph_.value(output).name, graph_.value(output).type);
    }
    const std::vector<ValueId> outputs = copy.outputs;
    body_.AddNode(std::move(copy));
    for (const ValueId output : outputs)
      if (output != kNoValue) body_.AddOutput(output);
  }

  Graph& body() { return body_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }

 private:
  void FindOutside(const Node& node) {
    for (const std::vector<ValueId>* list : {&node.inputs, &node.implicit_inputs}) {
      for (const ValueId input : *list) {
        if (input == kNoValue || mapped_.count(input) != 0) continue;
        const ValueInfo& value = graph_.value(input);
        if (value.producer != kNoNode && group_.count(value.producer) != 0) continue;
        const bool constant = value.constant() != nullptr;
        if (constant && !keeps_constants_) {
          mapped_[input] = body_.AddValue(value.name, value.type);
        } else {
          mapped_[input] = body_.AddInput(value.name, value.type);
          inputs_.push_back(input);
        }
        if (constant) body_.SetInitializer(mapped_[input], value.initializer);
      }
    }
  }

  void AddNode(const Node& node) {
    Node copy = node;
    for (ValueId& input : copy.inputs)
      if (input != kNoValue) input = mapped_.at(input);
    for (ValueId& output : copy.outputs) {
      if (output == kNoValue) continue;
      const ValueInfo& value = graph_.value(output);
      mapped_[output] = body_.AddValue(value.name, value.type);
      output = mapped_[output];
    }
    body_.AddNode(std::move(copy));
  }

  bool IsUsedOutside(ValueId id) const {
    const ValueInfo& value = graph_.value(id);
    return value.is_output || std::any_of(value.consumers.begin(), value.consumers.end(),
                                          [&](NodeId consumer) { return group_.count(consumer) == 0; });
  }

  const Graph& graph_;
  const std::set<NodeId>& group_;
  const bool keeps_constants_;
  Graph body_;
  std::map<ValueId, ValueId> mapped_;
  std::vector<ValueId> inputs_, outputs_;
};

// Tells graphs apart: providers name files after the nodes that they have compiled.
std::string PrintOf(const Graph& graph, const Model* model) {
  std::string text = model != nullptr ? model->path : "";
  for (const ValueInfo& value : graph.values) text += "\n" + value.name;
  return std::to_string(std::hash<std::string>()(text));
}

// A fused group as a node of its graph.
struct Fused {
  NodeId node;
  bool as_written;
};

class Partitioner {
 public:
  Partitioner(const ops::Registry& registry, ProviderSet& set) : registry_(registry), set_(set) {}

  // Returns whether a call that was claimed has lost its provider.
  bool Run(Graph& graph, const Graph* outer = nullptr, NodeId parent = kNoNode) {
    bool released = false;
    for (const NodeId id : std::vector<NodeId>(graph.order)) {
      if (IsFused(graph.node(id))) continue;
      for (Graph* body : graph.node(id).Subgraphs()) released = Run(*body, &graph, id) || released;
      if (!graph.node(id).Subgraphs().empty()) graph.RefreshCaptures(id);
    }
    std::set<NodeId> taken;
    for (const auto& provider : set_.providers) {
      GraphView view{graph, registry_, OpenTo(graph, *provider, taken), set_.model, outer, parent};
      if (view.nodes.empty()) break;
      Claims claims = Ask(view, *provider);
      Moved moved;
      if (provider->PreferredLayout() == providers::Layout::kChannelsLast)
        moved = ChangeLayout(graph, claims, *provider);
      if (moved.changed) {
        view.nodes = OpenTo(graph, *provider, taken);
        claims = Ask(view, *provider);
      }
      released = ReleaseRefused(graph, claims, view, *provider) || released;
      Apply(graph, claims, *provider, taken);
      std::erase_if(moved.lent,
                    [&](const LentNode& node) { return graph.node(node.id).erased || taken.count(node.id); });
      MoveBack(graph, registry_, moved.lent, *provider);
    }
    return released;
  }

 private:
  bool IsFused(const Node& node) const { return !node.provider.empty() && node.domain == node.provider; }

  std::vector<NodeId> OpenTo(const Graph& graph, const Provider& provider, const std::set<NodeId>& taken) const {
    std::vector<NodeId> nodes;
    for (const NodeId id : graph.order) {
      const Node& node = graph.node(id);
      if (taken.count(id) == 0 && !IsFused(node) && (node.provider.empty() || node.provider == provider.name()))
        nodes.push_back(id);
    }
    return nodes;
  }

  static Claims Ask(const GraphView& view, Provider& provider) {
    Claims claims = provider.Claim(view);
    CheckClaims(view, claims, provider);
    return claims;
  }

  Moved ChangeLayout(Graph& graph, const Claims& claims, const Provider& provider) const {
    std::vector<NodeId> claimed;
    for (const Group& group : claims.groups) claimed.insert(claimed.end(), group.nodes.begin(), group.nodes.end());
    return MoveToChannelsLast(graph, registry_, claimed, provider);
  }

  // A call of a function that was claimed before its graph was optimized may be refused now; it is inlined then.
  static bool ReleaseRefused(Graph& graph, const Claims& claims, const GraphView& view, const Provider& provider) {
    std::set<NodeId> claimed;
    for (const Group& group : claims.groups) claimed.insert(group.nodes.begin(), group.nodes.end());
    bool released = false;
    for (const NodeId id : view.nodes) {
      Node& node = graph.node(id);
      if (node.provider != provider.name() || claimed.count(id) != 0 || IsControlFlow(node)) continue;
      node.provider.clear();
      released = true;
    }
    return released;
  }

  void Apply(Graph& graph, const Claims& claims, Provider& provider, std::set<NodeId>& taken) {
    for (const providers::Refusal& refusal : claims.refusals)
      if (refusal.node < graph.nodes.size()) AddNote(graph.node(refusal.node), provider, refusal.reason);
    std::vector<Fused> fused;
    for (const Group& group : claims.groups) {
      if (group.fused) {
        fused.push_back({Fuse(graph, group, provider), group.as_written});
        taken.insert(fused.back().node);
        continue;
      }
      for (const NodeId id : group.nodes) {
        taken.insert(id);
        if (!IsCpu(provider)) graph.node(id).provider = provider.name();
      }
    }
    if (fused.empty()) return;
    graph.SortTopologically();
    Compile(graph, fused, provider);
  }

  void Compile(const Graph& graph, const std::vector<Fused>& fused, Provider& provider) {
    std::vector<providers::FusedNode> groups;
    for (const Fused& group : fused)
      groups.push_back({graph, group.node, *graph.node(group.node).Subgraphs().front(), group.as_written});
    if (!set_.may_compile)
      for (const providers::FusedNode& group : groups) CheckCompiled(group, provider);
    std::vector<providers::CompiledGroup> made = provider.Compile(groups, set_.model);
    if (made.size() != fused.size())
      FailClaim(provider, "expected a kernel for each of ", fused.size(), " compiled groups, found ", made.size());
    for (std::size_t i = 0; i < fused.size(); ++i) {
      const std::string& name = graph.node(fused[i].node).op_type;
      set_.compiled[name] = std::move(made[i].kernel);
      if (made[i].context) set_.contexts[name] = std::move(*made[i].context);
    }
  }

  static void CheckCompiled(const providers::FusedNode& group, const Provider& provider) {
    if (group.as_written) return;
    for (const NodeId id : group.body.order) {
      const Node& node = group.body.node(id);
      if (IsContext(node)) continue;
      Fail(Code::kModelRequiresCompilation, "[", node.op_type, "] ", Describe(group.body, node), ": provider '",
           provider.name(), "' would have to compile it, which session.disable_model_compile forbids");
    }
  }

  NodeId Fuse(Graph& graph, const Group& claimed, Provider& provider) {
    const std::set<NodeId> group(claimed.nodes.begin(), claimed.nodes.end());
    CheckConvex(graph, group, provider);
    BodyBuilder builder(graph, group, claimed.keeps_constants);
    if (claimed.as_written) {
      builder.BuildOne(claimed.nodes.front());
    } else {
      builder.Build();
    }
    Node node;
    node.op_type = std::string(provider.name()) + "_" + std::to_string(set_.compiled.size());
    node.name = set_.wants_contexts ? node.op_type + "_" + PrintOf(graph, set_.model) : node.op_type;
    node.domain = provider.name();
    node.provider = provider.name();
    node.provider_note = std::to_string(group.size()) + " nodes compiled into one";
    if (claimed.as_written) {
      node.name = graph.node(claimed.nodes.front()).name;
      node.provider_note.clear();
    }
    node.since_version = 1;
    node.inputs = builder.inputs();
    node.outputs = builder.outputs();
    set_.compiled[node.op_type] = {};  // its place, until it is compiled with the others
    builder.body().name = node.op_type;
    node.attributes.push_back({"body", GraphBox(std::move(builder.body()))});
    graph.EraseNodes({group.begin(), group.end()});
    return graph.AddNode(std::move(node));
  }

  const ops::Registry& registry_;
  ProviderSet& set_;
};

// What a provider compiled once, and no provider of this session takes.
[[noreturn]] void FailContext(const Graph& graph, const Node& node, const ProviderSet& set) {
  std::string listed;
  for (const auto& provider : set.providers) listed += (listed.empty() ? "" : ", ") + std::string(provider->name());
  const auto* source = std::get_if<std::string>(node.FindAttribute("source"));
  Fail(Code::kNotImplemented, Describe(graph, node), ": EPContext node generated by '",
       source != nullptr ? *source : "", "': expected a provider that takes it, found ", listed,
       node.provider_note.empty() ? "" : "; " + node.provider_note);
}

bool IsOpenCall(const Node& node, const ops::Registry& registry) {
  return node.provider.empty() && !IsContext(node) &&
         registry.Find(node.domain, node.op_type, node.since_version) == nullptr;
}

void OfferCalls(Graph& graph, const ops::Registry& registry, const ProviderSet& set, const Graph* outer,
                NodeId parent) {
  for (const NodeId id : graph.order)
    for (Graph* body : graph.node(id).Subgraphs()) OfferCalls(*body, registry, set, &graph, id);
  for (const auto& provider : set.providers) {
    if (IsCpu(*provider)) continue;
    if (std::none_of(graph.order.begin(), graph.order.end(),
                     [&](NodeId id) { return IsOpenCall(graph.node(id), registry); }))
      return;
    GraphView view{graph, registry, {}, set.model, outer, parent};
    for (const NodeId id : graph.order)
      if (graph.node(id).provider.empty()) view.nodes.push_back(id);
    const Claims claims = provider->Claim(view);
    CheckClaims(view, claims, *provider);
    for (const Group& group : claims.groups)
      for (const NodeId id : group.nodes)
        if (IsOpenCall(graph.node(id), registry)) graph.node(id).provider = provider->name();
  }
}

}  // namespace

bool HasOpenCalls(const Graph& graph, const ops::Registry& registry) {
  return std::any_of(graph.order.begin(), graph.order.end(), [&](NodeId id) {
    const Node& node = graph.node(id);
    const std::vector<const Graph*> bodies = node.Subgraphs();
    return IsOpenCall(node, registry) ||
           std::any_of(bodies.begin(), bodies.end(), [&](const Graph* body) { return HasOpenCalls(*body, registry); });
  });
}

void ClaimFunctionCalls(Graph& graph, const ops::Registry& registry, const ProviderSet& set) {
  OfferCalls(graph, registry, set, nullptr, kNoNode);
}

bool Partition(Graph& graph, const ops::Registry& registry, ProviderSet& set) {
  return set.providers.size() > 1 && Partitioner(registry, set).Run(graph);
}

void AssignRest(Graph& graph, const ops::Registry& registry, const ProviderSet& set, bool allow_cpu) {
  Provider* cpu = set.Find("");
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (!node.provider.empty() && !IsControlFlow(node)) continue;  // bodies of a fused node are the provider's own
    for (Graph* body : graph.node(id).Subgraphs()) AssignRest(*body, registry, set, allow_cpu);
  }
  GraphView view{graph, registry, {}, set.model};
  for (const NodeId id : graph.order)
    if (graph.node(id).provider.empty()) view.nodes.push_back(id);
  if (view.nodes.empty()) return;
  if (cpu == nullptr || !allow_cpu) {
    const Node& node = graph.node(view.nodes.front());
    Fail(Code::kFail, "[", node.op_type, "] ", Describe(graph, node),
         ": expected a requested provider to run it, found none, and session.disable_cpu_ep_fallback excludes the CPU",
         node.provider_note.empty() ? "" : "; " + node.provider_note);
  }
  const Claims claims = cpu->Claim(view);
  if (!claims.refusals.empty()) {
    const Node& node = graph.node(claims.refusals.front().node);
    if (IsContext(node)) FailContext(graph, node, set);
    Fail(Code::kNotImplemented, "[", node.op_type, "] ", Describe(graph, node), ": ", claims.refusals.front().reason,
         node.provider_note.empty() ? "" : "; " + node.provider_note);
  }
  for (const NodeId id : view.nodes) graph.node(id).provider = cpu->name();
}

}  // namespace sardonyx::planner
