// optimizer/fusion/attention_scores.cpp - follows attention scores from the product of queries and keys to Softmax, and
// the probabilities from there to the product with the values.
#include "optimizer/fusion/attention_scores.h"

#include <algorithm>
#include <array>

#include "optimizer/fusion/attention_sinks.h"
#include "optimizer/rules/rewrite.h"
#include "optimizer/shapes/axis_view.h"

namespace sardonyx::optimizer {
namespace {

constexpr double kAbsorbing = 9900;  // a fill of at most minus this hides the score it replaces; exporters write -1e4
constexpr int kMaxSteps = 12;

bool SameShape(const Graph& graph, ValueId a, ValueId b) { return SameDims(graph.value(a).type, graph.value(b).type); }

// Whether views of the one that are the other have its last axis: it has the same size, or all others together have.
bool KeepLast(const Type& a, const Type& b) {
  if (a.rank() == 0 || b.rank() == 0) return false;
  if (SameDim(a.dims.back(), b.dims.back())) return true;
  const auto rest = [](const Type& type) {
    Dim product(1);
    for (std::size_t i = 0; i + 1 < type.rank(); ++i) product = product * type.dims[i];
    return product;
  };
  return SameDim(rest(a), rest(b));
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

// Exchanges the last two axes.
bool IsSwap(const Node& node) {
  const AttributeValue* attribute = Is(node, "Transpose") ? node.FindAttribute("perm") : nullptr;
  const auto* perm = attribute == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(attribute);
  if (perm == nullptr || perm->size() < 2) return false;
  const auto rank = static_cast<std::int64_t>(perm->size());
  for (std::int64_t i = 0; i < rank; ++i)
    if ((*perm)[static_cast<std::size_t>(i)] != (i < rank - 2 ? i : 2 * rank - 3 - i)) return false;
  return true;
}

// MatMul(values, Transpose(p)), if that is all that reads p.
bool TakeTransposed(const Graph& graph, const Node& node, Probabilities* found) {
  if (!IsSwap(node)) return false;
  const ValueId swapped = node.outputs[0];
  const NodeId reader = SoleReader(graph, swapped);
  if (reader == kNoNode || !Is(graph.node(reader), "MatMul") || graph.node(reader).inputs[1] != swapped) return false;
  found->value = swapped;
  found->product = reader;
  found->transposed = true;
  return true;
}

// ---- Before Softmax

// Parts and views of a constant of which every element is 0 or 1.
bool HoldsBits(const Graph& graph, ValueId value, int depth) {
  const Tensor* constant = graph.value(value).constant();
  if (constant == nullptr) {
    const NodeId producer = graph.value(value).producer;
    if (producer == kNoNode || depth > kMaxSteps) return false;
    const Node& node = graph.node(producer);
    const bool takes_parts = IsViewNode(node) || Is(node, "Slice") || Is(node, "Gather") || Is(node, "Expand");
    return (takes_parts || Is(node, "Cast")) && HoldsBits(graph, node.inputs[0], depth + 1);
  }
  bool bits = false;
  VisitDType<float, double, Half, BFloat16, bool, std::uint8_t, std::int32_t, std::int64_t>(
      constant->dtype(), [&]<typename T>() {
        const auto elements = constant->span<T>();
        bits = std::all_of(elements.begin(), elements.end(), [](T x) {
          const auto number = static_cast<double>(static_cast<float>(x));
          return number == 0 || number == 1;
        });
      });
  return bits;
}

class ScoreFinder {
 public:
  // The readers of `last` are known.
  ScoreFinder(const Graph& graph, const Probabilities& probabilities, ValueId last)
      : graph_(graph), probabilities_(probabilities), last_(last) {
    const Type &read = graph.value(probabilities.value).type, &scores = graph.value(last).type;
    ends_with_keys_ = !probabilities.reshaped || (!probabilities.transposed && KeepLast(scores, read));
  }

  // Up to the product of queries and keys. Both operands of a sum may lead to products; the first does it.
  bool Find(ValueId value, int hops, Scores* scores) {
    const NodeId id = graph_.value(value).producer;
    if (id == kNoNode || hops > kMaxSteps) return Stop(value, "is made by no node");
    const Node& node = graph_.node(id);
    if (value != last_ && SoleReader(graph_, value) == kNoNode)
      return Stop(value, "is read by several nodes or an output");
    if (Is(node, "MatMul")) {
      scores->product = id;
      return true;
    }
    const std::size_t steps = scores->steps.size();
    const bool ends_with_keys = ends_with_keys_;
    const auto up = [&](ValueId next) {
      if (Find(next, hops + 1, scores)) return true;
      scores->steps.resize(steps);
      ends_with_keys_ = ends_with_keys;
      return false;
    };
    if (IsFloatCast(graph_, node) || IsReshaping(node)) {
      ends_with_keys_ &= KeepLast(graph_.value(node.inputs[0]).type, graph_.value(value).type);
      if (node.op_type == "Reshape" && node.inputs.size() > 1 && graph_.value(value).type.has_rank) {
        scores->target = node.inputs[1];
        scores->target_dims = graph_.value(value).type.dims;
      }
      return up(node.inputs[0]);
    }
    if (Is(node, "Mul") || Is(node, "Div")) return ScaleStep(node, scores, up);
    if (Is(node, "Tanh")) {
      scores->steps.push_back({.kind = ScoreStep::Kind::kCap});
      return up(node.inputs[0]);
    }
    if (Is(node, "Sub") && ChoiceStep(node, scores, up)) return true;
    if (Is(node, "Add") || Is(node, "Sub")) return SumStep(node, scores, up);
    if (!Is(node, "Where")) return Stop(value, "is made by " + node.op_type);
    return FillStep(node, scores) && up(node.inputs[scores->steps.back().keep_if_true ? 1 : 2]);
  }
  const std::string& reason() const { return reason_; }

 private:
  bool Stop(ValueId value, const std::string& what) {
    reason_ = "'" + graph_.value(value).name + "' " + what;
    return false;
  }

  // A product with a constant number, or with one number for each head.
  template <typename Up>
  bool ScaleStep(const Node& node, Scores* scores, Up&& up) {
    const bool divides = node.op_type == "Div";
    for (const std::size_t i : {1u, 0u}) {
      const ValueId factor = node.inputs[i], scaled = node.inputs[1 - i];
      if ((divides && i == 0) || !SameShape(graph_, scaled, node.outputs[0])) continue;
      const auto number = ScalarOf(graph_, factor);
      if (number && *number != 0) {
        scores->steps.push_back({.kind = ScoreStep::Kind::kScale, .factor = divides ? 1 / *number : *number});
      } else if (IsSameWithinHeads(factor)) {
        scores->steps.push_back({.kind = ScoreStep::Kind::kScaleBy, .divides = divides, .operand = factor});
      } else {
        continue;
      }
      if (up(scaled)) return true;
    }
    return reason_.empty() ? Stop(node.outputs[0], "is not a product with one number, or with one for each head")
                           : false;
  }
  bool IsSameWithinHeads(ValueId factor) const {
    const Type& type = graph_.value(factor).type;
    if (!type.is_tensor() || !type.has_rank) return false;
    const std::size_t last = type.rank() < 2 ? 0 : type.rank() - 2;
    return std::all_of(type.dims.begin() + static_cast<std::ptrdiff_t>(last), type.dims.end(),
                       [](const Dim& d) { return d.known() && d.number() == 1; });
  }

  // Scores [b, h, s, s] and a summand [.., 197, 197]: were s not 197 but 1, the scores would become [b, h, 197, 197],
  // and the product with values of one row would fail.
  bool MustEqual(ValueId kept, ValueId summand) const {
    const Type &scores = graph_.value(kept).type, &other = graph_.value(summand).type;
    if (!scores.is_tensor() || !other.is_tensor() || scores.rank() != 4 || other.rank() < 2) return false;
    const Dim &rows = scores.dims[2], &keys = scores.dims[3];
    const Dim& number = other.dims.back();
    if (!rows.symbolic() || !SameDim(rows, keys) || !number.known() || number.number() < 2) return false;
    if (!SameDim(other.dims[other.rank() - 2], number)) return false;
    for (std::size_t i = 3; i <= other.rank(); ++i) {
      const Dim& dim = other.dims[other.rank() - i];
      if (i > 4 || (!(dim.known() && dim.number() == 1) && !SameDim(dim, scores.dims[4 - i]))) return false;
    }
    return true;
  }

  // A mask of two lengths, as of an input "total" and of past + new keys, has a last axis that inference cannot name.
  // Where one of them is that of the scores, the result is so, too: else the product with the values fails. A mask that
  // is cut to the number of keys may have fewer, which is an error: `cut` receives that number. So may one whose last
  // axis is named otherwise, `own`. What is known of the product with the values holds for the last axis of scores that
  // reach it as they are, be there views on the way.
  bool HasSameKeys(ValueId kept, ValueId result, ValueId mask, ValueId* cut, bool* own) const {
    const Type &scores = graph_.value(kept).type, &other = graph_.value(result).type;
    if (!ends_with_keys_ || !scores.is_tensor() || !other.is_tensor()) return false;
    if (scores.rank() < 3 || other.rank() != scores.rank()) return false;
    const Dim& keys = scores.dims.back();
    if (!keys.symbolic() || !std::equal(scores.dims.begin(), scores.dims.end() - 1, other.dims.begin(), SameDim))
      return false;
    if (EndsWith(mask, keys, 0)) return true;
    *cut = CutTo(mask, keys);
    *own = *cut == kNoValue && graph_.value(mask).type.rank() > 0 && graph_.value(mask).type.dims.back().symbolic();
    return *cut != kNoValue || *own;
  }
  // The value that holds `keys`, if the mask is Slice(x, 0, keys) of the last of its axes.
  ValueId CutTo(ValueId mask, const Dim& keys) const {
    const Node* slice = ProducerOf(graph_, mask, "Slice");
    const Type& type = graph_.value(mask).type;
    if (slice == nullptr || slice->inputs.size() < 4 || !type.has_rank || type.rank() < 4) return kNoValue;
    const Type& from = graph_.value(slice->inputs[0]).type;
    const auto axes = IntsOf(graph_, slice->inputs[3]);
    const ValueId end = slice->inputs[2];
    const Type& count = graph_.value(end).type;
    const auto last = static_cast<std::int64_t>(type.rank()) - 1;
    if (!axes || axes->size() != 1 || (axes->front() != last && axes->front() != -1) || !from.has_rank) return kNoValue;
    const bool one = count.dtype == DType::kInt64 && count.rank() == 1 && SameDim(count.dims[0], Dim(1));
    const auto& data = graph_.value(end).shape_data;
    return one && data && data->size() == 1 && SameDim(data->front(), keys) &&
                   SameDim(type.dims.back(), Min(from.dims.back(), keys))
               ? end
               : kNoValue;
  }
  // The last axis has `keys` elements, or is broadcast with one that has.
  bool EndsWith(ValueId value, const Dim& keys, int depth) const {
    const Type& type = graph_.value(value).type;
    if (!type.is_tensor() || !type.has_rank || type.rank() == 0 || depth > kMaxSteps) return false;
    if (SameDim(type.dims.back(), keys)) return true;
    const NodeId producer = graph_.value(value).producer;
    if (producer == kNoNode || !graph_.node(producer).domain.empty() || IsForeign(graph_.node(producer))) return false;
    static constexpr std::array<std::string_view, 9> kBroadcasting = {"Add", "And", "Cast", "Max",  "Min",
                                                                      "Mul", "Or",  "Sub",  "Where"};
    const Node& node = graph_.node(producer);
    if (node.op_type == "Slice") {  // of as many keys, or of other axes
      const Type& from = graph_.value(node.inputs[0]).type;
      return from.has_rank && from.rank() == type.rank() &&
             (SameDim(type.dims.back(), from.dims.back()) || SameDim(type.dims.back(), Min(from.dims.back(), keys))) &&
             EndsWith(node.inputs[0], keys, depth + 1);
    }
    if (std::find(kBroadcasting.begin(), kBroadcasting.end(), node.op_type) == kBroadcasting.end()) return false;
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId input) { return EndsWith(input, keys, depth + 1); });
  }

