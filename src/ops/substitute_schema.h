// ops/substitute_schema.h - the schema that describes an operator which has none of its own.
#pragma once

#include <string_view>

#include "ops/schema/schema.h"

namespace sardonyx::ops {

// Operators of images that lie channels last have the parameters of those they take the place of, and so have those of
// com.microsoft that ONNX's domain has, too. nullptr: no such operator, or another domain, whose names mean nothing.
const OpSchema* SubstituteSchema(std::string_view domain, std::string_view op_type);

}  // namespace sardonyx::ops
