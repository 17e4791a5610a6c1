// optimizer/shapes/run_time_shape.h - computes a shape that is not constant from numbers and the sizes of a value when
// the graph runs.
#pragma once

#include <optional>
#include <vector>

#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {

struct RunTimeShape {
  // A number, or `number` times the size of an axis divided (without a rest) by `divisor`.
  struct Part {
    std::int64_t number = 1;
    std::optional<std::int64_t> axis;
    std::int64_t divisor = 1;
  };
  ValueId sized = kNoValue;
  std::vector<Part> parts;

  // An int64 tensor of one axis.
  ValueId Build(Rewrite& rewrite) const;
};

// Nothing if `dims` has a size that is neither a number nor a multiple or part of one of `sized`.
std::optional<RunTimeShape> FindRunTimeShape(const Graph& graph, ValueId sized, const std::vector<Dim>& dims);

}  // namespace sardonyx::optimizer
