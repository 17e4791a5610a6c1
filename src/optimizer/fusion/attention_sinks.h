// optimizer/fusion/attention_sinks.h - finds attention sinks: scores that are joined behind those of the keys before
// Softmax, and whose probabilities are cut off after it. (GPT-OSS learns one for each head.)
#pragma once

#include <optional>

#include "ir/graph.h"

namespace sardonyx::optimizer {

// What Softmax is of, without a subtraction of each row's largest score, which does not change its result. Only
// Softmax, and that subtraction, depend on the value; kNoValue if others do.
ValueId ScoresOf(const Graph& graph, NodeId softmax);

struct AttentionSinks {
  ValueId scores = kNoValue;  // of the keys; only the joined scores depend on them
  ValueId sinks = kNoValue;   // [.., heads, 1, 1]
  Dim heads;
  bool repeated = false;  // `sinks` is a constant with equal numbers for all sequences and rows instead
};
// Nothing if `joined`, what Softmax is of, ends with no column that has one number for each head.
std::optional<AttentionSinks> FindSinks(const Graph& graph, ValueId joined);

// A Slice that leaves out the last element of the last axis.
bool CutsLast(const Graph& graph, const Node& node);

}  // namespace sardonyx::optimizer
