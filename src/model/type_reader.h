// model/type_reader.h - reads TypeProto and ValueInfoProto.
#pragma once

#include <string>

#include "ir/type.h"
#include "model/tensor_reader.h"
#include "model/wire.h"

namespace sardonyx::model {

// A type without contents, or a tensor whose element type is left open, is Type{}. Fails with kNotImplemented for
// opaque types.
Type ReadType(Message message);

struct NamedType {
  std::string name, doc;
  Type type;
  Metadata metadata;
  std::vector<std::string> dim_denotations, dim_params;  // as in ValueInfo
};
NamedType ReadValueInfo(Message message);

}  // namespace sardonyx::model
