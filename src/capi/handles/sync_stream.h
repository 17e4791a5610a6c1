// capi/handles/sync_stream.h - OrtSyncStream: a sequence of commands on a device of a plug-in.
#pragma once

#include <memory>

#include "onnxruntime_c_api.h"
#include "tensor/device.h"

struct OrtSyncStream {
  std::shared_ptr<const void> owner;  // the library or provider that it belongs to
  sardonyx::Device device;
  OrtSyncStreamImpl* impl = nullptr;  // the plug-in's; released by whoever made this handle
};
