// planner/quantized_views.h - QuantizeLinear and DequantizeLinear on both sides of operators that only move elements.
#pragma once

#include "ir/graph.h"

namespace sardonyx::planner {

// Providers that run quantized operators take one together with the DequantizeLinear before it and the QuantizeLinear
// behind it. As in ONNX Runtime, a Transpose, Reshape, Squeeze, Unsqueeze, Slice or MaxPool that has one of the two,
// with a constant scale for the whole tensor, gets the other, and the pair that goes with it: what is quantized
// already, or is about to be, stays the same by that. Each DequantizeLinear must have one reader
// (planner/unique_dequantization.h). What nobody claims is joined again by the optimizer.
void QuantizeAroundViews(Graph& graph);

}  // namespace sardonyx::planner
