// ops/schema/substitute_schema.h - the schema that describes an operator that has none of its own.
#pragma once

#include <string_view>

#include "ops/schema/schema.h"

namespace sardonyx::ops {

// Operators of com.microsoft that ONNX's domain has, too, have the parameters of those. nullptr: no such operator, or
// another domain, whose names mean nothing.
const OpSchema* SubstituteSchema(std::string_view domain, std::string_view op_type);

}  // namespace sardonyx::ops
