// optimizer/passes/rewrite/replace_einsum.cpp - an Einsum of two operands that is a batch of matrix products becomes
// MatMul between views, so that passes that know products (projections, attention) apply to it.
//
// Labels of both operands and the output are batches, labels of one operand and the output are rows or columns, and
// labels of both operands alone are summed over. If an operand would have to be moved in memory, Einsum's own kernel is
// as good and stays, unless Softmax is near: attention takes views as they are.
#include <algorithm>
#include <array>

#include "ops/shapes/einsum_equation.h"
#include "optimizer/passes/passes.h"
#include "optimizer/shapes/axis_view.h"

namespace sardonyx::optimizer {
namespace {

using ops::EinsumEquation;
using ops::EinsumTerm;
using Labels = std::vector<int>;
constexpr int kHops = 8;

// What may stand between a product of attention and Softmax.
bool IsBetween(const Node& node) {
  static constexpr std::array<std::string_view, 9> kNames = {"Add",     "Cast", "Div",       "Identity", "Mul",
                                                             "Reshape", "Sub",  "Transpose", "Where"};
  return node.domain.empty() && std::find(kNames.begin(), kNames.end(), node.op_type) != kNames.end();
}

class EinsumReplacer {
 public:
  EinsumReplacer(Graph& graph, const PassContext& context, NodeId id) : graph_(graph), context_(context), id_(id) {}

  bool Try() {
    const Node& node = graph_.node(id_);
    if (!Is(node, "Einsum")) return false;
    if (node.inputs.size() != 2) return No("it has ", node.inputs.size(), " operands, not two");
    if (!IsFloating(TypeOf(0).dtype) || !TypeOf(0).has_rank || !TypeOf(1).has_rank)
      return No("its operands are not floating-point tensors of known rank");
    if (!Read() || !Sort()) return false;
    auto left = Arranged(left_, {rows_, summed_}, batch_.empty());
    auto right = Arranged(1 - left_, {summed_, columns_}, false);
    if (!left || !right) return No("a shape cannot be written as a constant");
    const int moves = Moves(left_, left->second) + Moves(1 - left_, right->second) + (ResultMoves() ? 1 : 0);
    if (moves > 0 && !IsNearSoftmax()) return No("operands would have to be transposed");
    return Build(*left, *right);
  }

 private:
  using Arrangement = std::pair<AxisView, AxisView::Plan>;

  template <typename... Parts>
  bool No(const Parts&... parts) const {
    return context_.No(graph_, id_, parts...);
  }
  const Type& TypeOf(std::size_t operand) const { return graph_.value(graph_.node(id_).inputs[operand]).type; }

  bool Read() {
    const AttributeValue* attribute = graph_.node(id_).FindAttribute("equation");
    const auto* text = attribute == nullptr ? nullptr : std::get_if<std::string>(attribute);
    if (text == nullptr) return false;
    std::string bare = *text;
    std::erase(bare, ' ');
    const std::array<std::size_t, 2> ranks = {TypeOf(0).rank(), TypeOf(1).rank()};
    equation_ = ops::ParseEinsum(bare, ranks);
    for (const EinsumTerm* term : {&equation_.operands[0], &equation_.operands[1], &equation_.output}) {
      Labels labels(term->labels.begin(), term->labels.begin() + static_cast<std::ptrdiff_t>(term->rank));
      std::sort(labels.begin(), labels.end());
      if (std::adjacent_find(labels.begin(), labels.end()) != labels.end())
        return No("a label appears twice in a term");
    }
    return true;
  }

  Dim SizeOf(std::size_t operand, int label) const {
    const EinsumTerm& term = equation_.operands[operand];
    const auto end = term.labels.begin() + static_cast<std::ptrdiff_t>(term.rank);
    return TypeOf(operand)
        .dims[static_cast<std::size_t>(std::find(term.labels.begin(), end, label) - term.labels.begin())];
  }

  // The labels by what they are for, in the order in which the output has them.
  bool Sort() {
    const EinsumTerm &a = equation_.operands[0], &b = equation_.operands[1], &y = equation_.output;
    Labels of_a, of_b;
    for (std::size_t i = 0; i < y.rank; ++i) {
      const int label = y.labels[i];
      if (a.Has(label) && b.Has(label)) {
        batch_.push_back(label);
      } else {
        if (of_a.empty() && of_b.empty()) left_ = a.Has(label) ? 0 : 1;
        (a.Has(label) ? of_a : of_b).push_back(label);
      }
    }
    for (std::size_t i = 0; i < a.rank; ++i) {
      const int label = a.labels[i];
      if (b.Has(label) && !SameDim(SizeOf(0, label), SizeOf(1, label)))
        return No("sizes of a label are not known to be equal: ", SizeOf(0, label).ToText(), " and ",
                  SizeOf(1, label).ToText());
      if (y.Has(label)) continue;
      if (!b.Has(label)) return No("a label is summed up in one operand alone");
      summed_.push_back(label);
    }
    for (std::size_t i = 0; i < b.rank; ++i)
      if (!y.Has(b.labels[i]) && !a.Has(b.labels[i])) return No("a label is summed up in one operand alone");
    if (summed_.empty()) return No("nothing is summed up");
    rows_ = left_ == 0 ? of_a : of_b;
    columns_ = left_ == 0 ? of_b : of_a;
    return true;
  }

