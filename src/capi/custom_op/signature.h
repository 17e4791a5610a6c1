// capi/custom_op/signature.h - what an OrtCustomOp takes and makes, read once; and which one of several a node means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "ir/type.h"
#include "onnxruntime_c_api.h"

namespace sardonyx::capi {

// An input or output that the operator declares.
struct Formal {
  DType dtype = DType::kUndefined;  // kUndefined: any type
  OrtCustomOpInputOutputCharacteristic option = INPUT_OUTPUT_REQUIRED;
};

// The inputs or the outputs. Only the last one may be variadic.
struct Formals {
  std::vector<Formal> list;
  std::size_t variadic_min = 1;
  bool homogeneous = true;

  // The one that describes value i of a node; nullptr if the operator has no such.
  const Formal* At(std::size_t i) const;
  std::size_t Least() const;  // how many a node has to have
};

// One OrtCustomOp. Fields that its version does not have are never read.
struct Signature {
  // Fails with kInvalidArgument naming the operator and what is wrong with the struct.
  explicit Signature(const OrtCustomOp& custom_op);

  const OrtCustomOp* op;
  std::uint32_t version;  // of the struct, as far as we know it
  std::string name;
  std::string provider;  // "": the CPU
  int start_version = 1, end_version;
  Formals inputs, outputs;
  std::vector<std::pair<std::size_t, std::size_t>> aliases;   // input, output: share their bytes
  std::vector<std::pair<std::size_t, std::size_t>> in_place;  // input, output: may share their bytes
  bool infers_shapes = false;

  bool HasV2Create() const;
  bool HasV2Compute() const;
  // "Scale(float, any...) -> float"
  std::string ToText() const;
};

// The inputs and outputs of a node; types that are not known yet fit anything.
struct NodeTypes {
  std::vector<std::optional<Type>> inputs;  // nullopt: the node has none there
  std::vector<bool> outputs;                // whether the node names output i
};

// Why the node cannot be of this operator; "" if it can.
std::string WhyNot(const Signature& signature, const NodeTypes& node);

}  // namespace sardonyx::capi
