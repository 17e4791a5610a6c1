// optimizer/attention_scores.cpp - the way of attention scores: from the product of queries and keys up to Softmax, and
// from Softmax to the product with the values.
#include "optimizer/attention_scores.h"

#include <algorithm>

#include "optimizer/axis_view.h"
#include "optimizer/rewrite.h"

namespace sardonyx::optimizer {
namespace {

constexpr double kAbsorbing = 65000;  // a fill of at most minus this hides the score it replaces
constexpr int kMaxSteps = 12;

bool Is(const Node& node, std::string_view op_type) { return node.domain.empty() && node.op_type == op_type; }
bool SameShape(const Graph& graph, ValueId a, ValueId b) { return SameDims(graph.value(a).type, graph.value(b).type); }
bool IsFloatCast(const Graph& graph, const Node& node) {
  return Is(node, "Cast") && IsFloating(graph.value(node.inputs[0]).type.dtype) &&
         IsFloating(graph.value(node.outputs[0]).type.dtype);
}
bool IsReshaping(const Node& node) { return IsViewNode(node) && node.op_type != "Transpose"; }

// ---- Behind Softmax

// Where(IsNaN(p), 0, p), if that is all that reads p.
ValueId GuardedAgainstNaN(const Graph& graph, ValueId value) {
  const std::vector<NodeId>& readers = graph.value(value).consumers;
  if (readers.size() != 2) return kNoValue;
  for (const std::size_t i : {0u, 1u}) {
    const Node &test = graph.node(readers[i]), &choice = graph.node(readers[1 - i]);
    if (!Is(test, "IsNaN") || !Is(choice, "Where") || choice.inputs[0] != test.outputs[0]) continue;
    const auto zero = ScalarOf(graph, choice.inputs[1]);
    if (zero && *zero == 0 && choice.inputs[2] == value && SoleReader(graph, test.outputs[0]) == choice.id &&
        SameShape(graph, choice.outputs[0], value)) {
      return choice.outputs[0];
    }
  }
  return kNoValue;
}

// Where(condition, 0, p) or Where(condition, p, 0).
bool TakeZeroing(const Graph& graph, const Node& node, ValueId value, Probabilities* found) {
  if (!Is(node, "Where") || found->condition != kNoValue || !SameShape(graph, node.outputs[0], value)) return false;
  for (const bool kept_if_true : {true, false}) {
    const auto zero = ScalarOf(graph, node.inputs[kept_if_true ? 2 : 1]);
    if (!zero || *zero != 0 || node.inputs[kept_if_true ? 1 : 2] != value) continue;
    found->condition = node.inputs[0];
    found->kept_if_true = kept_if_true;
    return true;
  }
  return false;
}

// ---- Before Softmax

class ScoreFinder {
 public:
  ScoreFinder(const Graph& graph, const Probabilities& probabilities) : graph_(graph), probabilities_(probabilities) {}

  // Up to the product of queries and keys. Both operands of a sum may lead to products; the first does it.
  bool Find(ValueId value, int hops, Scores* scores) {
    const NodeId id = graph_.value(value).producer;
    if (id == kNoNode || hops > kMaxSteps) return Stop(value, "is made by no node");
    const Node& node = graph_.node(id);
    if (SoleReader(graph_, value) == kNoNode) return Stop(value, "is read by several nodes or an output");
    if (Is(node, "MatMul")) {
      scores->product = id;
      return true;
    }
    const std::size_t steps = scores->steps.size();
    const auto up = [&](ValueId next) {
      if (Find(next, hops + 1, scores)) return true;
      scores->steps.resize(steps);
      return false;
    };
    if (IsFloatCast(graph_, node) || IsReshaping(node)) {
      if (node.op_type == "Reshape" && node.inputs.size() > 1 && graph_.value(value).type.has_rank) {
        scores->target = node.inputs[1];
        scores->target_dims = graph_.value(value).type.dims;
      }
      return up(node.inputs[0]);
    }
    if (Is(node, "Mul") || Is(node, "Div")) return ScaleStep(node, scores) && up(Scaled(node));
    if (Is(node, "Add")) return SumStep(node, scores, up);
    if (!Is(node, "Where")) return Stop(value, "is made by " + node.op_type);
    return FillStep(node, scores) && up(node.inputs[scores->steps.back().keep_if_true ? 1 : 2]);
  }
  const std::string& reason() const { return reason_; }

 private:
  bool Stop(ValueId value, const std::string& what) {
    reason_ = "'" + graph_.value(value).name + "' " + what;
    return false;
  }

