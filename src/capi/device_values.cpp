// capi/device_values.cpp - moves tensors between the host and devices of plug-ins.
#include "capi/device_values.h"

#include <cstring>
#include <utility>

#include "capi/env.h"
#include "capi/functions.h"
#include "capi/handles/allocator.h"
#include "capi/handles/memory_info.h"
#include "capi/handles/sync_stream.h"
#include "capi/handles/value.h"

namespace sardonyx::capi {

void CopyAcross(const Value& from, Value& to, OrtSyncStream* stream) {
  const Device source = from.tensor().device(), target = to.tensor().device();
  if (source.IsHost() && target.IsHost()) {
    std::memmove(to.tensor().raw(), from.tensor().raw(), from.tensor().byte_size());
    return;
  }
  const plugin::Libraries::Place place = FindRegisteredCopier(source, target);
  if (place.factory == nullptr) {
    Fail(Code::kNotImplemented, "no registered provider library copies from '", MemoryInfoOf(source).name, "' to '",
         MemoryInfoOf(target).name, "'");
  }
  if (from.tensor().byte_size() == 0) return;  // there is nothing to ask a provider for
  const OrtValue* sources[] = {AsHandle(&from)};
  OrtValue* targets[] = {AsHandle(&to)};
  if (stream != nullptr && !stream->IsOf(place.library.get())) {
    stream->Flush();
    stream = nullptr;
  }
  place.factory->CopyTensors(sources, targets, stream != nullptr ? &stream : nullptr, 1);
}

bool CanCopyAcross(const Device& from, const Device& to) { return FindRegisteredCopier(from, to).factory != nullptr; }

Value CopyWith(const Value& value, const std::shared_ptr<Allocator>& allocator, OrtSyncStream* stream) {
  Value copy(Tensor(value.tensor().dtype(), value.tensor().shape(), allocator));
  CopyAcross(value, copy, stream);
  return copy;
}

Value OnHost(const Value& value) { return CopyWith(value, HostAllocator()); }

Value OnDevice(const Value& value, const OrtMemoryInfo& info, OrtSyncStream* stream) {
  OrtAllocator* allocator = nullptr;
  ThrowIfError(GetSharedAllocator(CurrentEnv(), &info, &allocator), "GetSharedAllocator");
  if (allocator == nullptr)
    Fail(Code::kInvalidArgument, "no registered provider library has memory of the kind '", info.name, "'");
  return CopyWith(value, FromHandle(allocator), stream);
}

}  // namespace sardonyx::capi
