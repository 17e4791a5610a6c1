// optimizer/passes/layout/change_layout.cpp - lays images out channels last in memory wherever that saves more than it
// costs.
//
// Each operator says in which layouts it works and what each costs (its row's `layout`, ops/layout.h); a value whose
// producer and readers disagree costs a transposition. The cheapest choice for the whole graph is a minimum cut: the
// two sides are layouts, the nodes are the operators' variables. So a chain of convolutions is entered and left once,
// transpositions that the author wrote are used or cancelled, and a lone convolution between matrix products stays as
// it is.
#include <algorithm>
#include <unordered_map>

#include "ops/layout.h"
#include "optimizer/layout/min_cut.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/infer_again.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

// The variables of all nodes of one graph, and which of them lie channels last.
class LayoutChoice {
 public:
  LayoutChoice(const Graph& graph, const ops::Registry& registry) : graph_(graph) {
    for (const NodeId id : graph.order) {
      Entry entry{ops::DescribeLayout(graph, graph.node(id), registry), {}};
      for (const ops::NodeLayout::Variable& variable : entry.layout.variables) {
        const int at = cut_.AddNode();
        entry.cut_nodes.push_back(at);
        cut_.AddEdge(MinCut::kSource, at, variable.last_cost);
        cut_.AddEdge(at, MinCut::kSink, variable.first_cost);
      }
      entries_.emplace(id, std::move(entry));
    }
    for (ValueId value = 0; value < graph.values.size(); ++value) AddValue(value);
    last_ = cut_.Solve();
  }

  const ops::NodeLayout& layout(NodeId id) const { return entries_.at(id).layout; }
  std::vector<char> LastOf(NodeId id) const {
    std::vector<char> last;
    for (const int at : entries_.at(id).cut_nodes) last.push_back(last_[static_cast<std::size_t>(at)]);
    return last;
  }

 private:
  struct Entry {
    ops::NodeLayout layout;
    std::vector<int> cut_nodes;  // by variable
  };

  int CutNode(const Entry& entry, int variable) const {
    return variable == ops::kStaysFirst ? MinCut::kSource : entry.cut_nodes[static_cast<std::size_t>(variable)];
  }

  // Where the readers of a value are, each place once.
  std::vector<int> ReadersOf(ValueId value) const {
    const ValueInfo& info = graph_.value(value);
    std::vector<int> readers;
    if (info.is_output) readers.push_back(MinCut::kSource);
    for (const NodeId id : info.consumers) {
      const Node& node = graph_.node(id);
      const Entry& entry = entries_.at(id);
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (node.inputs[i] == value) readers.push_back(CutNode(entry, entry.layout.inputs[i]));
      if (std::find(node.implicit_inputs.begin(), node.implicit_inputs.end(), value) != node.implicit_inputs.end())
        readers.push_back(MinCut::kSource);
    }
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    return readers;
  }

  int ProducerOf(ValueId value) const {
    const NodeId id = graph_.value(value).producer;
    if (id == kNoNode) return MinCut::kSource;
    const std::vector<ValueId>& made = graph_.node(id).outputs;
    const Entry& entry = entries_.at(id);
    const auto port = std::find(made.begin(), made.end(), value) - made.begin();
    return CutNode(entry, entry.layout.outputs[static_cast<std::size_t>(port)]);
  }

  // One transposition serves all readers that want the other layout than the producer.
  void AddValue(ValueId value) {
    const ValueInfo& info = graph_.value(value);
    if (!ops::IsImage(info.type) || info.constant() != nullptr) return;
    if (info.producer == kNoNode && info.consumers.empty()) return;
    const double cost = ops::ChangingCost(info.type);
    const int producer = ProducerOf(value);
    const std::vector<int> readers = ReadersOf(value);
    if (readers.size() == 1) {
      cut_.AddEdge(producer, readers[0], cost);
      cut_.AddEdge(readers[0], producer, cost);
      return;
    }
    if (readers.empty()) return;
    const int any_last = cut_.AddNode(), any_first = cut_.AddNode();
    cut_.AddEdge(producer, any_last, cost);
    cut_.AddEdge(any_first, producer, cost);
    for (const int reader : readers) {
      cut_.AddEdge(any_last, reader, MinCut::kForbidden);
      cut_.AddEdge(reader, any_first, MinCut::kForbidden);
    }
  }

  const Graph& graph_;
  MinCut cut_;
  std::unordered_map<NodeId, Entry> entries_;
  std::vector<char> last_;
};

// Carries a choice out, node by node in order.
class LayoutRewriter {
 public:
  LayoutRewriter(Graph& graph, const PassContext& context)
      : graph_(graph), registry_(context.registry), context_(context) {}

