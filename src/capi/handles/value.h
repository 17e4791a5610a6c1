// capi/handles/value.h - an OrtValue is a sardonyx::Value.
#pragma once

#include <memory>
#include <utility>

#include "base/error.h"
#include "capi/handles/status.h"
#include "onnxruntime_c_api.h"
#include "tensor/value.h"

namespace sardonyx::capi {

inline Value* AsValue(OrtValue* value) { return reinterpret_cast<Value*>(value); }
inline const Value* AsValue(const OrtValue* value) { return reinterpret_cast<const Value*>(value); }
inline OrtValue* AsHandle(Value* value) { return reinterpret_cast<OrtValue*>(value); }
inline const OrtValue* AsHandle(const Value* value) { return reinterpret_cast<const OrtValue*>(value); }

// A value for the caller, who releases it.
inline OrtValue* NewHandle(Value value) { return AsHandle(std::make_unique<Value>(std::move(value)).release()); }

// The tensor of the argument `name`; fails with kInvalidArgument naming what it is instead.
inline Tensor& NeedTensor(OrtValue* value, const char* name = "value") {
  Value& v = *AsValue(&Need(value, name));
  if (!v.is_tensor()) Fail(Code::kInvalidArgument, "argument '", name, "': expected a tensor, found ", v.KindName());
  return v.tensor();
}
inline const Tensor& NeedTensor(const OrtValue* value, const char* name = "value") {
  return NeedTensor(const_cast<OrtValue*>(value), name);
}

}  // namespace sardonyx::capi
