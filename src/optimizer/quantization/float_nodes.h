// optimizer/quantization/float_nodes.h - which nodes stay in float between quantized ones, and why.
#pragma once

#include "optimizer/rules/pass.h"

namespace sardonyx::optimizer {

// True if the node reads what a DequantizeLinear makes and a QuantizeLinear reads what it makes.
bool IsBetweenQuantization(const Graph& graph, const Node& node);

// Why `value` is not an 8-bit operand, as the rest of a sentence: "is made in float by ...".
std::string WhyNot8Bit(const Graph& graph, ValueId value);

// Reports every node on a way through floats that begins where integers become floats and ends at a QuantizeLinear,
// with the reason why it is none of integers. Not those that the passes of integer operators report themselves:
// products of dequantized operands, and what stands between DequantizeLinear and QuantizeLinear if
// `has_integer_form(node)`.
void ReportFloatNodes(const Graph& graph, const PassContext& context, bool (*has_integer_form)(const Node& node));

}  // namespace sardonyx::optimizer
