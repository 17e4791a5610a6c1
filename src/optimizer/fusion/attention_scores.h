// optimizer/fusion/attention_scores.h - follows attention scores from the product of queries and keys to Softmax, and
// the probabilities from there to the product with the values.
#pragma once

#include <vector>

#include "optimizer/rules/pass.h"

namespace sardonyx::optimizer {

// One step between the product of queries and keys and Softmax.
struct ScoreStep {
  enum class Kind { kScale, kScaleBy, kCap, kAdd, kFill };  // kCap: Tanh
  Kind kind = Kind::kScale;
  double factor = 1;           // kScale
  bool divides = false;        // kScaleBy: by `operand`, which is the same for all rows and keys of a head
  bool subtracts = false;      // kAdd
  ValueId operand = kNoValue;  // kAdd: the summand; kFill: the condition under which the score stays
  double low = 0;              // kFill: what takes the score's place
  DType dtype = DType::kFloat;
  bool keep_if_true = true;
  bool is_number = false;       // kFill: the condition is 0 or 1
  ValueId keys = kNoValue;      // what is added, or the condition, gets this many keys, an error if that cannot be
  bool own_keys = false;        // its last axis has a name of its own: `keys` is to be set to the number of keys
  bool same_keys = false;       // in a run that is no error, its last axis is that of the scores
  bool ends_with_keys = false;  // the last axis of the scores there is that of the keys
  bool zeroed = false;    // kFill: what is filled becomes 0 behind Softmax once more, also where nothing else is left
  std::vector<Dim> dims;  // of the scores there
};

inline bool MasksScores(const ScoreStep& step) {
  return step.kind == ScoreStep::Kind::kAdd || step.kind == ScoreStep::Kind::kFill;
}

struct Scores {
  NodeId product = kNoNode;      // queries times keys
  std::vector<ScoreStep> steps;  // from Softmax up
  double cap = 0;                // scores x become cap * tanh(x / cap) before any mask; 0: they stay
  ValueId target = kNoValue;     // the shape to which a Reshape on the way brings the scores, if one does ...
  std::vector<Dim> target_dims;  // ... which is this
  // A summand has other rows or keys than the product, by what inference knows: in a run that is no error they are the
  // same.
  bool equals_summand = false;
  bool is_square = false;  // it has other rows, too
};

// Where the probabilities go.
struct Probabilities {
  ValueId value = kNoValue;      // as the product with the values reads them
  NodeId product = kNoNode;      // with the values
  bool transposed = false;       // they are the second factor, with keys before rows, and the values the first one
  bool reshaped = false;         // there are views on the way
  bool guarded = false;          // a row of NaN becomes zeros on the way
  ValueId condition = kNoValue;  // Where(condition, 0, p) on the way, or with the branches exchanged
  bool kept_if_true = false;
};

bool IsFloatCast(const Graph& graph, const Node& node);

// Both say in the explanation why there are none. A `Softmax` over the last axis of scores of rank 3 or more. `sinks`:
// the last probability of each row belongs to no key and is cut off. `last`: the scores of the keys.
std::optional<Probabilities> FindProbabilities(const Graph& graph, const PassContext& context, NodeId softmax,
                                               bool sinks);
std::optional<Scores> FindScores(const Graph& graph, const PassContext& context, NodeId softmax, ValueId last,
                                 const Probabilities& probabilities);

}  // namespace sardonyx::optimizer
