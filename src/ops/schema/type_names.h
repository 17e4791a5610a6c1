// ops/schema/type_names.h - which inputs and outputs of an operator share a type, and how its inputs are counted: what
// files in ONNX Runtime's format say of operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ops/schema/schema.h"

namespace sardonyx::ops {

struct TypeArgument {
  bool is_output = false;
  std::uint32_t index = 0;  // of the formal parameter
  bool operator==(const TypeArgument&) const = default;
};

// By the name of a type constraint ("T"), or by the name of the parameter if it has a type of its own. Inputs first.
std::map<std::string, std::vector<TypeArgument>> TypeNamesOf(const OpSchema& schema);

// How many of a node's `inputs` belong to each formal input. The last one takes all that are left.
std::vector<std::int32_t> InputCounts(const OpSchema& schema, std::size_t inputs);

}  // namespace sardonyx::ops
