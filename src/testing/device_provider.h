// testing/device_provider.h - a provider for tests whose memory the CPU must not touch.
#pragma once

#include "providers/provider.h"

namespace sardonyx::testing {

// Takes float elementwise nodes, MatMul and Reshape (whose target shape stays on the host). Its "device" is a pool of
// pages without access rights: only its kernels and copies open them, so a stray read or write of the CPU ends the
// process with a signal. Option "operators" as SelectiveProvider's.
inline constexpr const char* kDeviceName = "DeviceTestExecutionProvider";
providers::ProviderFactory DeviceProvider();

struct DeviceCounts {
  long copies_to_device = 0, copies_to_host = 0, kernels = 0;
};
DeviceCounts CountsOfDevice();

// True if the bytes lie in the device's pool.
bool IsOnDevice(const void* data);

}  // namespace sardonyx::testing