  ValueId Scaled(const Node& node) const { return node.inputs[ScalarOf(graph_, node.inputs[1]) ? 0 : 1]; }
  bool ScaleStep(const Node& node, Scores* scores) {
    auto factor = ScalarOf(graph_, node.inputs[1]);
    if (!factor && node.op_type == "Mul") factor = ScalarOf(graph_, node.inputs[0]);
    if (!factor || *factor == 0 || !SameShape(graph_, Scaled(node), node.outputs[0]))
      return Stop(node.outputs[0], "is no product with a constant number");
    scores->steps.push_back({.kind = ScoreStep::Kind::kScale, .factor = node.op_type == "Mul" ? *factor : 1 / *factor});
    return true;
  }

  template <typename Up>
  bool SumStep(const Node& node, Scores* scores, Up&& up) {
    for (const std::size_t i : {0u, 1u}) {
      if (!SameShape(graph_, node.inputs[i], node.outputs[0])) continue;
      scores->steps.push_back({.kind = ScoreStep::Kind::kAdd,
                               .operand = node.inputs[1 - i],
                               .dims = graph_.value(node.outputs[0]).type.dims});
      if (up(node.inputs[i])) return true;
    }
    return false;
  }

  // Where with a constant that is so low that it makes no difference whether it is added or replaces the score.
  bool FillStep(const Node& node, Scores* scores) {
    for (const bool keep_if_true : {true, false}) {
      const ValueId kept = node.inputs[keep_if_true ? 1 : 2], fill = node.inputs[keep_if_true ? 2 : 1];
      const auto low = ScalarOf(graph_, fill);
      if (!low || *low > -kAbsorbing || !SameShape(graph_, kept, node.outputs[0])) continue;
      const bool zeroed = probabilities_.condition == node.inputs[0] && probabilities_.kept_if_true == keep_if_true;
      scores->steps.push_back({.kind = ScoreStep::Kind::kFill,
                               .operand = node.inputs[0],
                               .fill = fill,
                               .keep_if_true = keep_if_true,
                               .zeroed = zeroed,
                               .dims = graph_.value(node.outputs[0]).type.dims});
      return true;
    }
    return Stop(node.outputs[0], "is filled with something that does not mask");
  }

  const Graph& graph_;
  const Probabilities& probabilities_;
  std::string reason_;
};

}  // namespace

std::optional<Probabilities> FindProbabilities(const Graph& graph, const PassContext& context, NodeId softmax) {
  Probabilities found;
  ValueId value = graph.node(softmax).outputs[0];
  const auto no = [&](const auto&... parts) {
    context.No(graph, softmax, parts...);
    return std::nullopt;
  };
  for (int hops = 0; hops < 8; ++hops) {
    if (graph.value(value).is_output) return no("the probabilities are an output of the graph");
    if (const ValueId guarded = GuardedAgainstNaN(graph, value); guarded != kNoValue) {
      value = guarded;
      found.guarded = true;
      continue;
    }
    if (graph.value(value).consumers.size() != 1) return no("several nodes read the probabilities");
    const Node& reader = graph.node(graph.value(value).consumers[0]);
    if (Is(reader, "MatMul")) {
      if (reader.inputs[0] != value || reader.inputs[1] == value) return no("the probabilities are the second factor");
      found.value = value;
      found.product = reader.id;
      return found;
    }
    const bool passes = IsFloatCast(graph, reader) || (IsReshaping(reader) && reader.inputs[0] == value);
    if (!passes && !TakeZeroing(graph, reader, value, &found))
      return no("expected a product with the values behind it, found ", Describe(graph, reader));
    value = reader.outputs[0];
  }
  return no("the product with the values is too far away");
}

std::optional<Scores> FindScores(const Graph& graph, const PassContext& context, NodeId softmax,
                                 const Probabilities& probabilities) {
  Scores scores;
  ScoreFinder finder(graph, probabilities);
  if (!finder.Find(graph.node(softmax).inputs[0], 0, &scores)) {
    context.No(graph, softmax, "no product of queries and keys before it: ", finder.reason());
    return std::nullopt;
  }
  const bool zeroed =
      std::any_of(scores.steps.begin(), scores.steps.end(), [](const ScoreStep& step) { return step.zeroed; });
  if (probabilities.condition != kNoValue && !zeroed) {
    context.No(graph, softmax, "the probabilities are set to 0 where no score is masked");
    return std::nullopt;
  }
  return scores;
}

}  // namespace sardonyx::optimizer
