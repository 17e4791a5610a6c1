// optimizer/derivatives/derivation.h - what a row of derivatives sees of the node that it differentiates, and what it
// adds to the graph for it.
#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/node_view.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {

class Derivation {
 public:
  // `gradients`: of the node's outputs, kNoValue where nothing depends on one. `wanted`: for each input, whether its
  // gradient is asked for.
  Derivation(Rewrite& rewrite, NodeId node, std::vector<ValueId> gradients, std::vector<bool> wanted)
      : rewrite_(&rewrite), node_(node), gradients_(std::move(gradients)), wanted_(std::move(wanted)) {}

  const Graph& graph() const { return rewrite_->graph(); }
  const Node& node() const { return graph().node(node_); }
  ops::AttributeReader attributes() const { return {graph(), node()}; }
  const Type& TypeOf(ValueId value) const { return graph().value(value).type; }
  std::size_t RankOf(ValueId value) const;                     // fails if it is not known
  std::int64_t SizeOf(ValueId value, std::size_t axis) const;  // fails if it is not known

  std::size_t InputCount() const { return node().inputs.size(); }
  bool HasInput(std::size_t i) const { return i < InputCount() && node().inputs[i] != kNoValue; }
  ValueId Input(std::size_t i) const { return node().inputs[i]; }
  ValueId Output(std::size_t i = 0) const { return node().outputs[i]; }
  bool HasGradient(std::size_t i) const { return i < gradients_.size() && gradients_[i] != kNoValue; }
  ValueId Gradient(std::size_t i = 0) const { return gradients_[i]; }  // only if HasGradient(i)
  bool Wants(std::size_t i) const { return i < wanted_.size() && wanted_[i]; }

  // What the row answers. Give: the gradient of input i, which has the input's shape. Becomes: output i is recomputed
  // by nodes that the row has added, which are differentiated in the node's place.
  void Give(std::size_t i, ValueId gradient) { given_.emplace_back(i, gradient); }
  void Becomes(std::size_t i, ValueId value) { becomes_.emplace_back(i, value); }
  const std::vector<std::pair<std::size_t, ValueId>>& given() const { return given_; }
  const std::vector<std::pair<std::size_t, ValueId>>& becomes() const { return becomes_; }

  ValueId Add(std::string_view op_type, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}) {
    return rewrite_->Add(op_type, std::move(inputs), std::move(attributes));
  }
  // A node with several outputs.
  std::vector<ValueId> AddMany(std::string_view op_type, std::vector<ValueId> inputs, std::vector<Attribute> attributes,
                               std::size_t outputs);
  ValueId Ints(const std::vector<std::int64_t>& elements) { return rewrite_->Ints(elements); }
  ValueId Scalar(double number);  // of the element type of input 0
  ValueId ShapeOf(ValueId value) { return Add("Shape", {value}); }
  ValueId Sizes(ValueId value, std::int64_t begin, std::int64_t end);  // dimensions [begin, end), of rank 1
  ValueId Joined(std::vector<ValueId> sizes);                          // tensors of rank 1 one behind the other
  ValueId Reshaped(ValueId value, ValueId sizes);
  ValueId ReshapedLike(ValueId value, ValueId like) { return Reshaped(value, ShapeOf(like)); }
  ValueId Filled(ValueId sizes, double number);  // of the element type of input 0
  ValueId ZerosLike(ValueId like) { return Filled(ShapeOf(like), 0); }
  ValueId Sum(ValueId value, const std::vector<std::int64_t>& axes, bool keep);
  // The sum over all axes that broadcasting has stretched from the shape of `like`.
  ValueId SumTo(ValueId gradient, ValueId like);
  // Builds an expression of the rule language: a, b, c are the first inputs, y output 0, dy its gradient; other names
  // are attributes of the node, numbers have the element type of a.
  ValueId Evaluate(std::string_view expression);

  // Fails with kNotImplemented, naming the node.
  template <typename... Parts>
  [[noreturn]] void NotImplemented(const Parts&... parts) const {
    attributes().Fail(Code::kNotImplemented, "its derivative is not implemented ", parts...);
  }

 private:
  Rewrite* rewrite_;
  NodeId node_;
  std::vector<ValueId> gradients_;
  std::vector<bool> wanted_;
  std::vector<std::pair<std::size_t, ValueId>> given_, becomes_;
};

// The derivative of one operator of ai.onnx in its newest version: an expression for the gradient of each input
// (Derivation::Evaluate), one that computes the same as the node from operators that have derivatives, or a function.
using DeriveFn = void(Derivation&);
struct Derivative {
  std::string_view name;
  std::string_view gradients[3] = {};
  std::string_view same_as = {};
  DeriveFn* derive = nullptr;
};

std::span<const Derivative> ArithmeticDerivatives();
std::span<const Derivative> LossDerivatives();
std::span<const Derivative> MovementDerivatives();
std::span<const Derivative> NormalizationDerivatives();
std::span<const Derivative> PoolDerivatives();
std::span<const Derivative> ProductDerivatives();
std::span<const Derivative> ReductionDerivatives();

// nullptr if there is none.
const Derivative* FindDerivative(std::string_view domain, std::string_view name);

// Adds the nodes that compute the gradient of `y` (of the sum of its elements, if it has several) with respect to each
// of `xs`, and answers their results; kNoValue where y does not depend on an x. The nodes between follow the newest
// versions of their operators. Fails with kNotImplemented, naming the node, where an operator has no derivative.
std::vector<ValueId> AddGradients(Rewrite& rewrite, ValueId y, std::span<const ValueId> xs);

// The nodes that lie between `xs` and `y`, in the order in which they run: all that y needs, up to the xs.
std::vector<NodeId> NodesBetween(const Graph& graph, std::span<const ValueId> xs, ValueId y);

}  // namespace sardonyx::optimizer
