// planner/unique_dequantization.h - a DequantizeLinear of its own for each of its readers.
#pragma once

#include "ir/graph.h"

namespace sardonyx::planner {

// Providers that run quantized operators take an operator together with the DequantizeLinear of each input, and the
// QuantizeLinear of each output, as a unit, and no node may belong to two of them. As in ONNX Runtime, each place that
// reads what is dequantized gets a copy of the node, bodies included; the first one reads the node itself, unless that
// makes an output of the graph or a value that a body captures. What nobody claims is merged again by the optimizer.
void SeparateDequantization(Graph& graph);

}  // namespace sardonyx::planner
