// ops/layout.h - how an operator behaves when its images are laid out channels last: the types and functions for a
// row's `layout`.
//
// A value [N, C, spatial...] of rank 3 or more may lie in memory as it is ("first") or as [N, spatial..., C] ("last").
// An operator that can work with both has one or two variables, which the pass change_layout sets; each of its inputs
// and outputs follows one of them or stays first. What several families share is in shapes/layout_axes.h (operators
// that name axes) and shapes/layout_images.h (operators that know what a channel is).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/attributes.h"
#include "ops/registry.h"

namespace sardonyx::ops {

// Where axis `axis` (0 or more) of a value in "first" is in "last"; and the permutations from one to the other.
std::int64_t AxisToLast(std::int64_t axis, std::size_t rank);
std::vector<std::int64_t> PermToLast(std::size_t rank);
std::vector<std::int64_t> PermToFirst(std::size_t rank);
// The type that a value in "first" has in "last".
Type TypeToLast(const Type& type);

// What moving a value of this type through memory once costs; unknown dimensions are guessed.
double MovingCost(const Type& type);
// The same for changing its layout: little where no element has to move.
double ChangingCost(const Type& type);
// The shape (for Reshape) that makes a "last" (or, with `to_first`, a "first") of the value without moving elements;
// empty if elements must move or too little is known.
std::vector<std::int64_t> ViewShape(const Type& type, bool to_first);

inline constexpr int kStaysFirst = -1;

// The variables of one node, and the ports that follow them.
struct NodeLayout {
  struct Variable {
    double first_cost = 0, last_cost = 0;
  };
  std::vector<Variable> variables;
  std::vector<int> inputs, outputs;  // by port: a variable, or kStaysFirst

  const LayoutDef* def = nullptr;
  bool Follows(std::size_t input) const { return inputs[input] != kStaysFirst; }
};

// A node whose layout changes; the ports that follow a variable have already been replaced.
struct LayoutChange {
  Graph& graph;
  const Registry& registry;
  NodeId id;
  const NodeLayout& layout;
  const std::vector<char>& last;         // by variable
  const std::vector<Type>& input_types;  // in "first"
  const std::vector<Type>& output_types;

  Node& node() const { return graph.node(id); }
};

struct LayoutDef {
  std::string_view summary;  // for docs/operator_facts.md
  // Fills in variables and ports; false if this node must stay as it is.
  bool (*describe)(const Graph& graph, const Node& node, NodeLayout& layout);
  // Makes the node do the same on "last" images. Null: the node is the same in both layouts.
  void (*change)(const LayoutChange& change) = nullptr;
};

// The row's own layout, or that of all elementwise operators if its traits say that it is one; nullptr if it only works
// channels first.
const LayoutDef* LayoutOf(const OpDef& op);
// The layout of a node of the CPU: no variables if it only works channels first.
NodeLayout DescribeLayout(const Graph& graph, const Node& node, const Registry& registry);

// ---- For the rows

bool HasInput(const Node& node, std::size_t i);
const Type& InputType(const Graph& graph, const Node& node, std::size_t i);
const Type& OutputType(const Graph& graph, const Node& node, std::size_t i = 0);
bool IsImage(const Type& type);  // a tensor of rank 3 or more
// All axes in [0, rank), false if one is not or comes twice.
bool NormalizeAxes(std::vector<std::int64_t>& axes, std::size_t rank);

// StayFirst: no port follows a variable. FollowMain: input 0 and output 0 follow one variable. DescribeMain: the same,
// provided that both are images of the same rank.
void StayFirst(const Node& node, NodeLayout& layout);
void FollowMain(const Node& node, NodeLayout& layout);
bool DescribeMain(const Graph& graph, const Node& node, NodeLayout& layout);

void SetInts(const LayoutChange& c, std::size_t input, std::string_view name, const std::vector<std::int64_t>& values);
// A constant's "last" form, computed now.
Tensor TensorToLast(const Graph& graph, const Registry& registry, const Tensor& tensor);
// Adds a node with one output of the given type; it stands before its readers only after the graph has been sorted.
ValueId AddLayoutNode(Graph& graph, const Node& like, std::string_view op_type, std::vector<ValueId> inputs,
                      std::vector<Attribute> attributes, Type type);

}  // namespace sardonyx::ops