  // The author may say that a sum in three or five axes has the keys of the scores, and call those of its summand
  // otherwise. (With four, Attention takes the summand as it is.)
  bool NamesKeysOtherwise(ValueId kept, ValueId summand) const {
    const Type &scores = graph_.value(kept).type, &other = graph_.value(summand).type;
    return ends_with_keys_ && scores.rank() >= 3 && scores.rank() != 4 && other.rank() > 0 &&
           scores.dims.back().symbolic() && other.dims.back().symbolic() &&
           !SameDim(scores.dims.back(), other.dims.back());
  }

  template <typename Up>
  bool SumStep(const Node& node, Scores* scores, Up&& up) {
    const bool subtracts = node.op_type == "Sub";
    for (std::size_t i = 0; i < (subtracts ? 1 : 2); ++i) {
      const ValueId kept = node.inputs[i], summand = node.inputs[1 - i];
      const bool same = SameShape(graph_, kept, node.outputs[0]);
      ValueId cut = kNoValue;
      bool own = false;
      const bool square = MustEqual(kept, summand);
      const bool same_keys = !square && !same && HasSameKeys(kept, node.outputs[0], summand, &cut, &own);
      const bool equals_summand = square || same_keys;
      if (!equals_summand && !same) continue;
      const bool renamed = same && NamesKeysOtherwise(kept, summand);
      scores->steps.push_back({.kind = ScoreStep::Kind::kAdd,
                               .subtracts = subtracts,
                               .operand = summand,
                               .keys = cut,
                               .own_keys = own || renamed,
                               .same_keys = same_keys || renamed,
                               .ends_with_keys = ends_with_keys_,
                               .dims = graph_.value(kept).type.dims});
      if (!up(kept)) continue;
      scores->equals_summand |= equals_summand;
      scores->is_square |= square;
      return true;
    }
    if (reason_.empty()) Stop(node.outputs[0], "is a sum that is not known to have the shape of an operand");
    return false;
  }

