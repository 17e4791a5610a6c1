// ops/substitute_schema.cpp - looks in the domains of ONNX and ONNX Runtime.
#include "ops/substitute_schema.h"

#include "ops/channels_last.h"

namespace sardonyx::ops {

const OpSchema* SubstituteSchema(std::string_view domain, std::string_view op_type) {
  if (domain != kChannelsLastDomain && domain != "com.microsoft") return nullptr;
  const OpSchema* schema = FindSchema("", op_type);
  return schema != nullptr ? schema : FindSchema("com.microsoft", op_type);
}

}  // namespace sardonyx::ops
