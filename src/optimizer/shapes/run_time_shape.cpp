// optimizer/shapes/run_time_shape.cpp - computes a shape that is not constant from numbers and the sizes of a value
// when the graph runs.
#include "optimizer/shapes/run_time_shape.h"

namespace sardonyx::optimizer {
namespace {

// a / b, if that is a positive number for all values of the symbols.
std::optional<std::int64_t> Factor(const Dim& a, const Dim& b) {
  const Dim quotient = FloorDiv(a, b);
  if (!quotient.known() || quotient.number() < 1 || !SameDim(quotient * b, a)) return std::nullopt;
  return quotient.number();
}

std::optional<RunTimeShape::Part> FindPart(const std::vector<Dim>& sizes, const Dim& dim) {
  if (dim.known()) return RunTimeShape::Part{dim.number(), std::nullopt, 1};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    if (!sizes[i].symbolic() || dim.unknown()) continue;
    if (const auto multiple = Factor(dim, sizes[i])) return RunTimeShape::Part{*multiple, axis, 1};
    if (const auto divisor = Factor(sizes[i], dim)) return RunTimeShape::Part{1, axis, *divisor};
  }
  return std::nullopt;
}

}  // namespace

std::optional<RunTimeShape> FindRunTimeShape(const Graph& graph, ValueId sized, const std::vector<Dim>& dims) {
  RunTimeShape shape{sized, {}};
  for (const Dim& dim : dims) {
    const auto part = FindPart(graph.value(sized).type.dims, dim);
    if (!part) return std::nullopt;
    shape.parts.push_back(*part);
  }
  return shape;
}

ValueId RunTimeShape::Build(Rewrite& rewrite) const {
  std::vector<ValueId> pieces;
  for (const Part& part : parts) {
    if (!part.axis) {
      pieces.push_back(rewrite.Ints({part.number}));
      continue;
    }
    ValueId size = rewrite.Add("Shape", {sized}, {{"start", *part.axis}, {"end", *part.axis + 1}});
    if (part.number != 1) size = rewrite.Add("Mul", {size, rewrite.Ints({part.number})});
    if (part.divisor != 1) size = rewrite.Add("Div", {size, rewrite.Ints({part.divisor})});
    pieces.push_back(size);
  }
  return rewrite.Add("Concat", pieces, {{"axis", std::int64_t{0}}});
}

}  // namespace sardonyx::optimizer
