// ops/shapes/joined_dims.cpp - the dimensions of tensors that are joined along an axis.
#include "ops/shapes/joined_dims.h"

#include "ops/dim_facts.h"

namespace sardonyx::ops {
namespace {

// What a tensor adds along the axis.
enum class Adds { kNothing, kPerhaps, kSome };

Adds AddsOf(const std::vector<Dim>& x, std::size_t axis) {
  if (x.size() <= axis || !x[axis].known()) return Adds::kPerhaps;
  return x[axis].number() == 0 ? Adds::kNothing : Adds::kSome;
}

// The input that the dimensions of the others are compared with: the first that surely adds some, else the first that
// may, else the first of known rank; none if there is no such input.
std::optional<std::size_t> Reference(const InferContext& c, std::span<const std::size_t> inputs, std::size_t* axis) {
  std::optional<std::size_t> best;
  for (const std::size_t i : inputs) {
    if (!c.HasRank(i)) continue;
    if (!best) *axis = AxisOf(c, c.Int("axis"), c.Rank(i));
    if (!best || AddsOf(c.InputDims(i), *axis) > AddsOf(c.InputDims(*best), *axis)) best = i;
  }
  return best;
}

// Takes over what is known of x; false if the two surely differ in another dimension than the axis.
bool Merge(const std::vector<Dim>& x, std::size_t axis, bool sure, std::vector<Dim>* dims) {
  if (x.size() != dims->size()) return false;
  const Adds adds = AddsOf(x, axis);
  if (adds == Adds::kNothing) return true;
  for (std::size_t d = 0; d < x.size(); ++d) {
    Dim& dim = (*dims)[d];
    if (d == axis) continue;
    if (!dim.known() || !x[d].known() || dim.number() == x[d].number()) {
      dim = Simpler(dim, x[d]);
    } else if (adds == Adds::kSome) {
      return false;
    } else if (!sure) {
      dim = Dim();  // one of the two adds nothing; which one shows at run time
    }
  }
  return true;
}

}  // namespace

std::optional<std::vector<Dim>> JoinedDims(InferContext& c, std::span<const std::size_t> inputs) {
  std::size_t axis = 0;
  const std::optional<std::size_t> reference = Reference(c, inputs, &axis);
  if (!reference) return std::nullopt;
  std::vector<Dim> dims = c.InputDims(*reference);
  const bool sure = AddsOf(dims, axis) == Adds::kSome;
  std::optional<Dim> sum;
  for (const std::size_t i : inputs) {
    if (c.HasRank(i) && !Merge(c.InputDims(i), axis, sure, &dims))
      c.Fail(Code::kInvalidArgument, "expected inputs that differ in dimension ", axis, " only, found ",
             c.InputType(*reference).ToText(), " and ", c.InputType(i).ToText(), " (input ", i, ")");
    const Dim adds = c.HasRank(i) ? c.InputDims(i)[axis] : Dim();
    sum = sum ? JoinedSize(*sum, adds) : adds;
  }
  dims[axis] = *sum;
  return dims;
}

}  // namespace sardonyx::ops
