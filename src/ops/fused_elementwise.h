// ops/fused_elementwise.h - which nodes can become a step of ai.sardonyx.FusedElementwise, and which step.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "ir/graph.h"
#include "ops/op_def.h"

namespace sardonyx::ops {

inline constexpr std::size_t kMaxTapeInputs = 12;
inline constexpr std::size_t kMaxTapeSteps = 32;

// A function of one or two floats as a step of a tape. The names are those of ONNX's operators where there is one.
struct TapeStep {
  std::string_view name;
  bool binary = false;
  float a = 0, b = 0;  // what the function of one float takes besides
};

// The step that computes the node's output 0 from its input 0 (and 1): nothing where the node is no such function, or
// its parameters are no constants.
std::optional<TapeStep> TapeStepOf(const Graph& graph, const Node& node);

// The names of the steps that are not operators of ops/math/unary.cpp, and of the activations; without the two below.
std::vector<std::string_view> TapeFunctions();

// The steps QuantizeInt8 and QuantizeUInt8 (scale a, zero point b) are QuantizeLinear with a DequantizeLinear behind
// it.
Prepared PrepareFusedElementwise(PrepareContext& c);
InferFn InferFusedElementwise;

}  // namespace sardonyx::ops