  // x * b - 1e4 * (1 - b), where b is 0 or 1: a choice between x and -1e4, as the first GPT-2 wrote it.
  template <typename Up>
  bool ChoiceStep(const Node& node, Scores* scores, Up&& up) {
    const Node *kept = ProducerOf(graph_, node.inputs[0], "Mul"), *masked = ProducerOf(graph_, node.inputs[1], "Mul");
    if (kept == nullptr || masked == nullptr || SoleReader(graph_, node.inputs[0]) == kNoNode) return false;
    for (const std::size_t i : {0u, 1u}) {
      const auto low = ScalarOf(graph_, masked->inputs[1 - i]);
      const Node* rest = ProducerOf(graph_, masked->inputs[i], "Sub");
      if (!low || *low < kAbsorbing || rest == nullptr || ScalarOf(graph_, rest->inputs[0]) != 1.0) continue;
      const ValueId bits = rest->inputs[1], x = kept->inputs[kept->inputs[0] == bits ? 1 : 0];
      if (kept->inputs[0] != bits && kept->inputs[1] != bits) continue;
      if (!SameShape(graph_, x, node.outputs[0]) || !HoldsBits(graph_, bits, 0)) continue;
      scores->steps.push_back({.kind = ScoreStep::Kind::kFill,
                               .operand = bits,
                               .low = -*low,
                               .dtype = graph_.value(x).type.dtype,
                               .is_number = true,
                               .dims = graph_.value(node.outputs[0]).type.dims});
      if (up(x)) return true;
    }
    return false;
  }

