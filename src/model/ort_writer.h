// model/ort_writer.h - writes models in ONNX Runtime's own format (.ort).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "ir/graph.h"

namespace sardonyx::model {

// What such a file says of operators, so that its reader needs no schemas.
struct OrtNodeFacts {
  int since_version = 0;                   // of the schema
  std::vector<std::int32_t> input_counts;  // inputs of the node, by formal input
};
struct OrtTypeArgument {
  bool is_output = false;
  std::uint32_t index = 0;
};
// "DOMAIN:OPERATOR:VERSION" -> name of a type -> the inputs and outputs that have it.
using OrtOperators = std::map<std::string, std::map<std::string, std::vector<OrtTypeArgument>>>;

// The bytes of the file. All weights are in it, sparse ones in their dense form; names of graphs and of the model's
// functions are not. Fails with kInvalidArgument if it would exceed 2 GB, and with kNotImplemented, naming the value,
// for what the format does not have: sparse tensors and optionals as values, types as attributes.
std::string SaveOrtBytes(const Model& model, const OrtOperators& operators,
                         FunctionRef<OrtNodeFacts(const Graph&, const Node&)> facts_of);

}  // namespace sardonyx::model
