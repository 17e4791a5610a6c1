// testing/fusion_matrix.h - a graph written once and tried in several opsets, element types and sizes, with swapped
// operands: in its text, "~Add(a, b)" may have its operands exchanged, "$t" is the element type, "$h" the number of
// heads, "$d" the size of one, "$2d" twice that, "$w" the number of heads times their size.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "testing/pass_test.h"
#include "testing/random_tensor.h"

namespace sardonyx::testing {

struct FusionSetting {
  std::string dtype = "float";
  int opset = 17;
  bool swapped = false;  // operands of commutative nodes
  int heads = 2, size = 8;
};
inline const std::vector<FusionSetting> kFusionSettings = {
    {"float", 11, false, 2, 8}, {"float", 13, true, 3, 5},    {"float", 17, false, 1, 4},   {"float", 21, true, 4, 16},
    {"float", 23, false, 2, 6}, {"float16", 17, false, 2, 8}, {"bfloat16", 17, true, 2, 8}, {"float", 17, true, 6, 64},
};

inline std::string ReplaceAll(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

// The text of a model for one setting.
inline std::string TextFor(std::string text, const FusionSetting& s) {
  for (std::size_t at = text.find('~'); at != std::string::npos; at = text.find('~')) {
    const std::size_t open = text.find('(', at), comma = text.find(", ", open), close = text.find(')', comma);
    const std::string a = text.substr(open + 1, comma - open - 1), b = text.substr(comma + 2, close - comma - 2);
    const std::string call = text.substr(at + 1, open - at) + (s.swapped ? b + ", " + a : a + ", " + b) + ")";
    text.replace(at, close + 1 - at, call);
  }
  text = ReplaceAll(text, "$t", s.dtype);
  text = ReplaceAll(text, "$h", std::to_string(s.heads));
  text = ReplaceAll(text, "$d", std::to_string(s.size));
  text = ReplaceAll(text, "$w", std::to_string(s.heads * s.size));
  text = ReplaceAll(text, "$2d", std::to_string(2 * s.size));
  return "<ir_version: 8, opset_import: [\"\" : " + std::to_string(s.opset) + "]> " + text;
}

using Sizes = std::map<std::string, std::int64_t>;  // of the symbols of inputs

// Random values for the graph's inputs. Of a boolean mask two thirds are true, and the first key of each row.
inline std::vector<Value> InputsFor(const Graph& graph, const Sizes& sizes, RandomTensors& random) {
  std::vector<Value> inputs;
  for (const ValueId id : graph.inputs) {
    const Type& type = graph.value(id).type;
    Shape shape;
    for (const Dim& dim : type.dims) shape.Append(dim.known() ? dim.number() : sizes.at(dim.ToText()));
    const bool integers = type.dtype == DType::kInt64 || type.dtype == DType::kInt32;
    Tensor tensor = random.Uniform(type.dtype, shape, integers ? 0 : -1, 1);
    const std::int64_t keys = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
    for (std::int64_t i = 0; type.dtype == DType::kBool && i < tensor.count(); ++i)
      tensor.data<bool>()[i] = i % 3 != 0 || i % keys == 0;
    inputs.emplace_back(std::move(tensor));
  }
  return inputs;
}

// Runs the whole pipeline; both graphs compute the same for all sizes. The operators that are left.
inline std::string OptimizedFor(const std::string& text, const std::vector<Sizes>& runs, RandomTensors& random,
                                optimizer::Level level = optimizer::Level::kExtended) {
  const ops::Registry registry;
  Graph plain = GraphOf(text, registry), graph = plain;
  optimizer::OptimizeOptions off, options;
  off.level = optimizer::Level::kDisable;
  options.level = level;
  RunPipeline(plain, registry, off);
  RunPipeline(graph, registry, options);
  for (const Sizes& sizes : runs) ExpectSameValues(graph, plain, registry, InputsFor(plain, sizes, random));
  return Operators(graph);
}

inline bool HasOperator(const std::string& operators, const std::string& wanted) {
  return (" " + operators + " ").find(" " + wanted + " ") != std::string::npos;
}

}  // namespace sardonyx::testing
