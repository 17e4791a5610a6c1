// capi/device_values.h - tensors in memory of plug-ins' devices: moves them to the host, and there.
#pragma once

#include <memory>

#include "onnxruntime_c_api.h"
#include "tensor/allocator.h"
#include "tensor/value.h"

namespace sardonyx::capi {

inline bool IsOnDevice(const Value& value) { return value.is_tensor() && !value.tensor().device().IsHost(); }

// Copies the elements of a tensor into another of the same type and shape, on whatever devices. Fails with
// kNotImplemented naming both devices if no registered library copies between them. `stream`: takes the copy between
// two devices as its work, after what it was given before; NULL: it is done when the function returns.
void CopyAcross(const Value& from, Value& to, OrtSyncStream* stream = nullptr);
// Whether it can.
bool CanCopyAcross(const Device& from, const Device& to);
// A copy in host memory.
Value OnHost(const Value& value);
// A copy in memory of the device that `info` describes. Fails with kInvalidArgument if no registered library has it.
Value OnDevice(const Value& value, const OrtMemoryInfo& info, OrtSyncStream* stream = nullptr);
// A copy in memory of this allocator.
Value CopyWith(const Value& value, const std::shared_ptr<Allocator>& allocator, OrtSyncStream* stream = nullptr);

}  // namespace sardonyx::capi
