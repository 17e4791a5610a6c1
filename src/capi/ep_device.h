// capi/ep_device.h - the device of our own CPU provider.
#pragma once

#include "capi/handles/ep_device.h"

namespace sardonyx::capi {

// Our CPU provider on this machine's CPU; lives as long as the process.
const OrtEpDevice& CpuEpDevice();

}  // namespace sardonyx::capi