  // An operand with the batches, then these groups as an axis each (the labels of the first apart if so wanted).
  std::optional<Arrangement> Arranged(std::size_t operand, const std::array<Labels, 2>& groups,
                                      bool first_apart) const {
    auto view = AxisView::Of(graph_, graph_.node(id_).inputs[operand]);
    if (!view) return std::nullopt;
    const EinsumTerm& term = equation_.operands[operand];
    const auto axis = [&](int label) {
      return static_cast<std::size_t>(std::find(term.labels.begin(), term.labels.end(), label) - term.labels.begin());
    };
    std::vector<std::vector<std::size_t>> order;
    for (const int label : batch_) order.push_back({axis(label)});
    for (std::size_t i = 0; i < 2; ++i) {
      const bool apart = i == 0 && first_apart && !groups[i].empty();
      if (!apart) order.emplace_back();
      for (const int label : groups[i]) {
        if (apart) order.emplace_back();
        order.back().push_back(axis(label));
      }
    }
    view->Regroup(order);
    auto plan = view->MakePlan();
    if (!plan) return std::nullopt;
    return Arrangement{std::move(*view), std::move(*plan)};
  }

  // A constant is moved once; an exchange of the last two axes is the product's own business.
  int Moves(std::size_t operand, const AxisView::Plan& plan) const {
    if (graph_.value(graph_.node(id_).inputs[operand]).constant() != nullptr) return 0;
    const std::size_t rank = plan.perm.size();
    std::vector<std::int64_t> perm = plan.perm;
    if (rank >= 2 && perm[rank - 2] > perm[rank - 1]) std::swap(perm[rank - 2], perm[rank - 1]);
    return std::is_sorted(perm.begin(), perm.end()) ? 0 : 1;
  }
  Labels Made() const {
    Labels made = batch_;
    made.insert(made.end(), rows_.begin(), rows_.end());
    made.insert(made.end(), columns_.begin(), columns_.end());
    return made;
  }
  bool ResultMoves() const {
    const auto& wanted = equation_.output.labels;
    const Labels made = Made();
    return !std::equal(made.begin(), made.end(), wanted.begin());
  }

  bool IsNearSoftmax() const {
    ValueId value = graph_.node(id_).outputs[0];
    for (int hop = 0; hop < kHops && SoleReader(graph_, value) != kNoNode; ++hop) {
      const Node& reader = graph_.node(SoleReader(graph_, value));
      if (Is(reader, "Softmax")) return true;
      if (!IsBetween(reader)) break;
      value = reader.outputs[0];
    }
    const auto& operands = graph_.node(id_).inputs;
    return std::any_of(operands.begin(), operands.end(), [&](ValueId operand) { return IsFromSoftmax(operand); });
  }
  bool IsFromSoftmax(ValueId value) const {
    for (int hop = 0; hop < kHops; ++hop) {
      const NodeId producer = graph_.value(value).producer;
      if (producer == kNoNode) return false;
      const Node& node = graph_.node(producer);
      if (Is(node, "Softmax")) return true;
      if (!IsBetween(node)) return false;
      value = node.inputs[Is(node, "Where") ? 2 : 0];
    }
    return false;
  }

  bool Build(const Arrangement& left, const Arrangement& right) {
    const ValueId old = graph_.node(id_).outputs[0];
    Rewrite rewrite(graph_, context_.registry, id_);
    const ValueId y =
        rewrite.Add("MatMul", {left.first.Build(rewrite, left.second), right.first.Build(rewrite, right.second)});
    auto result = AxisView::Of(graph_, y);
    std::vector<Dim> sizes;
    for (const int label : Made()) sizes.push_back(SizeOf(equation_.operands[0].Has(label) ? 0 : 1, label));
    const Labels made = Made();
    std::vector<std::vector<std::size_t>> order;
    for (std::size_t i = 0; i < equation_.output.rank; ++i)
      order.push_back({static_cast<std::size_t>(std::find(made.begin(), made.end(), int{equation_.output.labels[i]}) -
                                                made.begin())});
    std::optional<AxisView::Plan> plan;
    if (result && result->Reshape(sizes)) {
      result->Regroup(order);
      plan = result->MakePlan();
    }
    if (!plan) {
      rewrite.DropUnused(y);
      return No("the result's shape cannot be written as a constant");
    }
    context_.Yes(graph_, id_, "became MatMul");
    rewrite.Replace(old, result->Build(rewrite, *plan));
    return true;
  }

  Graph& graph_;
  const PassContext& context_;
  NodeId id_;
  EinsumEquation equation_;
  std::size_t left_ = 0;
  Labels batch_, rows_, columns_, summed_;
};

bool ReplaceEinsum(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return EinsumReplacer(each, context, id).Try(); });
}

}  // namespace

constinit const Pass kReplaceEinsum = {.name = "replace_einsum", .level = Level::kExtended, .run = ReplaceEinsum};

}  // namespace sardonyx::optimizer
