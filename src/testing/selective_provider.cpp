// testing/selective_provider.cpp - claims nodes by operator and element type, and runs them with ops::EvaluateGraph.
#include "testing/selective_provider.h"

#include <atomic>
#include <memory>
#include <sstream>

#include "ops/evaluate.h"
#include "ops/kernel_context.h"
#include "providers/connected_groups.h"

namespace sardonyx::testing {
namespace {

std::atomic<long> runs = 0;

const ops::Registry& Operators() {
  static const ops::Registry registry;
  return registry;
}

struct GroupState {
  Graph body;
};

void RunGroup(ops::KernelContext& c) {
  const Graph& body = c.state<GroupState>().body;
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < c.InputCount(); ++i) inputs.push_back(c.InputValue(i));
  std::vector<Value> outputs = ops::EvaluateGraph(body, Operators(), inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) c.SetOutput(i, std::move(outputs[i]));
  runs += static_cast<long>(body.order.size());
}

class SelectiveProviderImpl final : public providers::Provider {
 public:
  SelectiveProviderImpl(std::set<std::string> operators, bool fuse, providers::Layout layout)
      : operators_(std::move(operators)), fuse_(fuse), layout_(layout) {}

  std::string_view name() const override { return kSelectiveName; }

  providers::Layout PreferredLayout() const override { return layout_; }

  providers::Claims Claim(const providers::GraphView& view) override {
    providers::Claims claims;
    std::vector<NodeId> accepted;
    for (const NodeId id : view.nodes) {
      const Node& node = view.graph.node(id);
      const std::string reason = Refuses(view.graph, node);
      if (reason.empty()) {
        accepted.push_back(id);
      } else {
        claims.refusals.push_back({id, reason});
      }
    }
    if (fuse_) {
      for (auto& group : providers::ConnectedGroups(view.graph, accepted)) claims.groups.push_back({group, true});
    } else {
      for (const NodeId id : accepted) claims.groups.push_back({{id}, false});
    }
    return claims;
  }

  // The kernel is the CPU's; the wrapper counts it.
  ops::Prepared Prepare(ops::PrepareContext& context) override {
    Graph body;
    Node node = context.node();
    const Graph& graph = context.graph();
    for (ValueId& input : node.inputs) {
      if (input == kNoValue) continue;
      const ValueInfo& value = graph.value(input);
      input = body.Find(value.name) ? *body.Find(value.name) : body.AddInput(value.name, value.type);
    }
    for (ValueId& output : node.outputs)
      if (output != kNoValue) output = body.AddValue(graph.value(output).name, graph.value(output).type);
    const std::vector<ValueId> outputs = node.outputs;
    node.provider.clear();
    body.AddNode(std::move(node));
    for (const ValueId output : outputs) body.AddOutput(output);
    return ops::WithState(RunGroup, GroupState{std::move(body)});
  }

  std::vector<providers::CompiledGroup> Compile(std::span<const providers::FusedNode> groups,
                                                const Model* /*model*/) override {
    std::vector<providers::CompiledGroup> made;
    for (const providers::FusedNode& group : groups) made.push_back({ops::WithState(RunGroup, GroupState{group.body})});
    return made;
  }

 private:
  std::string Refuses(const Graph& graph, const Node& node) const {
    if (operators_.count(node.op_type) == 0) return "operator " + node.op_type + " is not on its list";
    if (!node.Subgraphs().empty()) return "does not run control flow";
    for (const ValueId input : node.inputs) {
      if (input == kNoValue) continue;
      const Type& type = graph.value(input).type;
      if (!type.is_tensor() || type.dtype != DType::kFloat)
        return "takes only tensor(float), found " + type.ToText() + " ('" + graph.value(input).name + "')";
    }
    return "";
  }

  std::set<std::string> operators_;
  bool fuse_;
  providers::Layout layout_;
};

}  // namespace

long SelectiveRuns() { return runs; }

providers::ProviderFactory SelectiveProvider() {
  return {kSelectiveName, [](const providers::ProviderOptions& options, const Logger&) {
            std::set<std::string> operators = {"Add", "MatMul", "Mul", "Relu"};
            bool fuse = false;
            auto layout = providers::Layout::kChannelsFirst;
            for (const auto& [key, value] : options) {
              if (key == "operators") {
                operators.clear();
                std::istringstream list(value);
                for (std::string name; std::getline(list, name, ',');) operators.insert(name);
              } else if (key == "fuse") {
                fuse = value == "1";
              } else if (key == "channels_last") {
                layout = value == "1" ? providers::Layout::kChannelsLast : providers::Layout::kChannelsFirst;
              } else {
                Fail(Code::kInvalidArgument, "provider '", kSelectiveName,
                     "': expected option 'operators', 'fuse' or 'channels_last', found '", key, "'");
              }
            }
            return std::make_shared<SelectiveProviderImpl>(std::move(operators), fuse, layout);
          }};
}

}  // namespace sardonyx::testing
