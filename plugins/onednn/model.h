// plugins/onednn/model.h - the host's graph as plain data, read once for a claim and once to compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph_reader.h"

namespace sardonyx_onednn {

using plugin_host::Failure;
using Dims = std::vector<std::int64_t>;

struct Attribute {
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
  std::string text;
};

struct Constant {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  Dims dims;
  std::span<const std::byte> bytes;  // the host's, or those of `own`
  std::shared_ptr<std::vector<std::byte>> own;

  std::int64_t count() const;
  // The elements as numbers, whatever their type (float, double and the integers).
  std::vector<double> Numbers() const;
};

struct Value {
  std::string name;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;  // of a tensor, else undefined
  bool has_shape = false;
  Dims dims;  // -1 where the size is not known
  std::optional<Constant> constant;
};

struct Node {
  std::string name, domain, op_type;
  int since = 0;
  std::vector<int> inputs, outputs;  // values; -1 where one is missing
  std::map<std::string, Attribute, std::less<>> attributes;
  bool has_body = false;
  std::vector<const OrtNode*> sources;  // the host's nodes that this one stands for

  bool Has(std::string_view attribute) const { return attributes.find(attribute) != attributes.end(); }
  std::int64_t Int(std::string_view attribute, std::int64_t otherwise) const;
  float Float(std::string_view attribute, float otherwise) const;
  std::string Text(std::string_view attribute, const std::string& otherwise) const;
  Dims Ints(std::string_view attribute, const Dims& otherwise) const;
  // The value at a position, -1 if the node has none there.
  int Input(std::size_t index) const { return index < inputs.size() ? inputs[index] : -1; }
};

struct Graph {
  std::vector<Node> nodes;  // each after those that it depends on
  std::vector<Value> values;
  std::vector<int> inputs, outputs;

  // What follows is made by Index().
  std::vector<int> producer;                // of a value: a node, or -1
  std::vector<std::vector<int>> consumers;  // of a value: nodes, one entry for each use
  std::vector<bool> is_output;
  void Index();

  const Constant* ConstantOf(int value) const {
    return value < 0 || !values[static_cast<std::size_t>(value)].constant
               ? nullptr
               : &*values[static_cast<std::size_t>(value)].constant;
  }
  const Value& at(int value) const { return values[static_cast<std::size_t>(value)]; }
};

// With `copy`, constants outlive the host's graph.
Graph ReadGraph(const plugin_host::GraphReader& reader, const OrtGraph& graph, bool copy);

std::string Show(const Dims& dims);  // "[2, 3]"
std::int64_t CountOf(const Dims& dims);

}  // namespace sardonyx_onednn
