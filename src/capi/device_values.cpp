// capi/device_values.cpp - moves tensors between the host and devices of plug-ins.
#include "capi/device_values.h"

#include <utility>

#include "capi/env.h"
#include "capi/functions.h"
#include "capi/handles/allocator.h"
#include "capi/handles/memory_info.h"
#include "capi/handles/value.h"

namespace sardonyx::capi {

void CopyAcross(const Value& from, Value& to) {
  const Device source = from.tensor().device(), target = to.tensor().device();
  const plugin::Libraries::Place place = FindRegisteredCopier(source, target);
  if (place.factory == nullptr) {
    Fail(Code::kNotImplemented, "no registered provider library copies from '", MemoryInfoOf(source).name, "' to '",
         MemoryInfoOf(target).name, "'");
  }
  const OrtValue* sources[] = {AsHandle(&from)};
  OrtValue* targets[] = {AsHandle(&to)};
  place.factory->CopyTensors(sources, targets, nullptr, 1);
}

Value OnHost(const Value& value) {
  Value copy(Tensor(value.tensor().dtype(), value.tensor().shape()));
  CopyAcross(value, copy);
  return copy;
}

Value OnDevice(const Value& value, const OrtMemoryInfo& info) {
  OrtAllocator* allocator = nullptr;
  ThrowIfError(GetSharedAllocator(CurrentEnv(), &info, &allocator), "GetSharedAllocator");
  if (allocator == nullptr)
    Fail(Code::kInvalidArgument, "no registered provider library has memory of the kind '", info.name, "'");
  Value copy(Tensor(value.tensor().dtype(), value.tensor().shape(), FromHandle(allocator)));
  CopyAcross(value, copy);
  return copy;
}

}  // namespace sardonyx::capi