  bool Run() {
    const LayoutChoice choice(graph_, registry_);
    bool changed = false;
    for (const NodeId id : OwnNodes(graph_)) {
      const std::vector<char> last = choice.LastOf(id);
      if (std::find(last.begin(), last.end(), 1) == last.end()) {
        TellConvolution(id, !last.empty());
        continue;
      }
      Change(id, choice.layout(id), last);
      changed = true;
    }
    if (!changed) return false;
    for (const ValueId value : moved_) MakeFirst(value);
    graph_.SortTopologically();
    for (const NodeId id : graph_.order) InferAgain(graph_, id, registry_);
    return true;
  }

 private:
  // Of convolutions one expects that they lie channels last.
  void TellConvolution(NodeId id, bool may_change) const {
    if (graph_.node(id).op_type.find("Conv") == std::string::npos) return;
    context_.No(graph_, id,
                may_change ? "transpositions around it would cost more than channels last saves"
                           : "it has no form for channels last (its type, rank or groups)");
  }

  void Change(NodeId id, const ops::NodeLayout& layout, const std::vector<char>& last) {
    const Node& node = graph_.node(id);
    std::vector<Type> input_types, output_types;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) input_types.push_back(ops::InputType(graph_, node, i));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) output_types.push_back(ops::OutputType(graph_, node, i));
    const auto is_last = [&](int variable) {
      return variable != ops::kStaysFirst && last[static_cast<std::size_t>(variable)] != 0;
    };
    for (std::size_t i = 0; i < input_types.size(); ++i)
      if (is_last(layout.inputs[i]) && node.inputs[i] != kNoValue && ops::IsImage(input_types[i]))
        graph_.SetInput(id, i, LastOf(node.inputs[i]));
    for (std::size_t i = 0; i < output_types.size(); ++i)
      if (is_last(layout.outputs[i]) && node.outputs[i] != kNoValue && ops::IsImage(output_types[i]))
        MoveToLast(id, i, output_types[i]);
    if (layout.def->change != nullptr)
      layout.def->change({graph_, registry_, id, layout, last, input_types, output_types});
  }

  // The node makes the value's other layout now; who wants the value itself is served at the end.
  void MoveToLast(NodeId id, std::size_t port, const Type& type) {
    const ValueId value = graph_.node(id).outputs[port];
    const ValueId other = graph_.AddValue(graph_.FreshName(graph_.value(value).name + "_last"), ops::TypeToLast(type));
    graph_.MoveOutput(id, port, other);
    last_of_[value] = other;
    moved_.push_back(value);
  }

  ValueId LastOf(ValueId value) {
    if (const auto found = last_of_.find(value); found != last_of_.end()) return found->second;
    const ValueInfo& info = graph_.value(value);
    const std::string name = info.name + "_last";
    ValueId other = kNoValue;
    if (const Tensor* constant = info.constant()) {
      other = graph_.AddConstant(name, ops::TensorToLast(graph_, registry_, *constant));
    } else {
      other = AddConversion(value, info.name, info.type, ops::TypeToLast(info.type), false);
    }
    last_of_[value] = other;
    return other;
  }

  void MakeFirst(ValueId value) {
    if (graph_.UseCount(value) == 0) return;
    const Type type = graph_.value(value).type;
    const ValueId made = AddConversion(last_of_.at(value), graph_.value(value).name, type, type, true);
    graph_.MoveOutput(graph_.value(made).producer, 0, value);
  }

  // A Reshape where no element moves, else a Transpose, named after the author's value.
  ValueId AddConversion(ValueId from, std::string name, const Type& first, const Type& result, bool to_first) {
    Node like;
    like.name = std::move(name);
    const std::vector<std::int64_t> shape = ops::ViewShape(first, to_first);
    if (!shape.empty()) {
      const ValueId target = graph_.AddConstant("shape_of_view", Tensor::Vector<std::int64_t>(shape));
      return ops::AddLayoutNode(graph_, like, "Reshape", {from, target}, {}, result);
    }
    const std::size_t rank = first.rank();
    return ops::AddLayoutNode(graph_, like, "Transpose", {from},
                              {{"perm", to_first ? ops::PermToFirst(rank) : ops::PermToLast(rank)}}, result);
  }

  Graph& graph_;
  const ops::Registry& registry_;
  const PassContext& context_;
  std::unordered_map<ValueId, ValueId> last_of_;
  std::vector<ValueId> moved_;
};

bool ChangeIn(Graph& graph, const PassContext& context) {
  bool changed = false;
  for (const NodeId id : OwnNodes(graph)) {
    bool body_changed = false;
    for (Graph* body : graph.node(id).Subgraphs()) body_changed |= ChangeIn(*body, context);
    if (body_changed) graph.RefreshCaptures(id);
    changed |= body_changed;
  }
  return LayoutRewriter(graph, context).Run() || changed;
}

bool ChangeLayout(Graph& graph, PassContext& context) { return ChangeIn(graph, context); }

}  // namespace

constinit const Pass kChangeLayout = {.name = "change_layout", .level = Level::kLayout, .run = ChangeLayout};

}  // namespace sardonyx::optimizer
