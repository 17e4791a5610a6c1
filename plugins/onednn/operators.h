// plugins/onednn/operators.h - the operators that the provider takes: one row for each, in the file of its family.
//
// To add one: a row with its refusal (why a node stays with the host) and its build function. No other file changes
// unless it is a new family.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "builder.h"

namespace sardonyx_onednn {

struct Operator {
  std::string_view name;
  int oldest = 1, newest = 1;  // opset versions whose semantics are implemented
  // Whether it does so much work that a group with it pays for itself.
  bool is_heavy = false;
  // Why this node is not taken; "" if it is.
  std::string (*refusal)(const Graph& graph, const Node& node) = nullptr;
  void (*build)(Builder& builder, const Node& node) = nullptr;
};

std::span<const Operator> ConvolutionOperators();
std::span<const Operator> MatMulOperators();
std::span<const Operator> PoolingOperators();
std::span<const Operator> NormalizationOperators();
std::span<const Operator> BinaryOperators();
std::span<const Operator> EltwiseOperators();
std::span<const Operator> ReductionOperators();
std::span<const Operator> ShapeOperators();
std::span<const Operator> QuantizationOperators();

// The row for a node's operator and version; nullptr if there is none.
const Operator* FindOperator(const Node& node);
// Why the node is not taken; "" if it is.
std::string Refusal(const Graph& graph, const Node& node);

// What several refusals ask.
inline constexpr std::size_t kMostDims = 6;  // more are not tested
bool IsFloat(const Graph& graph, int value);
bool HasRank(const Graph& graph, int value, std::size_t least = 0, std::size_t most = kMostDims);
// "" if the inputs are float tensors of a known rank, and the result is one of float.
std::string FloatsRefusal(const Graph& graph, const Node& node);
// The axis counted from 0; fails with the node's name if the rank has none such.
std::size_t AxisOf(const Builder& builder, const Node& node, std::int64_t axis, std::size_t rank);
// The integers of an input that must be constant, or of the attribute in older versions; nothing if both are missing.
std::optional<Dims> IntsOf(const Graph& graph, const Node& node, std::size_t input, std::string_view attribute);

// An elementwise function of oneDNN.
struct Eltwise {
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  float alpha = 0, beta = 0;
};
// What a node computes of each element of input `subject`, as oneDNN's functions, one after the other; nothing if it is
// not elementwise in this input alone.
struct EltwiseChain {
  std::vector<Eltwise> functions;
  std::size_t subject = 0;  // the input
};
std::optional<EltwiseChain> EltwiseOf(const Graph& graph, const Node& node);
void RunEltwise(Builder& builder, const Tensor& from, const Tensor& to, const Eltwise& function);
dnnl::algorithm BinaryAlgorithm(std::string_view op_type);

}  // namespace sardonyx_onednn
