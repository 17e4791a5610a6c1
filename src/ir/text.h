// ir/text.h - reads and writes ONNX's text syntax (onnx/docs/Syntax.md); onnx.parser reads what we print.
//
// Beyond onnx.parser we read and write what its grammar promises or lacks: lists of tensors, graphs and types, sparse
// tensors (sparse_tensor(float[2,3]) {values} int64[2] {indices}), and quoted names of attributes, operators, domains
// and subgraphs that are not identifiers. We also read numbers with a point or exponent for the small floats, whose
// plain integers are bit patterns as in onnx.parser, and one number per element for packed types, which are printed as
// bytes. The syntax has no place for doc strings and metadata below the model, denotations and external data; a sparse
// initializer is printed as the dense tensor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace sardonyx {

struct TextOptions {
  std::int64_t max_elements = 1 << 20;  // larger initializers are printed as their type only, with a comment
  bool node_names = true;               // "[name] y = Relu(x)"
  bool value_types = true;              // types of inner values, where known
};
inline constexpr TextOptions kStructure = {1 << 20, false, false};  // what tests of rewrites compare

// Fail with kInvalidGraph, naming line and column, what was expected and what was found. Nodes may come in any order.
// Without a header, or without opset_import in it, a model gets the newest IR version and opsets, as ParseGraph's
// result does.
Model ParseModel(std::string_view text);
Graph ParseGraph(std::string_view text);  // "name (float[N] x) => (float[N] y) { y = Relu(x) }", newest opset
std::string ToText(const Model& model, const TextOptions& options = {});
std::string ToText(const Graph& graph, const TextOptions& options = kStructure);

}  // namespace sardonyx