  // Where with a constant that is so low that it makes no difference whether it is added or replaces the score.
  bool FillStep(const Node& node, Scores* scores) {
    for (const bool keep_if_true : {true, false}) {
      const ValueId kept = node.inputs[keep_if_true ? 1 : 2], fill = node.inputs[keep_if_true ? 2 : 1];
      const auto low = ScalarOf(graph_, fill);
      const bool same = SameShape(graph_, kept, node.outputs[0]);
      ValueId cut = kNoValue;
      bool own = false;
      if (!low || *low > -kAbsorbing) continue;
      if (!same && !HasSameKeys(kept, node.outputs[0], node.inputs[0], &cut, &own)) continue;
      scores->equals_summand |= !same;
      const bool zeroed = probabilities_.condition == node.inputs[0] && probabilities_.kept_if_true == keep_if_true;
      scores->steps.push_back({.kind = ScoreStep::Kind::kFill,
                               .operand = node.inputs[0],
                               .low = *low,
                               .dtype = graph_.value(fill).type.dtype,
                               .keep_if_true = keep_if_true,
                               .keys = cut,
                               .own_keys = own,
                               .same_keys = !same,
                               .ends_with_keys = ends_with_keys_,
                               .zeroed = zeroed,
                               .dims = graph_.value(node.outputs[0]).type.dims});
      return true;
    }
    return Stop(node.outputs[0], "is filled with something that does not mask");
  }

