// capi/handles/op_attr.h - an OrtOpAttr is a sardonyx::Attribute: one of a node, or one that the caller made.
#pragma once

#include "ir/graph.h"
#include "onnxruntime_c_api.h"

namespace sardonyx::capi {

inline const Attribute* AsAttribute(const OrtOpAttr* attribute) {
  return reinterpret_cast<const Attribute*>(attribute);
}
inline OrtOpAttr* AsHandle(Attribute* attribute) { return reinterpret_cast<OrtOpAttr*>(attribute); }
inline const OrtOpAttr* AsHandle(const Attribute* attribute) { return reinterpret_cast<const OrtOpAttr*>(attribute); }

}  // namespace sardonyx::capi
