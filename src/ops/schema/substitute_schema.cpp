// ops/schema/substitute_schema.cpp - looks for the operator in ONNX's domain.
#include "ops/schema/substitute_schema.h"

namespace sardonyx::ops {

const OpSchema* SubstituteSchema(std::string_view domain, std::string_view op_type) {
  return domain == "com.microsoft" ? FindSchema("", op_type) : nullptr;
}

}  // namespace sardonyx::ops
