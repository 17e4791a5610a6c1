// ir/text.h - ONNX's text syntax (onnx/docs/Syntax.md), written and read; what we print, onnx.parser reads.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"

namespace sardonyx {

struct TextOptions {
  std::int64_t max_elements = 1 << 20;  // larger initializers are printed as their type only, with a comment
};

// Fail with kInvalidGraph, naming line and column, what was expected and what was found.
Model ParseModel(std::string_view text);
Graph ParseGraph(std::string_view text);  // "name (float[N] x) => (float[N] y) { y = Relu(x) }", newest opset
std::string ToText(const Model& model, const TextOptions& options = {});
std::string ToText(const Graph& graph, const TextOptions& options = {});

}  // namespace sardonyx