  const Graph& graph_;
  const Probabilities& probabilities_;
  const ValueId last_;
  bool ends_with_keys_ = false;  // the last axis of what was reached is that of the keys in the product with the values
  std::string reason_;
};

// Reads c * tanh(f * x): c is the cap, and x has the scale c * f. Says why this is not a cap of scores.
std::string FindCap(Scores* scores) {
  const auto is_cap = [](const ScoreStep& step) { return step.kind == ScoreStep::Kind::kCap; };
  const auto cap = std::find_if(scores->steps.begin(), scores->steps.end(), is_cap);
  if (cap == scores->steps.end()) return "";
  double factor = 1;  // of all that follows Tanh, be there masks between
  for (auto step = scores->steps.begin(); step != cap; ++step) {
    if (step->kind == ScoreStep::Kind::kScaleBy) return "each head has a cap of its own";
    if (step->kind == ScoreStep::Kind::kScale) factor *= step->factor;
  }
  if (!(factor > 0)) return "the cap of the scores is " + std::to_string(factor);
  const bool plain = std::all_of(cap + 1, scores->steps.end(), [](const ScoreStep& step) {
    return step.kind == ScoreStep::Kind::kScale || step.kind == ScoreStep::Kind::kScaleBy;
  });
  if (!plain) return "the scores are masked before Tanh caps them, or capped twice";
  scores->cap = factor;
  return "";
}

}  // namespace

bool IsFloatCast(const Graph& graph, const Node& node) {
  return Is(node, "Cast") && IsFloating(graph.value(node.inputs[0]).type.dtype) &&
         IsFloating(graph.value(node.outputs[0]).type.dtype);
}

std::optional<Probabilities> FindProbabilities(const Graph& graph, const PassContext& context, NodeId softmax,
                                               bool sinks) {
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
    if (sinks && CutsLast(graph, reader)) {
      value = reader.outputs[0];
      sinks = false;
      continue;
    }
    if (sinks && (Is(reader, "MatMul") || Is(reader, "Transpose")))
      return no("the probabilities of sinks are not cut off before ", Describe(graph, reader));
    if (Is(reader, "MatMul")) {
      if (reader.inputs[0] != value || reader.inputs[1] == value) return no("the probabilities are the second factor");
      found.value = value;
      found.product = reader.id;
      return found;
    }
    if (TakeTransposed(graph, reader, &found)) return found;
    const bool passes = IsFloatCast(graph, reader) || (IsReshaping(reader) && reader.inputs[0] == value);
    if (!passes && !TakeZeroing(graph, reader, value, &found))
      return no("expected a product with the values behind it, found ", Describe(graph, reader));
    found.reshaped |= IsReshaping(reader);
    value = reader.outputs[0];
  }
  return no("the product with the values is too far away");
}

std::optional<Scores> FindScores(const Graph& graph, const PassContext& context, NodeId softmax, ValueId last,
                                 const Probabilities& probabilities) {
  Scores scores;
  ScoreFinder finder(graph, probabilities, last);
  if (!finder.Find(last, 0, &scores)) {
    context.No(graph, softmax, "no product of queries and keys before it: ", finder.reason());
    return std::nullopt;
  }
  if (scores.equals_summand) {
    if (scores.is_square && scores.target != kNoValue) {
      context.No(graph, softmax, "scores of unknown size are added to constants, which may give them another shape");
      return std::nullopt;
    }
    const Type& product = graph.value(graph.node(scores.product).outputs[0]).type;
    for (ScoreStep& step : scores.steps) {
      if (scores.is_square && step.dims.size() >= 4) step.dims.end()[-2] = product.dims.end()[-2];
      if ((scores.is_square && step.dims.size() >= 4) || step.ends_with_keys) step.dims.back() = product.dims.back();
    }
  }
  if (const std::string why = FindCap(&scores); !why.empty()) {
    context.No(graph, softmax, why);
    return std::nullopt;
  }
  double factor = 1;  // of all that follows a step
  for (const ScoreStep& step : scores.steps) {
    if (step.kind == ScoreStep::Kind::kScale) factor *= step.factor;
    if (step.kind != ScoreStep::Kind::kFill || step.low * factor <= -kAbsorbing) continue;
    context.No(graph, softmax, "a factor changes the number that masks the scores to ", step.low * factor);
    return std::nullopt;
  }
  // Queries can take a factor for each head only where no mask comes before it.
  const auto scaled = std::find_if(scores.steps.begin(), scores.steps.end(),
                                   [](const ScoreStep& step) { return step.kind == ScoreStep::Kind::kScaleBy; });
  if (std::any_of(scaled, scores.steps.end(), MasksScores)) {
    context.No(graph, softmax, "masked scores are multiplied by '", graph.value(scaled->operand).name, "'");
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
