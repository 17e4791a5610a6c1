// ops/infer_context.h - what an operator's infer function sees and sets.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ops/node_view.h"
#include "ops/op_def.h"

namespace sardonyx::ops {

class InferContext : public AttributeReader {
 public:
  // What is known about an input or output.
  struct Known {
    Type type;
    const Tensor* constant = nullptr;              // its contents, if known
    const std::vector<Dim>* shape_data = nullptr;  // its elements as dimensions, if it is a small integer tensor
    bool present = false;
  };
  // Infers the output types of the subgraph in an attribute from the types of its inputs.
  using SubgraphFn = std::function<std::vector<Type>(std::string_view attribute, std::span<const Type> inputs)>;
  struct Output {
    Type type;
    std::optional<std::vector<Dim>> shape_data;
  };

  InferContext(const Graph& graph, const Node& node, const OpDef& op, std::span<const Known> inputs,
               std::span<Output> outputs, const SubgraphFn* subgraph)
      : AttributeReader(graph, node), op_(&op), inputs_(inputs), outputs_(outputs), subgraph_(subgraph) {}

  const OpDef& op() const { return *op_; }
  bool HasInput(std::size_t i) const { return i < inputs_.size() && inputs_[i].present; }
  const Type& InputType(std::size_t i) const;  // kNone if missing or not known
  DType InputDType(std::size_t i) const;       // kUndefined if not known
  bool HasRank(std::size_t i) const { return InputType(i).is_tensor() && InputType(i).has_rank; }
  std::size_t Rank(std::size_t i) const { return InputType(i).dims.size(); }
  const std::vector<Dim>& InputDims(std::size_t i) const { return InputType(i).dims; }  // only if HasRank(i)
  const Tensor* Constant(std::size_t i) const { return HasInput(i) ? inputs_[i].constant : nullptr; }
  // The elements of an integer input: numbers, symbols or unknown; nullopt if not even their count is known.
  // A known rank-1 shape [n] with unknown contents gives n unknowns.
  std::optional<std::vector<Dim>> ShapeData(std::size_t i) const;
  // The int64 contents of an int32/int64 input, if it is constant.
  std::optional<std::vector<std::int64_t>> ConstantInts(std::size_t i) const;

  void SetOutput(std::size_t i, DType dtype, std::vector<Dim> dims);
  void SetOutput(std::size_t i, DType dtype);  // rank unknown
  void SetOutputType(std::size_t i, Type type);
  // Elements of a small integer output (0-D or 1-D).
  void SetShapeData(std::size_t i, std::vector<Dim> elements);
  std::vector<Type> InferSubgraph(std::string_view attribute, std::span<const Type> inputs) const;

 private:
  const OpDef* op_;
  std::span<const Known> inputs_;
  std::span<Output> outputs_;
  const SubgraphFn* subgraph_;
};

// Infer functions that many operators share.
void InferSameAsInput(InferContext& c);    // output 0 has the type of input 0 (and its shape data)
void InferBroadcast(InferContext& c);      // all inputs broadcast; element type of input 0
void InferBroadcastBool(InferContext& c);  // ... element type bool
// The broadcast of two symbolic shapes; fails naming the dimensions if numbers conflict.
std::vector<Dim> BroadcastDims(const InferContext& c, const std::vector<Dim>& a, const std::vector<Dim>& b);
// `axis` of rank `rank` as [0, rank); fails naming the node.
std::size_t AxisOf(const AttributeReader& c, std::int64_t axis, std::size_t rank);

}  // namespace sardonyx::ops
