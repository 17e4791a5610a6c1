// ops/shapes/layout_axes.h - how operators behave on channels-last images if they name axes without giving them a
// meaning: the axes are mapped.
#pragma once

#include "ops/layout.h"

namespace sardonyx::ops {

// ---- One axis, in the attribute "axis"

// Input 0 and output 0 follow.
bool DescribeAxis(const Graph& graph, const Node& node, NodeLayout& layout, std::int64_t default_axis);
void ChangeAxis(const LayoutChange& c, std::int64_t default_axis, std::size_t rank);

template <std::int64_t kDefault>
bool DescribeAxis(const Graph& graph, const Node& node, NodeLayout& layout) {
  return DescribeAxis(graph, node, layout, kDefault);
}
template <std::int64_t kDefault>
void ChangeAxis(const LayoutChange& c) {
  ChangeAxis(c, kDefault, c.input_types[0].rank());
}
template <std::int64_t kDefault>
void ChangeOutputAxis(const LayoutChange& c) {  // ... of output 0, for operators whose input 0 is no image
  ChangeAxis(c, kDefault, c.output_types[0].rank());
}

// ---- Axes in an input

// The axes in input `at`, or all of the first `count` ones where it is missing; nullopt if they are not known.
std::optional<std::vector<std::int64_t>> AxesInput(const Graph& graph, const Node& node, std::size_t at,
                                                   std::size_t rank, std::size_t count);
void MapAxesInput(const LayoutChange& c, std::size_t at, std::size_t count);

// A reduction of input 0 over `axes` (0 or more); one that drops axes must leave the others in their order.
bool DescribeReduced(const Graph& graph, const Node& node, NodeLayout& layout, const std::vector<std::int64_t>& axes);

// ---- One number for each axis, in input 1: sizes, scales, repeats

bool DescribeSized(const Graph& graph, const Node& node, NodeLayout& layout);
void ChangeSized(const LayoutChange& c);
extern const LayoutDef kSizedLayout;

}  // namespace sardonyx::ops
