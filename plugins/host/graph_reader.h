// plugins/host/graph_reader.h - a host's graph as plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host_api.h"

namespace plugin_host {

// A value of the host's graph. Only tensors are taken over: `is_tensor` is false for all others.
struct ValueFacts {
  std::string name;
  bool is_tensor = false;
  ONNXTensorElementDataType element_type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  bool has_shape = false;
  std::vector<std::int64_t> dims;    // -1 where it is no number
  std::vector<std::string> symbols;  // "" where it has none
};

// A tensor in the CPU's memory, where it lies.
struct TensorView {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<std::int64_t> dims;
  std::span<const std::byte> bytes;  // none of a tensor of texts
};

class GraphReader {
 public:
  explicit GraphReader(const HostApi& apis) : apis_(apis) {}

  std::vector<const OrtNode*> Nodes(const OrtGraph& graph) const;
  std::vector<const OrtValueInfo*> Inputs(const OrtGraph& graph) const;
  std::vector<const OrtValueInfo*> Outputs(const OrtGraph& graph) const;
  std::vector<const OrtValueInfo*> Initializers(const OrtGraph& graph) const;
  std::vector<std::pair<std::string, std::int64_t>> Opsets(const OrtGraph& graph) const;

  const OrtNode* Holder(const OrtGraph& graph) const;  // of a body; NULL for the model's graph
  const OrtGraph& GraphOf(const OrtNode& node) const;

  std::string Name(const OrtNode& node) const;
  std::string Domain(const OrtNode& node) const;
  std::string Operator(const OrtNode& node) const;
  int SinceVersion(const OrtNode& node) const;
  // NULL where an optional input or output is missing.
  std::vector<const OrtValueInfo*> Inputs(const OrtNode& node) const;
  std::vector<const OrtValueInfo*> ImplicitInputs(const OrtNode& node) const;
  std::vector<const OrtValueInfo*> Outputs(const OrtNode& node) const;
  std::vector<const OrtOpAttr*> Attributes(const OrtNode& node) const;
  std::vector<std::pair<std::string, const OrtGraph*>> Subgraphs(const OrtNode& node) const;

  std::string Name(const OrtValueInfo* value) const;  // "" for NULL
  ValueFacts Facts(const OrtValueInfo& value) const;
  bool IsConstant(const OrtValueInfo& value) const;
  const OrtValue* Contents(const OrtValueInfo& initializer) const;
  TensorView View(const OrtValue& tensor) const;

  std::string Name(const OrtOpAttr& attribute) const;
  OrtOpAttrType Kind(const OrtOpAttr& attribute) const;
  // The bytes of an attribute that is no graph and no tensor.
  std::vector<char> Bytes(const OrtOpAttr& attribute) const;
  Handle<OrtValue> TensorOf(const OrtOpAttr& attribute) const;

 private:
  const HostApi& apis_;
};

}  // namespace plugin_host
