// planner/layout/prefer_layout.cpp - goes through the nodes in order; a value exists in the layouts that its readers
// want.
#include "planner/layout/prefer_layout.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>

#include "ops/channels_last.h"
#include "ops/layout.h"
#include "ops/op_def.h"
#include "ops/schema/schema.h"

namespace sardonyx::planner {
namespace {

bool IsImage(const Type& type) { return type.is_tensor() && type.has_rank && type.rank() >= 3 && type.rank() <= 5; }

// What ONNX Runtime converts where a provider does not say.
bool ConvertsByDefault(std::string_view domain, std::string_view op_type) {
  static constexpr std::string_view kStandard[] = {"AveragePool",
                                                   "BatchNormalization",
                                                   "Conv",
                                                   "ConvInteger",
                                                   "ConvTranspose",
                                                   "DepthToSpace",
                                                   "GlobalAveragePool",
                                                   "GlobalLpPool",
                                                   "GlobalMaxPool",
                                                   "GridSample",
                                                   "InstanceNormalization",
                                                   "LRN",
                                                   "LpPool",
                                                   "MaxPool",
                                                   "MaxUnpool",
                                                   "QLinearConv",
                                                   "Resize",
                                                   "SpaceToDepth"};
  static constexpr std::string_view kMicrosoft[] = {"FusedConv", "QLinearAveragePool", "QLinearGlobalAveragePool"};
  const auto has = [&](const auto& list) {
    return std::find(std::begin(list), std::end(list), op_type) != std::end(list);
  };
  return domain.empty() ? has(kStandard) : domain == "com.microsoft" && has(kMicrosoft);
}

const Tensor* ConstantInput(const Graph& graph, const Node& node, std::size_t i) {
  if (i >= node.inputs.size() || node.inputs[i] == kNoValue) return nullptr;
  return graph.value(node.inputs[i]).constant();
}

class Mover {
 public:
  Mover(Graph& graph, const ops::Registry& registry, const providers::Provider& provider)
      : graph_(graph), registry_(registry), provider_(provider) {}

  bool Run(const std::set<NodeId>& wanted) {
    for (const NodeId id : std::vector<NodeId>(graph_.order))
      if (wanted.count(id) != 0) Move(id);
    if (moved_.empty()) return false;
    for (const ValueId value : moved_) {
      const ValueInfo& info = graph_.value(value);
      if (info.consumers.empty() && !info.is_output) continue;
      const ValueId made = Transpose(last_of_.at(value), info.type, false);
      graph_.MoveOutput(graph_.value(made).producer, 0, value);
    }
    graph_.SortTopologically();
    return true;
  }

  // The node as it was, between transpositions.
  void MoveBack(NodeId id, const Node& written) {
    Node& node = graph_.node(id);
    node.domain = written.domain;
    node.op_type = written.op_type;
    node.attributes = written.attributes;
    const ValueId input = node.inputs[0], output = node.outputs[0];
    graph_.SetInput(id, 0, Transpose(input, ops::ToChannelsFirst(graph_.value(input).type, true), false));
    for (std::size_t i = 1; i < written.inputs.size(); ++i)
      if (node.inputs[i] != written.inputs[i]) graph_.SetInput(id, i, written.inputs[i]);
    const Type type = graph_.value(output).type;
    const ValueId first =
        graph_.AddValue(graph_.FreshName(graph_.value(output).name), ops::ToChannelsFirst(type, true));
    graph_.MoveOutput(id, 0, first);
    const ValueId made = Transpose(first, type, true);
    graph_.MoveOutput(graph_.value(made).producer, 0, output);
  }

  std::vector<LentNode> TakeLent() { return std::move(lent_); }

 private:
  // Whether the CPU runs the node in com.ms.internal.nhwc: it has the operator, for this type, and it means there what
  // it meant in the author's opset.
  bool CpuHas(const Node& node, const ops::OpDef* op) const {
    const ops::OpDef* last = registry_.Find(ops::kChannelsLastDomain, node.op_type, 1);
    return node.domain.empty() && op != nullptr && last != nullptr &&
           (op->upgrade == nullptr || node.since_version == *(op->since.end() - 1)) &&
           last->types.Has(graph_.value(node.inputs[0]).type.dtype);
  }

  // Missing, or of no axes: it lies the same way in every layout.
  bool IsScalar(ValueId input) const {
    if (input == kNoValue) return true;
    const Type& type = graph_.value(input).type;
    return type.is_tensor() && type.has_rank && type.rank() == 0;
  }

  bool HasOneImageOutput(const Node& node) const {
    return !node.outputs.empty() && node.outputs[0] != kNoValue && IsImage(graph_.value(node.outputs[0]).type) &&
           std::all_of(node.outputs.begin() + 1, node.outputs.end(), [](ValueId id) { return id == kNoValue; });
  }

