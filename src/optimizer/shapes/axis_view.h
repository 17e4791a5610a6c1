// optimizer/shapes/axis_view.h - describes a value as a rearrangement of another value's elements.
//
// The axes of the source are cut into pieces ("atoms"); every axis of the view is a list of pieces. Reshape, Flatten,
// Squeeze, Unsqueeze and Transpose only cut, regroup and permute pieces, so a chain of them becomes at most
// Reshape-Transpose-Reshape, whatever its length. Sizes are symbolic: [batch, seq, 768] is cut into batch | seq | 12 |
// 64 where a later shape asks for it.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {

// The elements of a Reshape's constant target that turns `from` into `to`: numbers, 0 for a dimension that is copied,
// one -1. Nothing if more than one dimension stays open. Where a copied one is 0, the size of an open one does not
// follow from the others: beside copies, only axis `authors_open` may stay open, which the author's own shape leaves
// open.
std::optional<std::vector<std::int64_t>> ReshapeTarget(const std::vector<Dim>& from, const std::vector<Dim>& to,
                                                       std::optional<std::size_t> authors_open);

// How a shape becomes another one with the same elements: by a Reshape with a constant target, or, where that cannot be
// written, by taking axes of size 1 out and putting others in.
struct Reshaping {
  std::vector<std::int64_t> target;                // of Reshape, unless an axis is squeezed or unsqueezed
  std::vector<std::int64_t> squeezed, unsqueezed;  // axes of the shape before, and of the one that results
  int nodes() const {
    return squeezed.empty() && unsqueezed.empty() ? 1 : (squeezed.empty() ? 0 : 1) + (unsqueezed.empty() ? 0 : 1);
  }
  ValueId Build(Rewrite& rewrite, ValueId value) const;
};
std::optional<Reshaping> FindReshaping(const std::vector<Dim>& from, const std::vector<Dim>& to,
                                       std::optional<std::size_t> authors_open);

class AxisView {
 public:
  using Axis = std::vector<int>;  // pieces, outermost first; none: size 1

  // What nodes, in order, make the view from its source. An empty list of nodes: it is the source.
  struct Plan {
    std::optional<Reshaping> reshape_before, reshape_after;
    std::vector<std::int64_t> perm;  // empty: no Transpose
    int transposes() const { return perm.empty() ? 0 : 1; }
    int nodes() const {
      return transposes() + (reshape_before ? reshape_before->nodes() : 0) +
             (reshape_after ? reshape_after->nodes() : 0);
    }
  };

  struct Tracing {
    ValueId stop = kNoValue;              // the source is looked for below this value only
    double* scale = nullptr;              // given: products with a constant scalar are passed, and multiplied in here
    std::vector<NodeId>* path = nullptr;  // receives the nodes passed, from the last to the first
  };

  // The value itself; nothing if its rank is not known.
  static std::optional<AxisView> Of(const Graph& graph, ValueId value);
  // The value as a view of the farthest source that the chain above it leads to.
  static std::optional<AxisView> Trace(const Graph& graph, ValueId value, const Tracing& tracing);
  static std::optional<AxisView> Trace(const Graph& graph, ValueId value) { return Trace(graph, value, Tracing{}); }

  ValueId source() const { return source_; }
  std::size_t rank() const { return axes_.size(); }
  const Axis& axis(std::size_t i) const { return axes_[i]; }
  Dim SizeOf(const Axis& axis) const;
  std::vector<Dim> Sizes() const;
  // Where a piece lies: its axis of the source, and how many elements of that axis one step of it spans.
  struct Place {
    std::size_t axis = 0;
    Dim step;
    bool outermost = false;  // the first piece of its axis
  };
  Place PlaceOf(int piece) const;

  // Regroups the pieces; false (and no change) where the sizes cannot be shown to fit.
  bool Reshape(const std::vector<Dim>& dims);
  // New axes from groups of the present ones: {{0}, {2}, {1, 3}} joins axes 1 and 3 into a last one.
  void Regroup(const std::vector<std::vector<std::size_t>>& groups);
  // Cuts an axis in two after its first `count` pieces.
  void SplitAxis(std::size_t axis, std::size_t count);
  // The same arrangement of another source that lacks `piece` (its axis of the source is by this much shorter).
  AxisView Without(int piece, ValueId source) const;

  // The same arrangement of what `inner` is a view of, if `inner` is a view with the axes of the source; false (and no
  // change) where their sizes cannot be shown to fit.
  bool ReadThrough(const AxisView& inner);

  // All elements are in the source's order.
  bool MovesNothing() const;
  // Nothing if a shape cannot be written as a constant. `authors_open`: an axis of the view, as in ReshapeTarget.
  std::optional<Plan> MakePlan(std::optional<std::size_t> authors_open = std::nullopt) const;
  ValueId Build(Rewrite& rewrite, const Plan& plan) const;

 private:
  struct Piece {
    Dim size;
    std::size_t axis;  // of the source
  };
  bool Apply(const Graph& graph, const Node& node);
  bool Permute(const Node& node);
  void Cut(int piece, const Dim& first, const Dim& second);
  std::optional<Plan> PlanByAxes(std::optional<std::size_t> authors_open) const;
  std::optional<Plan> PlanByPieces(std::optional<std::size_t> authors_open) const;

  ValueId source_ = kNoValue;
  std::vector<Dim> source_dims_;
  std::vector<Piece> pieces_;  // in the source's order
  std::vector<Axis> axes_;
};

// Whether a Reshape's target has contents of the graph's inputs in it, and not only their sizes: it may not fit what is
// reshaped, which only a run can say.
bool TargetIsGiven(const Graph& graph, const Node& node);

// The axis of -1 in the shape that a Reshape is given, if that is known.
std::optional<std::size_t> OpenAxis(const Graph& graph, const Node& node);

// True for Reshape, Flatten, Squeeze, Unsqueeze, Transpose. (An Identity is eliminate_identity's business.)
bool IsViewNode(const Node& node);

}  // namespace sardonyx::optimizer
