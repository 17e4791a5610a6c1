// ops/activation.h - the activations that products and convolutions apply to their results: one table for reading,
// fusing and saving them.
//
// To add one: its row in activation.cpp. If its function is new, a row in kernels/elementwise/unary_functions.inc and
// its vector form come first.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "ir/graph.h"
#include "kernels/gemm/epilogue.h"
#include "ops/float_function.h"
#include "ops/node_view.h"

namespace sardonyx::ops {

struct ActivationDef {
  std::string_view name;  // the attribute `activation` of fused operators, and a step of FusedElementwise
  bool in_convs = true;   // fuse_conv_activation takes it; fuse_product_epilogue takes all
  bool in_cells = false;  // ONNX has it for RNN, GRU and LSTM
  bool conv_of_ort = false, gemm_of_ort = false;  // ONNX Runtime 1.31's FusedConv and FusedGemm have it
  // FusedConv has the parameters that are attributes in the list activation_params, products have each as
  // activation_<attribute>. In the table of activation.cpp missing where an operator of ops/math/unary.cpp has the
  // name.
  FloatFunction function = {};
};

std::span<const ActivationDef> Activations();
const ActivationDef* FindActivation(std::string_view name);  // nullptr if there is none

// A node that is an activation of its input 0. BiasGelu and FastGelu add `bias` first.
struct NodeActivation {
  const ActivationDef* def = nullptr;
  float a = 0, b = 0;
  ValueId bias = kNoValue;
};
// nullopt if the node is no activation of the table, or its parameters are not constant.
std::optional<NodeActivation> ActivationOf(const Graph& graph, const Node& node);

// The function that an operator of ops/math/unary.cpp computes, by its row's defaults and the node's attributes.
struct NodeFunction {
  std::string_view name;  // of the operator
  kernels::UnaryKind kind;
  float a = 0, b = 0;
};
std::optional<NodeFunction> FunctionOf(const Node& node);

// The attributes of FusedConv and of the products. What is missing is the ONNX operator's default. Fail with
// kNotImplemented for an activation that is not in the table.
kernels::Activation ReadConvActivation(const AttributeReader& c, std::string_view prefix = {});
kernels::Activation ReadProductActivation(const AttributeReader& c);
// The same of a node that takes over an activation.
void WriteConvActivation(Node& conv, const NodeActivation& activation);
void WriteProductActivation(Node& product, const NodeActivation& activation);

// The largest finite number of a floating type of at most 32 bits: the bound that a Clip without one has.
float LargestFinite(DType dtype);

// The one element of a floating constant; nullopt if `value` is anything else.
std::optional<float> ScalarConstant(const Graph& graph, ValueId value);

}  // namespace sardonyx::ops