  void Move(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.inputs.empty() || node.inputs[0] == kNoValue || !HasOneImageOutput(node)) return;
    const std::size_t rank = graph_.value(node.outputs[0]).type.rank();
    const auto fits = [&](ValueId input) {
      return input != kNoValue && IsImage(graph_.value(input).type) && graph_.value(input).type.rank() == rank;
    };
    const ops::OpDef* op = registry_.Find(node.domain, node.op_type, node.since_version);
    if (provider_.WantsChannelsLast(node.domain, node.op_type).value_or(ConvertsByDefault(node.domain, node.op_type))) {
      if (fits(node.inputs[0])) Convert(id, op);
    } else if (op != nullptr && (op->traits & ops::kElementwise) != 0 && node.FindAttribute("axis") == nullptr &&
               fits(node.inputs[0]) && std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
                 return IsScalar(input) || (fits(input) && last_of_.count(input) != 0);
               })) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (!IsScalar(node.inputs[i])) graph_.SetInput(id, i, LastOf(node.inputs[i]));
      MoveResult(id);
    }
  }

  void Convert(NodeId id, const ops::OpDef* op) {
    const Node written = graph_.node(id);
    const bool cpu_has = CpuHas(written, op);
    if (written.domain.empty() && written.op_type == "Resize" && !TurnSizes(id)) return;
    if (written.domain == "com.microsoft" && !Respell(id)) return;
    graph_.SetInput(id, 0, LastOf(written.inputs[0]));
    graph_.node(id).domain = ops::kChannelsLastDomain;
    if (cpu_has) {
      graph_.node(id).since_version = 1;
    } else {
      lent_.push_back({id, written});
    }
    MoveResult(id);
  }

  // The scales or sizes of a Resize have one number for each axis.
  bool TurnSizes(NodeId id) {
    const Node& node = graph_.node(id);
    const std::size_t rank = graph_.value(node.inputs[0]).type.rank();
    if (node.since_version < 11 || node.FindAttribute("axes") != nullptr) return false;
    if (const Tensor* roi = ConstantInput(graph_, node, 1);
        roi == nullptr ? node.inputs.size() > 1 && node.inputs[1] != kNoValue : roi->count() != 0)
      return false;
    std::vector<std::pair<std::size_t, ValueId>> turned;
    for (const std::size_t i : {2, 3}) {
      if (i >= node.inputs.size() || node.inputs[i] == kNoValue) continue;
      const Tensor* numbers = ConstantInput(graph_, node, i);
      if (numbers == nullptr) return false;
      if (numbers->count() == 0) continue;
      if (numbers->count() != static_cast<std::int64_t>(rank)) return false;
      Tensor last = numbers->Clone();
      const std::size_t size = last.byte_size() / rank;
      char* bytes = static_cast<char*>(last.raw());
      std::rotate(bytes + size, bytes + 2 * size, bytes + rank * size);
      turned.emplace_back(i, graph_.AddConstant(graph_.value(node.inputs[i]).name, std::move(last)));
    }
    for (const auto& [i, value] : turned) graph_.SetInput(id, i, value);
    return !turned.empty();
  }

  // FusedConv is a Conv with an activation there; pools of integers have an attribute that says how their images lie.
  bool Respell(NodeId id) {
    Node& node = graph_.node(id);
    if (node.op_type == "FusedConv") {
      if (node.inputs.size() > 3 && node.inputs[3] != kNoValue) return false;
      node.op_type = "Conv";
    } else if (node.op_type == "QLinearAveragePool" || node.op_type == "QLinearGlobalAveragePool") {
      const auto* last = std::get_if<std::int64_t>(node.FindAttribute("channels_last"));
      if (last != nullptr && *last != 0) return false;
      node.SetAttribute("channels_last", std::int64_t{1});
    }
    return true;
  }

  void MoveResult(NodeId id) {
    const ValueId value = graph_.node(id).outputs[0];
    const Type type = ops::TypeToLast(graph_.value(value).type);
    const ValueId other = graph_.AddValue(graph_.FreshName(graph_.value(value).name + "_last"), type);
    graph_.MoveOutput(id, 0, other);
    last_of_[value] = other;
    moved_.push_back(value);
  }

  ValueId LastOf(ValueId value) {
    const auto [entry, fresh] = last_of_.try_emplace(value, kNoValue);
    if (fresh) entry->second = Transpose(value, ops::TypeToLast(graph_.value(value).type), true);
    return entry->second;
  }

  ValueId Transpose(ValueId from, const Type& type, bool to_last) {
    Node node;
    node.op_type = "Transpose";
    node.since_version = ops::FindSchema("", "Transpose")->since_version;
    node.name = graph_.FreshName(graph_.value(from).name + "_Transpose");
    node.attributes = {{"perm", to_last ? ops::PermToLast(type.rank()) : ops::PermToFirst(type.rank())}};
    node.inputs = {from};
    node.outputs = {graph_.AddValue(graph_.FreshName(graph_.value(from).name + (to_last ? "_last" : "_first")), type)};
    const ValueId output = node.outputs[0];
    graph_.AddNode(std::move(node));
    return output;
  }

  Graph& graph_;
  const ops::Registry& registry_;
  const providers::Provider& provider_;
  std::unordered_map<ValueId, ValueId> last_of_;
  std::vector<ValueId> moved_;  // whose producers give them channels last now
  std::vector<LentNode> lent_;
};

}  // namespace

Moved MoveToChannelsLast(Graph& graph, const ops::Registry& registry, const std::vector<NodeId>& nodes,
                         const providers::Provider& provider) {
  Mover mover(graph, registry, provider);
  const bool changed = mover.Run({nodes.begin(), nodes.end()});
  return {changed, mover.TakeLent()};
}

void MoveBack(Graph& graph, const ops::Registry& registry, const std::vector<LentNode>& nodes,
              const providers::Provider& provider) {
  Mover mover(graph, registry, provider);
  for (const LentNode& node : nodes) mover.MoveBack(node.id, node.written);
  if (!nodes.empty()) graph.SortTopologically();
}

}  // namespace sardonyx::planner
