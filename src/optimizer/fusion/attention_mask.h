// optimizer/fusion/attention_mask.h - turns the steps of attention scores into one summand, the mask of an Attention
// node.
#pragma once

#include <optional>

#include "optimizer/fusion/attention_scores.h"
#include "optimizer/rules/rewrite.h"
#include "optimizer/shapes/axis_view.h"
#include "optimizer/shapes/run_time_shape.h"

namespace sardonyx::optimizer {

// How a summand or condition for scores of one shape becomes one for scores [batch, head, row, key].
struct MaskAlignment {
  std::optional<RunTimeShape> expand, run_time_reshape;
  std::optional<Reshaping> reshape;
  ValueId source = kNoValue;  // what they are applied to, if it is not the operand itself
  ValueId target = kNoValue;  // a Reshape to this computed shape instead
  bool keys_last = false;     // it gets the number of keys behind all this
};
// Nothing if the graph cannot say it.
std::optional<MaskAlignment> AlignMask(const Graph& graph, const ScoreStep& step, const Scores& scores,
                                       const std::vector<Dim>& four);

struct BuiltMask {
  ValueId mask = kNoValue;  // kNoValue: there is none
  double scale = 1;         // of the scores
};
// `alignments`: one for each step. `zero_rows`: a row that nothing is left of may become zeros; else it is NaN, as
// Softmax makes it.
BuiltMask BuildMask(Rewrite& rewrite, const Scores& scores, const std::vector<MaskAlignment>& alignments,
                    bool zero_rows);

// False if BuildMask could not keep the meaning: a fill that a negative factor turns round, a mask of one number that
// may be -infinity.
bool CanBuildMask(const Graph& graph, const Scores& scores);

}  // namespace sardonyx::optimizer
